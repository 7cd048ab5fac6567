#!/usr/bin/env python3
"""Files that ask more of a reader than their size lets expect.

shapes.py DIR SCALE writes NAME.rec and NAME.txt for each shape: the same calls as a recording and
as function_graph text. A file of SCALE 4 has four times the events of SCALE 1.
shapes.py --small DIR writes files of a few hundred bytes with one thing wrong in each.
"""
import struct
import sys
import zlib

START_NS = 2_000_000_000
WORDS_MAX = 100_000  # in an event chunk
ENTRY, EXIT, LOST, SLOT, TIME = range(5)


class Recording:
    """A recording as include/recording.md describes it."""

    def __init__(self, cpu_cnt=2, release="6.1.0"):
        self.seq = 0
        self.out = [b"\x89nfgrec\n", struct.pack("=IHH", 0x01020304, 1, 1)]
        texts = b"".join(struct.pack("=H", len(t)) + t.encode()
                         for t in (release, "x86_64", "netfgraph 0.1.0", "netfgraph record"))
        self.chunk(b"HOST", struct.pack("=QQII", 10**9, 10**18, cpu_cnt, 1) + texts)

    def chunk(self, kind, content):
        content += bytes(-len(content) % 8)
        head = kind + struct.pack("=II", len(content), self.seq)
        self.out.append(head + struct.pack("=I", zlib.crc32(head + content)) + content)
        self.seq += 1

    def funcs(self, names, first=0):
        table = b"".join(struct.pack("=HH", len(n), 0) + n.encode() for n in names)
        self.chunk(b"FUNC", struct.pack("=II", first, len(names)) + table)

    def names(self, names):
        for at in range(0, len(names), 30_000):
            self.chunk(b"NAME", b"".join(struct.pack("=QII16s", ns, tid, 1, comm.encode())
                                         for ns, tid, comm in names[at:at + 30_000]))

    def events(self, events, step_ns=100):
        """(kind, cpu, tid, func, frame) or (LOST, cpu, count); each step_ns after the one before."""
        ns, words, calls, losses, slots = START_NS, [], 0, 0, {}
        first = ns
        for event in list(events) + [None]:
            if event is None or len(words) >= WORDS_MAX:
                self.chunk(b"EVNT", struct.pack("=QQII", first, ns % 2**64, calls, losses) +
                           struct.pack("=%dQ" % len(words), *words))
                words, calls, losses, slots, first = [], 0, 0, {}, ns
            if event is None:
                return
            cpu = event[1]
            if event[0] == LOST:
                words.append(LOST | cpu << 3 | event[2] << 16)
                losses += 1
                continue
            kind, _, tid, func, frame = event
            slot = cpu % 256
            if slots.get(slot) != (cpu, tid):
                slots[slot] = cpu, tid
                words.append(SLOT | slot << 3 | cpu << 11 | tid << 32)
            if step_ns < 0:
                words.append(TIME | (step_ns & 2**61 - 1) << 3)
            words.append(kind | slot << 3 | max(step_ns, 0) << 11 | func << 32 | frame << 48)
            ns += step_ns
            calls += 1

    def save(self, path):
        self.chunk(b"SUMM", struct.pack("=9Q", 3 * 10**9, 10**18, *[0] * 7))
        with open(path, "wb") as file:
            file.write(b"".join(self.out))


