#!/usr/bin/env python3
"""What sleepgraph understands of a trace, in the form of calls.py.

    sleepgraph_calls.py SLEEPGRAPH.PY TRACE

Its own classes read every line, as its parseTraceLog does: what it complains about, puts in by itself
or leaves out is an error here. A call that it makes of an entry and a return with nothing traced
between has no duration of the tracer's.
"""
import importlib.util
import re
import sys


def load(path):
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("sleepgraph", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


IDLE = 4194305 # and the CPU: as calls.py has it


def graphs_of(sleepgraph, path):
    """Its call graphs by task; only those that are complete may be left."""
    props, values = sleepgraph.TestProps(), sleepgraph.sysvals
    values.cgblacklist = []
    graphs = {}
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\r\n")
        if props.stampInfo(line, values):
            continue
        row = re.match(props.ftrace_line_fmt, line)
        if not row:
            if line.startswith("#") or re.match(r"$| *-+$| *\d+\).* => |CPU:\d+ \[LOST ", line):
                continue
            sys.exit("sleepgraph does not match: " + line)
        item = sleepgraph.FTraceLine(row.group("time"), row.group("msg"), row.group("dur"))
        if not item.fcall and not item.freturn and not item.fevent:
            sys.exit("sleepgraph sees neither call nor return: " + line)
        if item.fevent:
            continue
        pid = int(row.group("pid")) or IDLE + int(row.group("cpu"))
        graph = graphs.setdefault((row.group("proc"), pid),
                                  [sleepgraph.FTraceCallGraph(pid, values)])
        item.printed = row.group("dur") or "-"
        ended = graph[-1].addLine(item)
        if ended != 0:
            graph.append(sleepgraph.FTraceCallGraph(pid, values))
        if ended == -1:
            sys.exit("sleepgraph had to end a call before: " + line)
    return graphs


def show(sleepgraph, graph, pid):
    """The rows of one call graph, as it keeps them; lengths are those that were printed."""
    stack = []
    calls = []
    for item in graph.list:
        if item.name == sleepgraph.FTraceCallGraph.vfname or not hasattr(item, "printed"):
            sys.exit("sleepgraph put in a row at %f" % item.time)
        if item.isReturn():
            call = stack.pop()
            if call[2] != item.name.replace(" ", "") or call[1] != item.depth:
                sys.exit("sleepgraph ends %s with %s" % (call[2], item.name))
            call[3] = item.printed
            continue
        calls.append([pid, int(item.depth), item.name.replace(" ", ""), item.printed])
        if item.isCall():
            stack.append(calls[-1])
    if stack:
        sys.exit("sleepgraph does not end " + stack[-1][2])
    return calls


def main():
    sleepgraph = load(sys.argv[1])
    tasks = {}
    for (_, pid), graphs in graphs_of(sleepgraph, sys.argv[2]).items():
        for graph in graphs:
            if not graph.list:
                continue
            if graph.invalid or graph.partial:
                sys.exit("sleepgraph calls the graph of %s invalid" % graph.list[0].name)
            tasks.setdefault(pid, []).append((graph.start, show(sleepgraph, graph, pid)))
            if not graph.postProcess():
                sys.exit("sleepgraph cannot process the graph of " + graph.list[0].name)
    for pid in sorted(tasks):
        for _, calls in sorted(tasks[pid], key=lambda entry: entry[0]):
            for call in calls:
                print(*call)


main()
