# shellcheck shell=bash disable=SC2154
# Recordings and tables on the command line; tests/cli/run reads this.

# ---- tables as data ----
usage_error 'a table is no flame graph' 'tables have --format text, json, csv or openmetrics' profile --input x --format folded
usage_error 'calls are no table' '--format csv is for tables: profile, latency, list, check, info and diff' report x --format csv
usage_error 'CSV has no lists' '--format csv has no place for callers and callees: --format json has' \
	profile --input x --format csv --callers
usage_error 'calls are no metrics' '--format openmetrics is for tables: profile and latency' report x --format openmetrics
usage_error 'metrics have no lists' '--format openmetrics has no place for callers and callees: --format json has' \
	latency --input x --format openmetrics --callees f
usage_error 'a directory is for metrics' '--output-dir belongs to --format openmetrics' profile --output-dir x
usage_error 'a file or a directory' '--output-dir and -o exclude each other' \
	profile --format openmetrics --output-dir x -o y
usage_error 'metrics again and again' '--format openmetrics with -i needs --output-dir DIR' \
	profile --format openmetrics -i 1s
table=tests/golden/samples/abstime-6.12.txt
check 'no directory' 1 "^netfgraph: cannot write to the directory '/nosuch': No such file or directory$" \
	profile --input "$table" --format openmetrics --output-dir /nosuch
mkdir "$dir/metrics"
check 'metrics each interval' 0 '' profile --input "$table" --format openmetrics -i 10ms --output-dir "$dir/metrics"
verify 'they are in one file' test "$(ls "$dir/metrics")" = netfgraph.prom
verify 'nothing goes to the output' test ! -s "$dir/out"
check 'metrics at the end' 0 '' profile --input "$table" --format openmetrics
verify 'the last interval has all calls' cmp -s "$dir/metrics/netfgraph.prom" "$dir/out"
check 'few series' 0 'functions share the series func=.\(other\). .--rows.$' \
	profile --input "$table" --format openmetrics --rows 2
verify 'no call is missing' test "$(sed -n 's/^netfgraph_call_duration_seconds_count.* //p' "$dir/out" |
	awk '{ n += $1 } END { print n, NR }')" = "$("$PROGRAM" profile --input "$table" 2>/dev/null |
	awk 'NR > 1 { n += $1 } END { print n, 3 }')"
check 'a table as CSV' 0 '' profile --input "$table" --format csv
verify 'its columns have names' grep -qx \
	'host,begin,end,func,module,count,total_ns,self_ns,min_ns,avg_ns,p50_ns,p99_ns,max_ns,net_total_ns,net_total_error_ns,net_self_ns,net_self_error_ns' <(head -n 1 "$dir/out")
csv_numbers=$(tail -n +2 "$dir/out" | awk -F, '{ print $6, $4 }')
verify 'it has every column in every row' test -z "$(awk -F, 'NF != 17' "$dir/out")"
check 'the same as text' 0 '' profile --input "$table"
verify 'the numbers are the same' test "$csv_numbers" = "$(tail -n +2 "$dir/out" | awk '{ print $1, $8 }')"
check 'rows are limited, too' 0 '' profile --input "$table" --format csv --rows 2
verify 'there are so many' test "$(wc -l <"$dir/out")" -eq 3
check 'a table each interval as CSV' 0 '' profile --input "$table" --format csv -i 10ms
verify 'the names of its columns stand once' test "$(grep -c ^host, "$dir/out")" -eq 1
verify 'the counts add up' test "$(awk -F, 'NR > 1 { n += $6 } END { print n }' "$dir/out")" = \
	"$(awk '{ n += $1 } END { print n }' <<<"$csv_numbers")"
if command -v python3 >/dev/null; then
	check 'a table as JSON' 0 '' profile --input "$table" --format json --callers
	verify 'JSON has the same' test "$csv_numbers" = "$(python3 -c 'import json, sys
for line in sys.stdin:
    d = json.loads(line)
    assert d["schema"] == 1 and d["host"] is None and d["begin"] is None
    assert sum(c["count"] for c in d["callers"]) == d["count"]
    print(d["count"], d["func"])' <"$dir/out")"
	check 'a histogram as JSON' 0 '' latency --input "$table" --format json '*'
	verify 'it has every call' python3 -c 'import json, sys
for line in sys.stdin:
    d = json.loads(line)
    assert sum(h["count"] for h in d["histogram"]) == d["count"] > 0 and d["table"] == "latency"
    assert d["histogram"][0]["from_ns"] <= d["min_ns"] and d["histogram"][-1]["from_ns"] <= d["max_ns"]' <"$dir/out"
fi
check 'a table of a recording as JSON' 0 '' profile --input tests/fuzz/corpus/recording/made-0.rec --format json
verify 'it knows the host' grep -q '"host":"web1","begin":"2001-09-09T' "$dir/out"
check 'a host of another name' 0 '' profile --input tests/fuzz/corpus/recording/made-0.rec --format json --host node-7
verify 'it has that name' grep -q '"host":"node-7","begin":"2001-09-09T' "$dir/out"
check 'calls of that host' 0 '' report tests/fuzz/corpus/recording/made-0.rec --format json --host node-7
verify 'each line has the name' test "$(grep -c '"host":"node-7"' "$dir/out")" = "$(wc -l <"$dir/out")"
check 'calls of a text' 0 '' report "$table" --format json --host node-7
verify 'its host has a name, too' grep -q '"host":"node-7"' "$dir/out"
"$PROGRAM" check --format json --host node-7 >"$dir/out"
verify 'what this host can do has that name' test "$(grep -c '"host":"node-7"' "$dir/out")" = "$(wc -l <"$dir/out")"
usage_error 'a host has a name' "--host: '' is empty" record --host '' -o x
usage_error 'a host has a short name' "--host: 'x*' is longer than 127 bytes" record --host "$(printf 'x%.0s' {1..128})" -o x
for format in json html otlp; do
	check "a long name of a host in $format" 0 '' report "$table" --format "$format" --host "$(printf 'x%.0s' {1..127})"
	verify "$format has all of it" python3 -c 'import base64, gzip, re, sys
out = sys.stdin.read()
packed = re.search("<script id=\"trace\"[^>]*>([^<]*)", out)
out = gzip.decompress(base64.b64decode(packed[1])).decode("latin-1") if packed else out
assert "x" * 127 in out' <"$dir/out"
done
usage_error 'info says what is there' '--host belongs to:' info --host x tests/fuzz/corpus/recording/made-0.rec

# ---- info ----
recordings=tests/fuzz/corpus/recording
usage_error 'info of nothing' 'info needs a FILE' info
usage_error 'info of two files' "'y' is one file too many" info x y
usage_error 'info has two orders' 'info sorts by count or name' info --sort self x
usage_error 'info selects nothing' '-T \(--trace-funcs\) belongs to' info -T x y
check 'info' 0 '^$' info "$recordings/made-0.rec"
verify 'info has the options' grep -qx \
	'options     netfgraph record -o web.rec -G tcp_v4_connect --graph-opts args,retval' "$dir/out"
