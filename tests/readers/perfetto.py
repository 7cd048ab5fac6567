#!/usr/bin/env python3
"""What a reader of Perfetto's format understands of a trace.

    perfetto.py calls FILE      the calls by task, as calls.py prints them: what ran on a CPU's tracks
                                belongs to the task that its outermost slices name
    perfetto.py same FILE OURS.JSON
                                whether arguments, results, losses, comments and the clock are those of
                                --format json
    perfetto.py draw FILE PNG   a picture of the tracks, their slices and the flows (needs PIL)
    perfetto.py tracks FILE     processes, threads and tracks with the slices on them, flows, clocks

Slices are put together as Perfetto's trace_processor does it: the events of a track in the order of
their times, each end for the innermost slice that is open. What does not fit ends with an error.
"""
import collections
import json
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
        self.is_named = False   # by a text of its own, as functions are not


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
            piece.is_named = 23 in known
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


def compare(what, want, got):
    want, got = collections.Counter(want), collections.Counter(got)
    if want != got:
        sys.exit("%s: %s, but not %s" % (what, list((want - got).items())[:3], list((got - want).items())[:3]))
    return sum(want.values())


def as_text(values):
    return json.dumps({key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()})


def show_same(trace, path):
    ours = [json.loads(line) for line in open(path, encoding="utf-8")]
    slices, _ = trace.slices(sorted(trace.events, key=lambda event: event[:2]))
    lost, calls, comments, points = [], [], [], []
    point_names = {line["name"] for line in ours if line.get("type") == "event"}
    for piece in slices:
        words = piece.name.split()
        if trace.tracks[piece.track][0].startswith("lost events"):
            lost.append((int(words[1]) if len(words) > 2 else None, piece.end))
        elif piece.is_named and piece.name in point_names:
            points.append((piece.name, piece.begin, json.dumps(
                {key: value for key, value in piece.values.items() if key != "cpu"})))
        elif piece.is_named:
            comments.append((piece.name, piece.begin))
        else:
            calls.append((piece.name, json.dumps(piece.values.get("args")), piece.values.get("ret")))
    texts = [(call["func"] + (" [%s]" % call["module"] if call["module"] else ""),
              json.dumps(call["args"] and {key: value if isinstance(value, str) else json.dumps(value)
                                           for key, value in call["args"].items()}), call["ret"])
             for call in ours if "func" in call]
    cnt = compare("values", texts, calls)
    lost_cnt = compare("losses", [(line["lost"], line["time_ns"]) for line in ours
                                  if "lost" in line and line["cpu"] is not None], lost)
    said = compare("comments", [(line["comment"], line["time_ns"]) for line in ours if "comment" in line], comments)
    point_cnt = compare("tracepoints", [(line["name"], line["time_ns"], as_text(line["fields"])) for line in ours
                                        if line.get("type") == "event"], points)
    times = dict(trace.clocks)
    timed = next((call for call in ours if call.get("begin_unix_ns")), None)
    if timed and (trace.clock, trace.default_clock) != (3, 3):
        sys.exit("the clock is %s of %s" % (trace.default_clock, trace.clock))
    if timed and times[1] - times[3] != timed["begin_unix_ns"] - timed["begin_ns"]:
        sys.exit("the wall clock is %s" % times)
    print("%d calls, %d losses, %d comments%s" % (cnt, lost_cnt, said,
                                                   ", %d tracepoints" % point_cnt if point_cnt else ""))


