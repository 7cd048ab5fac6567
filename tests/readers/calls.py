#!/usr/bin/env python3
"""Calls as a reader understood them, in one form for all readers, and whether two are the same.

    calls.py [-o] READER FILE [TEXT]
                                    print the calls, a line each: TASK DEPTH NAME DURATION_US; -o: events
                                    are missing, so calls may begin or end unseen
    calls.py same [-mo] [-t US] WANT GOT
                                    compare two such files; -m: names without module; -o: readers may give
                                    the open calls of WANT any duration and place, or leave them out
    calls.py stacks READER FILE     print the time of each stack without what it calls, in ns, as
                                    json has it, or as speedscope understood folded stacks

READER is what wrote FILE: text and json are netfgraph's own (--for sleepgraph, --for jq); trace-cmd
(report), kshark (our kshark.c), speedscope (its own export) and vim (fold.vim; with
the TEXT that was folded) say what somebody else understood. Callers stand before what they call, tasks
in the order of their numbers; the idle task of CPU N has the number 4194305 + N. A duration that a reader does not tell is "-"; a call that it
understood as never returned, or that netfgraph says is incomplete, has "open".
"""
import collections
import json
import re
import sys


IDLE = 4194305


def task_of(tid, cpu):
    return str(IDLE + int(cpu)) if int(tid) == 0 else str(tid)


class Tree:
    """Calls of all tasks, from their beginnings and ends."""

    def __init__(self):
        self.done = {}
        self.open = {}
        self.is_torn = False  # events are missing: calls end unseen, and begin so

    def begin(self, task, name, depth=None):
        stack = self.open.setdefault(task, [])
        if self.is_torn and depth is not None:
            del stack[depth:]
        elif depth is not None and depth != len(stack):
            sys.exit("%s begins at depth %s below %d calls" % (name, depth, len(stack)))
        call = [len(stack), name, "open"]
        stack.append(call)
        self.done.setdefault(task, []).append(call)

    def end(self, task, duration, name=None):
        stack = self.open.get(task)
        if self.is_torn and (not stack or stack[-1][1] != name is not None):
            return
        if not stack:
            sys.exit("task %s: an end of %s without a beginning" % (task, name))
        if name is not None and stack[-1][1] != name:
            sys.exit("task %s: %s ends within %s" % (task, name, stack[-1][1]))
        stack.pop()[2] = duration or "open"

    def leaf(self, task, name, duration, depth=None):
        self.begin(task, name, depth)
        self.end(task, duration)

    def show(self):
        for task in sorted(self.done, key=int):
            for depth, name, duration, *_ in self.done[task]:
                print(task, depth, name.replace(" ", ""), duration)


TEXT_ROW = re.compile(
    r" *(\d+\.\d{6}) \|  +(\d+)\) +(\S.*)-(\d+) +\| [ +!#*@$] +(?:(\d+(?:\.\d+)?) us +)?\|  "
    r"( *)(?:(\S+(?: \[\S+\])?)\(.*\)(;| \{)|\}(?: /\* (.*) \*/)?)$")
TEXT_OTHER = re.compile(r"#|$|.*\|  +/\* [a-z_0-9]+: .* \*/$| -{42}$| +\d+\) .* => |CPU:\d+ \[LOST (\d+ )?EVENTS\]$")


def read_text(lines, tree):
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n")
        row = TEXT_ROW.match(line)
        if not row:
            if not TEXT_OTHER.match(line):
                sys.exit("line %d is nothing known: %s" % (number, line))
            if "[LOST" in line:
                tree.open.clear()
            continue
        task, duration, depth = task_of(row.group(4), row.group(2)), row.group(5), len(row.group(6)) // 2
        name, kind = row.group(7), row.group(8)
        if kind == " {":
            tree.begin(task, name, depth)
        elif kind == ";":
            tree.leaf(task, name, duration, depth)
        else:
            tree.end(task, duration, row.group(9))


def read_json(lines, tree):
    """A line is a call that ended: those it made stand before it."""
    below = {}
    for line in lines:
        call = json.loads(line)
        if "func" not in call:
            continue
        name = call["func"] + ("[%s]" % call["module"] if call["module"] else "")
        levels = below.setdefault(task_of(call["tid"], call["cpu"]), {})
        node = (name, call["duration_ns"] if call["complete"] else None, levels.pop(call["depth"] + 1, []))
        levels.setdefault(call["depth"], []).append(node)

    def walk(task, node):
        tree.begin(task, node[0])
        for child in node[2]:
            walk(task, child)
        tree.end(task, "open" if node[1] is None else "%.3f" % (node[1] / 1000))

    for task, levels in below.items():
        if set(levels) != {0}:
            sys.exit("task %s: calls without callers" % task)
        for node in levels[0]:
            walk(task, node)