verify 'info counts what tracepoints saw apart' grep -qxE 'events +486: 243 calls and 243 returns of 4 tasks; 79 hits of 1 tracepoint' \
	<("$PROGRAM" info tests/golden/keys/drops-7.2.rec 2>/dev/null)
verify 'info has the host' grep -qx 'host        web1, Linux 6.1.0, x86_64, 2 CPUs' "$dir/out"
verify 'info has the time' grep -qx 'begin       2001-09-09T01:46:40.000000Z' "$dir/out"
verify 'info has the values' grep -qx 'values      args, retval' "$dir/out"
verify 'info has the functions' grep -qx ' *1  tcp_v4_rcv' "$dir/out"
check 'info of an older recording' 0 '^$' info "$recordings/left-0.rec" --rows 2 --sort name
verify 'what it lacks is said' test "$(grep -c 'not recorded' "$dir/out")" -eq 4
verify 'what was left out is said' grep -qx 'left out    1 function: --max-events' "$dir/out"
verify 'the table has so many rows' test "$(sed -n '/FUNCTION/,$p' "$dir/out" | tr -s ' ' | tr '\n' ';')" = \
	' CALLS FUNCTION; 1 ip_rcv; 1 sock_sendmsg; and 2 more (--rows 4);'
check 'info as JSON' 0 '^$' info --json "$recordings/made-0.rec"
if command -v python3 >/dev/null; then
	verify 'JSON is JSON' python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["host"] == "web1" and d["values"] == ["args", "retval"] and d["calls"] == 1 and d["closed"] is True
