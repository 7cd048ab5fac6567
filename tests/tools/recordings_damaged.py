#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Damages recordings and compares who refuses them.

    recordings_damaged.py [--seed N] [--program PATH] [--dump PATH] COUNT FILE...

Each round changes some bytes, words or chunks of one of the files and sets the
chunks' numbers and checksums right again, so that the contents are what is
wrong. nfgrec.py, nfgdump and the program then have to take or refuse the same
recordings, for a chunk at the same place.
"""

import argparse
import collections
import contextlib
import io
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include"))
import nfgrec  # noqa: E402


# Where the program does not hold what recording.md says; see DEFECTS.md.
KNOWN = (
    "the clock at the end of the chunk is wrong",
    "a chunk follows SUMM",
    "two user stacks have one number",
    "an event has extra words of a kind twice",
)
TYPES = ("TYPE", "SHOW", "FLDS")     # the program reads them only when it shows values


def chunks_of(data):
    """The chunks' types and contents."""
    out = []
    pos = 16
    while pos + 16 <= len(data):
        word, size = struct.unpack_from("=II", data, pos)
        if size > len(data) - pos - 16:
            break
        out.append((word, bytearray(data[pos + 16:pos + 16 + size])))
        pos += 16 + size
    return out


def file_of(head, chunks):
    out = bytearray(head)
    starts = []
    for number, (word, content) in enumerate(chunks):
        content += bytes(-len(content) % 8)
        start = struct.pack("=III", word, len(content), number)
        starts.append(len(out))
        out += start + struct.pack("=I", zlib.crc32(content, zlib.crc32(start))) + content
    return bytes(out), starts


def type_at(data, starts, at):
    start = max([one for one in starts if one <= at], default=0)
    word = struct.unpack_from("=I", data, start)[0]
    return bytes(word >> shift & 255 for shift in (0, 8, 16, 24)).decode("latin-1")


def damage(rng, chunks):
    """Changes one thing."""
    word, content = rng.choice(chunks)
    chance = rng.random()
    if chance < 0.05:
        chunks.insert(rng.randrange(len(chunks) + 1), (word, bytearray(content)))
    elif chance < 0.1:
        chunks.pop(rng.randrange(len(chunks)))
    elif chance < 0.15:
        place = rng.randrange(len(chunks))
        chunks.insert(rng.randrange(len(chunks)), chunks.pop(place))
    elif chance < 0.25 and content:
        place = rng.randrange(0, len(content), 8)
        del content[place:place + 8 * rng.randint(1, 3)]
    elif chance < 0.3:
        place = rng.randrange(0, len(content) + 1, 8)
        content[place:place] = rng.choice((bytes(8), content[:16], b"\xff" * 8))
    elif content:
        place = rng.randrange(min(len(content), rng.choice((8, 32, 1 << 20))))
        content[place] = rng.choice((0, 1, 2, 255, rng.randrange(256), content[place] ^ 1,
                                     content[place] ^ 1 << rng.randrange(8)))


def mine(data):
    """Lines as nfgdump prints them, and the error or None."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        nfgrec.print_items(data)
    lines = out.getvalue()
    last = lines.rstrip().rsplit("\n", 1)[-1]
    found = re.match(r'\{"item":"error","at":(\d+),"text":"(.*)"\}$', last)
    return lines, (int(found[1]), found[2]) if found else None


def theirs(program, path):
    run = subprocess.run([program, "report", path, "--format", "json"],
                         capture_output=True, check=False, timeout=100)
    if run.returncode not in (0, 1):
        return run.returncode, None, run.stderr.decode("utf-8", "replace")
    text = run.stderr.decode("utf-8", "replace")
    found = re.search(r"damaged at byte (\d+)", text)
    return run.returncode, int(found[1]) if found else None, text


def places(starts, at):
    """What the program may call the place: its chunk; at a chunk's end, also the next one."""
    return at, *(max([start for start in starts if start <= one], default=at)
                 for one in (at, at - 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="./netfgraph")
    parser.add_argument("--dump", default="./nfgdump")
    parser.add_argument("--keep", help="a directory for recordings that disagree")
    parser.add_argument("count", type=int)
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    files = []
    for path in options.files:
        with open(path, "rb") as file:
            files.append(file.read())
    rng = random.Random(options.seed)
    seen = collections.Counter()
    path = os.path.join(tempfile.mkdtemp(), "damaged.nfg")
    for i in range(options.count):
        data = rng.choice(files)
        chunks = chunks_of(data)
        for _ in range(rng.choice((1, 1, 2, 4))):
            if chunks:
                damage(rng, chunks)
        data, starts = file_of(data[:16], chunks)
        with open(path, "wb") as file:
            file.write(data)
        lines, error = mine(data)
        run = subprocess.run([options.dump, path], capture_output=True, check=False)
        code, at, text = theirs(options.program, path)
        said = text.strip().splitlines()[:1]
        verdict = "both refuse" if error else "both take"
        known = error and (error[1] in KNOWN or type_at(data, starts, error[0]) in TYPES)
        if run.stdout.decode() != lines or run.stderr:
            verdict = f"nfgdump differs: {run.stderr[:200]}"
        elif code not in (0, 1):
            verdict = f"the program ends with {code}"
        elif (code != 0) != (error is not None):
            verdict = f"only one refuses: {error[1] if error else said}"
        elif error and at is not None and at not in places(starts, error[0]):
            verdict = f"refused at another place: {error}, {said}"
        if known and (verdict.startswith("only") or "another" in verdict):
            verdict = "known: " + error[1]
        elif verdict.startswith("only") or "differs" in verdict or "another" in verdict \
                or "ends" in verdict:
            if options.keep and not seen[verdict]:
                with open(os.path.join(options.keep, f"{options.seed}-{i}.nfg"), "wb") as file:
                    file.write(data)
        seen[verdict] += 1
    for verdict, count in seen.most_common():
        print(f"{count:>6}  {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
