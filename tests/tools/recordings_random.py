#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes random recordings of netfgraph that recording.md allows.

    recordings_random.py [--seed N] [--minor N] DIRECTORY COUNT

The minor versions take turns, from 1.0 to 1.13; a file has only the chunks and
extra words of its version. The tasks of a recording call functions, move
between CPUs, sleep, and lose events as those of a kernel do, so that a report
can pair entries and exits. The same seed writes the same files.
"""

import argparse
import os
import random
import struct
import sys
import zlib

MAGIC = b"\x89nfgrec\n"


def pack(form, *numbers):
    return struct.pack("=" + form, *numbers)


def text(data):
    return pack("H", len(data)) + data


class File:
    """A recording: a header and its chunks so far."""

    def __init__(self, minor=13):
        self.data = bytearray(MAGIC + pack("IHH", 0x01020304, 1, minor))
        self.number = 0

    def chunk(self, kind, content, fill=b""):
        content += fill
        content += bytes(-len(content) % 8)
        letters = kind.encode() if isinstance(kind, str) else kind
        word = sum(letters[i] << 8 * i for i in range(4))
        head = pack("III", word, len(content), self.number)
        self.data += head + pack("I", zlib.crc32(content, zlib.crc32(head))) + content
        self.number += 1


def host(clock=10**9, unix=17 * 10**17, cpus=2, clock_id=1,
         texts=(b"6.1", b"x86_64", b"gen 1", b"cmd")):
    return pack("QQII", clock, unix, cpus, clock_id) + b"".join(text(one) for one in texts)


def made(flags=0, texts=(b"host", b"kprobe", b"record"), cost=()):
    return pack("II", flags, 0) + b"".join(text(one) for one in texts) + b"".join(
        pack("I", one) for one in cost)


def names(first, pairs):
    out = pack("II", first, len(pairs))
    for name, module in pairs:
        out += pack("HH", len(name), len(module)) + name + module
    return out


def enum(size, signed, values):
    out = pack("BBH", size, signed, len(values))
    for value, name in values:
        out += value.to_bytes(size, sys.byteorder)
        out += pack("B", len(name)) + name
    return out


def a_type(kind, size, place=0):
    """place: that of an enum, plus 1; 0 if it is not known."""
    return pack("B", kind | size << 4) + (pack("H", place) if kind in (5, 15) else b"")


def function(result, args):
    """result: bytes of a type; args: (bytes of a type, name)."""
    out = result + pack("B", len(args))
    for one, name in args:
        out += one + pack("B", len(name)) + name
    return out


def types(first_enum, enums, first, functions):
    return (pack("IIII", first_enum, len(enums), first, len(functions))
            + b"".join(enums) + b"".join(functions))


VOID = a_type(0, 8)


def name(time, tid, name, what=1):
    return pack("QII", time, tid, what) + name.ljust(16, b"\0")


def proc(time, tid, pid):
    return pack("QII", time, tid, pid)


def plac(time, cgroup, tid, netns):
    return pack("QQII", time, cgroup, tid, netns)


def addr(address, name):
    return pack("QH", address, len(name)) + name


def frame(address, offset, size, symbol, path, build):
    return (pack("QQQHHHH", address, offset, size, len(symbol), len(path), len(build), 0)
            + symbol + path + build)


def ustk(number, frames, why=0):
    return pack("IHH", number, len(frames), why) + b"".join(frames)


def values(args=(), caller=None, ret=None, packet=None, stack=None):
    """stack: its number plus 1, 0 if it could not be recorded."""
    first = len(args)
    out = list(args)
    for bit, one in ((8, caller), (9, ret), (10, packet), (11, stack)):
        if one is not None:
            first |= 1 << bit
            out += one if isinstance(one, (list, tuple)) else [one]
    return [first] + out


def left(time, kind=1, flags=0, measured=1, limit=2, cpu=0, ids=()):
    return pack("QIIQQII", time, kind, flags, measured, limit, len(ids), cpu) + b"".join(
        pack("I", one) for one in ids)


def trig(time, begin=0, tid=0, func=0xffffffff, condition=b"drops > 1/s"):
    return pack("QQIIQ", time, begin, tid, func, 0) + text(condition)


def summ(numbers, shares=(0, 0), size=120):
    return (b"".join(pack("Q", one) for one in numbers) + pack("II", *shares))[:size]


class Words:
    """The words of an EVNT, with its counts and clock."""

    def __init__(self, clock):
        self.begin = self.clock = clock
        self.words = []
        self.calls = self.losses = 0
        self.slots = {}

    def call(self, is_exit, slot, ns, func, frame):
        self.clock += ns
        self.calls += 1
        self.words.append(int(is_exit) | slot << 3 | ns << 11 | func << 32 | frame << 48)

    def loss(self, cpu, count):
        self.losses += 1
        self.words.append(2 | cpu << 3 | count << 16)

    def slot(self, slot, cpu, tid):
        self.words.append(3 | slot << 3 | cpu << 11 | tid << 32)

    def time(self, ns):
        self.clock += ns
        self.words.append(4 | (ns << 3) & ((1 << 64) - 1))

    def extra(self, kind, words):
        self.words.append(5 | kind << 3 | len(words) << 16)
        self.words += words

    def raw(self, word):
        self.words.append(word)

    def content(self):
        head = pack("QQII", self.begin, self.clock % (1 << 64), self.calls, self.losses)
        return head + b"".join(pack("Q", one) for one in self.words)


LETTERS = b"abcdefghijklmnopqrstuvwxyz_0123456789.$!~"
NEWEST = 13
PRINTABLE = bytes(range(0x21, 0x7f))


class Task:
    """A thread: its id, and its open calls as (function, frame)."""

    def __init__(self, tid):
        self.tid = tid
        self.calls = []
        self.doubt = False
        self.last = 0           # time of its last event


class Recording:
    """One random recording."""

    def __init__(self, rng, minor):
        self.rng = rng
        self.minor = minor
        self.file = File(minor)
        self.now = rng.choice((0, 10 ** 9, rng.randrange(1 << 50)))
        self.cpus = rng.choice((1, 2, 2, 4, 8, 300, 8192))
        self.active = rng.sample(range(self.cpus), min(self.cpus, rng.randint(1, 5)))
        self.functions = []     # types of the arguments, or None: unknown
        self.results = []
        self.names = set()
        self.shown = []
        self.points = []        # words of the fields
        self.typed = 0
        self.membered = 0       # functions with types of members
        self.enums = {"TYPE": [], "SHOW": [], "FLDS": []}
        self.stacks = 0
        self.addresses = []
        self.user_stacks = 0
        self.calls = 0
        self.lost = 0
        self.idle = {cpu: Task(0) for cpu in self.active}
        self.running = dict(self.idle)
        self.waiting = []
        self.gap = {}           # CPU: events lost since its gap
        self.last = {cpu: 0 for cpu in self.active}
        self.sleeps = minor >= 1 and rng.random() < 0.3
        self.flags = rng.randrange(64) if minor >= 4 else rng.randrange(64) if minor else 0
        if minor >= 9:
            self.flags |= rng.choice((0, 64, 128, 192))
        if minor >= 10:
            self.flags |= rng.choice((0, 256, 512, 768))
        if minor >= 13:
            self.flags |= rng.choice((0, 1024))

    # Texts

    def word(self, most=20):
        rng = self.rng
        if rng.random() < 0.03:
            most = rng.choice((255, most))
        letters = PRINTABLE if rng.random() < 0.05 else LETTERS
        return bytes(rng.choice(letters) for _ in range(rng.randint(1, most)))

    def fresh(self, most):
        while True:
            name = self.word(most)
            if name not in self.names:
                self.names.add(name)
                return name

    def bytes_of(self, most):
        rng = self.rng
        return bytes(rng.randrange(256) for _ in range(rng.randint(0, most)))

    def fill(self):
        """What a later version would append to a chunk."""
        return self.bytes_of(40) if self.rng.random() < 0.1 else b""

    # Tables

    def add_functions(self, count):
        rng = self.rng
        pairs = [(self.fresh(rng.choice((12, 30, 511))),
                  self.word(rng.choice((8, 55)))[:55] if rng.random() < 0.2 else b"")
                 for _ in range(count)]
        self.file.chunk("FUNC", names(len(self.functions), pairs), self.fill())
        for _ in range(count):
            self.functions.append(None)
            self.results.append(VOID)
            self.shown.append(0)

    def an_enum(self, of):
        rng = self.rng
        size = rng.choice((1, 2, 4, 8))
        most = min(rng.choice((0, 1, 5, 200)), 1 << 8 * size - 1)
        values = sorted(rng.sample(range(1 << min(8 * size, 62)), most))
        self.enums[of].append(size)
        return enum(size, rng.randrange(2), [(value, self.word()) for value in values])

    def a_type(self, of, result=False):
        rng = self.rng
        kinds = [1, 2, 3, 4, 5, 6]
        if result:
            kinds.append(0)
        if of != "TYPE":
            kinds += [7, 8, 9, 10, 11, 12, 13] + ([14] if self.minor >= 10 else [])
            kinds += [15] if self.minor >= 13 else []
        kind = rng.choice(kinds)
        size = rng.choice((1, 2, 4, 8))
        if kind in (0, 1, 6, 11, 12, 13, 14):
            size = 8
        if kind == 4:
            size = 1
        if kind == 10:
            size = 4
        place = 0
        if kind in (5, 15) and self.enums[of] and rng.random() < 0.8:
            place = rng.randint(1, len(self.enums[of]))
            size = self.enums[of][place - 1]
        return kind, a_type(kind, size, place)

    def add_types(self, of, first, count):
        """The types of count functions; gives for each the words of its arguments."""
        rng = self.rng
        first_enum = len(self.enums[of])
        enums = [self.an_enum(of) for _ in range(rng.choice((0, 0, 1, 3)))]
        bodies = []
        words = []
        for _ in range(count):
            most = {"TYPE": 12, "SHOW": 12 if self.minor >= 13 else 8, "FLDS": 12}[of]
            args = []
            used = 0
            for _ in range(rng.choice((0, 1, 2, 3, most))):
                kind, one = self.a_type(of)
                used += 2 if kind in (11, 12, 14) else 1
                if used > (16 if of == "SHOW" else 12):
                    break
                args.append((one, self.word()[:255] if rng.random() < 0.9 or of == "SHOW" else b""))
            used = sum(2 if one[0] & 15 in (11, 12, 14) else 1 for one, _ in args)
            result = self.a_type(of, True)[1] if of == "TYPE" else VOID
            bodies.append(function(result, args))
            words.append((len(args), used, result))
        self.file.chunk(of, types(first_enum, enums, first, bodies), self.fill())
        return words

    def describe(self):
        """Types of all new functions, if the recording has types at all; once some are left out, of none any more: types come
        before the events that they describe."""
        if self.minor < 1 or not self.flags & 3 or self.typed is None:
            return
        first = self.typed
        while first < len(self.functions) and self.rng.random() < 0.95:
            count = self.rng.randint(1, len(self.functions) - first)
            for i, one in enumerate(self.add_types("TYPE", first, count)):
                self.functions[first + i] = one[0]
                self.results[first + i] = one[2]
            first += count
        self.typed = first if first == len(self.functions) else None

    def describe_members(self):
        if not self.flags & 128:
            return
        first = self.membered
        for i, one in enumerate(self.add_types("SHOW", first, len(self.functions) - first)):
            self.shown[first + i] = one[:2]
        self.membered = len(self.functions)

    def add_points(self):
        if not self.flags & 64:
            return
        count = self.rng.randint(1, 6)
        pairs = [(self.fresh(20), self.word(10)[:55] if self.rng.random() < 0.8 else b"")
                 for _ in range(count)]
        self.file.chunk("PNTS", names(0, pairs), self.fill())
        self.points = [one[1] for one in self.add_types("FLDS", 0, count)]

    def add_task(self):
        rng = self.rng
        tid = rng.choice((1, 4194303, rng.randint(1, 4194303), rng.randint(1, 5000)))
        if any(one.tid == tid for one in self.waiting + list(self.running.values())):
            return
        task = Task(tid)
        self.waiting.append(task)
        self.file.chunk("NAME", b"".join(
            name(self.now, tid, self.bytes_of(16), rng.choice((1, 1, 2)))
            for _ in range(rng.randint(1, 3))))
        if self.minor >= 5 and rng.random() < 0.8:
            self.file.chunk("PROC", proc(self.now, tid, rng.choice((tid, 4194303, 1))))
        if self.minor >= 6 and rng.random() < 0.8:
            self.file.chunk("PLAC", plac(self.now, rng.choice((0, 1, rng.randrange(1 << 64))), tid,
                                         rng.choice((0, 4026531833, rng.randrange(1 << 32)))))

    def add_addresses(self):
        rng = self.rng
        if self.minor < 1:
            return
        out = b""
        for _ in range(rng.randint(1, 5)):
            address = rng.randrange(1, 1 << 62) | 1 << 63
            self.addresses.append(address)
            out += addr(address, self.word(rng.choice((30, 614)))[:614])
        if self.flags & 32:
            for i in range(rng.randint(1, 6)):
                out += addr((1 << 62) + 256 * self.stacks + i, self.word())
            self.stacks += 1
        self.file.chunk("ADDR", out)

    def add_user_stacks(self):
        rng = self.rng
        if not self.flags & 256:
            return
        out = b""
        for _ in range(rng.randint(1, 4)):
            self.user_stacks += 1
            frames = [frame(rng.randrange(1 << 64), rng.randrange(1 << 32), rng.choice((0, 64)),
                            self.bytes_of(30), self.bytes_of(60),
                            rng.choice((b"", b"0123456789abcdef" * 2)))
                      for _ in range(rng.choice((0, 1, 3, 48)))]
            out += ustk(self.user_stacks, frames, rng.randrange(7))
        self.file.chunk("USTK", out)

    def add_unknown(self):
        if self.rng.random() < 0.2:
            self.file.chunk(self.rng.choice(("ABCD", "host", "Z9_!")), self.bytes_of(100))

    # Events

    def step(self):
        """Time goes on."""
        rng = self.rng
        ns = rng.choice((0, 1, rng.randrange(1000), rng.randrange(1 << 21)))
        if rng.random() < 0.05:
            ns = rng.choice((rng.randrange(1 << 34), 1 << 21))
        self.now += ns
        return ns

    def advance(self, words):
        """What the next event adds to the clock; more than it can go into a word of its own."""
        ns = self.now - words.clock
        if 0 <= ns < 1 << 21 and self.rng.random() < 0.98:
            return ns
        rest = self.rng.randrange(min(ns, 1 << 21)) if ns > 1 else 0
        words.time(ns - rest)
        return rest

    def slot_of(self, words, cpu, tid):
        slot = cpu % 256 if self.rng.random() < 0.95 else self.rng.randrange(256)
        if words.slots.get(slot) != (cpu, tid) or self.rng.random() < 0.01:
            words.slot(slot, cpu, tid)
            words.slots[slot] = cpu, tid
        return slot

    def event(self, words, cpu, is_exit, func, at):
        if cpu in self.gap:
            self.gap[cpu] += 1
            return
        task = self.running[cpu]
        if task.doubt and self.rng.random() < 0.3:
            return
        self.last[cpu] = task.last = self.now
        ns = self.advance(words)
        words.call(is_exit, self.slot_of(words, cpu, task.tid), ns, func, at)
        self.calls += 1
        self.add_extras(words, is_exit, func)

    def add_extras(self, words, is_exit, func):
        rng = self.rng
        if self.minor < 1:
            return
        if rng.random() < 0.03:
            words.extra(rng.choice((0, 12, 100, 8191)), [rng.randrange(1 << 64)] * rng.randrange(4))
        flags = self.flags
        if is_exit:
            if flags & 6 and rng.random() < 0.95:
                words.extra(3, values(ret=rng.randrange(1 << 64)))
            return
        count = self.functions[func] or 0
        if rng.random() < 0.05:
            count = rng.randrange(13)
        if flags & 0x39 and rng.random() < 0.95:
            words.extra(3, values(
                [rng.choice((0, 1, rng.randrange(1 << 64)))
                 for _ in range(count if flags & 1 else 0)],
                self.caller() if flags & 40 else None, None,
                [rng.choice((0, rng.randrange(1 << 64)))] * 7 if flags & 16 else None,
                rng.randint(0, self.stacks) if flags & 32 else None))
        if flags & 128 and self.shown[func]:
            members, used = self.shown[func]
            state = sum(rng.randrange(4) << 2 * i for i in range(members))
            words.extra(9, [state] + [rng.randrange(1 << 64) for _ in range(used)])
        if flags & 256 and self.user_stacks and rng.random() < 0.5:
            words.extra(10, [rng.randint(1, self.user_stacks)])
        if flags & 512 and rng.random() < 0.5:
            words.extra(11, [rng.randint(1, 20)])

    def caller(self):
        return self.rng.choice(self.addresses + [0, 1234])

    def enter(self, words, cpu):
        rng = self.rng
        calls = self.running[cpu].calls
        at = calls[-1][1] - rng.randint(1, 300) if calls else rng.randint(40000, 65535)
        if at < 0 or len(calls) > 20:
            self.leave(words, cpu)
            return
        func = rng.randrange(len(self.functions))
        calls.append((func, at))
        self.event(words, cpu, False, func, at)

    def leave(self, words, cpu):
        calls = self.running[cpu].calls
        if calls:
            self.event(words, cpu, True, *calls.pop())

    def mark(self, words, kind, cpu, tid):
        words.extra(kind, [self.now, tid | cpu << 32])

    def switch(self, words, cpu):
        """Another task gets the CPU."""
        old = self.running[cpu]
        if old.doubt:
            old.doubt = False
            self.mark(words, 6, cpu, old.tid)
        if self.sleeps and old.tid:
            self.mark(words, 1, cpu, old.tid)
        if old.tid:
            self.waiting.append(old)
        new = self.idle[cpu]
        if self.waiting and self.rng.random() < 0.8:
            new = self.waiting.pop(self.rng.randrange(len(self.waiting)))
        self.running[cpu] = new
        self.step()
        self.now = max(self.now, new.last)
        if self.sleeps and new.tid:
            self.mark(words, 2, cpu, new.tid)
        if self.minor >= 2 and new.tid and self.rng.random() < 0.1:
            new.doubt = True
            self.mark(words, 5, cpu, new.tid)

    def lose(self, words, cpu):
        """A gap begins, or ends with its loss."""
        if cpu in self.gap:
            count = self.gap.pop(cpu) + 1
            if self.rng.random() < 0.02:
                count = (1 << 48) - 1
            words.time(self.now - words.clock)
            words.loss(cpu, count)
            self.lost += count
        else:
            self.gap[cpu] = 0
            if self.minor >= 2:
                self.mark(words, 4, cpu, 0)

    def tracepoint(self, words, cpu):
        rng = self.rng
        point = rng.randrange(len(self.points))
        fields = [rng.choice((0, rng.randrange(1 << 64))) for _ in range(self.points[point])]
        words.extra(8, [self.now, self.running[cpu].tid | cpu << 32,
                        point | rng.randrange(1 << 16) << 16] + values(fields))

    def one(self, words):
        rng = self.rng
        cpu = rng.choice(self.active)
        self.step()
        if rng.random() < 0.01:     # the clock goes back, but not that of a CPU or task
            self.now = max(self.now - rng.randrange(1 << 22), 0)
        self.now = max(self.now, self.last[cpu], self.running[cpu].last)
        chance = rng.random()
        if chance < 0.46:
            self.enter(words, cpu)
        elif chance < 0.9:
            self.leave(words, cpu)
        elif chance < 0.95:
            self.switch(words, cpu)
        elif chance < 0.965:
            self.lose(words, cpu)
        elif chance < 0.985 and self.points:
            self.tracepoint(words, cpu)
        elif chance < 0.99 and self.minor >= 3:
            self.mark(words, 7, cpu, rng.choice((1, 5, 4194303)))

    def add_events(self):
        words = Words(self.now)
        for _ in range(self.rng.choice((0, 1, 20, 300, 1500))):
            self.one(words)
        self.file.chunk("EVNT", words.content())

    def add_left(self):
        rng = self.rng
        if self.minor >= 3:
            ends = rng.randrange(2)
            ids = rng.sample(range(len(self.functions)),
                             rng.randint(1 - ends, len(self.functions)))
            flags = ends | (rng.randrange(2) << 1 if self.minor >= 13 else 0)
            self.file.chunk("LEFT", left(self.now, rng.randint(1, 7), flags,
                                         rng.randrange(1 << 40), rng.randrange(1 << 40),
                                         rng.choice(self.active), ids), self.fill())

    def add_trigger(self):
        rng = self.rng
        if self.minor >= 11:
            condition = self.bytes_of(rng.choice((5, 200, 3000)))
            if rng.random() < 0.5:
                self.file.chunk("TRIG", trig(self.now, condition=condition), self.fill())
            else:
                self.file.chunk("TRIG", trig(self.now, self.now - rng.randint(0, self.now),
                                             rng.randrange(1 << 22),
                                             rng.randrange(len(self.functions)), condition),
                                self.fill())

    def end_gaps(self):
        words = Words(self.now)
        for cpu in list(self.gap):
            self.lose(words, cpu)
        if words.words:
            self.file.chunk("EVNT", words.content())

    def write(self):
        rng = self.rng
        self.file.chunk("HOST", host(self.now, rng.randrange(1 << 61), self.cpus, 1,
                                     [self.bytes_of(rng.choice((5, 200, 3000)))
                                      for _ in range(4)]), self.fill())
        if self.minor >= 4:
            cost = [rng.randrange(2000) for _ in range(3)] if self.minor >= 12 else []
            self.file.chunk("MADE", made(self.flags, [self.bytes_of(rng.choice((5, 200, 5000)))
                                                      for _ in range(3)], cost), self.fill())
        self.add_unknown()
        self.add_functions(rng.choice((1, 3, 30)))
        self.add_points()
        self.describe()
        self.describe_members()
        for _ in range(rng.randint(1, 6)):
            for add in (self.add_task, self.add_task, self.add_addresses, self.add_user_stacks,
                        self.add_unknown):
                add()
            self.add_events()
            if rng.random() < 0.2:
                self.add_functions(rng.randint(1, 5))
                self.describe()
                self.describe_members()
            if rng.random() < 0.2:
                self.add_left()
            if rng.random() < 0.2:
                self.add_trigger()
        self.end_gaps()
        if rng.random() < 0.9:
            numbers = [self.now, rng.randrange(1 << 61), self.calls, 0, 0, self.lost] + [0] * 8
            size = [72] * 3 + [88] * 4 + [104] + [120] * 6
            self.file.chunk("SUMM", summ(numbers, (rng.randrange(1001), rng.randrange(1001)),
                                            size[self.minor]),
                            self.bytes_of(40) if self.minor >= 8 and rng.random() < 0.1 else b"")
        tail = self.bytes_of(15) if rng.random() < 0.1 else b""
        return bytes(self.file.data) + tail


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minor", type=int, choices=range(NEWEST + 1))
    parser.add_argument("directory")
    parser.add_argument("count", type=int)
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    for i in range(options.count):
        minor = options.minor if options.minor is not None else i % (NEWEST + 1)
        data = Recording(random.Random(f"{options.seed} {i}"), minor).write()
        path = os.path.join(options.directory, f"{options.seed}-{i}-1.{minor}.nfg")
        with open(path, "wb") as file:
            file.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