assert [f["func"] for f in d["functions"] if f["calls"]] == ["tcp_v4_rcv"]' "$dir/out"
fi
usage_error 'facts are no trace' 'list, check, info and diff have --format text, json or csv' info x --format html
usage_error 'one form at a time' '--json and --format exclude each other' check --json --format csv
check 'info as a record' 0 '^$' info --format json "$recordings/made-0.rec"
verify 'it is what --json prints' cmp -s "$dir/out" <("$PROGRAM" info --json "$recordings/made-0.rec")
# rows TABLE COLUMN...: what a table prints as JSON and CSV has the same rows, with these columns; null is empty
rows()
{
	python3 - "$dir/json" "$dir/csv" "$@" <<-'END'
		import csv, json, sys
		json_path, csv_path, table, *columns = sys.argv[1:]
		objects = [json.loads(line) for line in open(json_path)]
		lines = list(csv.DictReader(open(csv_path)))
		as_csv = lambda v: "" if v is None else str(v).lower() if isinstance(v, bool) else " ".join(v) if isinstance(v, list) else str(v)
		assert objects and len(objects) == len(lines), (len(objects), len(lines))
		for row, line in zip(objects, lines):
		    assert (row["table"], row["schema"]) == (table, 1) and set(columns) <= set(line), line
		    for name in set(line) & set(row) - {"start_us"}: # which is measured
		        assert as_csv(row[name]) == line[name], (name, row[name], line[name])
	END
}
can_list=no
"$PROGRAM" list -T tcp_v4_rcv >"$dir/list" 2>/dev/null && can_list=yes # the kernel has types, and we may see them
while read -r table columns words; do
	case $table in list | plan | events) [ $can_list = yes ] || continue ;; esac
	# shellcheck disable=SC2086
	"$PROGRAM" ${words//REC/$recordings} --format json >"$dir/json" 2>/dev/null
	# shellcheck disable=SC2086
	"$PROGRAM" ${words//REC/$recordings} --format csv >"$dir/csv" 2>/dev/null
	command -v python3 >/dev/null || continue
	# shellcheck disable=SC2086
	verify "the table $table as JSON and CSV" rows "$table" ${columns//,/ }
done <<'END'
check host,feature,available,needed,reason check
list host,func,module,chosen,reason list -v -T tcp_v4_rcv -T tcp_v4_connect -N tcp_v4_connect
list host,func,module,chosen,reason list --preset tcp-connect
plan host,functions,module_functions,program_functions,attach,start_us,attach_us,detach_us,detach_waits,cpus,cpu_buffer_bytes,program_bytes,self_bytes,thread_bytes,datagram_calls,others_kept_pct,held_up list --plan -T tcp_v4_rcv
presets preset,description,starts list --presets
events host,system,event,fields list -e skb:kfree_skb -e irq:*
info file,host,begin,values,lost_ring_full,calls info REC/made-0.rec
diff func,module,count_a,count_b,p99_ns_b,traced_a diff REC/left-0.rec REC/made-0.rec
stages_diff file_a,lacks_events_b,stage,packets_a,p50_ns_b,max_ns_b diff --by stage tests/golden/stages/tcp-7.2.rec tests/golden/stages/udp-7.2.rec
profile_by_reason host,begin,end,reason,place,func,module,count,total_ns,avg_ns,p50_ns,p99_ns,max_ns,bytes,net_total_ns,net_total_error_ns profile --by reason --input tests/golden/keys/drops-7.2.rec
profile_by_flow flow,func,count,bytes profile --by flow --input tests/golden/keys/drops-7.2.rec
profile_by_device device,func,count,bytes profile --by device --input tests/golden/keys/drops-7.2.rec
profile_by_caller caller,func,count,bytes profile --by caller --input tests/golden/keys/drops-7.2.rec
profile_by_container container,cgroup,func,count,bytes profile --by container --input tests/golden/keys/drops-7.2.rec
profile_by_reason_flow reason,place,flow,func,count,bytes profile --by reason,flow --input tests/golden/keys/drops-7.2.rec
profile_by_skb_len skb.len,func,count,bytes profile --by skb.len --input tests/golden/keys/drops-7.2.rec
profile_by_program program,func,count,bytes profile --by program --input tests/golden/keys/drops-7.2.rec
stages host,stage,packets,p50_ns,p90_ns,p99_ns,max_ns,first_seen,last_seen,not_told_apart latency --by stage --input tests/golden/stages/tcp-7.2.rec
END
if [ $can_list = yes ] && command -v jq >/dev/null; then
	"$PROGRAM" list -v -T tcp_v4_rcv -T tcp_v4_connect -N tcp_v4_connect --format json >"$dir/json" 2>/dev/null
	verify 'what is chosen is in the list' test "$(jq -r 'select(.chosen) | .func' "$dir/json")" = tcp_v4_rcv
	verify 'what is not has a reason' jq -se 'map(select(.func == "tcp_v4_connect")) | length == 1 and (.[0].reason | length) > 0' "$dir/json" >/dev/null
	verify 'a plan has as many functions' test "$("$PROGRAM" list --plan -T tcp_v4_rcv --format json 2>/dev/null | jq .functions)" = 1
fi
check 'info of what is not closed' 0 '^$' info "$dir/open.rec"
verify 'it is said' grep -q 'not closed: its writer was killed, or still writes$' "$dir/out"
check 'strict info of what is not closed' 4 '^$' info --strict "$dir/open.rec"
check 'info of a damaged recording' 1 ': damaged at byte ' info "$dir/damaged.rec"
verify 'what comes before the damage is shown' grep -q '^functions ' "$dir/out"
check 'info of a text' 1 'this is not a recording' info "$text"
verify 'info names what reads a text' grep -qx "hint: 'netfgraph report FILE' and 'netfgraph diff A B' read texts of function_graph" "$dir/err"
verify 'a text gives no info' test ! -s "$dir/out"
for way in pipe file; do
	{ [ "$way" = pipe ] && cat "$text" | "$PROGRAM" info - || "$PROGRAM" info - <"$text"; } >"$dir/out" 2>"$dir/err"
	verify "a text in a $way has a hint" grep -qx "hint: 'netfgraph report FILE' and 'netfgraph diff A B' read texts of function_graph" "$dir/err"
done

# ---- callers and callees ----
usage_error 'callers of nothing' "--callers: '' is empty" profile --callers=
usage_error 'a report has no table' '--callees belongs to: profile, latency' report --callees x
usage_error 'a mistyped key' "--sort: 'p90' is not one of .*; did you mean p50 or p99\\?" latency f --sort p90
table=tests/golden/samples/abstime-6.12.txt
for words in report 'profile --input' "diff $recordings/left-1.rec"; do
	# shellcheck disable=SC2086
	check "$words of errors without results" 3 "^netfgraph: '.*' has no values, which --errors-only needs\$" \
		$words "$recordings/left-0.rec" --errors-only
done
check 'callers of a function' 0 '^$' profile --input "$table" --callers=csum_partial
verify 'the table is of that function' test "$(sed 1d "$dir/out" | awk '{ print $1, $NF }' | tr '\n' ';')" = \
	'1 csum_partial;1 __skb_checksum;'
check 'callees of functions' 0 '^$' profile --input "$table" '--callees=__skb_*' --sort name
verify 'what they call is below' test "$(sed 1d "$dir/out" | awk '{ print $1, $NF }' | tr '\n' ';')" = \
	'1 __skb_checksum;1 csum_partial;1 __skb_checksum_complete;1 __skb_checksum;'
check 'callers of a histogram' 0 '^$' latency --input "$table" csum_partial -T '__skb_*' --callers
verify 'they are below it' grep -qx ' *1  *3[.]798  <- __skb_checksum' "$dir/out"
check 'callers of what is not called' 3 "^netfgraph: '.*': no call of 'nosuch' returned$" \
	profile --input "$text" --callers=nosuch
verify 'there is no table' test ! -s "$dir/out"
check 'callers of what is called, callees of what is not' 0 "^netfgraph: '.*': no call of 'nosuch' returned$" \
	profile --input "$table" --callers=csum_partial --callees=nosuch
verify 'there is a table' grep -q csum_partial "$dir/out"

# ---- a table each interval ----
usage_error 'a report has no intervals' '-i \(--interval\) belongs to: profile, latency' report -i 1s x
usage_error 'an interval is not too short' '--interval must be at least 10ms' profile -i 9ms
usage_error 'an interval has a unit' "--interval: '1' has no unit" profile -i 1
printf '# tracer: function_graph\n#\n%s\n%s\n' '#     TIME        CPU  DURATION                  FUNCTION CALLS' \
	'#      |          |     |   |                     |   |   |   |' >"$dir/times"
while read -r at took name; do
	printf '   %s |   0)   %s us    |  %s();\n' "$at" "$took" "$name"
done >>"$dir/times" <<'END'
10.000000 1.000 f
10.999999 3.000 f
11.000000 2.000 g
15.100000 5.000 f
END
check 'intervals of a file' 0 '^$' profile --input "$dir/times" -i 1s
verify 'each call is in its interval' test "$(awk '!/FUNCTION/ { print /^#/ ? $0 : $1 " " $2 " " $NF }' "$dir/out" | tr '\n' ';')" = \
	'# 10.000000 s, 1.000000 s;2 4.000 f;  ;# 11.000000 s, 1.000000 s;1 2.000 g;  ;# 12.000000 s, 3.000000 s: no calls;  ;# 15.000000 s, 0.100000 s;1 5.000 f;'
# the kernel's files of two CPUs, one after the other: times go back at the second one
{
	cat "$dir/times"
	sed -n 's/   0)   \(.*\)  f();/   1)   \1  h();/p' "$dir/times"
} >"$dir/joined"
printf '   14.999500 |   0)   1.000 us    |  k();\n' >>"$dir/joined"
check 'intervals of files joined one after the other' 0 \
	"^netfgraph: '$dir/joined': times go back at 1 row, where intervals begin anew: some have the same times\$" \
	profile --input "$dir/joined" -i 1s
verify 'each call is in an interval that has its time' test "$(awk '!/FUNCTION/ { print /^#/ ? $0 : $1 " " $2 " " $NF }' "$dir/out" | tr '\n' ';')" = \
	'# 10.000000 s, 1.000000 s;2 4.000 f;  ;# 11.000000 s, 1.000000 s;1 2.000 g;  ;# 12.000000 s, 3.000000 s: no calls;  ;# 15.000000 s, 0.100000 s;1 5.000 f;  ;# 10.000000 s, 1.000000 s;2 4.000 h;  ;# 11.000000 s, 4.000000 s: no calls;  ;# 15.000000 s, 0.100000 s;1 5.000 h;1 1.000 k;'
verify 'one hint says what that is' test "$(grep -c '^hint: files of single CPUs' "$dir/err")" -eq 1
check 'rows of histograms' 0 '^$' latency --input "$dir/times" f g --sort total --rows 1
verify 'there are no more' test "$(grep -c ': [0-9]* calls*, min ' "$dir/out")" -eq 1
check 'rows of histograms of two globs' 0 '^$' latency --input "$dir/times" f '*' --rows 2
verify 'the second has the rest' test "$(grep -c ': [0-9]* calls*, min ' "$dir/out")" -eq 2
check 'rows of histograms of one glob' 0 '^$' latency --input "$dir/times" '*' --sort total --rows 1
verify 'the first is the largest' grep -q '^f: 3 calls, min ' "$dir/out"
check 'rows of histograms as CSV' 0 '^$' latency --input "$dir/times" '*' --rows 1 --format csv
verify 'they are one' test "$(wc -l <"$dir/out")" -eq 2
check 'functions of latency by -T' 0 '^$' latency --input "$dir/times" -T f
verify 'as if they were its words' cmp -s "$dir/out" <("$PROGRAM" latency --input "$dir/times" f)
check 'one call' 0 '^$' latency --input "$dir/times" g
verify 'is no calls' grep -q '^g: 1 call, min ' "$dir/out"
check 'intervals of histograms' 0 '^$' latency --input "$dir/times" -i 1s f
verify 'a histogram each' test "$(grep -c '^f: ' "$dir/out") $(grep -c '^# ' "$dir/out") $(grep -c ': no calls$' "$dir/out")" = '2 4 2'
check 'histograms of a recording' 0 '^$' latency ip_rcv udp_sendmsg --input tests/golden/keys/drops-7.2.rec
verify 'have net durations' test "$(grep -c ', net avg [0-9.]*+-[0-9.]* us; in ns:' "$dir/out")" -eq 2
check 'and of a part of it' 0 '^$' latency ip_rcv -T udp_sendmsg --input tests/golden/keys/drops-7.2.rec
verify 'they are not known' test "$(grep -c 'net avg' "$dir/out")" -eq 0
check 'intervals of a recording' 0 '^$' profile --input "$recordings/made-0.rec" -i 1s
verify 'a recording knows the date' grep -qx '# 2001-09-09T01:46:41.000000Z, 0.000000 s' "$dir/out"
echo old >"$dir/old"
check 'intervals without times' 1 "^netfgraph: -i needs times, and the rows of '.*' have none$" \
	profile --input tests/golden/samples/default-6.12.txt -i 1s -o "$dir/old"
verify 'without times the file stays' grep -qx old "$dir/old"

# ---- diff ----
usage_error 'diff of one file' 'diff needs two FILEs' diff x
usage_error 'diff of three files' "'z' is one file too many" diff x y z
usage_error 'standard input is read once' 'diff can read only one FILE from standard input' diff - -
usage_error 'diff has no such unit' "--per: 'call' is not one of auto, all or second" diff --per call x y
usage_error 'diff does not trace' '--pid works only while tracing' diff -p 1 x y
grep -v ' g()' "$dir/times" | sed 's/5.000 us/9.000 us/' >"$dir/times2"
check 'diff of texts' 0 '^$' diff "$dir/times" "$dir/times2"
verify 'functions are compared' test "$(sed -n '/FUNCTION/,/^$/p' "$dir/out" | sed 1d | awk 'NF { print $1, $2, $4, $5, $NF }' | tr '\n' ';')" = \
	'3 3 9.000 13.000 f;1 0 2.000 0.000 (gone);'
verify 'calls that are gone are named' grep -qx ' *1  *2.000  (outermost) -> g' "$dir/out"
verify 'what is compared is said' grep -qx '# counts and totals in all, sorted by change of total' "$dir/out"
for key in self avg max; do
	check "diff by $key" 0 '^$' diff --sort "$key" "$dir/times" "$dir/times2"
	verify "the order of $key is said" grep -qx "# counts and totals in all, sorted by change of $key" "$dir/out"
	verify "$key has a column" grep -qE " ${key^^} us A +${key^^} us B   CHANGE  FUNCTION$" "$dir/out"
done
verify 'the largest call is compared' grep -qE ' 5[.]000 +9[.]000 +[+]80[.]0%  f$' "$dir/out"
verify 'one call is no calls' grep -q ', 1 call$' <("$PROGRAM" diff "$dir/times" "$recordings/made-0.rec" 2>/dev/null)
sed 's/15[.]1/18.1/' "$dir/times" >"$dir/times2"
check 'diff of files that differ in length' 0 '^$' diff "$dir/times" "$dir/times2"
verify 'is one of a second' grep -q '^# counts and totals per second' "$dir/out"
check 'diff of texts without times' 0 '^$' diff "$unfiltered" tests/golden/samples/default-6.12.txt
verify 'is one of all' grep -q '^# counts and totals in all' "$dir/out"
check 'a second of texts without times' 2 "^netfgraph: --per second: the length of '" \
	diff --per second "$unfiltered" tests/golden/samples/default-6.12.txt -o "$dir/undone"
verify 'it leaves no file' test ! -e "$dir/undone"
check 'diff of recordings' 0 '' diff "$recordings/left-0.rec" "$recordings/made-0.rec" --json -o "$dir/diff"
if command -v python3 >/dev/null; then
	verify 'diff is JSON' python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["a"]["lacks_events"] and not d["b"]["lacks_events"] and d["a"]["length_ns"] == 2000000000
assert {f["func"]: f["count"] for f in d["functions"]}["ip_rcv"] == [1, 0]
assert len(d["gone_calls"]) == 3 and not d["new_calls"]' "$dir/diff"
fi
check 'diff of what is not closed' 4 'was not closed' diff --strict "$dir/open.rec" "$dir/rec"
verify 'that is said in the table' grep -q '^# A: .*; it lacks events, so its numbers are too low$' "$dir/out"
check 'diff of a damaged recording' 1 ': damaged at byte ' diff "$dir/damaged.rec" "$dir/rec" -o "$dir/undone"
verify 'half a comparison leaves no file' test ! -e "$dir/undone"
check 'diff of nothing' 1 "^netfgraph: cannot read '$dir/nosuch': No such file" diff "$dir/rec" "$dir/nosuch"
overwrite 'diff onto its first file' "$dir/text" diff "$dir/text" "$dir/times"
overwrite 'diff onto its second file' "$dir/text" diff "$dir/times" "$dir/text"
usage_error 'a text is not filtered' '--filter needs a recording' diff --filter 'retval < 0' "$dir/times" "$dir/rec"

# ---- stages of packets ----
for name in udp tcp; do
	stages=tests/golden/stages/$name-7.2
	check "stages of $name" 0 '^$' latency --by stage --input "$stages.rec"
	verify "stages of $name are as they were" cmp "$stages.txt" "$dir/out"
	check "stages of $name as text" 0 '' report "$stages.rec" --graph-opts abstime,proc -o "$dir/stages.ftrace"
	check "stages of $name from text" 0 '^$' latency --by stage --input "$dir/stages.ftrace"
	verify "text has the same packets" diff <(awk '!/us/ { print $1, $NF }' "$stages.txt") <(awk '!/us/ { print $1, $NF }' "$dir/out")
	check "stages of $name as JSON" 0 '^$' latency --by stage --format json --input "$stages.rec"
	verify "it has the same packets" diff \
		<(awk 'NR > 1 { if (!NF) exit; print $6, $1 }' "$stages.txt") \
		<(jq -r 'select(.stage and .last_seen == null) | "\(.stage) \(.packets)"' "$dir/out")
	verify "they have the host" test "$(jq -r .host "$dir/out" | sort -u)" = "$("$PROGRAM" info --json "$stages.rec" | jq -r .host)"
	# which tracks there are, the clock, and which calls a packet's arrows go through
	check "tracks of $name" 0 '^$' report "$stages.rec" --format perfetto -o "$dir/perfetto"
	! command -v python3 >/dev/null || verify "tracks of $name are as they were" cmp "$stages.tracks" \
		<(python3 tests/readers/perfetto.py tracks "$dir/perfetto" | grep -v '^  ')
done
# a packet's number is at the first call of each tree with it, and arrows join these
cat >"$dir/numbers" <<END
# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
    1.000001 |   0)     cli-7      |               |  ip_send_skb(pkt=7) {
    1.000002 |   0)     cli-7      |   1.000 us    |    ip_output(skb=0xffff888004588ce8);
    1.000004 |   0)     cli-7      |   3.000 us    |  }
    1.000005 |   1)     srv-9      |   1.000 us    |  ip_rcv(skb=0xffff888004588ce8, pkt=8);
    1.000007 |   1)     srv-9      |   1.000 us    |  ip_rcv(skb=0xffff888004588ce8, pkt=7);
    1.000008 |   0)     cli-7      |   1.000 us    |  nft_do_chain(pkt=0xffffc90000003a10);
    1.000009 |   1)     srv-9      |   1.000 us    |  nft_do_chain(pkt=0xffffc90000003a10);
