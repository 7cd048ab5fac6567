# The calls of a trace of tests/golden/seeds, by the indentation of their rows: "NAME CALLER CALLER...", the nearest caller first.
# What the compiler adds to a name (.isra.0) is left out.

function call(depth, name,    line, d)
{
	sub(/[.].*/, "", name)
	line = name
	for (d = depth - 1; d >= 0; d--)
		if (stack[d] != "")
			line = line " " stack[d]
	if (!seen[line]++)
		print line
	stack[depth] = name
	for (d = depth + 1; d < 64; d++)
		stack[d] = ""
}

/^ *[0-9]+\) .*\|  .*(\(\) \{|\);)/ || /^ +\|  .*\(\) \{$/ {
	row = substr($0, index($0, "|") + 3)
	match(row, /^ */)
	depth = int(RLENGTH / 2)
	sub(/^ */, "", row)
	sub(/[ (].*/, "", row)
	if (bare != "")
		call(depth - 1, bare)
	bare = ""
	call(depth, row)
	next
}

# a call whose columns are missing stands above the first row below it
/^ *[A-Za-z_0-9]+\(\) \{$/ {
	bare = $1
	sub(/\(.*/, "", bare)
}