class Picture:
    """Tracks one below the other, as viewers have them: a row for each depth of slices, flows as lines."""
    WIDTH, GUTTER, ROW, HEAD = 1600, 250, 17, 22

    def __init__(self, trace):
        from PIL import Image, ImageDraw, ImageFont
        self.trace = trace
        self.slices, self.flows = trace.slices(sorted(trace.events, key=lambda event: event[:2]))
        self.first = min(piece.begin for piece in self.slices)
        last = max(piece.end or piece.begin for piece in self.slices)
        self.scale = (self.WIDTH - self.GUTTER - 10) / max(last - self.first, 1)
        self.tops, self.heads, y = {}, [], self.HEAD
        for uuid in sorted({piece.track for piece in self.slices}, key=self.order):
            if not self.heads or self.heads[-1][1] != self.group(uuid):
                self.heads.append((y, self.group(uuid)))
                y += self.HEAD
            self.tops[uuid] = y
            y += self.ROW * (1 + max(piece.depth for piece in self.slices if piece.track == uuid)) + 6
        self.image = Image.new("RGB", (self.WIDTH, y + 8), "white")
        self.draw = ImageDraw.Draw(self.image)
        try:
            self.font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 11)
        except OSError:
            self.font = ImageFont.load_default()

    def group(self, uuid):
        _, parent, pid, tid = self.trace.tracks[uuid]
        if tid is not None:
            return "%s %d" % (self.trace.processes[pid], pid)
        return self.trace.path(parent) if parent else self.trace.path(uuid)

    def order(self, uuid):
        return self.group(uuid).startswith("CPU "), self.group(uuid), self.trace.path(uuid)

    def x(self, time):
        return self.GUTTER + (time - self.first) * self.scale

    def y(self, piece):
        return self.tops[piece.track] + piece.depth * self.ROW

    def text(self, x, y, words, width, fill="black"):
        while words and self.draw.textlength(words, font=self.font) > width:
            words = words[:-1]
        self.draw.text((x, y), words, fill=fill, font=self.font)

    def put_slice(self, piece):
        left, y = self.x(piece.begin), self.y(piece)
        if piece.end is None:
            self.draw.polygon([(left - 4, y), (left + 4, y), (left, y + 7)], fill="#9a6700")
            return
        right = max(self.x(piece.end), left + 1)
        is_lost = self.trace.tracks[piece.track][0].startswith("lost events")
        hue = sum(ord(letter) * 31 for letter in piece.name.lstrip("_").split("_")[0]) % 360
        self.draw.rectangle([left, y, right, y + self.ROW - 3], fill="#cf222e" if is_lost else "hsl(%d,60%%,76%%)" % hue)
        if right - left > 24:
            self.text(left + 3, y + 1, piece.name, right - left - 5)

    def put_flow(self, pieces):
        for one, other in zip(pieces, pieces[1:]):
            ends = [(self.x(piece.begin), self.y(piece) + self.ROW / 2 - 1) for piece in (one, other)]
            self.draw.line(ends, fill="#8250df", width=1)
            x, y = ends[1]
            self.draw.ellipse([x - 2, y - 2, x + 2, y + 2], fill="#8250df")

    def save(self, path):
        self.text(8, 4, "%d slices, %d flows, %.3f ms" % (
            len(self.slices), len(self.flows), (self.WIDTH - self.GUTTER - 10) / self.scale / 1e6), self.WIDTH)
        for y, name in self.heads:
            self.draw.rectangle([0, y, self.WIDTH, y + self.HEAD - 5], fill="#eef1f4")
            self.text(8, y + 2, name, self.WIDTH)
        for uuid, y in self.tops.items():
            name, _, _, tid = self.trace.tracks[uuid]
            self.text(22, y + 1, name if tid is None else "%s %d" % (name, tid), self.GUTTER - 30, "#57606a")
        for piece in self.slices:
            self.put_slice(piece)
        for pieces in self.flows.values():
            self.put_flow(sorted(pieces, key=lambda piece: piece.begin))
        self.image.save(path)
        colours = len(self.image.getcolors(1 << 24))
        if colours < 4:
            sys.exit("the picture has %d colours" % colours)
        print("%d tracks, %d flows" % (len(self.tops), len(self.flows)))


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "draw":
        with open(sys.argv[2], "rb") as data:
            Picture(Trace(data.read())).save(sys.argv[3])
        return
    if len(sys.argv) == 4 and sys.argv[1] == "same":
        with open(sys.argv[2], "rb") as data:
            show_same(Trace(data.read()), sys.argv[3])
        return
    if len(sys.argv) != 3 or sys.argv[1] not in ("calls", "tracks"):
        sys.exit(__doc__)
    with open(sys.argv[2], "rb") as data:
        trace = Trace(data.read())
    (show_calls if sys.argv[1] == "calls" else show_tracks)(trace)


main()
