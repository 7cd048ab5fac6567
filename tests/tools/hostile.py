#!/usr/bin/env python3
"""Names that somebody chose to harm who reads a trace, in every format and table.

    hostile.py PROGRAM PROTOS

Writes a recording and a text with such names for tasks, functions, arguments, comments and in the header,
lets PROGRAM show them, and looks at what comes out: no control characters, valid UTF-8, nothing invisible,
and for whoever parses the format as many records as were made. Ends as a test suite does.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata
import zlib

NAMES = [
    b"\x1b[2J\x1b[31mR", b"\xff\xfe\x80a\"b\\", b"a\nb|{ };\r", b"\x1bc\x07\x9b31m", b";x; y |\"'", b"",
    b"\x1b]0;title\x07", b"a\x00\x7f\x08\t", b"\xc2\x9b31m\xc2\x80", b"\xe2\x80\xaetxt.exe", b"\xe2\x81\xa6x\xe2\x81\xa9",
    b"z\xe2\x80\x8bw\xef\xbb\xbf", b"\xc0\xaf\xe0\x80\x9b", b"\xed\xa0\x80\xed\xb0\x80", b"\xf4\x90\x80\x80", b"a-1 => b",
    b"x| 9 us| ", b" 12", b"a 12", b"*/ }", b"} /* f */", b"CPU:0 [LOST 9]", b"# tracer: nop", b"-1-2-3",
    b"na\xc3\xafvet\xc3\xa9\xc3\xa9", b"<idle>", b"<...>", b"</script>", b"{\"a\":1}", b"%s%n%p",
]
FUNCS = [b"tcp_v4_rcv", b"f;g", b"a|b", b"x\"y\\z", b"{\"p\":1}", b"a*/b", b"</script>", b"f()", b"};{", b"%s%n", b"=", b"12"]


class Recording:
    """The recording format, as much of it as is needed here."""

    def __init__(self, kernel, machine, tool, command):
        self.parts = [b"\x89nfgrec\n" + struct.pack("<IHH", 0x01020304, 1, 1)]
        self.chunks = 0
        self.chunk(b"HOST", struct.pack("<QQII", 10**9, 10**18, 2, 1) +
                   b"".join(struct.pack("<H", len(t)) + t for t in (kernel, machine, tool, command)))

    def chunk(self, kind, body):
        body += b"\0" * (-len(body) % 8)
        head = kind + struct.pack("<II", len(body), self.chunks)
        self.parts.append(head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body)
        self.chunks += 1


def make_recording(path):
    rec = Recording(b"6.1\x1b[31m\x1b]0;pwned\x07", b"x86\x9b", b"t\x1bc\xe2\x80\xae", b"x\x1b[2J\nnetfgraph: forged line")
    rec.chunk(b"FUNC", struct.pack("<II", 0, len(FUNCS)) +
              b"".join(struct.pack("<HH", len(f), 0) + f for f in FUNCS))
    rec.chunk(b"NAME", b"".join(struct.pack("<QII", 0, 5 + i, 1) + n[:16].ljust(16, b"\0")
                                for i, n in enumerate(NAMES)))
    words = []
    for i in range(len(NAMES)):
        outer = i % len(FUNCS)
        inner = (i + 1) % len(FUNCS)
        words.append(3 | i << 3 | 0 << 11 | (5 + i) << 32)
        for kind, func, frame in ((0, outer, 2000), (0, inner, 1990), (1, inner, 1990), (1, outer, 2000)):
            words.append(kind | i << 3 | 100 << 11 | func << 32 | frame << 48)
    rec.chunk(b"EVNT", struct.pack("<QQII", 2 * 10**9, 2 * 10**9 + 10**6, 4 * len(NAMES), 0) +
              struct.pack("<%dQ" % len(words), *words))
    rec.chunk(b"SUMM", struct.pack("<9Q", 3 * 10**9, 10**18, 0, 0, 0, 0, 0, 0, 0))
    with open(path, "wb") as out:
        out.write(b"".join(rec.parts))


def make_text(path):
    """Text as a kernel might print it: names in columns, arguments, comments, lines of other forms."""
    rows = []
    for i, name in enumerate(NAMES):
        name = name.replace(b"\n", b"_").replace(b"\0", b"_") or b"<...>"
        proc = (name[:7] + b"-%d" % (5 + i)).center(14)
        stamp = b" %4d.%06d |   0) " % (10 + i, i)
        rows.append(stamp + proc + b" |               |  outer(a=" + name + b") {\n")
        rows.append(stamp + proc + b" |               |    /* " + name + b" */\n")
        rows.append(stamp + proc + b" |   1.000 us    |    in" + name.replace(b" ", b"") + b"(); /* ret=" + name + b" */\n")
        rows.append(stamp + proc + b" |   9.000 us    |  } /* outer ret=" + name + b" */\n")
        rows.append(b"other " + name + b"\r\n")
    with open(path, "wb") as out:
        out.write(b"# tracer: function_graph\n#\n"
                  b"#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n"
                  b"#      |          |     |    |           |   |                     |   |   |   |\n")
        out.write(b"".join(rows))


class Suite:
    def __init__(self, program):
        self.program = program
        self.passed = self.failed = self.skipped = 0

    def check(self, name, why):
        """@why: None when fine."""
        if why is None:
            self.passed += 1
        else:
            self.failed += 1
            print("FAIL %s: %s" % (name, why))

    def skip(self, name):
        self.skipped += 1
        print("SKIP %s: no program for it" % name)

    def run(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, stdin=subprocess.DEVNULL, check=False)


def unclean(data, allowed="\n"):
    """What a terminal must not be given; None when there is nothing."""
    try:
        text = data.decode("utf-8", "strict")
    except UnicodeDecodeError as err:
        return "not UTF-8: %r" % data[max(err.start - 20, 0):err.end + 20]
    for at, char in enumerate(text):
        if char not in allowed and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            return "U+%04X in %r" % (ord(char), text[max(at - 20, 0):at + 20])
    return None


def wrong_count(what, got, want):
    return None if got == want else "%d %s, not %d" % (got, what, want)


# ---- a format's own reader: how many calls there are ----

ROW = re.compile(
    r" *\d+\.\d{6} \|  +\d+\) +.*-\d+ +\| [ +!#*@$] (?: *|(?P<us>\d+(\.\d+)?) us +)\|  "
    r"(?: *)(?P<body>[^ ]+\(.*\)(?P<end>;| \{)(?: /\*.*\*/)?|\}(?: /\* .* \*/)?)$")


def calls_of_text(data):
    rows = [ROW.match(line) for line in data.decode(errors="replace").split("\n")]
    rows = [row for row in rows if row]
    for row in rows:
        # the middle of a row has its two bars and no more, whatever the task is called
        if row.group(0)[:row.start("body")].count("|") != 3:
            return -1
    return sum(1 for row in rows if row.group("us"))


def calls_of_json(data):
    calls = [json.loads(line) for line in data.decode(errors="replace").splitlines()]
    return sum("func" in call for call in calls)


def calls_of_otlp(data):
    spans = [span for line in data.decode(errors="replace").splitlines()
             for resource in json.loads(line)["resourceSpans"]
             for scope in resource["scopeSpans"] for span in scope["spans"]]
    return sum(any(item["key"] == "code.function.name" for item in span["attributes"]) for span in spans)


def calls_of_chrome(data):
    return sum(event["ph"] in "BX" for event in json.loads(data)["traceEvents"])


def tables_of_folded(data):
    lines = data.decode(errors="replace").split("\n")[:-1]
    bad = [line for line in lines if not re.match(r"[^;]+(;[^; ]+( \[[^; ]+\])?){1,2} \d+$", line)]
    return -1 if bad else len(lines)


def calls_of_perfetto(data, protos):
    said = subprocess.run(["protoc", "-I", protos, "--decode=Trace", "perfetto_min.proto"], input=data,
                          capture_output=True, check=True).stdout.decode()
    return said.count("TYPE_SLICE_BEGIN")


def strings_of_perfetto(data, protos):
    """All strings as protoc shows them, unescaped."""
    said = subprocess.run(["protoc", "-I", protos, "--decode=Trace", "perfetto_min.proto"], input=data,
                          capture_output=True, check=True).stdout.decode()
    found = re.findall(r': "(.*)"$', said, re.M)
    return b"\n".join(text.encode().decode("unicode_escape").encode("latin1") for text in found)


def check_formats(suite, protos, path, words, calls, stacks):
    for fmt in ("text", "json", "chrome", "folded", "perfetto", "trace.dat", "trace.dat.v7", "otlp"):
        options = ["--graph-opts", "abstime,proc,tail"] if fmt == "text" else ["--format", fmt]
        name = "%s of %s" % (fmt, os.path.basename(path))
        done = suite.run("report", path, *words, *options)
        data = done.stdout
        suite.check(name + ", ends well", None if done.returncode in (0, 4) else "status %d: %r" % (done.returncode, done.stderr[:200]))
        suite.check(name + ", messages", unclean(done.stderr))
        if fmt.startswith("trace.dat"):
            check_tracedat(suite, name, data, calls)
        elif fmt == "perfetto":
            if not shutil.which("protoc"):
                suite.skip(name)
                continue
            suite.check(name + ", strings", unclean(strings_of_perfetto(data, protos)))
            suite.check(name, wrong_count("calls", calls_of_perfetto(data, protos), calls))
        else:
            suite.check(name + ", bytes", unclean(data, "\n\t" if fmt == "text" else "\n"))
            reader = {"text": calls_of_text, "json": calls_of_json, "chrome": calls_of_chrome, "folded": tables_of_folded,
                      "otlp": calls_of_otlp}
            suite.check(name, wrong_count("calls", reader[fmt](data), stacks if fmt == "folded" else calls))


def check_tracedat(suite, name, data, calls):
    if not shutil.which("trace-cmd"):
        suite.skip(name)
        return
    with tempfile.NamedTemporaryFile(suffix=".dat") as out:
        out.write(data)
        out.flush()
        done = subprocess.run(["trace-cmd", "report", "-i", out.name], capture_output=True, check=False)
        about = subprocess.run(["trace-cmd", "dump", "--all", "-i", out.name], capture_output=True, check=False)
    suite.check(name + ", as trace-cmd prints it", unclean(done.stdout, "\n\t"))
    if about.returncode == 0:
        suite.check(name + ", as trace-cmd dumps it", unclean(about.stdout, "\n\t"))
    suite.check(name, wrong_count("calls", len(re.findall(rb"funcgraph_entry:", done.stdout)), calls))


def check_words(suite, recording):
    """Tables, what -v says, and messages that repeat what was typed."""
    bad = "\x1b[31m\r\nforged\x7f\u202e\udc9b"
    for words in (
            ["profile", "--input", recording], ["profile", "--input", recording, "--callers"],
            ["latency", "*", "--input", recording], ["report", recording, "-v"], ["report", recording, "-vv"],
            ["report", recording, "-T", bad], ["report", recording, "--comm", bad], ["report", bad],
            ["report", recording, "-o", "/nonexistent/" + bad], ["report", recording, "--format", bad],
            ["report", recording, "--filter", bad], ["report", recording, "--tid", bad], ["--" + bad], ["-" + bad],
            ["--packet", bad], ["--cgroup", bad], ["--container", bad], ["--netns", bad], ["--preset", bad],
            ["--timeout", bad], ["--graph-opts", bad], ["--for", bad], ["list", bad], ["list", "-v", bad],
            ["check", bad], [bad], ["--", bad], ["-G", bad, "--", "true"], ["--config", bad]):
        done = suite.run(*[os.fsencode(word) if isinstance(word, str) else word for word in words])
        name = " ".join(words).encode("unicode_escape", "surrogateescape").decode("ascii", "replace")
        suite.check(name, unclean(done.stdout + done.stderr))
        lines = done.stderr.decode("utf-8", "replace").splitlines()
        suite.check(name + ", lines", None if all(re.match(r"netfgraph: |hint: ", line) for line in lines) else repr(lines))


def main():
    program, protos = sys.argv[1:]
    suite = Suite(program)
    with tempfile.TemporaryDirectory() as place:
        recording = os.path.join(place, "hostile.rec")
        text = os.path.join(place, "hostile.txt")
        make_recording(recording)
        make_text(text)
        check_formats(suite, protos, recording, [], 2 * len(NAMES), 2 * len(NAMES))
        # no row of a text has such a function but of printable characters
        named = [name or b"<...>" for name in NAMES]
        called = [name for name in named if re.fullmatch(rb"[ -~]*", name)]
        check_formats(suite, protos, text, ["--from", "ftrace"], len(named) + len(called),
                      len(set(named)) + len(set(called)))
        done = suite.run("report", "--from", "ftrace", text)
        suite.check("a text as it was", unclean(done.stdout, "\n\t"))
        check_words(suite, recording)
    print("%d passed, %d failed, %d skipped" % (suite.passed, suite.failed, suite.skipped))
    return suite.failed > 0


sys.exit(main())