END
check 'numbers of packets' 0 '^$' report "$dir/numbers" --format perfetto -o "$dir/perfetto"
! command -v python3 >/dev/null || verify 'arrows join their calls' diff <(echo 'flow: ip_send_skb [threads of unknown processes/cli 7] -> ip_rcv [CPU 1/softirq, CPU 1]') \
	<(python3 tests/readers/perfetto.py tracks "$dir/perfetto" | grep '^flow: .* -> ')
# what two files differ in, stage by stage: the same figures as the table of each
tcp=tests/golden/stages/tcp-7.2.rec udp=tests/golden/stages/udp-7.2.rec
check 'diff by stage' 0 '^$' diff --by stage "$tcp" "$udp"
stage_figures() { # stage_figures FILE: stage, packets, P50, P99 of each row
	"$PROGRAM" latency --by stage --input "$1" | awk 'NR > 1 { if (!NF) exit; print $6, $1, $2, $4 }'
}
verify 'each side has its figures' diff <(awk '/^ *[0-9]/ { print $10, $1, $4, $7; print $10, $2, $5, $8 }' "$dir/out" | grep -vx 'application 0 - -' | sort) \
	<({ stage_figures "$tcp"; stage_figures "$udp"; } | sort)
verify 'the change is in percent' grep -qE '^ +8 +5 +-37\.5% .* \+53\.0%  socket$' "$dir/out"
verify 'both files are named' test "$(sed -n 's/^# \([AB]\): .*-7.2.rec, [0-9.]* s, \([0-9]*\) packets$/\1\2/p' "$dir/out" | tr '\n' ' ')" = 'A20 B5 '
check 'diff by stage as CSV' 0 '^$' diff --by stage "$tcp" "$udp" --format csv
verify 'CSV has the stages of both' test "$(cut -d, -f7-9 "$dir/out" | tr '\n' ' ')" = \
	'stage,packets_a,packets_b socket,8,5 qdisc,20,5 driver,20,5 softirq,20,5 protocol,6,5 wake-up,6,5 total,6,5 application,2,0 '
