#!/usr/bin/env python3
"""Mutations of function_graph texts, as they reach people: prefix x line end x blanks x columns x cut. Each must give the
calls of the original text, as netfgraph reads it and as textcalls.py counts it, or a refusal that names the cause.

    textmutate.py TEXTREAD PROGRAM [-s SHARE [-n NUMBER]] TEXT...    prints each combination that is wrong or silent, and the sums

TEXTREAD reads them; PROGRAM reads one in a hundred, too, and must say the same. -s: only one of so many combinations, the
NUMBERth; without it, each pair of two changes, and one in 29 of the others.
Status 1 if anything was wrong or silent, or if fewer than LEAST combinations of a text ran.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import textcalls

LEAST = 500
BY_PROGRAM = 100
MONTH = "Nov 28 11:14:%02d web-1 kernel: "

PREFIX = {
    "none": lambda i: "",
    "mail": lambda i: "> ",
    "mail twice": lambda i: "> > ",
    "mail close": lambda i: ">",
    "diff": lambda i: "+",
    "grep -n": lambda i: "%d:" % (i + 1),
    "grep -n, blank": lambda i: "%d: " % (i + 1),
    "grep file": lambda i: "trace-1.txt:",
    "grep -Hn": lambda i: "a/trace.txt:%d:" % (i + 1),
    "host": lambda i: "web1: ",
    "syslog": lambda i: MONTH % (i % 60),
    "syslog, dmesg": lambda i: MONTH % (i % 60) + "[  210.%06d] " % i,
    "dmesg": lambda i: "[%5d.%06d] " % (i // 3, i),
    "dmesg, task": lambda i: "[  210.%06d][  T%d] " % (i, i % 3 + 100),
    "printk": lambda i: "<4>",
    "printk, dmesg": lambda i: "<4>[  210.%06d] " % i,
    "cat -n": lambda i: "%6d\t" % (i + 1),
    "comment": lambda i: " * ",
    "C++ comment": lambda i: "// ",
    "shell comment": lambda i: "# ",
    "iso time": lambda i: "2026-11-28T11:14:25.%06d+00:00 web-1 kernel: " % i,
    "indented 4": lambda i: "    ",
    "indented 8": lambda i: "        ",
    "tab": lambda i: "\t",
    "compose": lambda i: "web-1  | ",
}

ENDS = {
    "LF": lambda line: line + "\n",
    "CRLF": lambda line: line + "\r\n",
    "blanks": lambda line: line + "   \n",
    "trimmed": lambda line: line.rstrip() + "\n",
}


def unexpand(line):
    """Blanks to tabs, as unexpand -a does."""
    out = ""
    for at in range(0, len(line), 8):
        part = line[at:at + 8]
        if len(part) == 8 and part.endswith("  "):
            part = part.rstrip(" ") + "\t"
        out += part
    return out


BLANKS = {
    "kept": lambda line: line,
    "tabs": unexpand,
    "entities": lambda line: line.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;"),
    "no-break": lambda line: line.replace("  ", "\u00a0 "),
}

# What precedes the CPU of a row or a task switch, or of a row of trace-cmd report.
CPU_AT = re.compile(r"^\s*(?=\d+\))")


def timed(line):
    """The row with the column TIME, as the option abstime prints it. Of calls without durations it is the duration, too."""
    return "33224.935168 |  " + line if CPU_AT.match(line) and "|" in line else line


COLUMNS = {
    "kept": lambda line: line,
    "narrow": lambda line: re.sub(r" +\|(?=  )", " |", line),
    # without a bar, the blanks behind the CPU are the depth
    "wide": lambda line: re.sub(r"\) ", ")    ", line, count=1) if "|" in line or "=" in line else line,
    "no first": lambda line: line[1:] if re.match(r" +\d+\)", line) else line,
    "time": timed,
}


def cut_middle(lines, mark):
    """Take out the rows in the middle, if a mark is put in their place."""
    half = len(lines) // 2
    return lines[:half] + [mark] + lines[half + 1:]


def cpu_of(lines):
    """The CPU of the first row, as text."""
    for line in lines:
        match = re.search(r"(?:^|\s)(\d+)\)\s|\[0*(\d+)\] ", line)
        if match:
            return match[1] or match[2]
    return "0"


CUTS = {
    "none": lambda lines: lines,
    "...": lambda lines: cut_middle(lines, "..."),
    "[...]": lambda lines: cut_middle(lines, "[...]"),
    "[\u2026]": lambda lines: cut_middle(lines, "[\u2026]"),
    "row": lambda lines: cut_middle(lines, " %s)               |   ..." % cpu_of(lines)),
    "command": lambda lines: ["root@host:~# cat trace", "Tracing ... Ctrl-C to end."] + lines,
    "LOST": lambda lines: ["CPU:%s [LOST 17 EVENTS]" % cpu_of(lines)] + lines,
    "no empty": lambda lines: [line for line in lines if line.strip()],
    "headless": lambda lines: [line for line in lines if not line.startswith("#")],
    "remark": lambda lines: [line + "   // here" if line.endswith("();") and i % 3 == 0 else line
                             for i, line in enumerate(lines)],
}


def parsed(status, out, said):
    """Status, calls in order, and what was said."""
    found = []
    for line in out.splitlines():
        call = json.loads(line)
        if "func" in call:
            found.append((call["depth"], call["func"], call["duration_ns"], call["complete"], call["cpu"],
                          call["tid"], call["returned"]))
    return status, found, said


class TextRead:
    """The process that reads all mutations."""

    def __init__(self, path):
        self.run = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def calls(self, path):
        """As parsed."""
        self.run.stdin.write(path.encode() + b"\n")
        self.run.stdin.flush()
        status, out_len, said_len = map(int, self.run.stdout.readline().split())
        out = self.run.stdout.read(out_len).decode()
        return parsed(status, out, self.run.stdout.read(said_len).decode())


def program_calls(program, path):
    """As parsed, by a process of its own."""
    run = subprocess.run([program, "report", path, "--format", "json"], capture_output=True, check=False)
    return parsed(run.returncode, run.stdout.decode(), run.stderr.decode())


def multiset(found, is_cut):
    """Calls in any order; below a cut, it is not known which ends belong to which calls."""
    return sorted((c[0], c[1] or "", c[2] if not is_cut and c[2] is not None else -1, c[4],
                   -1 if is_cut or c[5] is None else c[5])
                  for c in found if not is_cut or c[3])


def lacking(some, others):
    """What is in @some, and not in @others."""
    rest = list(others)
    out = []
    for one in some:
        if one in rest:
            rest.remove(one)
        else:
            out.append(one)
    return out


class Text:
    """A text, its lines, and its calls as netfgraph reads and as textcalls.py counts them."""

    def __init__(self, path, reader):
        with open(path, encoding="utf-8", errors="replace") as file:
            self.lines = file.read().split("\n")[:-1]
        self.name = os.path.basename(path)
        self.read = reader.calls(path)
        self.counted = sorted(textcalls.calls("\n".join(self.lines)))

    def differs(self, got, cut):
        """What another reading of the same calls has that is wrong; "": nothing."""
        status, found, said = got
        if status == 3 and "hint: " in said and not found:
            return "refused"
        if status or self.read[0]:
            return "status %d, %s" % (status, said.strip())
        # an end without its beginning is no call that can be counted
        begun = sorted((c[0], c[1]) for c in found if c[3] or not c[6])
        want, have = multiset(self.read[1], False), multiset(found, False)
        if cut not in ("...", "[...]", "[\u2026]", "row"):
            if want != have:
                return "extra %s, lacks %s" % (lacking(have, want)[:3], lacking(want, have)[:3])
            return "" if begun == self.counted else "not those that are counted"
        # what is complete is so in the whole text, too
        extra = lacking(multiset(found, True), multiset(self.read[1], True))
        if extra:
            return "%s is complete behind a cut" % (extra[0],)
        if lacking(begun, self.counted):
            return "%s is not counted" % (lacking(begun, self.counted)[0],)
        if len(found) < len(self.read[1]) and "rows were cut out here" not in said:
            return "silent"
        return "" if len(found) == len(self.read[1]) or any(not c[3] for c in found) else "silent"


def combinations(share, number):
    """The chosen ones: prefix, blanks, columns, cut, line end."""
    all_count = count = 0
    for prefix in PREFIX:
        for blanks in BLANKS:
            for columns in COLUMNS:
                for cut in CUTS:
                    for end in ENDS:
                        all_count += 1
                        changes = ((prefix != "none") + (blanks != "kept") + (columns != "kept") + (cut != "none") +
                                   (end != "LF"))
                        # all of them would be 20,000 a text
                        if changes > 2 and all_count % 29:
                            continue
                        count += 1
                        if count % share == number % share:
                            yield prefix, blanks, columns, cut, end


def mutated(lines, what):
    """The bytes of the text, changed in these ways."""
    prefix, blanks, columns, cut, end = what
    lines = [BLANKS[blanks](COLUMNS[columns](line)) for line in CUTS[cut](lines)]
    return "".join(ENDS[end](PREFIX[prefix](i) + line) for i, line in enumerate(lines)).encode()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-s", dest="share", type=int, default=1)
    ap.add_argument("-n", dest="number", type=int, default=0)
    ap.add_argument("textread")
    ap.add_argument("program")
    ap.add_argument("texts", nargs="+")
    args = ap.parse_args()
    reader = TextRead(args.textread)
    ran = wrong = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        got_path = os.path.join(folder, "text")
        for path in args.texts:
            text = Text(path, reader)
            if not text.read[1]:
                print("%s: no call" % text.name)
                wrong += 1
            before = ran
            for what in combinations(args.share, args.number):
                with open(got_path, "wb") as file:
                    file.write(mutated(text.lines, what))
                got = reader.calls(got_path)
                result = text.differs(got, what[3])
                ran += 1
                if ran % BY_PROGRAM == 0 and program_calls(args.program, got_path) != got:
                    result = "the program reads it differently"
                refused += result == "refused"
                if result and result != "refused":
                    wrong += 1
                    print("%s: %s: %s" % (text.name, ", ".join(what), result))
            if (ran - before) * args.share < LEAST:
                print("%s: %d combinations are too few" % (text.name, ran - before))
                wrong += 1
    print("%d combinations of %d texts, %d refused, %d wrong or silent" % (ran, len(args.texts), refused, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
