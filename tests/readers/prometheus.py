#!/usr/bin/env python3
"""Whether Prometheus understands a table: prometheus.py PROMETHEUS METRICS TABLE

METRICS is the table as --format openmetrics writes it, TABLE the same as --format json. Prometheus scrapes METRICS; what
it then says of each function has to be what TABLE says.
"""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

PATIENCE_S = 120


def serve(path):
    """METRICS as /metrics of a port of our own, as the type that node_exporter has for it."""
    body = open(path, "rb").read()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


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


def main(prometheus, metrics, table_path):
    table = [json.loads(line) for line in open(table_path, encoding="utf-8")]
    port = free_port()
    with tempfile.TemporaryDirectory() as work:
        config = os.path.join(work, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as out:
            json.dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [
                {"job_name": "node", "static_configs": [{"targets": ["127.0.0.1:%d" % serve(metrics)]}]}]}, out)
        run = subprocess.Popen([prometheus, "--config.file", config, "--storage.tsdb.path", os.path.join(work, "data"),
                                "--web.listen-address", "127.0.0.1:%d" % port],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work)
        try:
            bad = list(differences(port, table, scraped(port)))
        finally:
            run.kill()
            run.wait()
    print("\n".join(bad) if bad else "%d functions" % len(table))
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
