#!/bin/bash
# A newer clang than the distribution's default builds the BPF side: for each architecture without a warning, and into
# about as many instructions.
set -u
cd "$(dirname "$0")/../.." || exit 1
new=clang-19
default=${CLANG:-clang}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
if ! command -v $new >/dev/null; then
	echo "skip $new is not installed"
	echo '0 passed, 0 failed, 2 skipped'
	exit 0
fi

# insns CLANG ARCH: how many instructions the programs have.
insns() {
	local source
	for source in bpf/*.bpf.c; do
		"$1" -target bpf -mcpu=v3 -O2 -g -D__TARGET_ARCH_"$2" -Wall -Wextra -Werror -Iinclude -isystem vmlinux \
			-c "$source" -o "$dir/${source##*/}.o" >"$dir/log" 2>&1 && [ ! -s "$dir/log" ] || return 1
	done
	llvm-objdump -d --no-show-raw-insn "$dir"/*.o | grep -cE '^ +[0-9a-f]+:'
}

if [ "$("$default" --version | head -n 1)" = "$($new --version | head -n 1)" ]; then
	echo "skip $default is $new"
	echo '0 passed, 0 failed, 2 skipped'
	exit 0
fi

passed=0 failed=0
for arch in x86 arm64; do
	was='' now='' builder=$default
	was=$(insns "$default" $arch) && builder=$new && now=$(insns $new $arch)
	if [ -z "$now" ]; then
		echo "FAIL $builder does not build the BPF side for $arch"
		head -n 20 "$dir/log"
		failed=$((failed + 1))
	elif [ "$now" -gt $((was * 105 / 100)) ]; then
		echo "FAIL $new makes $now instructions for $arch, $default $was"
		failed=$((failed + 1))
	else
		echo "$arch: $was instructions by $default, $now by $new"
		passed=$((passed + 1))
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
