# SPDX-License-Identifier: MIT
"""Reads recordings of netfgraph, a tracer of the kernel's network functions.

It follows recording.md, format 1.13, needs Python 3.11 and nothing else, and
shares no code with the program. nfg_reader.h does the same in C.

    import nfgrec

    with open("web.rec", "rb") as file:
        reader = nfgrec.Reader(file.read())
    for item in reader:
        if item.kind in ("entry", "exit"):
            name = reader.functions[item.func][0].decode()
            print(item.time, item.cpu, item.tid, item.kind, name)
    print(reader.rest, "bytes after the last whole chunk;",
          "closed" if reader.closed else "not closed")

An iteration gives everything in the file's order as an Item: its kind, its
offset in the file ("at"), and the fields that KINDS lists. Extra words are at
the event they belong to: item.values, item.members (words; the first one has two
bits of state for each member), item.user_stack, item.packet_number; each is
None when the event has none. Texts are bytes.

A file that contradicts the format raises Error, whose "at" is an offset and
whose "text" is a sentence. No item of a damaged chunk is given, all of the
chunks before it are. Unknown chunks and extra words are skipped.

    python3 nfgrec.py FILE...           a summary
    python3 nfgrec.py --events FILE...  JSON lines of everything in the file
"""

import ipaddress
import json
import struct
import sys
import zlib

READER_VERSION = 2
FORMAT_MAJOR, FORMAT_MINOR = 1, 13

MAX_CHUNK = 1048576
MAX_CPUS = 8192
MAX_FUNCTIONS = 65535
MAX_ENUMS = 65535
MAX_ENUM_VALUES = 1048576
MAX_TID = 4194303
MAX_ARGS = 12
MAX_SHOWN = 12
MAX_SHOWN_WORDS = 16
MAX_ADDR_TEXT = 614
MAX_FRAMES = 48
MAX_USER_TEXT = 4096
WORD = (1 << 64) - 1

# The fields of each kind of item, in the order in which they are printed.
KINDS = {
    "header": ("minor",),
    "host": ("clock", "unix", "cpus", "clock_id", "release", "machine", "recorder", "command"),
    "made": ("flags", "host", "attached", "options", "inner", "outer", "error"),
    "func": ("id", "name", "module"),
    "point": ("id", "name", "module"),
    "enum": ("of", "place", "size", "signed", "values"),
    "types": ("of", "id", "result", "args"),
    "name": ("time", "tid", "what", "name"),
    "proc": ("time", "tid", "pid"),
    "plac": ("time", "cgroup", "tid", "netns"),
    "addr": ("address", "text"),
    "ustk": ("number", "why", "frames"),
    "evnt": ("begin", "end", "calls", "losses"),
    "entry": ("time", "cpu", "tid", "func", "frame"),
    "exit": ("time", "cpu", "tid", "func", "frame"),
    "loss": ("time", "cpu", "count"),
    "leaves": ("time", "tid", "cpu"),
    "gets": ("time", "tid", "cpu"),
    "gap": ("time", "tid", "cpu"),
    "doubt": ("time", "tid", "cpu"),
    "sure": ("time", "tid", "cpu"),
    "torn": ("time", "tid", "cpu"),
    "tracepoint": ("time", "tid", "cpu", "point", "frame", "fields"),
    "left": ("time", "limit_kind", "flags", "measured", "limit", "left", "cpu", "ids"),
    "trig": ("time", "begin", "tid", "func", "condition"),
    "summ": ("numbers", "busiest", "untraced"),
    "skipped": ("type", "size"),
}

# What may follow an entry or exit, as its extra words.
NO_FUNC = 0xffffffff
EXTRAS = ("values", "members", "user_stack", "packet_number")

MARKS = {1: "leaves", 2: "gets", 4: "gap", 5: "doubt", 6: "sure", 7: "torn"}
SUMM_NUMBERS = (
    "end", "end_unix", "calls", "no_room", "unknown", "ring_full", "nested", "recursion",
    "names", "not_running", "not_kept", "scope", "disabled", "packets",
)


