#!/bin/bash
# The names of kernel functions in the program's tables: each exists in one of the kernels that tests/vm/fetch has fetched.
# A name that exists nowhere is a mistake, or of a kernel that is no longer supported.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
cache=${NFG_CACHE:-${OUTPUT:-.output}/vm/cache}
known=$(mktemp) || exit 1
trap 'rm -f "$known"' EXIT

skip() {
	echo "  skipped: $*"
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
}

command -v bpftool >/dev/null || skip 'no bpftool'
for kernel in 5.10 6.1 6.12 7 7-arm64; do
	[ -s "$cache/$kernel/vmlinux" ] && [ -s "$cache/$kernel/modules.cpio" ] || skip "no kernel $kernel: tests/vm/fetch gets it"
	[ -s "$cache/$kernel/kallsyms" ] || skip "no symbols of $kernel: tests/live/run -t start $kernel leaves them, -t count those of arm64"
done

# Tracepoints by the function that calls their programs. Functions of vmlinux by its types, and by its symbols, copies that the compiler made (f.isra.0) as f; of modules whatever words they have, for
# up to 5.10 they have no types. Not of kernels with a configuration of their own, which not every cache has.
for kernel in "$cache"/*/; do
	kernel=${kernel%/}
	! grep -q "^${kernel##*/} " tests/vm/kernels.built || continue
	[ ! -s "$kernel/vmlinux" ] || bpftool btf dump file "$kernel/vmlinux" format raw 2>/dev/null |
		sed -n "s/^\[[0-9]*\] FUNC '\([^']*\)'.*/\1/; T; p; s/^__traceiter_//p"
	[ ! -s "$kernel/modules.cpio" ] || strings -n 4 "$kernel/modules.cpio" | grep -xE '[A-Za-z_][A-Za-z0-9_]+'
	[ ! -s "$kernel/kallsyms" ] || awk '{ print $3; sub(/\..*/, "", $3); print $3 }' "$kernel/kallsyms"
done | sort -u >"$known"
exec tests/tools/kernelnames.py "$known"