check 'diff by stage as JSON' 0 '^$' diff --by stage "$tcp" "$udp" --json
verify 'JSON has the same' test "$(jq -c '[.a.packets, .b.packets, .stages[0].packets, .stages[6].p50_ns]' "$dir/out")" = \
	'[20,5,[8,5],[3899391,50855935]]'
check 'diff by stage without packets' 0 "^netfgraph: '$dir/times': no traced call had a packet as an argument\$" \
	diff --by stage "$dir/times" "$udp"
verify 'what is not known is a dash' grep -qE '^ +0 +5 +- +- +97\.279 +- +- +5034\.620 +-  socket$' "$dir/out"
check 'diff by stage without any packet' 3 "^netfgraph: '$dir/times': no traced call had a packet as an argument\$" \
	diff --by stage "$dir/times" "$dir/times"
verify 'prints no table' test ! -s "$dir/out"
usage_error 'stages are not divided by time' '--by stage counts the packets of the whole files: no --per' diff --by stage --per second x y
usage_error 'stages are not sorted' '--by stage has one table, in the order of the stages' diff --by stage --sort p99 x y
usage_error 'a histogram has no members' 'latency takes --show only with --by stage, as --show stamps' latency ip_rcv --show stamps
usage_error 'nor have stages' '--by stage shows no members: of --show it takes the word stamps alone' latency --by stage --show stamps,skb.len
for part in '--slower-than 1ms' --errors-only '--filter retval<0'; do
	# shellcheck disable=SC2086
	usage_error "a packet is not followed through a part of its calls: $part" '--by stage follows packets from call to call: without calls that --slower-than, --errors-only or --filter leaves out' \
		latency --by stage $part
done
for part in '-C 0' '-D 3' '-g ip_rcv'; do
	# shellcheck disable=SC2086
	usage_error "nor below a depth, or on some CPUs: $part" '--by stage follows packets from call to call: without calls that -C, -D or -g leaves out' \
		latency --by stage --input x $part
done
usage_error 'stages have their functions' '--by stage takes no functions: -T \+GLOB adds some' latency --by stage tcp_sendmsg
usage_error 'and start functions' '--by stage has start functions of its own: --packet chooses packets' \
	latency --by stage -G tcp_sendmsg
usage_error 'stages are no metrics' '--by stage has --format text, json or csv' latency --by stage --format openmetrics
usage_error 'stages have one table' '--by stage has one table, in the order of the stages' latency --by stage -i 1s
usage_error 'stages have all of their rows' '--by stage has one table, .*: no -i, --sort, --rows,' latency --by stage --rows 3
usage_error 'no such row' "--by: 'packet' is not one of function or stage\$" latency --by packet
usage_error 'no such row of a profile' "--by: 'port' is not one of function, reason, flow, device, caller, container or program, nor a member such as skb.mark" profile --by port
usage_error 'nearly a row of a profile' "--by: 'reasons' is not one of function, reason, flow, .*; did you mean reason" profile --by reasons
usage_error 'functions by default' 'latency needs the names of functions' latency --by function
check 'stages need times' 1 "^netfgraph: --by stage needs times, and the rows of '.*' have none$" \
	latency --by stage --input tests/golden/samples/default-6.12.txt
check 'stages need arguments' 3 "^netfgraph: '.*': no traced call had a packet as an argument\$" \
	latency --by stage --input tests/golden/samples/mini-abstime-proc.txt
