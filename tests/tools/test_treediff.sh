#!/bin/bash
# treediff must find what it is for, and accept what it should.
set -u
cd "$(dirname "$0")/../.." || exit 1
treediff=$PWD/${OUTPUT:-.output}/tests/tools/treediff
case ${OUTPUT:-} in /*) treediff=$OUTPUT/tests/tools/treediff ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
passed=0
failed=0

# check NAME STATUS PATTERN ARGS...: treediff ARGS ends with STATUS, its output matches PATTERN
check() {
	local name=$1 want=$2 pattern=$3 output status
	shift 3
	output=$("$treediff" "$@" 2>&1)
	status=$?
	if [ "$status" -eq "$want" ] && grep -Eq -- "$pattern" <<<"$output"; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	printf 'FAIL %s: status %d, not %d, or no "%s" in:\n%s\n' \
		"$name" "$status" "$want" "$pattern" "$output"
}

# edit NAME SED-SCRIPT: another a.txt, which must differ from it
edit() {
	sed -E "$2" a.txt >"$1.txt"
	if cmp -s a.txt "$1.txt"; then
		printf 'FAIL edit %s changes nothing\n' "$1"
		failed=$((failed + 1))
	fi
}

cat >a.txt <<'END'
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 1)   4.000 us    |      } /* early */
 0)               |  alpha() {
 0)   0.163 us    |    beta();
 1)   9.000 us    |    } /* earlier */
 0)               |    gamma [dummy]() {
 0)   1.500 us    |      delta();
 0) # 2000.000 us |      epsilon();
 0)               |      /* a comment { */
 0) # 2100.000 us |    }
 0) # 2200.000 us |  }
 ------------------------------------------
 0)     sh-142     =>    ping-196   
 ------------------------------------------

 0)               |  alpha() {
 0)   0.200 us    |    beta();
 0) + 20.000 us   |  }
 0)               |  open_end() {
 0)   0.200 us    |    beta();
END

check 'a trace and itself' 0 '^same: 11 calls$' a.txt a.txt
check 'cut calls are told' 0 'a.txt: 2 calls began before the trace, 1 were never closed' a.txt a.txt

edit times 's/  0\.163 us /  9.163 us /; s/^( 0\)) \+ 20\.000/\1 + 31.000/; s/2000\.000/2040.000/'
check 'short calls may differ in time, long ones by 2 percent' 0 '^same: 11 calls$' a.txt times.txt
edit tail 's@^( 0\) # 2100.*\})@\1 /* gamma [dummy] */@; s@(# 2200.*\})@\1 /* alpha */@'
check 'names of closings do not matter' 0 '^same: 11' a.txt tail.txt
edit comment '/comment/d'
check 'comments do not matter' 0 '^same: 11' comment.txt a.txt

edit missing '/delta/d'
check 'a call is missing' 1 'alpha > gamma \[dummy\]: delta \(a.txt:10\) is not in missing.txt' \
	a.txt missing.txt
check 'a call too many' 1 '^different: 1 difference' missing.txt a.txt
edit missing_last '$d'
check 'the last call is missing' 1 '^different: ' a.txt missing_last.txt
edit missing_tree '/gamma/,/2100/d'
check 'a call with its callees is missing' 1 'gamma \[dummy\] .* is not in' a.txt missing_tree.txt
edit missing_task '/^ ---.*/,$d'
check 'a task is missing' 1 '^ping-196 .*no such task' a.txt missing_task.txt
edit missing_early '/ early/d'
check 'a call begun before the trace is missing' 1 '^CPU 1 > earlier: early ' a.txt missing_early.txt

