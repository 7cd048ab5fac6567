# What became of each function that a trace of tests/golden/seeds names: "TRACE|VERDICT|OLD NAME|TODAY'S NAME|DETAIL" a line, and
# how many there are of each verdict, appended to a file.
#
#	mawk -v seed=TRACE -v totals=FILE -v captures=N -f seedverdict.awk seednames.txt exists reasons theirs ours calls
#
# exists	the functions of this kernel, by their names today: "NAME"; "NAME -" if function_graph cannot trace it
# reasons	"NAME: chosen", or why netfgraph cannot take it
# theirs	"COUNT CALLER NAME": in how many of N captures of function_graph NAME ran below CALLER; "-" stands for any
# ours		"CALLER NAME": the same, of netfgraph
# calls		what seedcalls.awk prints
#
# A function is to be shown below the nearest of its callers in the trace below which it ran in all captures of
# function_graph, and which can be shown. It has that caller in each place of the trace; where it stands in several, as locks do,
# chance decides which of them are there twice, and one is enough.

function verdict(what, old, now, detail)
{
	cnt[what]++
	print seed "|" what "|" old "|" now "|" detail
}

# Of what a name stands for today: the first that ran; or else the first that exists; or else nothing.
function today(old,    names, n, i)
{
	if (old in known)
		return known[old]
	n = split(old " " renamed[old], names, " ")
	for (i = 1; i <= n; i++)
		if (("- " names[i]) in theirs)
			return known[old] = names[i]
	for (i = 1; i <= n; i++)
		if (names[i] in exists)
			return known[old] = names[i]
	return known[old] = ""
}

# The nearest caller in that list below which the function ran in so many captures; "" if there is none.
function caller_of(now, chain, least,    callers, n, i, name)
{
	n = split(chain, callers, " ")
	for (i = 1; i <= n; i++) {
		name = today(callers[i])
		if (name != "" && name != now && why[name] == "chosen" && theirs[name " " now] >= least)
			return name
	}
	return n == 0 && theirs["- " now] >= least ? "-" : ""
}

# One that ran and can be taken: looks for it below each caller that the trace has for it.
function look(old, now,    i, caller, below, absent, chance)
{
	for (i = 1; i <= chains[old]; i++) {
		caller = caller_of(now, chain[old, i], captures)
		if (caller == "") {
			caller = caller_of(now, chain[old, i], 1)
			if (caller != "" && !((caller " " now) in ours)) {
				chance = caller
				continue
			}
		}
		if (caller == "")
			continue
		if ((caller " " now) in ours)
			below = caller
		else
			absent = absent " " caller
	}
	if (below != "")
		verdict("shown", old, now, (below == "-" ? "" : "below " below) (absent == "" ? "" : ", not" absent))
	else if (absent != "")
		verdict("MISSING", old, now, "not shown below" absent)
	else if (chance != "")
		verdict("now and then", old, now, "ran in only some captures of function_graph")
	else
		verdict("elsewhere", old, now, "ran below none of the callers that the trace names")
}

FNR == 1 { file++ }
/^#/ || NF == 0 { next }
file == 1 { old = $1; sub(/^[^ ]* /, ""); renamed[old] = $0 }
file == 2 { exists[$1]; if ($2 == "-") hidden[$1] }
file == 3 { name = $1; sub(/:$/, "", name); sub(/^[^:]*: /, ""); if (why[name] != "chosen") why[name] = $0 }
file == 4 { theirs[$2 " " $3] = $1 }
file == 5 { ours[$0] }
file == 6 {
	old = $1
	if (!chains[old])
		order[++named] = old
	sub(/^[^ ]* ?/, "")
	chain[old, ++chains[old]] = $0
}

END {
	for (k = 1; k <= named; k++) {
		old = order[k]
		now = today(old)
		if (now == "")
			verdict("does not exist", old, "-", "removed, renamed or inlined")
		else if (("- " now) in theirs && why[now] == "chosen")
			look(old, now)
		else if (("- " now) in theirs)
			verdict("cannot be taken", old, now, why[now] == "" ? "not listed" : why[now])
		else if (now in hidden)
			verdict("hidden", old, now, "function_graph cannot trace it")
		else
			verdict("did not run", old, now, "")
	}
	absent = cnt["does not exist"] + 0
	idle = cnt["did not run"] + cnt["hidden"]
	printf "%s: %d named, %d exist, %d ran, %d shown, %d cannot be taken, %d ran elsewhere, %d now and then, %d missing\n", seed,
		named, named - absent, named - absent - idle, cnt["shown"], cnt["cannot be taken"], cnt["elsewhere"],
		cnt["now and then"], cnt["MISSING"] >>totals
}
