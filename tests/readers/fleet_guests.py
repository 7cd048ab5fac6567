#!/usr/bin/env python3
"""Whether the answers to docs/fleet/queries.sql are what tests/live/fleet.sh did in the guests.

    fleet_guests.py HOST.TRUTH... <ANSWERS

ANSWERS is what fleet.js printed, a line of rows for each question. Nothing here is computed from the recordings.
"""
import json
import os
import sys

DAYS = ["2026-11-16 10:00:00", "2026-11-17 10:00:00"]
SLOW, LOSSY, DELAY_NS = "web-c", "web-d", 40_000_000
SLOWED = ["__sys_connect", "inet_stream_connect"]
CONNECTS = SLOWED + ["tcp_v4_connect"]


def read(paths):
    truth = {}
    for path in paths:
        lines = (line.split() for line in open(path, encoding="ascii"))
        truth[os.path.basename(path)[:-len(".truth")]] = {line[0]: [int(word) for word in line[1:]] for line in lines}
    return truth


def same(number, got, want):
    if json.dumps(got) != json.dumps(want):
        sys.exit("question %d: wanted %s, the answer is %s" % (number, want, got))


def hold(number, true, rows):
    if not true:
        sys.exit("question %d: the answer is %s" % (number, rows))


def check(truth, answers):
    hosts = sorted(truth)
    refused = sum(truth[host]["refused"][0] for host in hosts)
    connects, lossy, slower, slowest, busy, errors, different, programs, partial, busiest = answers
    # a connect that is refused is one, too
    same(1, [row[:3] for row in connects],
         [[host, day, str(truth[host]["connects"][i] + (0 if i else truth[host]["refused"][0]))]
          for host in hosts for i, day in enumerate(DAYS)])
    same(2, [[row[0], row[2]] for row in lossy], [[LOSSY, str(truth[LOSSY]["lost"][0])]])
    # each call has two events: those that are lost, those of whole calls, and one of each call of which the other is lost
    made = truth[LOSSY]["calls"][0] + len(CONNECTS) * (sum(truth[LOSSY]["connects"]) + truth[LOSSY]["refused"][0])
    lost, incomplete, calls = map(int, lossy[0][2:5])
    hold(2, 2 * calls - incomplete + lost == 2 * made, lossy)
    same(3, sorted(row[0] for row in slower[:2]), SLOWED)
    hold(3, all(int(row[3]) > DELAY_NS > int(row[2]) for row in slower[:2]), slower)
    hold(4, len(slowest) == 20 and all(int(row[2]) > DELAY_NS and row[3].startswith(" > ".join(SLOWED)) for row in slowest),
         slowest)
    # a guest on a busy host is late now and then, whatever it does
    hold(4, sum(row[0] == SLOW and row[1] > DAYS[1] for row in slowest) >= 14, slowest)
    total = sum(sum(truth[host]["connects"]) for host in hosts) + refused
    same(5, [row[2] for row in busy if row[0] == "tcp_v4_connect"], [str(total)])
    same(6, errors, [[func, "-111", str(refused), str(len(hosts))] for func in SLOWED])
    odd = [row for row in different if row[1] in SLOWED]
    same(7, [row[:2] for row in odd if row[0] == SLOW], [[SLOW, func] for func in SLOWED])
    slow_ns = min(int(row[2]) for row in odd if row[0] == SLOW)
    # as above: such a guest is late, and not slowed
    hold(7, all(row[0] == SLOW or int(row[2]) < slow_ns / 2 for row in odd), odd)
    same(8, [[row[0], row[2]] for row in programs], [["workload", SLOW]])
    # loss is recorded of another function than connects
    same(9, partial, [[func, None, "1", str(len(hosts))] for func in ("__sys_getsockname", "udp_sendmsg")])
    same(10, sorted(row[0] for row in busiest), hosts)
    hold(10, all(row[1][:15] in (DAYS[0][:15], DAYS[1][:15]) for row in busiest), busiest)
    hold(10, all(int(row[2]) >= max(truth[row[0]]["connects"]) / 2 for row in busiest), busiest)
    return "10 questions, %d connections of %d guests, %d events lost by one" % (total, len(hosts), truth[LOSSY]["lost"][0])


if __name__ == "__main__":
    print(check(read(sys.argv[1:]), [json.loads(line) for line in sys.stdin]))
