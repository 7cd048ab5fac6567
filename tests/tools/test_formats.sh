#!/bin/bash
# Other people's readers must understand our formats: the same calls, at the same depth, in the
# same order as in the text they were made from. No kernel is needed.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
conv=$root/${OUTPUT:-.output}/tests/tools/ftextconv
case ${OUTPUT:-} in /*) conv=$OUTPUT/tests/tools/ftextconv ;; esac
samples=$root/tests/golden/samples
schema=$root/include/call.schema.json
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
passed=0
failed=0
skipped=0

pass() { passed=$((passed + 1)); }
fail() {
	failed=$((failed + 1))
	printf 'FAIL %s\n' "$1"
	[ $# -lt 2 ] || printf '%s\n' "$2" | head -n 12
}
# skip TOOL PACKAGE WHAT
skip() {
	skipped=$((skipped + 1))
	printf 'SKIP %s: %s (package %s) is not installed\n' "$3" "$1" "$2"
}
# same NAME WANT GOT: two files with something in them are equal
same() {
	local diff
	if [ -s "$2" ] && diff=$(diff "$2" "$3"); then
		pass
	else
		fail "$1" "${diff:-nothing to compare}"
	fi
}

# Two tasks that change CPUs, a call begun before the trace, a loss, a comment, a module, names of
# bytes that need care, a call that is still open, one whose return is lost; long times.
cat >hard.txt <<'END'
# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
   10.000010 |   0)     a"\b-7     |   1.000 us    |      early_leaf();
   10.000013 |   0)     a"\b-7     | ! 500.000 us  |    } /* early */
   10.000014 |   1)    <idle>-0    |               |  net_rx_action() {
   10.000015 |   1)    <idle>-0    |   0.500 us    |    veth_poll [veth]();
   10.000020 |   0)     a"\b-7     | ! 900.000 us  |  } /* earliest */
   10.000021 |   0)     a"\b-7     |               |  send() {
   10.000022 |   0)     a"\b-7     |               |    push() {
   10.000023 |   0)     a"\b-7     |               |    /* tcp 10.0.0.1:80 "x" */
   10.000024 |   1)     a"\b-7     |   2.000 us    |      xmit [veth]();
   10.000030 |   1)     a"\b-7     |   8.000 us    |    } /* push */
CPU:1 [LOST 17 EVENTS]
   10.500000 |   1)    <idle>-0    | @ 499986.0 us |  } /* net_rx_action */
CPU:0 [LOST EVENTS]
   10.600000 |   0)     a"\b-7     |               |    cut() {
   10.600001 |   0)     a"\b-7     |               |      cut_inner() {
   10.700000 |   0)     a"\b-7     | @ 699979.0 us |  } /* send */
   10.700001 |   0)    <idle>-0    |   0.100 us    |  tick();
   10.800000 |   0)     a"\b-7     |               |  open_end() {
   10.800001 |   0)     a"\b-7     |               |    open_inner() {
END
printf '# tracer: function_graph\n' >empty.txt

if [ ! -x "$conv" ]; then
	fail "ftextconv is not built ($conv)"
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	exit 1
fi

# made FORMAT SAMPLE OUT
made() {
	"$conv" --format "$1" "$2" >"$3" 2>err || fail "$1 of $(basename "$2")" "$(cat err)"
}

# The calls of a text that has a time and a task column: "tid depth name", each task's in order.
calls_of_text() {
	awk -F'|' '$NF ~ /(\{|;)$/ {
		split($2, part, ")"); task = part[2]; sub(/^.*-/, "", task); sub(/ *$/, "", task)
		body = $NF; match(body, /^ */); depth = (RLENGTH - 2) / 2
		sub(/^ */, "", body); sub(/\(.*/, "", body)
		if (task == 0) { split($2, part, ")"); task = 4194305 + part[1] }
		print task, depth, body
	}' "$1" | sort -s -n -k1,1
}

# ---- text ----

for sample in "$samples"/abstime-proc-tail-*.txt "$samples"/args-abstime-proc-7.2.txt; do
	made text "$sample" out.txt
	same "text: the same bytes again: $(basename "$sample")" "$sample" out.txt
done

# ---- json ----

