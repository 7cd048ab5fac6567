#!/usr/bin/env python3
"""Spans that otlp.js understood: whether they are our calls, and the calls in the form of calls.py.

    otlp.py [-p] SPANS OURS.JSON

-p: callers may be missing, as in a text that begins or ends within them.

Each line of --format json has to be there as a span, or as an event or span of what was lost or said, with the same
values; spans have to make trees: ids that come once, one root in each trace, parents in the same trace around their
children. On standard output: TASK DEPTH NAME DURATION_US.
"""
import collections
import json
import sys

IDLE = 4194305  # and the CPU: the idle task, as calls.py has it


def value_of(value):
    (kind, content), = value.items()
    return int(content) if kind == "intValue" else content


def attributes_of(attributes):
    found = {item["key"]: value_of(item["value"]) for item in attributes}
    if len(found) != len(attributes):
        sys.exit("an attribute comes twice: %s" % attributes)
    return found


class Span:
    def __init__(self, line):
        span = line["span"]
        self.resource = attributes_of(line["resource"])
        self.trace, self.id, self.parent = span["traceId"], span["spanId"], span.get("parentSpanId")
        self.name, self.kind = span["name"], span["kind"]
        self.begin, self.end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        self.attributes = attributes_of(span.get("attributes", []))
        self.events = [(event["name"], int(event["timeUnixNano"]), attributes_of(event["attributes"]))
                       for event in span.get("events", [])]
        self.below = []

    def is_call(self):
        return "code.function.name" in self.attributes or self.name == "[unknown]"

    def duration(self):
        return self.attributes.get("netfgraph.duration_ns", self.end - self.begin)

    def call(self):
        """The fields of our json that a span has all of."""
        get, clock = self.attributes.get, self.resource.get("netfgraph.clock")
        args = {key[len("netfgraph.arg."):]: value for key, value in self.attributes.items()
                if key.startswith("netfgraph.arg.")}
        is_complete = get("netfgraph.complete", True)
        is_returned = is_complete or get("netfgraph.returned", False)
        return {
            "host": self.resource.get("host.name"), "pid": self.resource.get("process.pid"),
            "tid": get("thread.id"), "comm": get("thread.name"),
            "cgroup_id": get("netfgraph.cgroup_id"), "netns": get("netfgraph.netns"), "cpu": get("cpu.logical_number"),
            "func": get("code.function.name"), "module": get("netfgraph.module"), "args": args or None,
            "caller": get("netfgraph.caller"),
            "caller_module": get("netfgraph.caller_module"), "ret": get("netfgraph.ret"), "complete": is_complete,
            "returned": is_returned, "duration_ns": self.duration() if is_complete else None,
            "net_ns": get("netfgraph.net_ns"), "net_error_ns": get("netfgraph.net_error_ns"),
            "begin_unix_ns": self.begin if not clock and is_complete else None,
            "begin_ns": self.begin if clock == "monotonic" and is_complete else None,
        }


def wanted(call, has_wall_clock):
    call = {key: value for key, value in call.items() if key not in ("schema", "depth", "end_ns")}
    call = {"net_ns": None, "net_error_ns": None, **call}
    if not call["complete"]:
        call["duration_ns"] = None
    if has_wall_clock or not call["complete"]:
        call["begin_ns"] = None
    if not call["complete"]:
        call["begin_unix_ns"] = None
    return call


def compare(what, want, got):
    want, got = (collections.Counter(json.dumps(item, sort_keys=True) for item in items) for items in (want, got))
    for item in want - got:
        sys.exit("%s is not there: %s\nthere is: %s" % (what, item, next(iter(got - want), "nothing more")))
    for item in got - want:
        sys.exit("%s is too many: %s" % (what, item))


def check_trees(spans, may_lack_callers):
    by_id = {}
    for span in spans:
        if by_id.setdefault((span.trace, span.id), span) is not span:
            sys.exit("the id %s comes twice" % span.id)
        if span.kind != 1 or span.end < span.begin:
            sys.exit("kind or times of %s" % span.__dict__)
    if len({span.trace for span in spans if not span.parent}) != sum(not span.parent for span in spans):
        sys.exit("a trace has two roots")
    for span in spans:
        above = by_id.get((span.trace, span.parent))
        if span.parent and not above and not may_lack_callers:
            sys.exit("%s has a parent that is not there" % span.name)
        if above:
            above.below.append(span)
            if span.begin < above.begin or (span.end > above.end and "netfgraph.complete" not in above.attributes):
                sys.exit("%s runs beyond its caller %s" % (span.name, above.name))


def task_of(span):
    return span.attributes["thread.id"] or IDLE + span.attributes["cpu.logical_number"]


def show(span, depth):
    module = span.attributes.get("netfgraph.module")
    name = span.name + ("[%s]" % module if module else "")
    print(task_of(span), depth, name.replace(" ", ""), "%.3f" % (span.duration() / 1000))
    for below in span.below:
        if below.is_call():
            show(below, depth + 1)


def main():
    arguments = [word for word in sys.argv[1:] if word != "-p"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    spans = [Span(json.loads(line)) for line in open(arguments[0], encoding="utf-8")]
    ours = [json.loads(line) for line in open(arguments[1], encoding="utf-8")]
    clocks = {span.resource.get("netfgraph.clock") for span in spans}
    if len(clocks) != 1:
        sys.exit("clocks: %s" % clocks)
    clock = clocks.pop()
    check_trees(spans, "-p" in sys.argv)
    compare("the call", [wanted(line, not clock) for line in ours if "func" in line],
            [span.call() for span in spans if span.is_call()])
    said = [event for span in spans for event in span.events]
    said += [(span.name, span.begin, span.attributes) for span in spans if not span.is_call()]
    said = [(name, None if clock == "none" else at, what["cpu.logical_number"], what) for name, at, what in said]
    time = "time_ns" if clock else "time_unix_ns"
    compare("the loss", [(line["cpu"], line["lost"], line[time]) for line in ours if "lost" in line and line["cpu"] is not None],
            [(cpu, what.get("netfgraph.lost.count"), at) for name, at, cpu, what in said if name == "lost events"])
    compare("the comment", [(line["cpu"], line["comment"], line[time]) for line in ours if "comment" in line],
            [(cpu, what["netfgraph.comment"], at) for name, at, cpu, what in said if name == "comment"])
    points = [line for line in ours if line.get("type") == "event"]
    compare("the tracepoint", [(line["cpu"], line["name"], line["system"], line["fields"], line[time]) for line in points],
            [(cpu, name, what.get("netfgraph.system"),
              {key[len("netfgraph.field."):]: value for key, value in what.items() if key.startswith("netfgraph.field.")}, at)
             for name, at, cpu, what in said if name in {line["name"] for line in points}])
    compare("the stack", [(line["cpu"], "\n".join(line["stack"]), line[time]) for line in ours if "stack" in line],
            [(cpu, what["code.stacktrace"], at) for name, at, cpu, what in said if name == "stack"])
    by_task = {}
    for span in spans:
        if not span.parent and span.is_call() and "thread.id" in span.attributes:
            by_task.setdefault(task_of(span), []).append(span)
    for task in sorted(by_task):
        for span in by_task[task]:
            show(span, 0)


main()
