#!/usr/bin/env python3
"""What other programs look for in our text, as a table: which columns each needs, which rows it matches.

Their patterns are given as facts, and have to match exactly the rows of sample.txt that are named, in
the output of "netfgraph report" with the options that are named; what such a pattern takes out of a row,
name or duration, has to be what stands there. Where a program cannot match a row that the kernel's
format has (a module, a mark, a column), the table says so, too: it is then not our doing, and if the
row begins to match one day, our output has changed.

-v prints the table. The last line reads "N passed, N failed, N skipped".
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.join(HERE, "sample.txt")
PROGRAM = os.environ.get("PROGRAM", "./netfgraph")

DEFAULT = "--graph-opts cpu"
WIDE = "CPU 12: " # before options: of a host with more than ten CPUs
TRACE_CMD, TRACE_CMD_RAW = "trace-cmd report", "trace-cmd report -R"
CALLS = "open leaf close"
ROWS = CALLS + " comment"
NONE = ""

# The part of a line that a pattern is tried on.
WHOLE = "the line"
LAST = "behind the last |"
FIRST = "behind the first |"
FIELD = "the field of the duration"
TASK = "the field of the task"

Need = namedtuple("Need", "reader options part pattern kinds but", defaults=[None])

SLEEPGRAPH_ROW = (
    r"^ *(?P<time>[0-9\.]*) *\| *(?P<cpu>[0-9]*)\) *(?P<proc>.*)-(?P<pid>[0-9]*) *\|"
    r"[ +!#\*@$]*(?P<dur>[0-9\.]*) .*\|  (?P<msg>.*)")
SLEEPGRAPH_NAME = r"^(?! )(?P<name>.*) *\(.*[{;]$"
FUNCGRAPH_CPU = r"^\s*(\d+)\)|^\s*[\d.]+\s*\|\s*(\d+)\)"
FUNCGRAPH_DURATION = r"[^(]*?[ $@*#!+]*?(?P<dur>\d+(?:\.\d+)?)\s*us"
FUNCGRAPH_NAME = r".*?(?P<name>[a-zA-Z_][a-zA-Z0-9_.]*)\s*(?:\[([^\]]+)\])?\s*\([^)]*\)\s*[;{]?$"
KXRAY_ROW = r"^\s*(?P<cpu>\d+)\)\s?(?P<rest>.*)$"
KXRAY_NAME = r"(?P<name>[\w.]+)(\s+\[\w+\])?\([^)]*\)\s*"
TRACEFG_BAR = r".* us[ ]+\|[ ]+|.* {8}[ ]+\|[ ]+"
PLUMMM = (
    r".*([\<\>\(\)a-zA-Z0-9\-\_\.]+)-(\d+)( )+\[(\d+)\]( )+(\d+\.\d+): (funcgraph_entry|funcgraph_exit):"
    r".+(\|( )+)(([A-Za-z0-9_.]+\(\))(;| {)|})")
PERFETTO_SYSTRACE = (
    r".*-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*([a-zA-Z.]{3}[0-9a-f.]{1,2}\s*)?(\d+\.\d+):\s+(\S+):")
TRACE_COMPASS = (
    r"^\s*(\S+).*-(\d+)(?:\s+\([^0-9]*(\d+)?\))?\s+\[(\d+)\](?:\s+[^\s]*)?\s+(\d+\.\d+): (\w+)"
    r"(:\s+|\(|\s+->\s+)func=(?P<name>\S+) depth=\d+")
AVOCADO = r".*/\*\s*(?:(\w+)(?:\s+\[[\w]+\])?\s*)?=\s*(0x[0-9a-fA-F]+|-?[0-9]+)\s*\*/"

# kinds: the rows that match, all of them and no other line; but: except for lines with this in them.
TABLE = [
    Need("sleepgraph", "--for sleepgraph", WHOLE, SLEEPGRAPH_ROW, ROWS),
    Need("sleepgraph", "--for sleepgraph", LAST, r"^ *\/\* *(?P<msg>.*) \*\/ *$", "comment"),
    Need("sleepgraph", "--for sleepgraph", LAST, r"^} *\/\* *(?P<name>.*?) *\*\/$", "close"),
    Need("sleepgraph", "--for sleepgraph", LAST, SLEEPGRAPH_NAME, "open leaf"),
    Need("sleepgraph", DEFAULT, WHOLE, SLEEPGRAPH_ROW, NONE),
    Need("sleepgraph", "--graph-opts abstime", WHOLE, SLEEPGRAPH_ROW, NONE),
    Need("sleepgraph", "--graph-opts proc", WHOLE, SLEEPGRAPH_ROW, NONE),
    Need("FuncGraph", DEFAULT, WHOLE, FUNCGRAPH_CPU, ROWS + " banner"),
    Need("FuncGraph", "--for sleepgraph", WHOLE, FUNCGRAPH_CPU, ROWS + " banner"),
    Need("FuncGraph", DEFAULT, WHOLE, FUNCGRAPH_DURATION, "leaf close"),
    Need("FuncGraph", "--for sleepgraph", FIELD, FUNCGRAPH_DURATION, "leaf close"),
    Need("FuncGraph", DEFAULT, WHOLE, FUNCGRAPH_NAME, "open leaf"),
    Need("FuncGraph", "--for sleepgraph", WHOLE, FUNCGRAPH_NAME, "open leaf"),
    Need("ftrace-chart", "--for ftrace-chart", WHOLE, r"[^|]*\|[^|]*$", ROWS),
    Need("ftrace-chart", "--for ftrace-chart", FIRST, r"(  )+(?P<name>[^ ].*)\(\)(;| \{)$", "open leaf"),
    Need("ftrace-chart", "--for ftrace-chart", WHOLE, r"\s*\S+\s+\S+\s+=>\s+\S+\s*$", "banner"),
    Need("ftrace-chart", "--graph-opts proc", WHOLE, r"[^|]*\|[^|]*$", NONE),
    Need("perf ftrace latency", DEFAULT, WHOLE,
         r"[^)|]*\)[^|0-9]*(?P<dur>[0-9.]+) us[^|]*\|", "leaf close"),
    Need("perf ftrace profile", "--for perf", WHOLE,
         r"[^)|]*\) [ +!#*@$] *(?P<dur>[0-9.]+) us *\| *(?:\} /\* )?(?P<name>[^ (]+(?: \[\w+\])?)",
         "leaf close"),
    Need("vim", "--for vim", WHOLE, r"[^|]*\|[^|]*\|[^|]*\|[^|]*\{$", "open"),
    Need("vim", "--for vim", WHOLE, r"[^|]*\|[^|]*\|[^|]*\|[^|]*\}$", "close"),
    Need("vim", "--for vim", FIELD, r"[ +!#*@$]+(?P<dur>[0-9.]+) us *$", "leaf close"),
    Need("vim", "--for sleepgraph", WHOLE, r".*\}$", NONE),
    Need("graph_viewer", DEFAULT, FIRST, r" *(?P<name>\S+(?: \[\w+\])?)\(\)(?: \{|;)$", "open leaf"),
    Need("graph_viewer", DEFAULT, FIRST, r" *\}$", "close"),
    Need("tracefg", DEFAULT, WHOLE, r"^ [0-9]\) [@*#!+ ] ", ROWS + " banner", r"\$ "),
    Need("tracefg", DEFAULT, WHOLE, r".* ([0-9]+.?[0-9]*) us", "leaf close"),
    Need("tracefg", DEFAULT, WHOLE, r"(?:%s)(?P<name>[a-zA-Z_0-9.]+)\(\) \{" % TRACEFG_BAR, "open",
         r"\["),
    Need("tracefg", DEFAULT, WHOLE, r"(?:%s)(?P<name>[a-zA-Z_0-9.]+)\(\);" % TRACEFG_BAR, "leaf", r"\["),
    Need("tracefg", DEFAULT, WHOLE, r"(?:%s)\}" % TRACEFG_BAR, "close"),
    Need("tracefg", "--for sleepgraph", WHOLE, r"^ [0-9]\) [@*#!+ ] ", "banner"),
    Need("kxray", DEFAULT, WHOLE, KXRAY_ROW, ROWS + " banner"),
    Need("kxray", "--graph-opts proc,tail", WHOLE, KXRAY_ROW, ROWS + " banner"),
    Need("kxray", "--graph-opts proc,tail", TASK, r"^\S+-\d+$", ROWS),
    Need("kxray", DEFAULT, FIELD, r"^[+!#*@$]?\s*(?P<dur>\d+(\.\d+)?)\s*us\s*$", "leaf close"),
    Need("kxray", DEFAULT, LAST, KXRAY_NAME + r"\{$", "open"),
    Need("kxray", DEFAULT, LAST, KXRAY_NAME + r";$", "leaf"),
    Need("kxray", DEFAULT, LAST, r"^\}(\s*/\*\s*([\w.]+( \[\w+\])?)\s*\*/)?$", "close"),
    Need("kxray", "--graph-opts proc,tail", LAST, r"^\}\s*/\*\s*(?P<name>[\w.]+( \[\w+\])?)\s*\*/$", "close"),
    Need("kxray", "--graph-opts abstime", WHOLE, KXRAY_ROW, "banner"),
    Need("uftrace ktrace", "--for sleepgraph", LAST, r"(?P<name>\S+(?: \[\w+\])?)\(\) \{$", "open"),
    Need("uftrace ktrace", "--for sleepgraph", LAST, r"(?P<name>\S+(?: \[\w+\])?)\(\);$", "leaf"),
    Need("uftrace ktrace", "--for sleepgraph", LAST, r"\} /\* (?P<name>.*) \*/$", "close"),
    Need("uftrace ktrace", "--for sleepgraph", FIELD, r"[ +!#*@$]* *(?P<dur>[0-9.]+) us *$", "leaf close"),
    Need("sleepgraph", WIDE + "--for sleepgraph", WHOLE, SLEEPGRAPH_ROW, ROWS),
    Need("FuncGraph", WIDE + DEFAULT, WHOLE, FUNCGRAPH_CPU, ROWS + " banner"),
    Need("perf ftrace latency", WIDE + DEFAULT, WHOLE,
         r"[^)|]*\)[^|0-9]*(?P<dur>[0-9.]+) us[^|]*\|", "leaf close"),
    Need("ftrace-chart", WIDE + "--for ftrace-chart", WHOLE, r"[^|]*\|[^|]*$", ROWS),
    Need("tracefg", WIDE + DEFAULT, WHOLE, r"^ [0-9]\) [@*#!+ ] ", NONE),
    Need("kxray", WIDE + DEFAULT, WHOLE, KXRAY_ROW, ROWS + " banner"),
    # return values: ours has none, so nothing may look like one
    Need("avocado retval", "--for sleepgraph", WHOLE, AVOCADO, NONE),
    Need("Perfetto systrace", "--for sleepgraph", WHOLE, PERFETTO_SYSTRACE, NONE),
    Need("Perfetto systrace", TRACE_CMD, WHOLE, PERFETTO_SYSTRACE, ROWS),
    Need("ftraceparser", TRACE_CMD, WHOLE, PLUMMM, CALLS),
    Need("Trace Compass", "--for sleepgraph", WHOLE, TRACE_COMPASS, NONE),
    Need("Trace Compass", TRACE_CMD_RAW, WHOLE, TRACE_COMPASS, "event"),
]


def part_of(line, part):
    """What a program takes from a line before its pattern; None if it is not there."""
    fields = line.split("|")
    if part == WHOLE:
        return line
    if line.startswith("#") or len(fields) < 2:
        return None
    if part == LAST:
        return fields[-1].lstrip(" ")
    if part == FIRST:
        return line.split("|", 1)[1]
    if part == FIELD:
        return fields[-2].split(")", 1)[1].lstrip(" ") if len(fields) == 2 else fields[-2]
    return fields[-3].split(")", 1)[1].strip() if len(fields) > 2 else None


def kind_of(line):
    """What a line of the text, or of trace-cmd report, is."""
    if re.search(r": funcgraph_\w+: +func=", line):
        return "event"
    for kind, pattern in (("header", r"#|cpus="), ("lost", r"CPU:"), ("banner", r" \S+\) .* => "),
                          ("comment", r".*/\* a packet|.*: print:"), ("open", r".*\{$"), ("leaf", r".*;$"),
                          ("close", r".*\|  +\}")):
        if re.match(pattern, line):
            return kind
    return "other"


def sample_rows():
    """Of each call's row in the sample: kind, name, module included, and duration."""
    rows = []
    for line in open(SAMPLE, encoding="utf-8"):
        line = line.rstrip("\n")
        kind = kind_of(line)
        if kind in CALLS:
            body = line.split("|")[-1]
            name = re.search(r"\} /\* (.*) \*/", body) or re.search(r" *(\S.*)\(\)", body)
            duration = re.search(r"([\d.]+) us", line)
            rows.append((kind, name.group(1), duration and duration.group(1)))
    return rows