class Error(Exception):
    """A file that contradicts the format: where, and a sentence."""

    def __init__(self, at, text):
        super().__init__(f"at byte {at}: {text}")
        self.at = at
        self.text = text


class Item:
    """One record or event: its kind, its offset, and the fields of KINDS."""

    __slots__ = ("kind", "at", "__dict__")

    def __init__(self, kind, at, **fields):
        self.kind = kind
        self.at = at
        self.__dict__.update(fields)

    def plain(self):
        """The item as json.dumps takes it; a byte of a text is a character."""
        out = {"item": self.kind, "at": self.at}
        for name in KINDS[self.kind]:
            out[name] = plain(getattr(self, name))
        if self.kind in ("entry", "exit"):
            for name in EXTRAS:
                value = getattr(self, name)
                if value is not None:
                    out[name] = plain(value)
        return out


class Values:
    """The words of an extra of kind 3; what is not there is None. A stack
    of -1 could not be recorded. flow() makes something of a packet's words."""

    __slots__ = ("args", "caller", "ret", "packet", "stack")

    def plain(self):
        out = {"args": self.args}
        for name in ("caller", "ret", "packet", "stack"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        return out

    def flow(self):
        """The packet or socket as a dict, None if there is none. Ports are in the host's byte order, addresses texts; of a
        socket "source" is its own side."""
        if self.packet is None:
            return None
        data = struct.pack("=7Q", *self.packet)
        version, protocol, flags, is_socket, source, destination = struct.unpack(">BBBBHH", data[:8])
        size = 16 if version == 6 else 4
        return {
            "version": version, "protocol": protocol, "tcp_flags": flags, "is_socket": is_socket != 0,
            "source_port": source, "destination_port": destination,
            "source": str(ipaddress.ip_address(data[8:8 + size])),
            "destination": str(ipaddress.ip_address(data[24:24 + size])),
            "device": data[40:56].split(b"\0", 1)[0],
        }


def plain(value):
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, Values):
        return value.plain()
    return value


class Cursor:
    """Reads numbers and texts up to the end of a chunk."""

    def __init__(self, data, pos, end):
        self.data = data
        self.pos = pos
        self.end = end

    def left(self):
        return self.end - self.pos

    def raw(self, size):
        if size > self.left():
            raise Error(self.pos, "a record passes the end of its chunk")
        self.pos += size
        return self.data[self.pos - size:self.pos]

    def u8(self):
        return self.raw(1)[0]

    def u16(self):
        return struct.unpack("=H", self.raw(2))[0]

    def u32(self):
        return struct.unpack("=I", self.raw(4))[0]

    def u64(self):
        return struct.unpack("=Q", self.raw(8))[0]

    def number(self, size):
        return int.from_bytes(self.raw(size), sys.byteorder)

    def text(self, size):
        """A text of printable bytes without spaces."""
        at = self.pos
        text = self.raw(size)
        if any(not 0x21 <= byte <= 0x7e for byte in text):
            raise Error(at, "a name has a byte outside 21 to 7e")
        return text


class Types:
    """The enums and the types of one of the chunks TYPE, SHOW, and FLDS."""

    def __init__(self):
        self.sizes = []         # of each enum: bytes of a value
        self.enums = []         # of each enum: a list of (value, name)
        self.values = 0         # values of all enums
        self.functions = []     # (result, [(type, name)]); type: kind, size, enum + 1


