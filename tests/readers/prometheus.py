#!/usr/bin/env python3
"""Whether Prometheus understands a table: prometheus.py PROMETHEUS NODE_EXPORTER DIR TABLE

DIR is where --format openmetrics --output-dir left the table, TABLE the same as --format json. node_exporter's textfile
collector reads DIR, and Prometheus scrapes node_exporter; what it then says of each function has to be what TABLE says.
"""
import contextlib
import http.server
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

PATIENCE_S = 120


def free_port():
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.server_close()
    return server.server_port


def query(port, text):
    """{function: value}"""
    url = "http://127.0.0.1:%d/api/v1/query?%s" % (port, urllib.parse.urlencode({"query": text}))
    answer = json.load(urllib.request.urlopen(url, timeout=10))
    return {r["metric"].get("func", ""): float(r["value"][1]) for r in answer["data"]["result"]}


def scraped(port):
    """The count of each function, once it is there."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            counts = query(port, "netfgraph_call_duration_seconds_count")
        except OSError:
            counts = {}
        if counts:
            return counts
        time.sleep(0.3)
    sys.exit("Prometheus scraped nothing in %d s" % PATIENCE_S)


def differences(port, table, counts):
    sums = query(port, "netfgraph_call_duration_seconds_sum")
    selves = query(port, "netfgraph_call_self_seconds")
    p99s = query(port, "histogram_quantile(0.99, netfgraph_call_duration_seconds_bucket)")
    for row in table:
        func = row["func"]
        if counts.get(func) != row["count"]:
            yield "%s: count %s, not %d" % (func, counts.get(func), row["count"])
        if abs(selves.get(func, -1) * 1e9 - row["self_ns"]) > 1:
            yield "%s: self %s s, not %d ns" % (func, selves.get(func), row["self_ns"])
        if not row["min_ns"] * row["count"] <= sums.get(func, -1) * 1e9 + 1:
            yield "%s: sum %s s" % (func, sums.get(func))
        # a quantile lies in the bucket of the value, whose ends are a power of two apart
        if not row["p99_ns"] / 2 - 300 <= p99s.get(func, -1) * 1e9 <= row["max_ns"] * 2 + 300:
            yield "%s: p99 %s s, not %d ns" % (func, p99s.get(func), row["p99_ns"])
    if len(counts) != len(table):
        yield "%d functions, not %d" % (len(counts), len(table))


def complaints(port):
    """What node_exporter says of the file itself."""
    errors = query(port, "node_textfile_scrape_error")
    if list(errors.values()) != [0]:
        yield "node_exporter has errors: %s" % errors
    if not query(port, 'node_textfile_mtime_seconds{file=~".*netfgraph.prom"}'):
        yield "node_exporter does not know how old the file is"


def run(stack, *command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)


def main(prometheus, exporter, metrics, table_path):
    table = [json.loads(line) for line in open(table_path, encoding="utf-8")]
    port, exporter_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        config = os.path.join(work, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as out:
            json.dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [
                {"job_name": "node", "static_configs": [{"targets": ["127.0.0.1:%d" % exporter_port]}]}]}, out)
        run(stack, exporter, "--collector.disable-defaults", "--collector.textfile",
            "--collector.textfile.directory", metrics, "--web.listen-address", "127.0.0.1:%d" % exporter_port)
        run(stack, prometheus, "--config.file", config, "--storage.tsdb.path", os.path.join(work, "data"),
            "--web.listen-address", "127.0.0.1:%d" % port)
        bad = list(differences(port, table, scraped(port))) + list(complaints(port))
    print("\n".join(bad) if bad else "%d functions" % len(table))
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