def report(*words, sample=SAMPLE):
    command = [PROGRAM, "report", "--from", "ftrace", sample, *words]
    done = subprocess.run(command, check=True, capture_output=True)
    if done.stderr:
        sys.exit("%s says: %s" % (" ".join(command), done.stderr.decode()))
    return done.stdout


def report_wide(*words):
    with tempfile.NamedTemporaryFile("w") as wide, open(SAMPLE, encoding="utf-8") as sample:
        for line in sample:
            line = re.sub(r"^([\d .|]*) 1\) ", r"\1 12) ", line)
            line = re.sub(r"^([\d .|]*) 0\) ", r"\1  0) ", line)
            wide.write(line.replace("CPU:1 ", "CPU:12 "))
        wide.flush()
        return report(*words, sample=wide.name)


def output_of(options, cache={}):
    """The lines of the sample with these options, or None without trace-cmd."""
    if options in cache:
        return cache[options]
    if options in (TRACE_CMD, TRACE_CMD_RAW):
        if not shutil.which("trace-cmd"):
            return None
        with tempfile.NamedTemporaryFile() as dat:
            report("--for", "trace-cmd", "-o", dat.name)
            text = subprocess.run(options.split() + ["-i", dat.name], check=True, capture_output=True).stdout
    elif options.startswith(WIDE):
        text = report_wide(*options[len(WIDE):].split())
    else:
        text = report(*options.split())
    cache[options] = text.decode().split("\n")
    return cache[options]


