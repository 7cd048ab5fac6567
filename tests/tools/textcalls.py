#!/usr/bin/env python3
"""Counts the calls of a function_graph text by its rows alone, independently of netfgraph: one line for each call
that begins, "DEPTH NAME", sorted. Reads a text as the kernel, perf ftrace or trace-cmd report prints it, with whatever was
put in front of its rows; what it takes for a row is a bar or a CPU, and then a call.

    textcalls.py FILE [--ends]      with --ends: also "DEPTH }" for each end
"""
import html
import re
import sys

CALL = re.compile(r"^( *)([A-Za-z_.$][^\s(]*)(?: \[([\w.-]+)\])?\(.*?\)( \{|;)")
END = re.compile(r"^( *)\}")
BEFORE = re.compile(r"(?:\d\)|\d us|\d\.\d+ us|funcgraph_\w+:)\s*$|^\s*$|[\s>+:*\]-]$")


def bodies(text):
    """What is behind the bar of each row, with its indentation beyond the least."""
    text = html.unescape(re.sub(r"\033\[[0-9;]*m", "", text)).replace("\u00a0", " ").replace("\r", "")
    for line in text.split("\n"):
        line = line.expandtabs(8).rstrip()
        if "|" in line:
            for match in re.finditer(r"\|", line):
                body = line[match.end():]
                if CALL.match(body) or END.match(body):
                    yield 2, body
                    break
                if re.match(r" *[A-Za-z_][^\s(|]*$", body):
                    yield 0, body
                    break
        else:
            match = re.search(r"(?:^|\s)\d+\)( .*)$", line)
            if match and (CALL.match(match[1]) or END.match(match[1])):
                yield 1, match[1]
            elif re.match(r"^\W*\[[\w.-]+\]\(.*\)( \{|;)$", line):
                yield -1, line


def calls(text, with_ends=False):
    """Pairs of depth and name; a wrapped row is joined."""
    out = []
    held = ""
    for least, body in bodies(text):
        if least == 0:
            held = body
            continue
        if least == -1:
            if not held:
                continue
            body, least = held + " " + re.sub(r"^[^\[]*", "", body), 2
        held = ""
        match = CALL.match(body)
        if match:
            out.append(((len(match[1]) - least) // 2, match[2]))
        elif with_ends:
            out.append(((len(END.match(body)[1]) - least) // 2, "}"))
    return out


def read(path):
    """The text of a file, UTF-16 or UTF-8."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    return data.decode("utf-8-sig", "replace")


if __name__ == "__main__":
    for depth, name in sorted(calls(read(sys.argv[1]), "--ends" in sys.argv)):
        print(depth, name)