verify 'and no table is printed without any' test ! -s "$dir/out"
verify 'the command that records them' grep -qx 'hint: netfgraph record --preset stages --graph-opts args -o FILE records them' "$dir/err"
check 'stages need functions' 3 "^netfgraph: '.*' has none of the functions at which stages begin and end: tcp_sendmsg or udp_sendmsg, " \
	latency --by stage --input tests/golden/samples/abstime-proc-tail-7.2.txt
verify 'and no table is printed' test ! -s "$dir/out"

# ---- tables by what calls have ----
drops=tests/golden/keys/drops-7.2.rec
"$PROGRAM" report "$drops" >"$dir/drops"
# said PATTERN: how many lines of the recording's text match
said()
{
	grep -cE "$1" "$dir/drops"
}
# counted PATTERN: the counts of the rows that match
counted()
{
	grep -E "$1" "$dir/out" | awk '{ n += $1 } END { print n + 0 }'
}
check 'drops by reason' 0 '^$' profile --by reason --input "$drops"
cp "$dir/out" "$dir/reasons"
for reason in NO_SOCKET SOCKET_RCVBUFF IP_LOCALNET IP_CSUM PKT_TOO_SMALL; do
	calls=$(said " sk_skb_reason_drop\(.*\[SKB_DROP_REASON_$reason\]")
	verify "$reason is there" test "$calls" -gt 0
	verify "drops with $reason" test "$(counted " $reason +[a-z_0-9]+\+0x[0-9a-f]+ +sk_skb_reason_drop$")" -eq "$calls"
	verify "each has a tracepoint with $reason" test "$(said "kfree_skb: .* reason=$reason ")" -eq "$calls"
done
verify 'which does not count it once more' test "$(counted ' skb:kfree_skb$')" -eq 0
verify 'other functions have no reason' test -z "$(grep -E ' (ip_rcv|udp_sendmsg)$' "$dir/out")"
verify 'the most frequent come first' test "$(sed 1d "$dir/out" | awk '{ print $1 }')" = "$(sed 1d "$dir/out" | awk '{ print $1 }' | sort -rn)"
check 'drops of a text' 0 '' report "$drops" --graph-opts abstime,proc,args,retaddr -o "$dir/drops.ftrace"
check 'drops by reason of a text' 0 '^$' profile --by reason --input "$dir/drops.ftrace"
verify 'it has the same calls' diff <(awk '/ sk_skb_reason_drop$/ { print $1, $6, $7 }' "$dir/out" | sort) \
	<(awk '/ sk_skb_reason_drop$/ { print $1, $6, $7 }' "$dir/reasons" | sort)
check 'drops by reason and flow' 0 '' profile -v --by reason,flow --input "$drops"
verify 'a flow has its drops' grep -qE '^ +4 .* 432  NO_SOCKET +udp_rcv\+0x452 +udp 127\.0\.0\.1:41910 <> 127\.0\.0\.1:5001 +sk_skb_reason_drop$' "$dir/out"
verify 'all drops are there' test "$(counted ' (sk_skb_reason_drop|skb:kfree_skb)$')" -eq "$(awk 'NR > 1 { n += $1 } END { print n }' "$dir/reasons")"
cp "$dir/out" "$dir/pairs"
check 'keys given one by one' 0 '' profile --by reason --by flow --input "$drops"
verify 'are the same' cmp "$dir/out" "$dir/pairs"
check 'keys in the other order' 0 '' profile --by flow,reason --input "$drops"
verify 'have their columns in it' grep -qE ' FLOW +REASON +PLACE +FUNCTION$' "$dir/out"
check 'metrics by container and reason' 0 '' profile --by container,reason --input "$drops" --format openmetrics
verify 'a series has both keys' grep -qx 'netfgraph_calls{container="",cgroup="1",reason="NO_SOCKET",place="udp_rcv+0x452",func="sk_skb_reason_drop"} 7' "$dir/out"
check 'no second key' 3 "^netfgraph: '.*': no call has the device of a packet, which --by program,device counts by\$" \
	profile --by program,device --input tests/golden/stages/udp-7.2.rec
check 'calls of start functions by program' 0 '^$' profile --by program -G tcp_sendmsg --input "$tcp"
verify 'those below do not count' test "$(awk 'NR > 1 { print $NF }' "$dir/out" | sort -u)" = tcp_sendmsg
check 'and of others that are named' 0 '' profile --by program -G tcp_sendmsg -T 'tcp_sendmsg_lo*' --input "$tcp"
verify 'which count' test "$(awk 'NR > 1 { print $NF }' "$dir/out" | sort -u | tr '\n' ' ')" = 'tcp_sendmsg tcp_sendmsg_locked '
usage_error 'three keys' "--by: 'reason,flow,device' makes more than two keys, and a table has at most two" profile --by reason,flow,device
usage_error 'three keys one by one' "--by: 'device' makes more than two keys" profile --by reason --by flow --by device
usage_error 'a key twice' "--by: 'flow,flow' names the key flow a second time" profile --by flow,flow
usage_error 'functions and a key' "--by: 'flow' cannot be combined: function and stage stand alone" profile --by function --by flow
usage_error 'an unknown second key' "--by: 'reason,flwo' names 'flwo', which is not one of reason, .*; did you mean flow" profile --by reason,flwo
check 'a reason as tables have it' 0 '^$' report "$drops" --filter 'reason == NO_SOCKET' -o "$dir/short"
check 'a reason as the kernel has it' 0 '^$' report "$drops" --filter 'reason == SKB_DROP_REASON_NO_SOCKET' -o "$dir/long"
verify 'are the same' cmp "$dir/short" "$dir/long"
check 'calls by flow' 0 '^netfgraph: 79 calls and tracepoints lack the addresses of a packet or a socket, and are not counted$' \
	profile --by flow --input "$drops"