# json_by_python FILE...: "ok FILE", or what is wrong with it, a line each
json_by_python() {
	python3 - "$schema" "$@" <<'END'
import json, sys
import jsonschema
check = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))
def fault(name):
    for number, line in enumerate(open(name, encoding="utf-8"), 1):
        for error in check.iter_errors(json.loads(line)):
            return "line %d: %s" % (number, error.message)
for name in sys.argv[2:]:
    print(fault(name) or "ok", name)
END
}
json_by_jq() {
	jq -e -n --slurpfile schema "$schema" '
		def kinds($want): if ($want | type) == "array" then $want else [$want] end;
		def kind: if type == "number" and floor == . then "integer" else type end;
		def types: if has("$ref") then $schema[0].definitions[."$ref" | split("/")[-1]] | types
			elif has("const") then (.const | kind) else .type end;
		def fits($shape): . as $line
			| (keys == ($shape.properties | keys)) and all(keys[];
				. as $key | ($line[$key] | kind) as $kind
				| any(kinds($shape.properties[$key] | types)[]; . == $kind));
		all(inputs; . as $line | any($schema[0].definitions[] | select(.properties); . as $shape
			| $line | fits($shape)))' \
		"$1" >/dev/null
}
if ! command -v jq >/dev/null; then
	skip jq jq 'json'
	skip jq jq 'chrome'