class Reader:
    """A recording in memory. Iterate once; the tables fill meanwhile."""

    def __init__(self, data):
        self.data = bytes(data)
        self.minor = 0
        self.cpus = 0
        self.functions = []     # (name, module), in the order of their ids
        self.points = []        # (name, system)
        self.types = {"TYPE": Types(), "SHOW": Types(), "FLDS": Types()}
        self.addresses = {}     # address: text
        self.user_stacks = {}   # number: item
        self.closed = False     # the file has a SUMM
        self.rest = 0           # bytes after the last whole chunk

    def __iter__(self):
        yield self._header()
        pos = 16
        number = 0
        while True:
            chunk = self._chunk(pos, number)
            if chunk is None:
                break
            kind, end = chunk
            yield from self._content(kind, pos, end, number)
            number += 1
            pos = end
        if number == 0:
            raise Error(pos, "the file has no HOST")
        self.rest = len(self.data) - pos

    def _header(self):
        data = self.data
        if len(data) < 16:
            raise Error(0, "the file is shorter than a header")
        if data[:8] != b"\x89nfgrec\n":
            raise Error(0, "this is not a recording")
        mark, major, self.minor = struct.unpack("=IHH", data[8:16])
        if mark == 0x04030201:
            raise Error(8, "the recording has the other byte order")
        if mark != 0x01020304:
            raise Error(8, "the byte order mark is wrong")
        if major != FORMAT_MAJOR:
            raise Error(12, "the major version is not 1")
        return Item("header", 0, minor=self.minor)

    def _chunk(self, pos, number):
        """The type and end of the chunk at pos, or None if it is not whole."""
        data = self.data
        if len(data) - pos < 16:
            return None
        word, size, place, crc = struct.unpack("=IIII", data[pos:pos + 16])
        if size % 8 or size > MAX_CHUNK:
            raise Error(pos, "the size of the chunk is wrong")
        if size > len(data) - pos - 16:
            return None
        end = pos + 16 + size
        if zlib.crc32(data[pos + 16:end], zlib.crc32(data[pos:pos + 12])) != crc:
            raise Error(pos, "the checksum of the chunk is wrong")
        if place != number:
            raise Error(pos, "the number of the chunk is wrong: chunks are missing")
        letters = bytes(word >> shift & 255 for shift in (0, 8, 16, 24))
        return letters.decode("latin-1"), end

    def _content(self, kind, pos, end, number):
        """The items of a chunk, all of them checked."""
        if (kind == "HOST") != (number == 0):
            raise Error(pos, "HOST is not the first chunk, or there are two")
        if kind == "MADE" and number != 1:
            raise Error(pos, "MADE is not the second chunk")
        if self.closed and kind in READ:
            raise Error(pos, "a chunk follows SUMM")
        cur = Cursor(self.data, pos + 16, end)
        method = getattr(self, "_read_" + kind.lower(), None) if kind in READ else None
        if method is None:
            return [Item("skipped", pos, type=kind.encode("latin-1"), size=end - pos - 16)]
        return list(method(cur, pos))

    # Chunks

    def _read_host(self, cur, pos):
        clock, unix, cpus, clock_id = cur.u64(), cur.u64(), cur.u32(), cur.u32()
        if not 1 <= cpus <= MAX_CPUS:
            raise Error(pos + 32, "the number of CPUs is wrong")
        self.cpus = cpus
        texts = [cur.raw(cur.u16())[:keep] for keep in (127, 31, 63, 2047)]
        yield Item("host", pos, clock=clock, unix=unix, cpus=cpus, clock_id=clock_id,
                   release=texts[0], machine=texts[1], recorder=texts[2], command=texts[3])

    def _read_made(self, cur, pos):
        flags, _ = cur.u32(), cur.u32()
        texts = [cur.raw(cur.u16())[:keep] for keep in (127, 127, 4095)]
        cost = [cur.u32() for _ in range(3)] if cur.left() >= 12 else [0, 0, 0]
        yield Item("made", pos, flags=flags, host=texts[0], attached=texts[1], options=texts[2],
                   inner=cost[0], outer=cost[1], error=cost[2])

    def _read_func(self, cur, pos):
        return self._names(cur, pos, "func", self.functions)

    def _read_pnts(self, cur, pos):
        return self._names(cur, pos, "point", self.points)

    def _names(self, cur, pos, kind, table):
        first, here = cur.u32(), cur.u32()
        if first != len(table):
            raise Error(pos, "the id of the first function is wrong")
        if here < 1 or here > MAX_FUNCTIONS - first:
            raise Error(pos, "the number of functions is wrong")
        for place in range(first, first + here):
            at = cur.pos
            name_size, module_size = cur.u16(), cur.u16()
            if not 1 <= name_size <= 511 or module_size > 55:
                raise Error(at, "the length of a name is wrong")
            name, module = cur.text(name_size), cur.text(module_size)
            table.append((name, module))
            yield Item(kind, at, id=place, name=name, module=module)

    def _read_type(self, cur, pos):
        return self._types(cur, pos, "TYPE")

    def _read_show(self, cur, pos):
        return self._types(cur, pos, "SHOW")

    def _read_flds(self, cur, pos):
        return self._types(cur, pos, "FLDS")

    def _types(self, cur, pos, of):
        types = self.types[of]
        first_enum, enums, first, here = cur.u32(), cur.u32(), cur.u32(), cur.u32()
        if first_enum != len(types.sizes):
            raise Error(pos, "the place of the first enum is wrong")
        if enums > MAX_ENUMS - first_enum:
            raise Error(pos, "the number of enums is wrong")
        if first != len(types.functions):
            raise Error(pos, "the id of the first function is wrong")
        if here > MAX_FUNCTIONS - first:
            raise Error(pos, "the number of functions is wrong")
        for place in range(first_enum, first_enum + enums):
            yield self._enum(cur, of, types, place)
        for place in range(first, first + here):
            at = cur.pos
            result = self._type(cur, of, types, True)
            count = cur.u8()
            if count > (MAX_SHOWN if of == "SHOW" else MAX_ARGS):
                raise Error(at, "a function has too many arguments")
            args = []
            for _ in range(count):
                one = self._type(cur, of, types, False)
                args.append(one + (cur.text(cur.u8()),))
            types.functions.append((result, args))
            yield Item("types", at, of=of, id=place, result=result, args=args)

    def _enum(self, cur, of, types, place):
        at = cur.pos
        size, signed, count = cur.u8(), cur.u8(), cur.u16()
        if size not in (1, 2, 4, 8):
            raise Error(at, "the size of an enum is wrong")
        if signed > 1:
            raise Error(at, "the sign of an enum is wrong")
        types.values += count
        if types.values > MAX_ENUM_VALUES:
            raise Error(at, "the enums have too many values")
        values = []
        for _ in range(count):
            where = cur.pos
            value = cur.number(size)
            if values and value <= values[-1][0]:
                raise Error(where, "the values of an enum do not ascend")
            length = cur.u8()
            if not length:
                raise Error(where, "a value of an enum has no name")
            values.append((value, cur.text(length)))
        types.sizes.append(size)
        types.enums.append(values)
        return Item("enum", at, of=of, place=place, size=size, signed=signed, values=values)

    def _type(self, cur, of, types, is_result):
        at = cur.pos
        byte = cur.u8()
        kind, size = byte & 15, byte >> 4
        if kind > (6 if of == "TYPE" else 15) or size not in (1, 2, 4, 8):
            raise Error(at, "a type is wrong")
        if kind in (0, 1, 6) and size != 8:
            raise Error(at, "the size of a type is wrong")
        if is_result:
            if kind != 0 and of != "TYPE":
                raise Error(at, "a function without result has one")
        elif kind == 0:
            raise Error(at, "an argument is void")
        enum = 0
        if kind in (5, 15):
            enum = cur.u16()
            if enum > len(types.sizes):
                raise Error(at, "an enum is unknown")
            if enum and types.sizes[enum - 1] != size:
                raise Error(at, "the size of a type is not its enum's")
        return kind, size, enum

    def _read_name(self, cur, pos):
        while cur.left() >= 32:
            at = cur.pos
            time, tid, what, name = cur.u64(), cur.u32(), cur.u32(), cur.raw(16)
            if tid > MAX_TID:
                raise Error(at, "a thread id is wrong")
            if what not in (1, 2):
                raise Error(at, "a name has an unknown meaning")
            yield Item("name", at, time=time, tid=tid, what=what, name=name.rstrip(b"\0"))

    def _read_proc(self, cur, pos):
        while cur.left() >= 16:
            at = cur.pos
            time, tid, pid = cur.u64(), cur.u32(), cur.u32()
            if not 1 <= tid <= MAX_TID or not 1 <= pid <= MAX_TID:
                raise Error(at, "a thread id is wrong")
            yield Item("proc", at, time=time, tid=tid, pid=pid)

    def _read_plac(self, cur, pos):
        while cur.left() >= 24:
            at = cur.pos
            time, cgroup, tid, netns = cur.u64(), cur.u64(), cur.u32(), cur.u32()
            if not 1 <= tid <= MAX_TID:
                raise Error(at, "a thread id is wrong")
            yield Item("plac", at, time=time, cgroup=cgroup, tid=tid, netns=netns)

    def _read_addr(self, cur, pos):
        while cur.left() >= 10:
            at = cur.pos
            address, size = cur.u64(), cur.u16()
            if address == 0:
                break
            if size > MAX_ADDR_TEXT:
                raise Error(at, "the text of an address is too long")
            text = cur.raw(size)
            if any(not 0x20 <= byte <= 0x7e for byte in text):
                raise Error(at, "the text of an address has a byte outside 20 to 7e")
            self.addresses.setdefault(address, text)
            yield Item("addr", at, address=address, text=text)

    def _read_ustk(self, cur, pos):
        while cur.left() >= 8:
            at = cur.pos
            number, count, why = cur.u32(), cur.u16(), cur.u16()
            if number == 0:
                break
            if count > MAX_FRAMES:
                raise Error(at, "a user stack has too many frames")
            if why > 6:
                raise Error(at, "a user stack has an unknown reason")
            frames = [self._user_frame(cur) for _ in range(count)]
            item = Item("ustk", at, number=number, why=why, frames=frames)
            old = self.user_stacks.setdefault(number, item)
            if (old.why, old.frames) != (why, frames):
                raise Error(at, "two user stacks have one number")
            yield item

    def _user_frame(self, cur):
        at = cur.pos
        address, offset, size = cur.u64(), cur.u64(), cur.u64()
        lengths = cur.u16(), cur.u16(), cur.u16()
        cur.u16()
        if max(lengths) > MAX_USER_TEXT:
            raise Error(at, "a text of a user stack is too long")
        return (address, offset, size) + tuple(cur.raw(length) for length in lengths)

    def _read_left(self, cur, pos):
        time, limit_kind, flags = cur.u64(), cur.u32(), cur.u32()
        measured, limit, left, cpu = cur.u64(), cur.u64(), cur.u32(), cur.u32()
        if left > cur.left() // 4:
            raise Error(pos, "a record passes the end of its chunk")
        if cpu >= self.cpus:
            raise Error(pos, "a CPU is too large")
        ids = [cur.u32() for _ in range(left)]
        if any(one >= len(self.functions) for one in ids):
            raise Error(pos, "a function is unknown")
        yield Item("left", pos, time=time, limit_kind=limit_kind, flags=flags,
                   measured=measured, limit=limit, left=left, cpu=cpu, ids=ids)

    def _read_trig(self, cur, pos):
        time, begin, tid, func = cur.u64(), cur.u64(), cur.u32(), cur.u32()
        cur.u64()
        condition = cur.raw(cur.u16())[:255]
        if tid > MAX_TID:
            raise Error(pos, "a thread id is wrong")
        if func != NO_FUNC and func >= len(self.functions):
            raise Error(pos, "a function is unknown")
        yield Item("trig", pos, time=time, begin=begin, tid=tid,
                   func=None if func == NO_FUNC else func, condition=condition)

    def _read_summ(self, cur, pos):
        if cur.left() not in (72, 88, 104) and cur.left() < 120:
            raise Error(pos, "the size of a summary is that of no version")
        numbers = []
        while len(numbers) < len(SUMM_NUMBERS) and cur.left() >= 8:
            numbers.append(cur.u64())
        busiest = untraced = 0
        if cur.left() >= 8:
            busiest, untraced = cur.u32(), cur.u32()
        self.closed = True
        yield Item("summ", pos, numbers=numbers, busiest=busiest, untraced=untraced)

    def _read_evnt(self, cur, pos):
        return Events(self, cur, pos).items()