edit swapped '/delta/{h;d}; /epsilon/{G}'
check 'siblings are swapped' 1 '^different: ' a.txt swapped.txt
edit swapped_far '/beta.*/{/0\.163/{h;d}}; /2100/{G}'
check 'distant siblings are swapped' 1 '^different: ' a.txt swapped_far.txt
edit out 's/  epsilon/epsilon/; /epsilon/{h;d}; /2100/{G}'
check 'a call moved to its caller' 1 'alpha: epsilon .out.txt:[0-9]+. is not in a.txt' a.txt out.txt
edit in 's/(2100\.000 us \|)/\1/; /0\.163/{s/\|    beta/|      beta/;h;d}; /gamma/{G}'
check 'a call moved into its sibling' 1 'beta .*is not in' a.txt in.txt
edit unopened '/open_end/,$s/\|  /|    /'
check 'a call at another depth' 1 'open_end .*nested differently' a.txt unopened.txt
edit renamed 's/epsilon/zeta/'
check 'a name is changed' 1 'epsilon .*, zeta .*named differently' a.txt renamed.txt
edit renamed_outer '0,/alpha/s/alpha/alpine/'
check 'the name of an outermost call is changed' 1 '^different: ' a.txt renamed_outer.txt
edit module 's/ \[dummy\]//'
check 'a module is changed' 1 '^different: ' a.txt module.txt
edit unclosed '$s/.*/&\n 0)   1.000 us    |  }/'
check 'a call is closed in one only' 1 'never closed in the first' a.txt unclosed.txt

edit slower 's/2000\.000/2200.000/'
check 'a long leaf takes 10 percent more' 1 'epsilon.*2000.000 us, 2200.000 us' a.txt slower.txt
check 'a long leaf takes 10 percent less' 1 'epsilon' slower.txt a.txt
check '10 percent allowed' 0 '^same' --duration-pct 10 a.txt slower.txt
check 'durations from 3 ms on' 0 '^same' --min-us 3000 a.txt slower.txt
edit slower_outer 's/2200\.000/2420.000/'
check 'a long call takes 10 percent more' 1 'alpha.*2200.000 us, 2420.000 us' a.txt slower_outer.txt
edit much_slower 's/  0\.163 us   /# 1200.163 us/'
check 'long in one only' 1 'beta.*0.163 us, 1200.163 us' a.txt much_slower.txt

check 'one task by number' 0 '^same: 4 calls' --task 196 a.txt missing.txt
check 'one task by name' 0 '^same: 4 calls' --task ping a.txt missing.txt
check 'the other task' 1 '^sh-142 > alpha' --task sh a.txt missing.txt
check 'a task that is not there' 2 'no calls' --task 77 a.txt a.txt
check 'an ignored function' 0 '^same: 10 calls' --ignore-func 'del*' a.txt missing.txt
edit flat '/gamma/d; /2100/d; s/  (delta|epsilon)/\1/'
check 'an ignored caller' 0 '^same: 10 calls' --ignore-func gamma a.txt flat.txt
check 'a caller not ignored' 1 '^different: ' a.txt flat.txt

cat >proc.txt <<'END'
   10.000001 |   0)     sh-142     |               |  alpha() {
   10.000002 |   1)     ping-9     |   0.200 us    |  beta();
   10.000003 |   1)     sh-142     |   0.163 us    |    beta();
   10.000004 |   1)     sh-142     | # 2200.000 us |  } /* alpha */
END
cat >proc2.txt <<'END'
 3)   ping-1009    |   0.200 us    |  beta();
 0)    sh-1142     |               |  alpha() {
 0)    sh-1142     |   0.163 us    |    beta();
 0)    sh-1142     | # 2200.000 us |  }
END
check 'a task that changes its CPU, in another run' 0 '^same: 3 calls' proc.txt proc2.txt
sed 's/|    beta/|  beta/' proc2.txt >proc3.txt
check 'there too' 1 'beta \(proc3.txt:3\)|beta .*nested|beta .*is not' proc.txt proc3.txt

head -n 4 a.txt >empty.txt
check 'nothing to compare' 2 'no calls' empty.txt empty.txt
check 'everything missing' 1 '^different: ' a.txt empty.txt
check 'no such file' 2 'No such file' a.txt none.txt
check 'no arguments' 2 '^usage: '
check 'one argument' 2 '^usage: ' a.txt
check 'an unknown option' 2 '^usage: ' --what a.txt a.txt
check 'no number' 2 'not a number' --min-us x a.txt a.txt
printf ' 0)   0.163 us    |    be' >cut.txt
check 'a cut row' 2 '^cut.txt:1: ' a.txt cut.txt

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