else
	for sample in "$samples"/*.txt "$dir"/hard.txt; do
		name=${sample##*/}
		made json "$sample" "$name.json"
		if ! message=$(jq -e . "$name.json" 2>&1 >/dev/null); then
			fail "json is valid: $name" "$message"
		elif ! json_by_jq "$name.json"; then
			fail "json has the types of the schema: $name"
		else
			pass
		fi
	done
	if python3 -c 'import jsonschema' 2>/dev/null; then
		json_by_python ./*.txt.json >verdicts 2>&1
		for name in *.txt.json; do
			grep -qxF "ok ./$name" verdicts && pass ||
				fail "json follows the schema: ${name%.json}" "$(grep -F "./$name" verdicts || cat verdicts)"
		done
	else
		skip 'python module jsonschema' python3-jsonschema 'the schema by its own validator'
	fi
	made json hard.txt out.json
	head -n 1 out.json | jq -r 'keys_unsorted[]' >got
	jq -r '.definitions.call.required[]' "$schema" >want
	same 'json: fields in the order of the schema' want got
	jq -r '.definitions.call.properties | keys_unsorted[]' "$schema" >got
	same 'the schema describes the fields it requires' want got
	for sample in "$samples"/abstime-proc-tail-*.txt; do
		made json "$sample" out.json
		calls_of_text "$sample" | awk '{ print $2, $3 }' | sort >want
		jq -r '"\(.depth) \(.func)"' out.json | sort >got
		same "json: every call at its depth: $(basename "$sample")" want got
	done

	# ---- otlp: spans by name and by the names of their callers ----

	cat >spans.jq <<'END'
	[inputs.resourceSpans[].scopeSpans[].spans[]] as $spans
	| ($spans | map({ key: (.traceId + .spanId), value: . }) | from_entries) as $by
	| def above: if .parentSpanId then $by[.traceId + .parentSpanId] // { name: "?" } else empty end;
	def depth: if .parentSpanId then 1 + (above | depth) else 0 end;
	if ($by | length) != ($spans | length) then error("an id comes twice") else $spans[] end
	| (.attributes | map({ key, value: (.value.stringValue // .value.intValue) }) | from_entries) as $has
	| select($has["code.function.name"]) | "\(depth) \(.name) \($has["thread.name"])"
END
	for sample in "$samples"/abstime-proc-tail-*.txt "$dir"/hard.txt; do
		made otlp "$sample" out.otlp
		made json "$sample" out.json
		jq -r 'select(.func) | "\(.depth) \(.func) \(.comm)"' out.json | sort >want
		jq -n -r -f spans.jq out.otlp | sort >got
		same "otlp: every call below its callers: $(basename "$sample")" want got
	done
	made otlp hard.txt again.otlp
	same 'otlp: the same ids again' out.otlp again.otlp

	# ---- chrome ----

	for sample in "$samples"/*.txt "$dir"/hard.txt "$dir"/empty.txt; do
		made chrome "$sample" out.json
		jq -e '.traceEvents | type == "array"' out.json >/dev/null 2>&1 && pass ||
			fail "chrome: valid JSON: $(basename "$sample")"
	done
	for sample in "$samples"/abstime-proc-tail-*.txt; do
		made chrome "$sample" out.json
		calls_of_text "$sample" >want
		jq -r 'reduce .traceEvents[] as $e ({ depth: {}, out: [] }; ($e.tid | tostring) as $t
			| if $e.ph == "B" or $e.ph == "X"
			  then .out += ["\($t) \(.depth[$t] // 0) \($e.name)"] else . end
			| if $e.ph == "B" then .depth[$t] += 1 elif $e.ph == "E" then .depth[$t] -= 1 else . end)
			| .out[]' out.json | sort -s -n -k1,1 >got
		same "chrome: the same tree: $(basename "$sample")" want got
	done
	# slices nest in time, whatever their order in the file
	cat >nest.jq <<'END'
	def slices: reduce .traceEvents[] as $e ({ open: {}, out: [] }; ($e.tid | tostring) as $t
		| if $e.ph == "B" then .open[$t] += [$e]
		  elif $e.ph == "E" then (.open[$t] | last) as $b
			| .out += [{ tid: $t, name: $b.name, same: ($b.name == $e.name), from: $b.ts, to: $e.ts }]
			| .open[$t] |= .[:-1]
		  elif $e.ph == "X" then
			.out += [{ tid: $t, name: $e.name, same: true, from: $e.ts, to: ($e.ts + $e.dur) }]
		  else . end)
		| if any(.open[]; length > 0) then error("open slices") else .out[] end;
	[slices] | . as $all | if any(.[]; (.same | not) or .to < .from) then "ends differ" else empty end,
	($all[] as $a | $all[] | select(.tid == $a.tid and .from > $a.from and .from < $a.to - 0.0005
		and .to > $a.to + 0.0005) | "\($a) overlaps \(.)")
END
	for sample in "$samples"/abstime-proc-tail-*.txt "$samples"/default-*.txt "$dir"/hard.txt; do
		made chrome "$sample" out.json
		bad=$(jq -c -f nest.jq out.json 2>&1)
		[ -z "$bad" ] && pass || fail "chrome: slices nest: $(basename "$sample")" "$bad"
	done
fi

# ---- folded ----

for sample in "$samples"/abstime-proc-tail-*.txt; do
	made folded "$sample" out.folded
	bad=$(grep -vE '^[^;]+(;[^;]+)+ [0-9]+$' out.folded)
	if [ -n "$bad" ] || ! LC_ALL=C sort -c out.folded; then
		fail "folded: lines: $(basename "$sample")" "$bad"
	else
		pass
	fi
done

# ---- perfetto ----

# A softirq inside a task and a hard interrupt inside it; a packet from its sender to a reader; a loss.
cat >context.txt <<'END'
# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
   10.000010 |   0)    client-7    |               |  udp_send_skb(skb=0x1, len=2) {
   10.000011 |   0)    client-7    |               |    __dev_queue_xmit(skb=0x1, sb_dev=0x0) {
   10.000012 |   0)    client-7    |   1.000 us    |      enqueue_to_backlog(skb=0x1, cpu=0); /* ret=0x0 */
   10.000014 |   0)    client-7    |   3.000 us    |    }
   10.000015 |   0)    client-7    |               |    net_rx_action() {
   10.000016 |   0)    client-7    |               |      ip_rcv(skb=0x1, name=lo "a") {
   10.000017 |   0)    client-7    |               |        sysvec_apic_timer_interrupt(regs=0x9) {
   10.000018 |   0)    client-7    |   1.000 us    |          tick(delta=-3);
   10.000020 |   0)    client-7    |   3.000 us    |        }
   10.000021 |   0)    client-7    |   1.000 us    |        sock_def_readable(sk=0x5);
   10.000023 |   0)    client-7    |   7.000 us    |      }
   10.000024 |   0)    client-7    |   9.000 us    |    }
   10.000025 |   0)    client-7    | + 15.000 us   |  }