TRACE_CMD_ROW = re.compile(
    r".*-(\d+) +\[(\d+)\] +\d+\.\d+: funcgraph_(?:entry|exit): +(?:[ $#!+] *([\d.]+) us +)?\|  "
    r"( *)(?:(.*)\(\)(;| \{)|\}(?: /\* (.*) \*/)?)$")


def read_trace_cmd(lines, tree):
    for line in lines:
        row = TRACE_CMD_ROW.match(line.rstrip("\n"))
        if not row:
            if not re.match(r".*: print: +\S+: |cpus=\d+$|CPU:\d+ \[(\d+ )?EVENTS DROPPED\]$", line):
                sys.exit("trace-cmd says: " + line)
            continue
        task, cpu, duration, indent, name, kind, ended = row.groups()
        task = task_of(task, cpu)
        if kind == " {":
            tree.begin(task, name, len(indent) // 2)
        elif kind == ";":
            tree.leaf(task, name, duration, len(indent) // 2)
        else:
            tree.end(task, duration, ended)


def read_kshark(lines, tree):
    """kshark.c: time, CPU, task, event and info by tabs. A leaf is two entries here, too."""
    for line in lines:
        time, cpu, task, event, info = line.rstrip("\n").split("\t")
        if event == "ftrace/print":
            continue
        if event == "missed_events":
            tree.open.clear()
            continue
        row = re.match(r"[ $#!+] *(?:([\d.]+) us +)?\|  ( *)(?:(.*)\(\)(?:;| \{)|\}.*)$", info)
        if not row or event not in ("ftrace/funcgraph_entry", "ftrace/funcgraph_exit"):
            sys.exit("KernelShark says: " + line)
        duration, indent, name = row.groups()
        task = task_of(task, cpu)
        begun = tree.open.get(task)
        if event.endswith("entry"):
            tree.begin(task, name, len(indent) // 2)
            tree.open[task][-1].append((duration, int(time)))
        elif not begun or len(begun) - 1 != len(indent) // 2:
            sys.exit("KernelShark ends what did not begin: " + line)
        elif begun[-1][3][0] not in (None, duration):
            sys.exit("KernelShark tells two durations of " + begun[-1][1])
        else:
            begun[-1][2:] = [duration]
            tree.end(task, duration)


def read_speedscope(lines, tree):
    data = json.load(lines)
    frames = [frame["name"] for frame in data["shared"]["frames"]]
    unit = {"microseconds": 1, "milliseconds": 1000, "nanoseconds": 0.001}
    for profile in data["profiles"]:
        task = re.search(r"(\d+)\D*$", profile["name"]).group(1)
        begun = []
        for event in profile["events"]:
            name = frames[event["frame"]]
            if event["type"] == "O":
                begun.append(event["at"])
                tree.begin(task, name)
            else:
                us = (event["at"] - begun.pop()) * unit[profile["unit"]]
                tree.end(task, "%.3f" % us, name)


def read_vim(lines, tree, text):
    """fold.vim: the first and the last line of a fold and the text shown for it; leaves from TEXT."""
    folds = {}
    for line in lines:
        first, last, shown = line.rstrip("\n").split("\t")
        folds[int(first)] = (int(last), shown)
    ends = []
    rows = [row.rstrip("\n") for row in open(text, encoding="utf-8")]
    for number, row in enumerate(rows, 1):
        field = row.split("|")
        if len(field) < 4 or row.startswith("#"):
            continue
        task = re.search(r"-(\d+) *$", field[1]).group(1)
        name = field[3].split("(")[0].strip()
        if number in folds:
            last, shown = folds[number]
            part = shown.split("|")
            if part[:2] + part[3:] != field[:2] + field[3:]:
                sys.exit("line %d is shown as %s" % (number, shown))
            tree.begin(task, name)
            ends.append((last, re.sub(r"[^\d.]", "", part[2])))
        elif row.endswith(";"):
            tree.leaf(task, name, re.sub(r"[^\d.]", "", field[2]))
        while ends and ends[-1][0] == number:
            if not row.endswith("}"):
                sys.exit("a fold ends in line %d: %s" % (number, row))
            tree.end(task, ends.pop()[1])
    if ends:
        sys.exit("a fold ends in no line")


def calls_of(path, is_without_module):
    calls = []
    for line in open(path, encoding="utf-8"):
        task, depth, name, duration = line.split()
        calls.append((task, depth, name.split("[")[0] if is_without_module else name, duration))
    return calls


def near(want, got, tolerance):
    """The digits that a text leaves off, and TOLERANCE."""
    if "-" in (want, got):
        return True
    if "open" in (want, got):
        return want == got
    return abs(float(want) - float(got)) <= tolerance + max(0.0011, float(want) / 900000)


def below_open(calls):
    """Whether each call has an open caller: where its callers begin or end is then a guess."""
    found, above = [], []
    for task, depth, _, duration in calls:
        if above and above[0] != task:
            above = []
        del above[int(depth) + 1:]
        above = above or [task]
        found.append("open" in above[1:])
        above.append(duration)
    return found


def same_but_open(want, got, tolerance):
    """The calls that are whole, in their order; what else was understood has the name of an open one."""
    whole = [(call, is_below) for call, is_below in zip(want, below_open(want)) if call[3] != "open"]
    spare = collections.Counter((call[0], call[2]) for call in want if call[3] == "open")
    at = 0
    for number, call in enumerate(got, 1):
        if at < len(whole):
            ours, is_below = whole[at]
            is_depth = int(call[1]) <= int(ours[1]) if is_below else call[1] == ours[1]
            if call[0] == ours[0] and call[2] == ours[2] and is_depth and near(ours[3], call[3], tolerance):
                at += 1
                continue
        if not spare[call[0], call[2]]:
            sys.exit("call %d: ours is %s, understood was %s" % (
                number, " ".join(whole[at][0]) if at < len(whole) else "none", " ".join(call)))
        spare[call[0], call[2]] -= 1
    if at < len(whole):
        sys.exit("not understood: %s" % " ".join(whole[at][0]))
    print("%d calls, and %d of %d incomplete" % (
        len(whole), len(got) - len(whole), len(want) - len(whole)))


def same(arguments):
    is_without_module = "-m" in arguments
    tolerance = float(arguments[arguments.index("-t") + 1]) if "-t" in arguments else 0
    want, got = (calls_of(path, is_without_module) for path in arguments[-2:])
    if not want:
        sys.exit("there are no calls to compare")
    if "-o" in arguments:
        same_but_open(want, got, tolerance)
        return
    for number, (one, other) in enumerate(zip(want, got), 1):
        if one[:3] != other[:3] or not near(one[3], other[3], tolerance):
            sys.exit("call %d of %d: ours is %s, understood was %s" % (
                number, len(want), " ".join(one), " ".join(other)))
    if len(want) != len(got):
        sys.exit("ours has %d calls, understood were %d" % (len(want), len(got)))
    print("%d calls, %d levels" % (len(want), 1 + max(int(call[1]) for call in want)))


def stacks_of_json(lines):
    stacks, below = {}, {}
    for line in lines:
        call = json.loads(line)
        if "func" not in call:
            continue
        name = call["func"] + (" [%s]" % call["module"] if call["module"] else "")
        levels = below.setdefault(task_of(call["tid"], call["cpu"]), {})
        made = levels.pop(call["depth"] + 1, [])
        duration = call["duration_ns"]
        mine = [((name,), duration - sum(whole for _, whole in made))]
        mine += [((name,) + stack, time) for inner, _ in made for stack, time in inner]
        if call["depth"] > 0:
            levels.setdefault(call["depth"], []).append((mine, duration))
            continue
        for stack, time in mine:
            stack = ";".join((call["comm"].replace("<idle>", "swapper"),) + stack)
            stacks[stack] = stacks.get(stack, 0) + time
    return stacks


def stacks_of_speedscope(lines):
    data = json.load(lines)
    frames = [frame["name"] for frame in data["shared"]["frames"]]
    stacks = {}
    for profile in data["profiles"]:
        stack, last = [], 0
        for event in profile["events"]:
            key = ";".join(stack)
            stacks[key] = stacks.get(key, 0) + int(event["at"]) - last
            last = int(event["at"])
            if event["type"] == "O":
                stack.append(frames[event["frame"]])
            else:
                stack.pop()
    return stacks


def show_stacks(reader, path):
    with open(path, encoding="utf-8") as lines:
        stacks = (stacks_of_json if reader == "json" else stacks_of_speedscope)(lines)
    for stack in sorted(stacks):
        if stacks[stack]:
            print(stack, stacks[stack])


READERS = {
    "text": read_text, "json": read_json, "trace-cmd": read_trace_cmd, "kshark": read_kshark,
    "speedscope": read_speedscope, "vim": read_vim,
}


def main():
    is_torn = sys.argv[1:2] == ["-o"]
    if is_torn:
        del sys.argv[1]
    if len(sys.argv) > 3 and sys.argv[1] == "same":
        same(sys.argv[2:])
        return
    if len(sys.argv) == 4 and sys.argv[1] == "stacks":
        show_stacks(*sys.argv[2:])
        return
    if len(sys.argv) < 3 or sys.argv[1] not in READERS:
        sys.exit(__doc__)
    tree = Tree()
    tree.is_torn = is_torn
    with open(sys.argv[2], encoding="utf-8") as lines:
        READERS[sys.argv[1]](lines, tree, *sys.argv[3:])
    tree.show()


main()