class Events:
    """The events of one EVNT."""

    def __init__(self, reader, cur, pos):
        self.reader = reader
        self.cur = cur
        self.pos = pos
        self.slots = {}         # slot: (CPU, thread id)
        self.clock = 0
        self.event = None       # the last entry or exit

    def items(self):
        cur = self.cur
        begin, end, calls, losses = cur.u64(), cur.u64(), cur.u32(), cur.u32()
        self.clock = begin
        found = [Item("evnt", self.pos, begin=begin, end=end, calls=calls, losses=losses)]
        counts = [0, 0, 0]
        while cur.left() >= 8:
            at = cur.pos
            word = cur.u64()
            kind = word & 7
            if kind <= 2:
                counts[kind] += 1
            item = self._word(at, word, kind)
            if item is not None:
                found.append(item)
        if self.clock != end:
            raise Error(self.pos, "the clock at the end of the chunk is wrong")
        if counts[0] + counts[1] != calls:
            raise Error(self.pos, "the number of entries and exits is wrong")
        if counts[2] != losses:
            raise Error(self.pos, "the number of losses is wrong")
        return found

    def _word(self, at, word, kind):
        if kind <= 1:
            return self._call(at, word, kind)
        if kind == 2:
            self.event = None
            cpu = word >> 3 & 0x1fff
            if cpu >= self.reader.cpus:
                raise Error(at, "a CPU is too large")
            return Item("loss", at, time=self.clock, cpu=cpu, count=word >> 16)
        if kind == 3:
            cpu, tid = word >> 11 & 0x1fff, word >> 32
            if cpu >= self.reader.cpus:
                raise Error(at, "a CPU is too large")
            if tid > MAX_TID:
                raise Error(at, "a thread id is wrong")
            self.slots[word >> 3 & 255] = cpu, tid
            return None
        if kind == 4:
            ns = word >> 3
            self.clock = self.clock + (ns - (1 << 61) if ns >> 60 else ns) & WORD
            return None
        if kind == 5:
            return self._extra(at, word)
        raise Error(at, "a word has an unused kind")

    def _call(self, at, word, kind):
        slot = self.slots.get(word >> 3 & 255)
        if slot is None:
            raise Error(at, "a slot is empty")
        func = word >> 32 & 0xffff
        if func >= len(self.reader.functions):
            raise Error(at, "a function is unknown")
        self.clock = self.clock + (word >> 11 & 0x1fffff) & WORD
        self.event = Item(("entry", "exit")[kind], at, time=self.clock, cpu=slot[0],
                          tid=slot[1], func=func, frame=word >> 48, values=None,
                          members=None, user_stack=None, packet_number=None)
        return self.event

    def _extra(self, at, word):
        kind, count = word >> 3 & 0x1fff, word >> 16 & 0xffff
        if count > self.cur.left() // 8:
            raise Error(at, "extra words pass the end of their chunk")
        words = [self.cur.u64() for _ in range(count)]
        if kind in MARKS and count >= 2:
            return self._mark(at, kind, words)
        if kind == 8:
            return self._tracepoint(at, words)
        if kind in (3, 9, 10, 11):
            self._belongs(at, kind, words)
        return None

    def _mark(self, at, kind, words):
        self.event = None
        tid, cpu = words[1] & 0xffffffff, words[1] >> 32
        if tid > MAX_TID:
            raise Error(at, "a thread id is wrong")
        if cpu >= self.reader.cpus:
            raise Error(at, "a CPU is too large")
        return Item(MARKS[kind], at, time=words[0], tid=tid, cpu=cpu)

    def _tracepoint(self, at, words):
        if len(words) < 4:
            raise Error(at, "a tracepoint has less than four words")
        mark = self._mark(at, 1, words[:2])
        point = words[2] & 0xffff
        if point >= len(self.reader.points):
            raise Error(at, "a tracepoint is unknown")
        fields = self._values(at, words[3:])
        return Item("tracepoint", at, time=mark.time, tid=mark.tid, cpu=mark.cpu,
                    point=point, frame=words[2] >> 16 & 0xffff, fields=fields)

    def _belongs(self, at, kind, words):
        """Extra words of the last entry or exit. Without one, and at exits those
        that only entries have, they are skipped; but they are checked."""
        if kind == 3:
            found = self._values(at, words)
        elif kind == 9:
            if not 1 <= len(words) <= 1 + MAX_SHOWN_WORDS:
                raise Error(at, "extra words have a wrong number")
            found = words
        else:
            if len(words) != 1:
                raise Error(at, "extra words have a wrong number")
            if kind == 11 and not words[0]:
                raise Error(at, "the number of a packet is 0")
            found = words[0]
        event = self.event
        if event is None or kind != 3 and event.kind == "exit":
            return
        name = EXTRAS[0 if kind == 3 else kind - 8]
        if getattr(event, name) is not None:
            raise Error(at, "an event has extra words of a kind twice")
        setattr(event, name, found)

    def _values(self, at, words):
        if not words:
            raise Error(at, "values have no first word")
        count, bits = words[0] & 255, words[0] >> 8
        need = count + (bits & 1) + (bits >> 1 & 1) + 7 * (bits >> 2 & 1) + (bits >> 3 & 1)
        if count > MAX_ARGS:
            raise Error(at, "an event has too many arguments")
        if bits >> 4:
            raise Error(at, "values have unknown bits")
        if need != len(words) - 1:
            raise Error(at, "values have a wrong number of words")
        rest = iter(words[1:])
        values = Values()
        values.args = [next(rest) for _ in range(count)]
        values.caller = next(rest) if bits & 1 else None
        values.ret = next(rest) if bits & 2 else None
        values.packet = [next(rest) for _ in range(7)] if bits & 4 else None
        values.stack = next(rest) - 1 if bits & 8 else None
        return values