CPU:0 [LOST 17 EVENTS]
   10.000040 |   1)    server-8    |   1.000 us    |  udp_recvmsg(sk=0x5, len=9);
   10.000042 |   0)    <idle>-0    |   1.000 us    |  net_rx_action();
   10.000044 |   0)    <idle>-0    |               |  tick_nohz_idle_exit() {
   10.000045 |   0)    <idle>-0    |   1.000 us    |    update();
   10.000047 |   0)    <idle>-0    |   3.000 us    |  }
   10.000048 |   0)    <idle>-0    |               |  ip_output(skb=0x2) {
   10.000049 |   0)    <idle>-0    |   1.000 us    |    arp_xmit(skb=0x3);
   10.000051 |   0)    <idle>-0    |   3.000 us    |  }
   10.000052 |   1)   ksoftir-9    |   1.000 us    |  dev_hard_start_xmit(first=0x2);
   10.000054 |   1)   ksoftir-9    |   1.000 us    |  smpboot_thread_fn();
END
cat >context.want <<'END'
CPU 0/hard interrupt, CPU 0
  sysvec_apic_timer_interrupt 3.000 {'args': {'regs': '0x9'}, 'task': 'client-7'}
    tick 1.000 {'args': {'delta': '-3'}}
CPU 0/lost events, CPU 0
  LOST 17 EVENTS 0.000
CPU 0/softirq, CPU 0
  net_rx_action 9.000 {'task': 'client-7'}
    ip_rcv 7.000 {'args': {'skb': '0x1', 'name': 'lo "a"'}}
      sock_def_readable 1.000 {'args': {'sk': '0x5'}}
  net_rx_action 1.000 {'task': 'swapper/0-0'}
  ip_output 3.000 {'args': {'skb': '0x2'}, 'task': 'swapper/0-0'}
    arp_xmit 1.000 {'args': {'skb': '0x3'}}
CPU 0/swapper/0
  tick_nohz_idle_exit 3.000
    update 1.000
CPU 1/softirq, CPU 1
  dev_hard_start_xmit 1.000 {'args': {'first': '0x2'}, 'task': 'ksoftir-9'}
threads of unknown processes/client 7
  udp_send_skb 15.000 {'args': {'skb': '0x1', 'len': '2'}}
    __dev_queue_xmit 3.000 {'args': {'skb': '0x1', 'sb_dev': '0x0'}}
      enqueue_to_backlog 1.000 {'args': {'skb': '0x1', 'cpu': '0'}, 'ret': '0x0'}
threads of unknown processes/ksoftir 9
  smpboot_thread_fn 1.000
threads of unknown processes/server 8
  udp_recvmsg 1.000 {'args': {'sk': '0x5', 'len': '9'}}
END
printf 'flow: %s [%s] -> %s [%s] -> %s [%s] -> %s [%s] -> %s [%s] -> %s [%s]\n' \
	udp_send_skb "threads of unknown processes/client 7" __dev_queue_xmit "threads of unknown processes/client 7" \
	enqueue_to_backlog "threads of unknown processes/client 7" ip_rcv "CPU 0/softirq, CPU 0" \
	sock_def_readable "CPU 0/softirq, CPU 0" udp_recvmsg "threads of unknown processes/server 8" >>context.want
made perfetto context.txt out.pb
python3 "$root/tests/readers/perfetto.py" tracks out.pb >got
same 'perfetto: tracks of interrupts, values, the way of a packet' context.want got

if ! command -v protoc >/dev/null; then
	skip protoc protobuf-compiler 'perfetto'
else
	for sample in "$samples"/*.txt "$dir"/hard.txt "$dir"/empty.txt; do
		made perfetto "$sample" out.pb
		if ! protoc -I "$root/tests/golden" --decode=Trace perfetto_min.proto <out.pb >out.pbtxt 2>err; then
			fail "perfetto: decodes: $(basename "$sample")" "$(cat err)"
			continue
		fi
		# a number instead of a name: a field that the definitions do not have
		grep -qE '^ *[0-9]+[:{ ]' out.pbtxt && fail "perfetto: unknown fields: $(basename "$sample")" ||
			pass
		case $sample in */abstime-proc-tail-*)
			calls_of_text "$sample" >want
			python3 "$root/tests/readers/perfetto.py" calls out.pb | cut -d' ' -f1-3 >got
			same "perfetto: the same tree: $(basename "$sample")" want got
			;;
		esac
	done
fi

# ---- trace.dat ----

