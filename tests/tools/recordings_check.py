#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An independent check of recordings and of what netfgraph says of them.

    recordings_check.py [--program PATH] [--dump PATH] [--damage] [-q] FILE...

From nfgrec.py it builds the calls' entries and exits by function, task, CPU and
time, losses, tracepoints, user stacks, and functions left out, and compares
them with the lines of "netfgraph report FILE --format json" and with the counts
of "netfgraph info FILE". With --dump it also runs nfgdump, whose JSON lines
have to be those of nfgrec.py, byte for byte.

A file that nfgrec.py refuses, the program has to refuse, and the reverse.

--damage changes each of its own tables in turn, by one, and succeeds only if
every comparison notices that. The exit code is 0, or 1 after a disagreement.
"""

import argparse
import collections
import contextlib
import io
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include"))
import nfgrec  # noqa: E402

MAX_SHOWN = 3
TRIGGER = "trigger '"
LEFT_OUT = ("left out ", "not traced for ", "the trace ends")


class Expected:
    """What a recording has, as multisets."""

    def __init__(self, data):
        self.reader = nfgrec.Reader(data)
        self.error = None
        self.entries = collections.Counter()
        self.exits = collections.Counter()
        self.orphans = collections.Counter()
        self.lost = collections.Counter()
        self.points = collections.Counter()
        self.user_stacks = collections.Counter()
        self.stacks = collections.Counter()
        self.packets = collections.Counter()
        self.results = collections.Counter()
        self.left = collections.Counter()
        self.triggers = collections.Counter()
        self.tasks = set()
        self.flags = None       # those of MADE: which values a report shows
        self.totals = [0, 0]
        self.open = {}
        try:
            for item in self.reader:
                self._add(item)
        except nfgrec.Error as error:
            self.error = error

    def _add(self, item):
        if item.kind == "host":
            self.begin = item.clock
        elif item.kind == "made":
            self.flags = item.flags
        elif item.kind in ("entry", "exit"):
            self._call(item)
        elif item.kind == "loss":
            self.lost[item.cpu, item.count or None, item.time] += 1
        elif item.kind == "torn":
            self.lost[item.cpu, item.tid or None, item.time] += 1
        elif item.kind == "tracepoint":
            name, system = self.reader.points[item.point]
            self.points[name.decode(), system.decode(), item.cpu, item.tid, item.time] += 1
        elif item.kind == "left" and 1 <= item.limit_kind <= 5:
            # what was left out before is the first row of a report
            self.left[self.begin if item.flags & 2 else item.time] += 1
        elif item.kind == "trig":
            self.triggers[item.time, item.func is not None] += 1

    def _call(self, item):
        name, module = self.reader.functions[item.func]
        key = name.decode(), module.decode() or None, item.tid, item.cpu, item.time
        here = item.cpu, item.tid, item.time
        calls = self.open.setdefault((item.tid, item.cpu if not item.tid else None), [])
        self.tasks.add((item.tid, item.cpu if not item.tid else None))
        if item.kind == "entry":
            self.totals[0] += 1
            self.entries[key] += 1
            calls.append((item.func, item.frame))
            self._extras(item, here)
            return
        self.totals[1] += 1
        key = key[:3] + key[4:]     # a call may end on another CPU than it began on
        if (item.func, item.frame) in calls:
            while calls.pop() != (item.func, item.frame):
                pass
            self.exits[key] += 1
        else:
            self.orphans[key] += 1
        types = self.reader.types["TYPE"].functions
        if (self.has(6) and item.values is not None and item.values.ret is not None
                and item.func < len(types) and types[item.func][0][0]):
            self.results[key] += 1

    def has(self, bits):
        return self.flags is not None and self.flags & bits

    def _extras(self, item, here):
        if item.user_stack is not None and self.has(256):
            self.user_stacks[here] += 1
        if item.packet_number is not None and self.has(512):
            self.packets[here] += 1
        if item.values is not None and item.values.stack is not None and self.has(32):
            self.stacks[here] += 1


class Said:
    """What the program says of it."""

    def __init__(self, program, path):
        run = subprocess.run([program, "report", path, "--format", "json"],
                             capture_output=True, check=False)
        self.code = run.returncode
        self.messages = run.stderr.decode("utf-8", "replace")
        self.entries = collections.Counter()
        self.exits = collections.Counter()
        self.lost = collections.Counter()
        self.points = collections.Counter()
        self.user_stacks = collections.Counter()
        self.stacks = collections.Counter()
        self.packets = collections.Counter()
        self.results = collections.Counter()
        self.unknown = collections.Counter()
        self.triggers = collections.Counter()
        self.left = collections.Counter()
        self.info = ""
        for line in run.stdout.splitlines():
            self._add(json.loads(line))
        if self.code == 0:
            run = subprocess.run([program, "info", path], capture_output=True, check=False)
            self.info = run.stdout.decode("utf-8", "replace")

    def _add(self, line):
        if "func" in line:
            self._call(line)
        elif "lost" in line and line["cpu"] is None:
            pass  # without a place: of the summary
        elif "lost" in line:
            self.lost[line["cpu"], line["lost"], line["time_ns"]] += 1
        elif line.get("type") == "event":
            self.points[line["name"], line["system"] or "", line["cpu"], line["tid"],
                        line["time_ns"]] += 1
        elif "user_stack" in line:
            self.user_stacks[line["cpu"], line["tid"], line["time_ns"]] += 1
        elif "stack" in line:
            self.stacks[line["cpu"], line["tid"], line["time_ns"]] += 1
        elif line.get("comment", "").startswith(LEFT_OUT):
            self.left[line["time_ns"]] += 1
        elif line.get("comment", "").startswith(TRIGGER):
            self.triggers[line["time_ns"], ", which began " in line["comment"]] += 1
        else:
            self.unknown[tuple(line)] += 1

    def _call(self, line):
        head = line["func"], line["module"], line["tid"], line["cpu"]
        if line["begin_ns"] is not None:
            self.entries[head + (line["begin_ns"],)] += 1
            if isinstance(line["args"], dict) and "pkt" in line["args"]:
                self.packets[line["cpu"], line["tid"], line["begin_ns"]] += 1
        if line["returned"] and line["end_ns"] is not None:
            self.exits[head[:3] + (line["end_ns"],)] += 1
            if line["ret"] is not None:
                self.results[head[:3] + (line["end_ns"],)] += 1


def differences(name, mine, theirs):
    out = []
    for label, more in (("only in the recording", mine - theirs),
                        ("only in the report", theirs - mine)):
        if more:
            total = sum(more.values())
            some = ", ".join(str(key) for key in sorted(more, key=repr)[:MAX_SHOWN])
            out.append(f"{name}: {total} {label}: {some}")
    return out


def compare_exits(expected, said):
    """Exits without an entry in the file may be left out of a report."""
    both = expected.exits + expected.orphans
    return (differences("exits", expected.exits, expected.exits & said.exits)
            + differences("exits", said.exits & both, said.exits))


def compare_info(expected, said):
    found = re.search(r"^events +(\d+): (\d+) calls? and (\d+) returns? of (\d+) tasks?",
                      said.info, re.M)
    if not found:
        return ["info: no line of events"]
    mine = sum(expected.totals), *expected.totals, len(expected.tasks)
    theirs = tuple(int(one) for one in found.groups())
    out = []
    if mine[:3] != theirs[:3]:
        out.append(f"info: events, calls and returns are {theirs[:3]}, not {mine[:3]}")
    tids = len({tid for tid, _ in expected.tasks})
    if theirs[3] not in (mine[3], tids, tids - 1):
        out.append(f"info: tasks are {theirs[3]}, not {mine[3]}")
    return out


def compare(expected, said):
    out = []
    names = ["entries", "lost", "points", "left", "triggers"]
    if expected.flags is not None:      # else a report shows no values
        names += ["user_stacks", "stacks", "results"]
    for name in names:
        out += differences(name, getattr(expected, name), getattr(said, name))
    if expected.has(512):    # a call without its own number shows that of an earlier one
        out += differences("packets", expected.packets, expected.packets & said.packets)
    return out + compare_exits(expected, said) + compare_info(expected, said)


def damaged(expected, said):
    """Whether every comparison notices a change by one."""
    out = []
    names = ["entries", "exits", "lost", "points", "left", "triggers"]
    if expected.flags is not None:
        names += ["user_stacks", "stacks", "results"]
    for name in names:
        table = getattr(expected, name)
        key = next(iter(table), ("nothing", None, 0, 0, 0))
        table[key] += 1
        if not compare(expected, said):
            out.append(f"{name}: nobody noticed one more")
        table[key] -= 1
        if table[key] > 0:
            table[key] -= 1
            if not compare(expected, said):
                out.append(f"{name}: nobody noticed one less")
            table[key] += 1
        table += collections.Counter()
    for place in (0, 1):
        expected.totals[place] += 1
        if not compare(expected, said):
            out.append("totals: nobody noticed one more")
        expected.totals[place] -= 1
    return out


def lines_of(data):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        nfgrec.print_items(data)
    return text.getvalue().encode()


def check(path, options):
    with open(path, "rb") as file:
        data = file.read()
    out = []
    if options.dump:
        run = subprocess.run([options.dump, path], capture_output=True, check=False)
        if run.stdout != lines_of(data):
            out.append("nfgdump and nfgrec.py disagree")
        if run.stderr:
            out.append("nfgdump says: " + run.stderr.decode("utf-8", "replace")[:200])
    expected = Expected(data)
    said = Said(options.program, path)
    refused = said.code != 0
    if refused != (expected.error is not None):
        return out + [f"nfgrec.py: {expected.error or 'takes it'}; the program: "
                      f"{said.messages.strip().splitlines()[:1] or 'takes it'}"]
    if refused:
        return out
    out += compare(expected, said)
    if options.damage:
        out += damaged(expected, said)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="./netfgraph")
    parser.add_argument("--dump")
    parser.add_argument("--damage", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    bad = 0
    for path in options.files:
        out = check(path, options)
        bad += bool(out)
        if out or not options.quiet:
            print(f"{path}: {'DISAGREE' if out else 'agree'}")
        for line in out:
            print("   ", line)
    if bad:
        print(f"{bad} of {len(options.files)} recordings disagree", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