class Text:
    """The same as function_graph text with times, CPUs and tasks."""

    def __init__(self, depth_max=40):
        self.depth_max = depth_max
        self.rows = ["# tracer: function_graph\n#\n"
                     "#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n"
                     "#      |          |     |    |           |   |                     |   |   |   |\n"]
        self.us = 2_000_000

    def row(self, cpu, task, duration, body):
        self.us += 1
        columns = " %5d.%06d |   %d) %s | %s|  " % (self.us // 10**6, self.us % 10**6, cpu, task.center(14),
                                                   "  0.100 us    " if duration else " " * 14)
        self.rows.append(columns[1:] + body + "\n")

    def events(self, events, names, comms):
        stacks = {}
        for event in events:
            if event[0] == LOST:
                self.rows.append("CPU:%d [LOST %d EVENTS]\n" % event[1:3])
                continue
            kind, cpu, tid, func, frame = event
            stack = stacks.setdefault(tid, [])
            task = "%s-%d" % (comms(tid)[:7], tid)
            if kind == ENTRY:
                self.row(cpu, task, False, "  " * min(len(stack), self.depth_max) + names[func] + "() {")
                stack.append((func, frame))
                continue
            body = "}"
            if stack and stack[-1] == (func, frame):
                stack.pop()
            else:
                body = "} /* %s */" % names[func]
            self.row(cpu, task, True, "  " * min(len(stack), self.depth_max) + body)

    def save(self, path):
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(self.rows))


def frame(i):
    return 65535 - i % 32768


def calls(cnt):
    return [e for _ in range(cnt) for e in ((ENTRY, 0, 5, 0, 2000), (EXIT, 0, 5, 0, 2000))]


# Each: the events of n steps, and names of functions.
def deep(n):
    return [(ENTRY, 0, 5, 0, frame(i)) for i in range(n)], ["f"]


def nest(n):
    return deep(n)[0] + [(EXIT, 0, 5, 0, frame(i)) for i in reversed(range(n))], ["f"]


def orphans(n):
    return [(ENTRY, 0, 5, 0, 2000)] * n + [(EXIT, 0, 5, 1, 3)] * n, ["f", "g"]


def losses(n):
    return ([(ENTRY, 0, 100 + i, 0, 2000) for i in range(n)] + [(LOST, 0, 1)] * n), ["f"]


def tasks(n):
    return [e for i in range(n) for e in
            ((ENTRY, i % 2, 100 + i, 0, 2000), (EXIT, i % 2, 100 + i, 0, 2000))] * 2, ["f"]


def held(n):
    """One root and what it calls."""
    return [(ENTRY, 0, 5, 0, 3000)] + [(k, 0, 5, 1, 2000) for _ in range(n) for k in (ENTRY, EXIT)] + \
           [(EXIT, 0, 5, 0, 3000)], ["root", "f"]


def funcs(n):
    n = min(n, 65_000)
    return [(k, 0, 5, i, 2000) for i in range(n) for k in (ENTRY, EXIT)], ["f%d" % i for i in range(n)]


def cpus(n):
    return [(ENTRY, i % 8192, 100 + i % 8192, 0, 2000) for i in range(n)], ["f"]


def longname(n):
    return calls(n), ["f" * 65_000]


SHAPES = {"deep": (deep, 10_000), "nest": (nest, 10_000), "orphans": (orphans, 15_000),
          "losses": (losses, 8_000), "tasks": (tasks, 8_000), "held": (held, 25_000),
          "funcs": (funcs, 16_000), "cpus": (cpus, 25_000), "longname": (longname, 2_000)}


def text_renames(n, path):
    """A task that is called otherwise in every row."""
    text = Text()
    for i in range(n):
        text.row(0, "n%d-5" % i, True, "f();")
    text.save(path)


def text_braces(n, path):
    """A long name that every } has."""
    text = Text()
    text.row(0, "a-5", False, "f" * 60_000 + "() {")
    for _ in range(n):
        text.row(0, "a-5", True, "}")
    text.save(path)


def text_comments(n, path):
    """Comments stand where the call before them stood: far to the right."""
    text = Text()
    text.row(0, "a-5", False, "  " * 30_000 + "f() {")
    for _ in range(n):
        text.row(0, "a-5", False, "/* c */")
    text.save(path)


def text_short(n, path):
    """The shortest rows there are, below one root."""
    with open(path, "w", encoding="ascii") as file:
        file.write(" 0) root() {\n" + " 0)   f();\n" * n + " 0) }\n")