# "cpu tid seconds duration text": one line a row; long durations have fewer digits in the text
rows_of_text() {
	awk -F'|' '$NF ~ /[{};]|\*\/$/ && NF >= 4 {
		split($2, part, ")"); task = part[2]; sub(/^.*-/, "", task); sub(/ *$/, "", task)
		duration = $3; gsub(/[^0-9.]/, "", duration)
		body = $NF; sub(/ \[[a-z0-9_]+\]/, "", body)
		print part[1] + 0, task, $1 + 0, (duration + 0 >= 10000 ? "long" : duration), body
	}' OFMT=%.6f CONVFMT=%.6f "$1" | sort -s -n -k1,1
}
rows_of_report() {
	awk -F'|' '/funcgraph_(entry|exit):/ {
		head = $1; match(head, / +\[[0-9]+\] /)
		task = substr(head, 1, RSTART - 1); sub(/^.*-/, "", task)
		cpu = substr(head, RSTART, RLENGTH); gsub(/[^0-9]/, "", cpu)
		rest = substr(head, RSTART + RLENGTH); time = rest; sub(/:.*/, "", time)
		duration = rest; sub(/^.*funcgraph_[a-z]+:/, "", duration); gsub(/[^0-9.]/, "", duration)
		print cpu + 0, task, time + 0, (duration + 0 >= 10000 ? "long" : duration), $NF
	}' OFMT=%.6f CONVFMT=%.6f | sort -s -n -k1,1
}
if ! command -v trace-cmd >/dev/null; then
	skip trace-cmd trace-cmd 'trace.dat'
else
	for sample in "$samples"/*.txt "$dir"/hard.txt "$dir"/empty.txt; do
		made trace.dat "$sample" out.dat
		trace-cmd report -i out.dat -O fgraph:tailprint >report 2>err
		status=$?
		if [ $status -ne 0 ] || [ -s err ]; then
			fail "trace.dat: read without complaint: $(basename "$sample")" "$(cat err)"
			continue
		fi
		pass
		case $sample in */abstime-proc-tail-*)
			rows_of_text "$sample" >want
			rows_of_report <report >got
			same "trace.dat: the same rows: $(basename "$sample")" want got
			;;
		esac
	done
	# Version 7: nothing but the container differs, so the report is the same, byte for byte.
	for sample in "$samples"/abstime-*.txt "$dir"/hard.txt "$dir"/empty.txt; do
		name=$(basename "$sample")
		made trace.dat "$sample" out.dat
		made trace.dat.v7 "$sample" out.dat7
		trace-cmd report -i out.dat -O fgraph:tailprint >want 2>&1
		trace-cmd report -i out.dat7 -O fgraph:tailprint >got 2>&1
		same "trace.dat.v7: the report of version 6: $name" want got
	done
	made trace.dat.v7 hard.txt out.dat7
	for word in '7	\[Version\]' ' 2 cpus,' '\[Ftrace format, 3 events\]' '\[9 sections\]'; do
		trace-cmd dump --summary -i out.dat7 2>&1 | grep -qE "$word" && pass ||
			fail "trace.dat.v7: the summary has $word"
	done
	trace-cmd dump --validate -i out.dat7 2>&1 | grep -q 'is a valid trace-cmd file' && pass ||
		fail 'trace.dat.v7: is valid'
	made trace.dat hard.txt out.dat
	trace-cmd report -i out.dat -O fgraph:tailprint >report 2>&1
	grep -q 'CPU:1 \[17 EVENTS DROPPED\]' report && pass ||
		fail 'trace.dat: a loss is told with its number' "$(cat report)"
	grep -q 'CPU:0 \[EVENTS DROPPED\]' report && pass || fail 'trace.dat: a loss is told' "$(cat report)"
	grep -q 'print: .*push: tcp 10.0.0.1:80 "x"' report && pass ||
		fail 'trace.dat: a comment is told' "$(cat report)"
	grep -qF 'a"\b-7' report && pass || fail 'trace.dat: a name of any bytes' "$(cat report)"
fi

# ---- profile ----

"$conv" --profile count hard.txt >out.txt
awk 'NR > 1 && $1 > last && NR > 2 { exit 1 } { last = $1 }' out.txt && pass || fail 'profile: sorted by count'
"$conv" --latency '*' hard.txt | grep -q '^veth_poll \[veth\]: 1 call, min 0.500 us' && pass ||
	fail 'latency: a function of a module'

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