verify 'no other call lacks them' test "$(said '/\* kfree_skb: ')" -eq 79
verify 'a flow has its packets and bytes' grep -qE '^ +4 .* 512  udp 127\.0\.0\.1:41910 <> 127\.0\.0\.1:5001 +ip_rcv$' "$dir/out"
verify 'another flow has its own' grep -qE '^ +3 .* 108  udp 127\.0\.0\.1:33664 <> 127\.0\.0\.1:5002 +ip_rcv$' "$dir/out"
verify 'a socket sends what it is asked to' grep -qE '^ +4 .* 400  udp 0\.0\.0\.0:41910 <> \* +udp_sendmsg$' "$dir/out"
verify 'ICMP has no ports' grep -qE '^ +7 .* icmp 127\.0\.0\.1 <> 127\.0\.0\.1 +ip_rcv$' "$dir/out"
for func in ip_rcv udp_sendmsg sk_skb_reason_drop; do
	verify "$func is counted" test "$(counted " $func$")" -eq "$(said "\|  +$func\(")"
done
check 'calls of a function by flow' 0 '79 calls and tracepoints lack' profile --by flow --input "$drops" -T ip_rcv --sort max --rows 2
verify 'the slowest are first' test "$(awk 'NR > 1 { print $4 }' "$dir/out" | tr '\n' ' ')" = '6447.047 1731.577 '
check 'calls by a member' 0 '^netfgraph: 153 calls and tracepoints lack skb.len, and are not counted$' profile --by 'skb->len' --input "$drops"
verify 'a length has its packets' grep -qE '^ +67 .* 6164  92 +ip_rcv$' "$dir/out"
verify 'no other call lacks it' test "$(counted ' (ip_rcv|sk_skb_reason_drop)$')" -eq "$(said 'skb.len=')"
check 'the same as JSON' 0 '' profile --by skb.len --input "$drops" --format json
verify 'it has numbers' grep -qE '"table":"profile_by_skb_len",.*"skb.len":92,"func":"ip_rcv",.*"count":67,' "$dir/out"
check 'drops by a member' 0 '' profile --by reason,skb.len --input "$drops" --format csv
verify 'the columns are in order' grep -q ',reason,place,skb.len,func,' "$dir/out"
verify 'a drop has its length' grep -qE ',SOCKET_RCVBUFF,udp_queue_rcv_one_skb\+0x30e,64,sk_skb_reason_drop,,63,' "$dir/out"
check 'calls of a text by a member' 0 '' profile --by skb.len --input "$dir/drops.ftrace" --sort name
verify 'numbers are in order' test "$(awk 'NR > 1 { print $6 }' "$dir/out")" = "$(awk 'NR > 1 { print $6 }' "$dir/out" | sort -n)"
check 'metrics by a member' 0 '' profile --by skb.len --input "$drops" --format openmetrics
verify 'its label is a word' grep -qx 'netfgraph_calls{skb_len="92",func="ip_rcv"} 67' "$dir/out"
check 'a member that is near' 3 "^netfgraph: '.*': no call has skb.lne, which --by skb.lne counts by\$" profile --by skb.lne --input "$drops"
verify 'it is said' grep -qx 'hint: did you mean skb.len?' "$dir/err"
check 'a member that was not recorded' 3 "^netfgraph: '.*': no call has skb.mark, which --by skb.mark,reason counts by\$" \
	profile --by skb.mark,reason --input "$drops"
verify 'how it is recorded is said' grep -qx 'hint: record --show skb.mark keeps it' "$dir/err"
usage_error 'a member twice' "--by: 'skb.len,skb->len' names the key skb.len a second time" profile --by 'skb.len,skb->len'
usage_error 'a member and a stage' "--by: 'stage,skb.len' cannot be combined: function and stage stand alone" latency --by stage,skb.len
usage_error 'a member of a histogram' 'latency and diff have --by function or stage' latency --by skb.len
usage_error 'a member' "--by: 'mark' is not one of .* or program; did you mean skb.mark\?" profile --by mark
usage_error 'an argument' "--by: 'skb' is not one of .* or program, nor a member such as skb.mark" profile --by skb
usage_error 'a member of the result' "--by: 'retval.len' names the result; members are read when a call begins" profile --by retval.len
usage_error 'functions have no bytes' '--sort bytes belongs to profile --by flow and its like' profile --sort bytes --input "$drops"
usage_error 'nor has a comparison' '--sort bytes belongs to profile --by flow and its like' diff --sort bytes x y
usage_error 'nor a histogram' '--sort bytes belongs to profile --by flow and its like' latency f --sort bytes
check 'flows by their bytes' 0 '' profile --by flow --input "$drops" --sort bytes
verify 'the largest come first' test "$(awk 'NR > 1 { print $5 }' "$dir/out")" = "$(awk 'NR > 1 { print $5 }' "$dir/out" | sort -rn)"
verify 'which is another order' test "$(awk 'NR > 1 { print $1 }' "$dir/out")" != "$(awk 'NR > 1 { print $1 }' "$dir/out" | sort -rn)"
usage_error 'presets have no plan' '--containers, --presets and --plan exclude each other' list --plan --presets
check 'calls by program' 0 '^$' profile --by program --input "$drops" --sort name
verify 'they are of one program' test "$(sed 1d "$dir/out" | awk '{ print $6, $7, $1 }' | tr '\n' ';')" = \
	"$(for func in ip_rcv sk_skb_reason_drop skb:kfree_skb udp_sendmsg; do
		case $func in skb:*) cnt=79 ;; *) cnt=$(said "\|  +$func\(") ;; esac
		printf 'workload %s %s;' $func "$cnt"
	done)"
check 'calls by device' 0 '^netfgraph: 216 calls and tracepoints lack the device of a packet, and are not counted$' \
	profile --by device --input "$drops"
verify 'packets have one' test "$(sed 1d "$dir/out" | awk '{ print $6, $7, $1 }' | tr '\n' ';')" = \
	"lo ip_rcv $(said '\|  +ip_rcv\(');lo sk_skb_reason_drop $(said '\| +/\* .* dev=lo reason=');"
check 'calls by caller' 0 '' profile --by caller --input "$drops" --sort name
verify 'each has its calls' test "$(grep -v ' skb:kfree_skb$' "$dir/out" | sed 1d | awk '{ print $6, $7, $1 }')" = \
	"$(sed -nE 's/.*\|  +([a-z_]+)\(.*<-([a-z_0-9]+)\+.*/\2 \1/p' "$dir/drops" | sort | uniq -c | awk '{ print $2, $3, $1 }')"
check 'callers of a text' 0 '' profile --by caller --input "$dir/drops.ftrace" --format csv
verify 'a text has them' grep -q ',ip_rcv_core,sk_skb_reason_drop,,2,' "$dir/out"
check 'calls by container' 0 '^$' profile --by container --input "$drops"
verify "a recording's cgroups have numbers" test "$(awk '/ udp_sendmsg$/ { print $1, $6, $7 }' "$dir/out")" = "$(said '\|  +udp_sendmsg\(') - 1"
check 'no cgroups' 3 "^netfgraph: '.*': no call has the cgroup of its task, which --by container counts by\$" \
	profile --by container --input tests/golden/stages/udp-7.2.rec
check 'metrics by reason' 0 '^$' profile --by reason --input "$drops" --format openmetrics
verify 'a series has the place' grep -qx 'netfgraph_calls{reason="NO_SOCKET",place="udp_rcv+0x452",func="sk_skb_reason_drop"} 7' "$dir/out"
verify 'they have an end' test "$(tail -n 1 "$dir/out")" = '# EOF'
check 'few series by reason' 0 '^$' profile --by reason --input "$drops" --format openmetrics --rows 2 --output-dir "$dir/metrics"
verify 'no call is missing' test "$(sed -n 's/^netfgraph_calls{.*} //p' "$dir/metrics/netfgraph.prom" | awk '{ n += $1 } END { print n, NR }')" = \
	"$(sed 1d "$dir/reasons" | awk '{ n += $1 } END { print n, 3 }')"
