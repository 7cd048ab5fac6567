#!/bin/bash
# Files that ask more of a reader than their size lets expect: time, memory and output stay in proportion.
set -u
cd "$(dirname "$0")/../.." || exit 1
exec tests/tools/shapecheck.py "${PROGRAM:-./netfgraph}" braces comments cpus deep.txt funcs held longname \
	losses.txt nest.txt orphans.txt renames short tasks tracecmd
