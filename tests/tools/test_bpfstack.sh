#!/bin/bash
# What arm64's programs keep below the compiler's stack (bpf/arch/arm64.bpf.h) is below all of it.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
slot=$(sed -n 's/^#define ARCH_FRAME_SLOT //p' bpf/arch/arm64.bpf.h)

# The places on stacks that the object for arm64 uses, without the kept one.
places() {
	"${CLANG:-clang}" -target bpf -mcpu=v3 -O2 -g -D__TARGET_ARCH_arm64 -Iinclude -isystem vmlinux "$@" \
		-c bpf/netfgraph.bpf.c -o "$dir/o" && llvm-objdump -d --no-show-raw-insn "$dir/o" |
		sed -nE 's/.*r10 (-|\+ -0x) ?([0-9]+).*/\2/p; s/^.*r[0-9] \+= -([0-9]+)$/\1/p' | grep -vx "$slot" | sort -n | tail -n 1
}

deepest=$(places) || exit 1
if [ -n "$deepest" ] && [ -n "$slot" ] && [ "$deepest" -le $((slot - 8)) ]; then
	echo "1 passed, 0 failed, 0 skipped"
else
	echo "FAIL the compiler's stack reaches down to $deepest, where $slot is kept"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