check 'no flows' 3 "^netfgraph: '.*': no call has the addresses of a packet or a socket, which --by flow counts by\$" \
	profile --by flow --input tests/golden/stages/udp-7.2.rec -o "$dir/undone"
verify 'how to get them is said' grep -qx 'hint: record --graph-opts packet keeps them; a text has none' "$dir/err"
verify 'it leaves no file' test ! -e "$dir/undone"
check 'no callers' 3 "^netfgraph: '.*': no call has a known caller, which --by caller counts by\$" \
	profile --by caller --input tests/golden/samples/default-7.2.txt
check 'no reasons' 3 "^netfgraph: '.*': no call has a drop reason, which --by reason counts by\$" \
	profile --by reason --input tests/golden/samples/args-7.2.txt
check 'no tasks' 3 "^netfgraph: '.*': no call has the name of its task, which --by program counts by\$" \
	profile --by program --input tests/golden/samples/default-7.2.txt
check 'tasks of a text' 0 '^$' profile --by program --input tests/golden/samples/mini-abstime-proc.txt
# what a recording has of packets chooses among its calls
"$PROGRAM" report "$drops" --graph-opts noargs,noretaddr,packet | grep -A 1 '/\* udp .*:5001 ' >"$dir/flow"
in_flow() { grep -c "|  *$1(" "$dir/flow"; }
check 'diff of one flow' 0 '^$' diff "$drops" "$drops" --packet 'udp port 5001' --json
verify 'both sides have its calls alone' test "$(jq -c '[.functions[] | [.func, .count[]]] | sort' "$dir/out")" = \
	"[[\"ip_rcv\",$(in_flow ip_rcv),$(in_flow ip_rcv)],[\"sk_skb_reason_drop\",$(in_flow sk_skb_reason_drop),$(in_flow sk_skb_reason_drop)]]"
check 'diff of a socket' 0 '^$' diff "$drops" "$drops" --packet 'udp src port 41910 and not dst port 5001' --format csv
verify 'what runs below it is there' test "$(grep -c . "$dir/out")" -eq 4
check 'diff of packets that one file lacks' 3 "^netfgraph: '$tcp' has no packets, which --packet needs\$" \
	diff "$drops" "$tcp" --packet udp -o "$dir/undone"
verify 'how to get packets is said' grep -qx 'hint: record --graph-opts packet keeps them; record --packet asks the kernel' "$dir/err"
verify 'diff leaves no file' test ! -e "$dir/undone"
check 'diff of packets that did not come' 3 "^netfgraph: '$drops': no call matches --packet\$" diff "$drops" "$drops" --packet 'udp port 9'
check 'diff of what a recording does not have' 3 'no call matches --packet' diff "$drops" "$drops" --packet 'ip[8] = 64'
usage_error 'diff of packets of a text' "--packet needs a recording, and '$dir/drops.ftrace' is a text\$" \
	diff "$drops" "$dir/drops.ftrace" --packet udp
check 'report of one flow' 0 '^$' report "$drops" --packet 'udp port 5001' --graph-opts noargs,packet
verify 'it has its calls alone' test "$(grep -c '|  *[a-z_]*(' "$dir/out")" -eq "$(grep -c '|  *[a-z_]*(' "$dir/flow")"
check 'histogram of one flow' 0 '^$' latency ip_rcv --input "$drops" --packet 'udp port 5001' --format json
verify 'it has its calls' test "$(jq .count "$dir/out")" = "$(in_flow ip_rcv)"
for by in flow function; do
	check "packets of trees by $by" 0 '^[^:]*$|: 4 calls and tracepoints lack' profile --by $by --input "$drops" --packet 'udp port 5001'
	verify "it says whose calls count by $by" test "$(tail -n 1 "$dir/out")" = \
		'Calls below one that matches --packet are counted whatever their own packet is, such as a reply.'
	check "packets of one function by $by" 0 '^[^:]*$|: 4 calls and tracepoints lack' profile --by $by --input "$drops" --packet 'udp port 5001' -T ip_rcv
	verify "none is below another by $by" test "$(wc -l <"$dir/out")" -eq 2
done
usage_error 'a profile has no stages' '--by stage belongs to: latency, diff' profile --by stage
usage_error 'a histogram has no reasons' 'latency and diff have --by function or stage' latency --by reason f
usage_error 'a flow has no callers' '--callers and --callees belong to tables of functions' profile --by flow --callers
usage_error 'flows of a file have one table' 'profile --by has one table of a file: no -i' profile --by flow -i 1s --input x
check 'flows each second' 0 '^$' profile --by flow -i 1s --parse-only
usage_error 'flows have no time of their own' '--by flow sorts by count, total, avg, p50, p99, max, net, bytes or name' profile --by flow --sort self
usage_error 'functions have no tracepoints' 'profile takes -e only with --by' profile -e skb:kfree_skb
usage_error 'tracepoints are not chosen as calls are' \
	'--slower-than chooses among calls of functions, but without -T, -G or --preset only tracepoints are counted' \
	profile --by program -e tcp:tcp_probe --slower-than 1ms
verify 'what to count is said' grep -qx 'hint: -T FUNC counts calls, too, and chooses among these' "$dir/err"
usage_error 'not by their packets' '--packet chooses among calls ' profile --by program -e skb:kfree_skb --packet udp
verify 'what drops is said' grep -q '^hint: -T sk_skb_reason_drop (before 6\.11 kfree_skb_reason, .*) counts the calls that drop packets$' "$dir/err"
usage_error 'not by whose they are' '--host-side chooses among calls ' profile --by reason --netns 1 --host-side
check 'calls are chosen' 0 '^$' profile --by reason -T kfree_skb --slower-than 1ms --parse-only
check 'tracepoints alone' 0 '^$' profile --by program -e skb:kfree_skb --parse-only
# a text without times says none, whichever call was the slowest
"$PROGRAM" report tests/golden/stages/udp-7.2.rec >"$dir/timeless" 2>/dev/null
check 'explain of a text without times' 0 '' explain "$dir/timeless"
verify 'it names the slowest calls' grep -q '^The slowest took .* on CPU 0: netfgraph report ' "$dir/out"
verify 'it says no time' test -z "$(grep '^The slowest took .* at [0-9]' "$dir/out")"
check 'explain of a text without times, as JSON' 0 '' explain "$dir/timeless" --json
verify 'its times are 0' test "$(grep -o '"time_ns":[0-9]*' "$dir/out" | sort -u)" = '"time_ns":0'
