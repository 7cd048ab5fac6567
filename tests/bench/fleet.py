#!/usr/bin/env python3
"""What the files of many hosts cost: made through the program's own writer, read by its own reader, queried by DuckDB.

    fleet.py [-c] [-t TREES] HOSTS...

A table with a row for each number of hosts: bytes and CPU time for each host. TREES trees of calls are on each (200). -c: check
that none of these grows with the number of hosts. DuckDB is left out when tests/readers/deps has not installed it.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUTPUT = os.path.join(ROOT, os.environ.get("OUTPUT", ".output"))
PROGRAM = os.path.abspath(os.environ.get("PROGRAM", os.path.join(ROOT, "netfgraph")))
MODULES = os.path.join(OUTPUT, "readers/duckdb/node_modules")
# Of what a file and a start of a program vary by; twice the time on a host that does other things beside.
BYTES_GROWTH, TIME_GROWTH = 1.03, 2.0


def run(words, place, output=subprocess.DEVNULL):
    """CPU seconds, the largest memory in MiB (at least that of this program, as Linux counts)."""
    child = subprocess.Popen(words, cwd=place, stdout=output, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("%s: status %d" % (" ".join(words[:3]), status))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def size(pattern):
    return sum(os.path.getsize(path) for path in glob.glob(pattern))


def report(place):
    """Each recording as compressed JSON lines. CPU seconds of netfgraph and of zstd."""
    report_sec = zstd_sec = 0
    lines = os.path.join(place, "lines.jsonl")
    os.makedirs(os.path.join(place, "fleet/date=2026-11-16"))
    for path in glob.glob(place + "/*.nfg"):
        report_sec += run([PROGRAM, "report", path, "--format", "json", "-o", lines], place)[0]
        packed = os.path.join(place, "fleet/date=2026-11-16", os.path.basename(path)[:-4] + ".jsonl.zst")
        zstd_sec += run(["zstd", "-q", lines, "-o", packed], place)[0]
    os.remove(lines)
    return report_sec, zstd_sec


def measure(host_cnt, tree_cnt):
    place = tempfile.mkdtemp(prefix="fleet.")
    try:
        write_sec, _ = run([OUTPUT + "/tests/tools/hosts", place, str(host_cnt), "1", str(tree_cnt)], place)
        report_sec, zstd_sec = report(place)
        found = {"hosts": host_cnt, "recording": size(place + "/*.nfg") / host_cnt,
                 "jsonl.zst": size(place + "/fleet/*/*") / host_cnt, "write ms": 1000 * write_sec / host_cnt,
                 "report ms": 1000 * report_sec / host_cnt, "zstd ms": 1000 * zstd_sec / host_cnt}
        if os.path.isdir(MODULES):
            sql = [os.path.join(ROOT, "docs/fleet", name) for name in ("duckdb.sql", "queries.sql")]
            sec, mib = run(["node", ROOT + "/tests/readers/fleet.js", MODULES, *sql], place)
            found.update({"10 queries s": sec, "queries MiB": mib})
        return found
    finally:
        shutil.rmtree(place)


def check(one, other):
    """What is of each host must not grow, nor queries faster than hosts."""
    times = other["hosts"] / one["hosts"]
    for key in one:
        limit = BYTES_GROWTH if key in ("recording", "jsonl.zst") else TIME_GROWTH
        if key in ("hosts", "queries MiB"):
            continue
        if key == "10 queries s":
            limit *= times
        if other[key] > limit * one[key]:
            sys.exit("%s: %.2f for each of %d hosts, %.2f for each of %d" % (
                key, one[key], one["hosts"], other[key], other["hosts"]))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-c", action="store_true")
    parser.add_argument("-t", type=int, default=200)
    parser.add_argument("hosts", type=int, nargs="+")
    options = parser.parse_args()
    rows = []
    for host_cnt in options.hosts:
        rows.append(measure(host_cnt, options.t))
        if len(rows) == 1:
            print("  ".join("%12s" % key for key in rows[0]), flush=True)
        print("  ".join("%12.2f" % value if isinstance(value, float) else "%12d" % value for value in rows[-1].values()), flush=True)
    for other in rows[1:]:
        if options.c:
            check(rows[0], other)


main()