def text_tracecmd(n, path):
    """What `trace-cmd report` prints: tasks that take turns on four CPUs, stacks of seven calls (FlameGraph#248)."""
    ns = START_NS
    with open(path, "w", encoding="ascii") as file:
        file.write("cpus=4\n")
        for i in range(n):
            depth = i % 7
            ns += 1000
            row = "%16s-%-5d [%03d] %5d.%06d: " % ("worker/%d" % (i // 14 % 50), 1000 + i // 14 % 50, i // 14 % 4,
                                                 ns // 10**9, ns // 1000 % 10**6)
            if i // 7 % 2:
                file.write(row + "funcgraph_exit:         0.500 us   |  " + "  " * (6 - depth) + "}\n")
            else:
                file.write(row + "funcgraph_entry:                   |  " + "  " * depth + "call_%d() {\n" % depth)


def write_shapes(folder, scale):
    for name, (make, cnt) in SHAPES.items():
        events, names = make(cnt * scale)
        rec = Recording(8192 if name == "cpus" else 2)
        for at in range(0, len(names), 10_000):
            rec.funcs(names[at:at + 10_000], at)
        rec.names([(0, tid, "task%d" % tid) for tid in sorted({e[2] for e in events if e[0] <= EXIT})])
        rec.events(events)
        rec.save("%s/%s.rec" % (folder, name))
        text = Text(30_000 if name in ("deep", "nest") else 40)
        if name in ("deep", "nest", "longname"):  # few of these rows are much text
            events = make(10 * scale if name == "longname" else int(1000 * scale ** 0.5))[0]
        text.events(events, names, lambda tid: "task%d" % tid)
        text.save("%s/%s.txt" % (folder, name))
    rec = Recording()
    rec.funcs(["f"])
    cnt = 10_000 * scale
    rec.names([(START_NS + i * 200, 5, "n%d" % i) for i in range(cnt)])
    rec.events(calls(cnt))
    rec.save(folder + "/renames.rec")
    text_renames(cnt, folder + "/renames.txt")
    text_braces(5_000 * scale, folder + "/braces.txt")
    text_comments(5_000 * scale, folder + "/comments.txt")
    text_short(80_000 * scale, folder + "/short.txt")
    text_tracecmd(56_000 * scale, folder + "/tracecmd.txt")


def write_small(folder):
    rec = Recording()
    rec.funcs(["f", "g"])
    rec.events([(ENTRY, 0, 5, 0, 2000), (ENTRY, 0, 5, 1, 1000), (EXIT, 0, 5, 1, 1000), (EXIT, 0, 5, 0, 2000)])
    rec.save(folder + "/plain.rec")
    Recording().save(folder + "/nothing.rec")
    rec = Recording()
    rec.funcs(["f"])
    rec.events(calls(3), step_ns=-1000)
    rec.save(folder + "/back.rec")
    rec = Recording()
    rec.funcs(["f"])
    rec.events(calls(2), step_ns=-START_NS // 3)
    rec.save(folder + "/below-zero.rec")
    for length in (511, 512):
        rec = Recording()
        rec.funcs(["f" * length])
        rec.events(calls(1))
        rec.save("%s/name-%d.rec" % (folder, length))
    with open(folder + "/banner.txt", "w", encoding="ascii") as file:
        file.write(" " + "-" * 42 + "\n 0) " + "a" * 120 + "\n")
    good = " 0)   0.100 us    |  f();\n"
    for name, rows in (("deep", [good[:-5] + "  " * 1024 + "f();\n", good[:-5] + "  " * 1025 + "f();\n"]),
                       ("names", [good[:-5] + "f" * 512 + "();\n"]), ("cpus", [" 8192" + good[2:]])):
        with open("%s/%s.txt" % (folder, name), "w", encoding="ascii") as file:
            file.write(good + "".join(rows) + good)


if __name__ == "__main__":
    if sys.argv[1] == "--small":
        write_small(sys.argv[2])
    else:
        write_shapes(sys.argv[1], int(sys.argv[2]))