READ = ("HOST", "MADE", "FUNC", "TYPE", "SHOW", "PNTS", "FLDS", "NAME", "PROC", "PLAC",
        "ADDR", "USTK", "EVNT", "LEFT", "TRIG", "SUMM")


def dump(value):
    return json.dumps(value, separators=(",", ":"))


def print_items(data):
    """JSON lines of everything in a file, the last of them "end" or "error"."""
    reader = Reader(data)
    try:
        for item in reader:
            sys.stdout.write(dump(item.plain()) + "\n")
    except Error as error:
        print(dump({"item": "error", "at": error.at, "text": error.text}))
        return False
    print(dump({"item": "end", "rest": reader.rest, "closed": reader.closed}))
    return True


def print_summary(path, data):
    """How many of each kind a file has, and what it lost."""
    reader = Reader(data)
    counts = {}
    lost = 0
    error = None
    try:
        for item in reader:
            counts[item.kind] = counts.get(item.kind, 0) + 1
            if item.kind == "loss":
                lost += item.count
            if item.kind == "host":
                print(f"{path}: format 1.{reader.minor}, Linux "
                      f"{item.release.decode('latin-1')}, {item.cpus} CPUs")
    except Error as caught:
        error = caught
    for kind in KINDS:
        if kind in counts:
            print(f"{counts[kind]:>10}  {kind}")
    print(f"{lost:>10}  lost")
    if reader.rest:
        print(f"{path}: {reader.rest} bytes after the last whole chunk")
    if error is not None:
        print(f"{path}: {error}", file=sys.stderr)
    elif not reader.closed:
        print(f"{path}: not closed")
    return error is None


def main(args):
    events = args[:1] == ["--events"]
    if events:
        args = args[1:]
    if not args or args[0].startswith("-"):
        print("usage: nfgrec.py [--events] FILE...", file=sys.stderr)
        return 2
    good = True
    for path in args:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)
            good = False
            continue
        good &= print_items(data) if events else print_summary(path, data)
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        sys.exit(1)
