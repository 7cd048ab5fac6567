#!/usr/bin/env python3
"""The answers to docs/fleet/queries.sql, computed from the JSON lines without SQL, and whether others are the same.

    fleet.py LINES.JSON... <ANSWERS

ANSWERS is what fleet.js printed, a line of rows for each question.
"""
import collections
import datetime
import json
import math
import sys

CHANGE_NS = int(datetime.datetime(2026, 11, 17, tzinfo=datetime.timezone.utc).timestamp()) * 10**9


def quantile(values, fraction):
    """The smallest value that is not below this fraction of all."""
    values = sorted(values)
    return values[max(0, math.ceil(len(values) * fraction) - 1)]


def moment(unix_ns, unit_ns=1):
    unix_ns -= unix_ns % unit_ns
    text = datetime.datetime.fromtimestamp(unix_ns // 10**9, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    return ("%s.%09d" % (text, unix_ns % 10**9)).rstrip("0").rstrip(".") if unit_ns == 1 else text


def group(items, key):
    groups = collections.defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def durations(calls):
    return [call["duration_ns"] for call in calls]


class Fleet:
    def __init__(self, paths):
        self.calls, self.losses = [], []
        for path in paths:
            below = {}
            for line in open(path, encoding="utf-8"):
                line = json.loads(line)
                if "lost" in line:
                    self.losses.append(line)
                elif "func" in line:
                    self.add(line, below)
        self.done = [call for call in self.calls if call["complete"]]
        self.hosts = {call["host"] for call in self.calls}

    def add(self, call, below):
        """A call stands behind those that it made."""
        task = (call["tid"], call["cpu"] if not call["tid"] else None)
        levels = below.setdefault(task, {})
        made = levels.pop(call["depth"] + 1, [])
        call["made"] = [inner for inner in made if inner["complete"] and call["complete"] and
                        inner["begin_ns"] >= call["begin_ns"]]
        levels.setdefault(call["depth"], []).append(call)
        self.calls.append(call)

    def connects(self):
        calls = group((call for call in self.done if call["func"] == "tcp_v4_connect"),
                      lambda call: (call["host"], moment(call["begin_unix_ns"], 3600 * 10**9)))
        return [[*key, len(found), quantile(durations(found), 0.99)] for key, found in sorted(calls.items())]

    def lossy(self):
        by_host = group(self.calls, lambda call: call["host"])
        rows = [[host, sum(loss["cpu"] is not None for loss in lost), sum(loss["lost"] or 0 for loss in lost),
                 sum(not call["complete"] for call in by_host[host]), len(by_host[host])]
                for host, lost in group(self.losses, lambda loss: loss["host"]).items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    def slower(self):
        rows = []
        for (func, module), calls in group(self.done, lambda call: (call["func"], call["module"])).items():
            before = [call["duration_ns"] for call in calls if call["begin_unix_ns"] < CHANGE_NS]
            after = [call["duration_ns"] for call in calls if call["begin_unix_ns"] >= CHANGE_NS]
            if len(before) >= 50 and len(after) >= 50:
                one, two = quantile(before, 0.5), quantile(after, 0.5)
                if two > 1.2 * one:
                    rows.append([func, module, one, two, round(two / one, 2)])
        return sorted(rows, key=lambda row: (-row[4], row[0]))

    def slowest(self):
        def path(call):
            slow = max(call["made"], key=lambda inner: inner["duration_ns"], default=None)
            return [call["func"]] + (path(slow) if slow else [])
        trees = sorted((call for call in self.done if call["depth"] == 0),
                       key=lambda call: (-call["duration_ns"], call["host"], call["begin_ns"]))[:20]
        return [[call["host"], moment(call["begin_unix_ns"]), call["duration_ns"], " > ".join(path(call))]
                for call in trees]

    def busy(self):
        rows = [[*key, len(calls), sum(call["duration_ns"] - sum(durations(call["made"])) for call in calls)]
                for key, calls in group(self.done, lambda call: (call["func"], call["module"])).items()]
        return sorted(rows, key=lambda row: (-row[3], row[0]))[:10]

    def failing(self):
        failed = [call for call in self.calls if isinstance(call["ret"], int) and -4095 <= call["ret"] <= -1]
        rows = [[*key, len(calls), len({call["host"] for call in calls})]
                for key, calls in group(failed, lambda call: (call["func"], call["ret"])).items()]
        return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))

    def different(self):
        fleet = {func: quantile(durations(calls), 0.5) for func, calls in group(self.done, lambda call: call["func"]).items()}
        rows = []
        for (host, func), calls in group(self.done, lambda call: (call["host"], call["func"])).items():
            median = quantile(durations(calls), 0.5)
            if median > 2 * fleet[func]:
                rows.append([host, func, median, fleet[func]])
        return sorted(rows)

    def programs(self):
        rows = []
        for comm, calls in group((call for call in self.done if not call["depth"]), lambda call: call["comm"]).items():
            hosts = {host: sum(durations(found)) for host, found in group(calls, lambda call: call["host"]).items()}
            most = max(hosts, key=hosts.get)
            rows.append([comm, sum(hosts.values()), most, hosts[most]])
        return sorted(rows, key=lambda row: -row[1])

    def partial(self):
        funcs = group((call for call in self.calls if call["func"]), lambda call: (call["func"], call["module"]))
        rows = [[*key, len({call["host"] for call in calls}), len(self.hosts)] for key, calls in funcs.items()]
        return sorted((row for row in rows if row[2] < row[3]), key=lambda row: (row[2], row[0]))

    def busiest(self):
        minutes = collections.Counter((call["host"], moment(call["begin_unix_ns"], 60 * 10**9)) for call in self.calls
                                      if call["depth"] == 0 and call["begin_unix_ns"] is not None)
        rows = []
        for host in self.hosts:
            trees, minute = min((-cnt, minute) for (where, minute), cnt in minutes.items() if where == host)
            rows.append([host, minute, -trees])
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    def answers(self):
        return [self.connects(), self.lossy(), self.slower(), self.slowest(), self.busy(), self.failing(),
                self.different(), self.programs(), self.partial(), self.busiest()]


def plain(rows):
    return [[None if value is None else str(value) for value in row] for row in rows]


def main():
    fleet = Fleet(sys.argv[1:])
    want, got = fleet.answers(), [json.loads(line) for line in sys.stdin]
    if len(want) != len(got):
        sys.exit("%d answers instead of %d" % (len(got), len(want)))
    for number, (one, other) in enumerate(zip(want, got), 1):
        if not one:
            sys.exit("question %d has no rows in the data: it would prove nothing" % number)
        if plain(one) != plain(other):
            differing = next(((a, b) for a, b in zip(plain(one), plain(other)) if a != b), (len(one), len(other)))
            sys.exit("question %d: wanted %s, the answer is %s" % (number, *differing))
    print("10 questions, %d calls of %d hosts" % (len(fleet.calls), len(fleet.hosts)))


main()
