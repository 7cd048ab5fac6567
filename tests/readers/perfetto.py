#!/usr/bin/env python3
"""What a reader of Perfetto's format understands of a trace.

    perfetto.py calls FILE      the calls by task, as calls.py prints them: what ran on a CPU's tracks
                                belongs to the task that its outermost slices name
    perfetto.py tracks FILE     processes, threads and tracks with the slices on them, flows, clocks

Slices are put together as Perfetto's trace_processor does it: the events of a track in the order of
their times, each end for the innermost slice that is open. What does not fit ends with an error.
"""
import re
import struct
import sys

IDLE = 4194305


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """A message as pairs of field numbers and values: numbers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                sys.exit("a message is cut")
        else:
            sys.exit("a field of wire type %d" % kind)
        yield tag >> 3, value


def one(data):
    return dict(fields(data))


def text(value):
    return value.decode("utf-8")


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Slice:
    def __init__(self, name, begin, track, values):
        self.name, self.begin, self.end, self.track, self.values = name, begin, None, track, values
        self.depth, self.task = 0, None


class Trace:
    def __init__(self, data):
        self.names, self.keys = {}, {}
        self.tracks = {}    # uuid: (name, parent, pid, tid)
        self.processes = {}
        self.events, self.clocks, self.clock, self.default_clock = [], [], None, None
        for field, packet in fields(data):
            if field != 1:
                sys.exit("field %d of a trace" % field)
            self.take(list(fields(packet)))

    def take(self, packet):
        whole = dict(packet)
        if whole.get(13) == 1:
            self.names, self.keys = {}, {}
        if 6 in whole:
            for field, value in fields(whole[6]):
                if field == 1:
                    self.clocks.append((one(value)[1], one(value)[2]))
                else:
                    self.clock = value
        if 59 in whole:
            self.default_clock = one(whole[59])[58]
        for field, value in fields(whole.get(12, b"")):
            entry = one(value)
            (self.names if field == 2 else self.keys)[entry[1]] = text(entry[2])
        if 60 in whole:
            self.describe(one(whole[60]))
        if 11 in whole:
            self.events.append((whole[8], len(self.events), list(fields(whole[11]))))

    def describe(self, track):
        pid = tid = None
        name = text(track.get(2, b""))
        if 3 in track:
            process = one(track[3])
            pid, name = process[1], text(process[6])
            if self.processes.setdefault(pid, name) != name:
                sys.exit("process %d has two names" % pid)
        if 4 in track:
            thread = one(track[4])
            pid, tid, name = thread[1], thread[2], text(thread[5])
            if pid not in self.processes:
                sys.exit("thread %d comes before its process" % tid)
        elif 5 in track and track[5] not in self.tracks:
            sys.exit("track %s comes before its parent" % name)
        self.tracks[track[1]] = (name, track.get(5), pid, tid)

    def path(self, uuid):
        name, parent, pid, tid = self.tracks[uuid]
        if tid is not None:
            return "%s %d/%s %d" % (self.processes[pid], pid, name, tid)
        return (self.path(parent) + "/" if parent else "") + name

    def task_of(self, uuid):
        name, _, _, tid = self.tracks[uuid]
        if tid is not None:
            return tid
        idle = re.match(r"swapper/(\d+)$", name)
        return IDLE + int(idle.group(1)) if idle else int(name.rsplit(" ", 1)[1])

    def value(self, entry):
        for field, value in entry:
            if field in (2, 3):
                return str(value)
            if field == 4:
                return str(signed(value))
            if field == 6:
                return text(value)
            if field == 7:
                return "0x%x" % value
        return {text(dict(part)[10]): self.value(part) for part in
                (list(fields(value)) for field, value in entry if field == 11)}

    def values(self, event):
        found = {}
        for field, value in event:
            if field == 4:
                entry = list(fields(value))
                known = dict(entry)
                key = self.keys[known[1]] if 1 in known else text(known[10])
                found[key] = self.value(entry)
        return found

    def name(self, event):
        known = dict(event)
        return text(known[23]) if 23 in known else self.names[known[10]]

    def slices(self, events):
        """All slices, the instants among them, by their beginnings; and flows as lists of slices."""
        stacks, done, flows = {}, [], {}
        for time, _, event in events:
            known = dict(event)
            uuid, kind = known[11], known[9]
            if uuid not in self.tracks:
                sys.exit("an event on a track that is not described")
            stack = stacks.setdefault(uuid, [])
            if kind == 2:
                if not stack:
                    sys.exit("an end too many on " + self.path(uuid))
                piece = stack.pop()
                piece.end = time
                piece.values.update(self.values(event))
                continue
            piece = Slice(self.name(event), time, uuid, self.values(event))
            piece.depth = len(stack)
            done.append(piece)
            if kind == 1:
                stack.append(piece)
            for field, value in event:
                if field in (47, 48):
                    flows.setdefault(value, []).append(piece)
        for uuid, stack in stacks.items():
            if stack:
                sys.exit("%d open slices on %s" % (len(stack), self.path(uuid)))
        return done, flows


def show_calls(trace):
    """In the order of the file, in which a task's events are, whatever track they are on."""
    stacks, owners, done = {}, {}, {}
    for time, _, event in trace.events:
        known = dict(event)
        uuid, kind = known[11], known[9]
        name, parent, _, tid = trace.tracks[uuid]
        is_cpu = tid is None and ("softirq" in name or "interrupt" in name)
        if kind == 3 or name.startswith("lost events"):
            continue
        task, cnt = owners.get(uuid, (None, 0))
        if not is_cpu:
            task = trace.task_of(uuid)
        elif kind == 1 and not cnt:
            task = trace.values(event)["task"].rsplit("-", 1)[1]
            task = int(task) if task != "0" else IDLE + int(name.rsplit(" ", 1)[1])
        owners[uuid] = (task, cnt + (1 if kind == 1 else -1))
        stack = stacks.setdefault(task, [])
        if kind == 1:
            call = [len(stack), trace.name(event), time]
            stack.append((call, uuid))
            done.setdefault(task, []).append(call)
        else:
            call, begun = stack.pop()
            if begun != uuid:
                sys.exit("task %d: %s ends on another track" % (task, call[1]))
            call[2] = time - call[2]
    for task in sorted(done):
        for depth, name, duration in done[task]:
            print(task, depth, name.replace(" ", ""), "%.3f" % (duration / 1000))


def show_tracks(trace):
    slices, flows = trace.slices(sorted(trace.events, key=lambda event: event[:2]))
    if trace.clocks:
        print("clock %s of %s" % (trace.default_clock, trace.clock))
        for clock, time in trace.clocks:
            print("clock %d: %d" % (clock, time))
    for pid, name in sorted(trace.processes.items()):
        print("process %d %s" % (pid, name))
    for uuid in sorted({piece.track for piece in slices}, key=trace.path):
        print(trace.path(uuid))
        for piece in slices:
            if piece.track != uuid:
                continue
            end = "-" if piece.end is None else "%.3f" % ((piece.end - piece.begin) / 1000)
            values = {key: value for key, value in piece.values.items() if key != "cpu"}
            print("  " * (piece.depth + 1) + piece.name, end, *([values] if values else []))
    for number in sorted(flows):
        steps = sorted(flows[number], key=lambda piece: piece.begin)
        print("flow: " + " -> ".join("%s [%s]" % (piece.name, trace.path(piece.track))
                                     for piece in steps))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("calls", "tracks"):
        sys.exit(__doc__)
    with open(sys.argv[2], "rb") as data:
        trace = Trace(data.read())
    (show_calls if sys.argv[1] == "calls" else show_tracks)(trace)


main()