def is_wanted(need, line):
    return kind_of(line) in need.kinds.split() and not (need.but and re.search(need.but, line))


def wrong_rows(need, lines):
    """Lines that match and should not, or the other way round."""
    for number, line in enumerate(lines, 1):
        text = part_of(line, need.part)
        is_matched = text is not None and bool(re.match(need.pattern, text))
        if is_matched != is_wanted(need, line):
            yield "line %d %s: %s" % (number, "matches" if is_matched else "does not match", line)


def wrong_values(need, lines, rows):
    """Names and durations that differ from the sample's, in the order of the rows."""
    rows = [row for row in rows if row[0] in need.kinds.split()]
    at = 0
    for line in lines:
        text = part_of(line, need.part)
        if kind_of(line) not in need.kinds.split() or kind_of(line) not in CALLS:
            continue
        kind, name, duration = rows[at] if at < len(rows) else (None, None, None)
        at += 1
        found = re.match(need.pattern, text)
        values = found.groupdict() if found and kind else {}
        if values.get("name") and values["name"].strip() not in (name, name.split(" ")[0]):
            yield "the name is %s, not %s" % (values["name"], name)
        if "dur" in values and kind != "open" and values["dur"] != duration:
            yield "the duration is %s, not %s" % (values["dur"], duration)


def main():
    passed = failed = skipped = 0
    rows = sample_rows()
    for need in TABLE:
        title = "%s (%s, %s)" % (need.reader, need.options, need.part)
        lines = output_of(need.options)
        if lines is None:
            skipped += 1
            print("SKIP %s: trace-cmd is not installed" % title)
            continue
        wrong = list(wrong_rows(need, lines))
        if not wrong and need.kinds and "event" not in need.kinds:
            wrong = list(wrong_values(need, lines, rows))
        if wrong:
            failed += 1
            print("FAIL %s: %s\n   %s" % (title, need.pattern, "\n   ".join(wrong[:5])))
        else:
            passed += 1
            if "-v" in sys.argv:
                print("%-20s %-35s %3d of %d rows: %s" % (
                    need.reader, need.options, sum(is_wanted(need, line) for line in lines),
                    sum(kind_of(line) not in ("header", "other") for line in lines), need.kinds))
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(failed > 0)


main()
