#!/usr/bin/env python3
"""Makes small trace.dat files of every kind that trace-cmd's format allows: dats.py DIR [PAGE_BYTES].

The files "same-*" hold one trace each, in another encoding: same-le64-v6.dat, of version 6, little endian, with a long of 8 bytes,
and so on. The others hold what the name says. Written from trace-cmd.dat.v6(5), trace-cmd.dat.v7(5) and the kernel's ring_buffer.c.
"""
import struct
import sys
import zlib

PAGE = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
ENTRY, EXIT, FUNCTION, RETADDR, QUEUE = 11, 10, 1, 12, 300
SYMBOLS = {"outer": 0x81000000, "inner": 0x81000100, "leaf": 0x81000200, "late": 0x81000300}
START_NS = 5_000_000_000


class Dat:
    """A file: how numbers look in it, and its parts."""

    def __init__(self, version=6, big=False, long_bytes=8, packing="none", values=False, systems=False):
        self.order = ">" if big else "<"
        self.systems = systems  # with an event of another system than ftrace, and what trace-cmd knows of the clock
        self.version, self.big, self.long, self.packing, self.values = version, big, long_bytes, packing, values
        self.pages = {}

    def num(self, value, size):
        return struct.pack(self.order + {1: "B", 2: "H", 4: "I", 8: "Q"}[size], value & (1 << size * 8) - 1)

    def sized(self, text, size=8):
        data = text.encode()
        return self.num(len(data), size) + data

    # ---- what stands before the pages ----

    def header_info(self):
        page = (
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
            f"\tfield: local_t commit;\toffset:8;\tsize:{self.long};\tsigned:1;\n"
            "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
            f"\tfield: char data;\toffset:{8 + self.long};\tsize:{PAGE - 8 - self.long};\tsigned:1;\n"
        )
        event = (
            "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
            "\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"
        )
        return b"header_page\0" + self.sized(page) + b"header_event\0" + self.sized(event)

    def format(self, name, number, fields, text):
        lines = [f"name: {name}", f"ID: {number}", "format:"]
        common = [("unsigned short common_type", 2), ("unsigned char common_flags", 1),
                  ("unsigned char common_preempt_count", 1), ("int common_pid", 4)]
        at = 0
        for field, size in common:
            lines.append(f"\tfield:{field};\toffset:{at};\tsize:{size};\tsigned:0;")
            at += size
        lines.append("")
        for field, size in fields:
            lines.append(f"\tfield:{field};\toffset:{at};\tsize:{size};\tsigned:0;")
            at += size
        return "\n".join(lines) + f"\n\nprint fmt: {text}\n"

    def formats(self):
        entry = [("unsigned long func", self.long), ("int depth", 4)]
        exit_ = [("unsigned long func", self.long), ("int depth", 4), ("unsigned int overrun", 4)]
        if self.values:
            entry = [("unsigned long func", self.long), ("unsigned long depth", self.long), ("unsigned long args[]", 0)]
            exit_ = [("unsigned long func", self.long), ("unsigned long retval", self.long), ("int depth", 4), ("unsigned int overrun", 4)]
        exit_ += [("unsigned long long calltime", 8), ("unsigned long long rettime", 8)]
        retaddr = [("unsigned long func", self.long), ("int depth", 4), ("unsigned int pad", 4), ("unsigned long retaddr", self.long)]
        return [
            self.format("function", FUNCTION, [("unsigned long ip", self.long), ("unsigned long parent_ip", self.long)],
                        '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip'),
            self.format("funcgraph_entry", ENTRY, entry, '"--> %ps (%d)", (void *)REC->func, REC->depth'),
            self.format("funcgraph_exit", EXIT, exit_,
                        '"<-- %ps (%d) (start: %llx  end: %llx) over: %d", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth'),
            self.format("fgraph_retaddr_entry", RETADDR, retaddr, '"--> %ps (%d) <- %ps", (void *)REC->func, REC->depth, (void *)REC->retaddr'),
        ]

    def types(self):
        formats = self.formats()
        return self.num(len(formats), 4) + b"".join(self.sized(text) for text in formats)

    def other_types(self):
        if not self.systems:
            return self.num(0, 4)
        queue = self.format("net_dev_queue", QUEUE, [("unsigned int len", 4)], '"len=%u", REC->len')
        return self.num(1, 4) + b"net\0" + self.num(1, 4) + self.sized(queue)

    def kallsyms(self):
        top = 0xFFFFFFFF00000000 if self.long == 8 else 0
        lines = [f"{top + addr:0{self.long * 2}x} T {name}" + ("\t[mod]" if name == "late" else "") for name, addr in SYMBOLS.items()]
        return self.sized("\n".join(lines) + "\n", 4)

    def tasks(self):
        return self.sized("77 a long comm here\n5 x\n")

    # ---- events ----

    def addr(self, name):
        return SYMBOLS[name] + (0xFFFFFFFF00000000 if self.long == 8 else 0)

    def common(self, kind, tid):
        return self.num(kind, 2) + self.num(0, 1) + self.num(0, 1) + self.num(tid, 4)

    def entry(self, tid, name, depth, args=()):
        if self.values:
            return self.common(ENTRY, tid) + self.num(self.addr(name), self.long) + self.num(depth, self.long) + b"".join(self.num(arg, self.long) for arg in args)
        return self.common(ENTRY, tid) + self.num(self.addr(name), self.long) + self.num(depth, 4)

    def entry_from(self, tid, name, depth, caller):
        return self.common(RETADDR, tid) + self.num(self.addr(name), self.long) + self.num(depth, 4) + self.num(0, 4) + self.num(caller, self.long)

    def exit(self, tid, name, depth, took_ns, ret=0):
        value = self.num(ret, self.long) if self.values else b""
        return (self.common(EXIT, tid) + self.num(self.addr(name), self.long) + value + self.num(depth, 4) + self.num(0, 4) +
                self.num(1_000_000, 8) + self.num(1_000_000 + took_ns, 8))

    def function(self, tid, name):
        return self.common(FUNCTION, tid) + self.num(self.addr(name), self.long) + self.num(self.addr("outer"), self.long)

    def queue(self, tid):
        return self.common(QUEUE, tid) + self.num(98, 4)

    def head(self, kind, delta):
        return self.num(kind << 27 | delta if self.big else delta << 5 | kind, 4)

    def record(self, delta, data, long_form=False):
        data += b"\0" * (-len(data) % 4)
        if delta >= 1 << 27:
            return self.head(30, delta & (1 << 27) - 1) + self.num(delta >> 27, 4) + self.record(0, data, long_form)
        if long_form or len(data) > 28 * 4:
            return self.head(0, delta) + self.num(len(data) + 4, 4) + data
        return self.head(len(data) // 4, delta) + data

    def stamp(self, time):
        return self.head(31, time & (1 << 27) - 1) + self.num(time >> 27, 4)

    def discarded(self, delta, words):
        return self.head(29, delta) + self.num(words * 4, 4) + b"\xff" * ((words - 1) * 4)

    def page(self, cpu, time, data, missed=None):
        """missed: events lost before the page; 0: nobody knows how many."""
        flags = 0
        tail = b""
        if missed is not None:
            flags = 1 << 31
            if missed:
                flags |= 1 << 30
                tail = self.num(missed, self.long)
        commit = self.num(len(data) | flags, self.long)
        page = self.num(time, 8) + commit + data + tail
        assert len(page) <= PAGE, len(page)
        self.pages.setdefault(cpu, []).append(page + b"\0" * (PAGE - len(page)))

    # ---- the file ----

    def write6(self):
        out = b"\x17\x08\x44tracing6\0" + bytes([self.big, self.long]) + self.num(PAGE, 4)
        out += self.header_info() + self.types() + self.other_types() + self.kallsyms() + self.num(0, 4) + self.tasks()
        cpus = max(self.pages) + 1
        uname = b"Linux box 6.1.0-test x86_64\0"
        out += self.num(cpus, 4) + b"options  \0" + self.num(5, 2) + self.num(len(uname), 4) + uname
        if self.systems:
            for number, data in (4, b"local [global] counter\0"), (1, b"1700000000000000\0"):
                out += self.num(number, 2) + self.num(len(data), 4) + data
        out += self.num(0, 2) + b"flyrecord\0"
        at = -(-(len(out) + 16 * cpus) // PAGE) * PAGE
        places = data = b""
        for cpu in range(cpus):
            pages = b"".join(self.pages.get(cpu, []))
            places += self.num(at + len(data), 8) + self.num(len(pages), 8)
            data += pages
        out += places
        return out + b"\0" * (at - len(out)) + data

    def packed(self, data):
        small = zlib.compress(data)
        return self.num(len(small), 4) + self.num(len(data), 4) + small

    def section(self, number, body):
        is_packed = self.packing != "none" and number not in (0, 15)
        body = self.packed(body) if is_packed else body
        return self.num(number, 2) + self.num(is_packed, 2) + self.num(0, 4) + self.num(len(body), 8) + body

    def write7(self):
        out = b"\x17\x08\x44tracing7\0" + bytes([self.big, self.long]) + self.num(PAGE, 4)
        out += self.packing.encode() + b"\0" + (b"1.0\0" if self.packing != "none" else b"\0")
        place = len(out)
        out += self.num(0, 8)
        options = b""

        def option(number, data):
            nonlocal options
            options += self.num(number, 2) + self.num(len(data), 4) + data

        for number, body in (16, self.header_info()), (17, self.types()), (18, self.other_types()), (19, self.kallsyms()), (20, self.num(0, 4)), (21, self.tasks()):
            option(number, self.num(len(out), 8))
            out += self.section(number, body)
        if self.systems:
            option(1, b"1700000000000000\0")
        option(5, b"Linux box 6.1.0-test x86_64\0")
        cpus = max(self.pages) + 1
        option(8, self.num(cpus, 4))
        buffer_at = len(out)
        data_at = -(-(buffer_at + 16) // PAGE) * PAGE
        places = data = b""
        for cpu in range(cpus):
            pages = self.pages.get(cpu, [])
            body = b"".join(pages)
            if self.packing != "none":
                body = self.num(len(pages), 4) + b"".join(self.packed(page) for page in pages)
            places += self.num(cpu, 4) + self.num(data_at + len(data), 8) + self.num(len(body), 8)
            data += body
        size = data_at - buffer_at - 16 + len(data)
        out += self.num(3, 2) + self.num(self.packing != "none", 2) + self.num(0, 4) + self.num(size, 8)
        out += b"\0" * (data_at - len(out)) + data
        option(3, self.num(buffer_at, 8) + b"\0" + (b"global\0" if self.systems else b"local\0") + self.num(PAGE, 4) + self.num(cpus, 4) + places)
        option(0, self.num(0, 8))
        options_at = len(out)
        out += self.section(0, options)
        return out[:place] + self.num(options_at, 8) + out[place + 8:]

    def save(self, name):
        with open(f"{sys.argv[1]}/{name}.dat", "wb") as file:
            file.write(self.write6() if self.version == 6 else self.write7())


def same(dat):
    """Two tasks on two CPUs, a call that moves, events of every form, and two losses."""
    dat.page(0, START_NS, dat.record(0, dat.entry(77, "outer", 0)) + dat.record(1000, dat.entry(77, "leaf", 1)) +
             dat.record(200, dat.exit(77, "leaf", 1, 150)) + dat.record(300, dat.entry(77, "inner", 1), True))
    dat.page(1, START_NS + 500, dat.record(0, dat.entry(0, "late", 0)) + dat.discarded(1, 3) + dat.record(99, dat.entry(5, "leaf", 0)) +
             dat.record(50, dat.exit(5, "leaf", 0, 50)) + dat.record(1 << 28, dat.exit(0, "late", 0, 12_345_678)))
    dat.page(1, START_NS + (1 << 28) + 2000, dat.record(0, dat.exit(77, "inner", 1, 2500)) + dat.stamp(START_NS + (1 << 29)) +
             dat.record(10, dat.exit(77, "outer", 0, 536_870_000)), missed=17)
    dat.page(0, START_NS + (1 << 30), dat.record(0, dat.entry(5, "outer", 0)), missed=0)
    dat.page(0, START_NS + (1 << 30) + 1000, dat.record(0, dat.exit(5, "outer", 0, 1000)))


for big in False, True:
    for long_bytes in 8, 4:
        for version, packing in (6, "none"), (7, "none"), (7, "zlib"):
            one = Dat(version, big, long_bytes, packing)
            same(one)
            one.save(f"same-{'be' if big else 'le'}{long_bytes * 8}-v{version}" + ("" if packing == "none" else "-" + packing))

one = Dat(values=True)
one.page(0, START_NS, one.record(0, one.entry(77, "outer", 0, (1, 0xFFFF888000000000))) + one.record(100, one.entry(77, "leaf", 1, (7,))) +
         one.record(100, one.exit(77, "leaf", 1, 100, -22)) + one.record(100, one.entry_from(77, "inner", 1, one.addr("outer") + 0x1C)) +
         one.record(100, one.exit(77, "inner", 1, 100, 5)) + one.record(100, one.exit(77, "outer", 0, 500, 0)))
one.save("values")

one = Dat()
one.page(0, START_NS, one.record(0, one.entry(77, "outer", 0)) + one.record(10, one.function(77, "leaf")) + one.record(10, one.exit(77, "outer", 0, 20)))
one.save("others")

for version, packing in (6, "none"), (7, "zlib"):
    one = Dat(version, packing=packing, systems=True)
    one.page(0, START_NS, one.record(0, one.entry(77, "outer", 0)) + one.record(10, one.queue(77)) + one.record(10, one.queue(5)) +
             one.record(10, one.exit(77, "outer", 0, 30)))
    one.save(f"systems-v{version}")

one = Dat()
one.page(0, START_NS, one.record(0, one.entry(77, "outer", 0)) + one.record(10, one.exit(77, "outer", 0, 20)))
one.page(0, START_NS + 100, b"", missed=9)
one.save("lost-at-end")

one = Dat()
one.page(0, START_NS, one.record(0, one.function(77, "leaf")) + one.record(10, one.function(77, "leaf")))
one.save("no-calls")

one = Dat()
one.page(0, START_NS, one.record(0, one.entry(77, "outer", 3)) + one.record(10, one.entry(77, "leaf", 5000)) + one.record(10, b"\x0b\0\0\0") +
         one.record(10, one.exit(77, "outer", 3, 30)) + one.head(5, 1))
one.save("damaged")
