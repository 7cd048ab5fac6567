#!/bin/bash
# What arm64's programs keep below the compiler's stack (bpf/arch/arm64.bpf.h) is below all of it. Functions that they call have stacks of
# their own.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
slot=$(sed -n 's/^#define ARCH_FRAME_SLOT //p' bpf/arch/arm64.bpf.h)

# Each program of the object for arm64 that keeps something, and the deepest other place on its stack.
places() {
	"${CLANG:-clang}" -target bpf -mcpu=v3 -O2 -g -D__TARGET_ARCH_arm64 -Iinclude -isystem vmlinux -c bpf/netfgraph.bpf.c -o "$dir/o" &&
		llvm-objdump -d --no-show-raw-insn "$dir/o" | awk -v slot="$slot" '
			function over() {
				if (keeps)
					print name, deepest + 0
				keeps = deepest = 0
			}
			/^Disassembly of section / { is_called = $4 == ".text:" }
			is_called { next }
			/^[0-9a-f]+ <.*>:$/ && $2 !~ /^<LBB/ { over(); name = $2 }
			match($0, /\(r10 - [0-9]+\)/) || match($0, /r[0-9] \+= -[0-9]+$/) {
				at = substr($0, RSTART, RLENGTH)
				gsub(/r10|r[0-9] \+= |[^0-9]/, "", at)
				if (at == slot)
					keeps = 1
				else if (at + 0 > deepest)
					deepest = at + 0
			}
			END { over() }'
}

places >"$dir/places" || exit 1
if [ "$(wc -l <"$dir/places")" -ge 10 ] && deep=$(awk -v slot="$slot" '$2 > slot - 8' "$dir/places") && [ -z "$deep" ]; then
	echo "1 passed, 0 failed, 0 skipped"
else
	echo "FAIL $(wc -l <"$dir/places") programs keep something at $slot; the stack is deeper in: $deep"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
