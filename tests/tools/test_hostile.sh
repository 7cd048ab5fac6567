#!/bin/bash
# Names that somebody chose to harm who reads a trace; see hostile.py.
set -u
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
	echo 'SKIP hostile names: python3 is not installed'
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
fi
exec python3 tests/tools/hostile.py "${PROGRAM:-./netfgraph}" tests/golden
