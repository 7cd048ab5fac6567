#!/usr/bin/env python3
"""Opens a page of --format html in a headless Chromium, and uses it as a person would.

    page.py BROWSER PAGE CALLS.JSON [-p PICTURES] [-s FIRST_MS,FRAME_MS]

CALLS.JSON is the same trace by --format json: the page has to have the same calls, functions, tasks,
times, losses, comments and arguments, to draw losses and incomplete calls in red where they are, to step through them,
and to find what is searched for. -p leaves a PNG of each view in PICTURES. With -s it
fails if the first picture takes longer than FIRST_MS, not counting waits for a CPU, or if more than 10 % of the frames of a
zoom from the whole trace to one call take longer than FRAME_MS. On standard output: what was seen, and the times.
"""
import argparse
import base64
import collections
import json
import os
import re
import sys
import tempfile
import time

from browser import Browser

READY = "!!window.netfgraph && (window.netfgraph.isReady || !!window.netfgraph.error)"
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"
# The page's own calls, in the form of calls_of().
CALLS = """
(() => {
    const { trace } = netfgraph.page, calls = {};
    for (let i = 0; i < trace.cnt; i++) {
        const task = trace.tasks[trace.task[i]];
        const key = [task.tid, trace.depth[i], trace.funcs[trace.func[i]].name,
                     trace.isWhole(i) ? trace.duration(i) : "open"].join(" ");
        calls[key] = (calls[key] || 0) + 1;
    }
    return calls;
})()
"""
SUMMARY = """
(() => {
    const { trace } = netfgraph.page;
    return { calls: trace.cnt, comments: trace.comments.length, losses: trace.losses.length, lost: trace.losses.reduce((sum, loss) => sum + loss.cnt, 0),
             first: trace.first, about: document.getElementById('about').textContent,
             warn: document.getElementById('warn').textContent, frames: netfgraph.frames.length };
})()
"""
# Arguments and results of all calls, as the rows that the tip has.
VALUES = """
(() => {
    const { page } = netfgraph, { trace } = page, seen = {};
    for (let i = 0; i < trace.cnt; i++) {
        const key = JSON.stringify([trace.funcs[trace.func[i]].name, page.rowsOf(i).filter(row => row[2] && row[0] !== "caller").map(row => row.slice(0, 2))]);
        seen[key] = (seen[key] || 0) + 1;
    }
    return seen;
})()
"""
# Net durations: of each call that has one, and what the table makes of them; as in net_of().
NETS = """
(() => {
    const { page } = netfgraph, { trace } = page, seen = {};
    for (let i = 0; i < trace.cnt; i++) {
        if (isNaN(trace.net[i]))
            continue;
        const isSmall = trace.net[i] < trace.netError[i], shown = page.rowsOf(i).find(row => row[0] === "net");
        const key = JSON.stringify([trace.funcs[trace.func[i]].name, isSmall ? null : trace.net[i], trace.netError[i], shown[1][0] === "<"]);
        seen[key] = (seen[key] || 0) + 1;
    }
    return seen;
})()
"""
NET_TABLE = """
(() => {
    const { table } = netfgraph.page;
    table.show();
    return Object.fromEntries(table.rows.filter(row => row.net !== undefined).map(row => [row.name, [row.net, row.netError, row.netSelf]]));
})()
"""
# What the idle task and ksoftirqd do in the network stack is in softirqs, whatever functions are traced.
IDLE = "netfgraph.page.timeline.layout.tracks.filter(track => /^(swapper|ksoftirqd)/.test(track.label) && track.rowCnt).length"
# How red the tracks are where events were lost, and the pixels of incomplete calls, of 255: the reddest of each. Losses that
# touch share a stripe, whose first pixel alone is solid, or the two on which it falls; one that has no stripe is not red.
RED = """
(() => {
    const { timeline, trace } = netfgraph.page, { layout, canvas, context, scale } = timeline;
    const redness = (x, y, width, height) => {
        const { data } = context.getImageData(Math.round(x * scale), Math.round(y * scale), Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
        let most = 0;
        for (let at = 0; at < data.length; at += 4)
            most = Math.max(most, data[at] - Math.max(data[at + 1], data[at + 2]));
        return most;
    };
    const seen = { cpus: [], threads: [], calls: [] };
    const isShown = track => track.top + timeline.top > 24 && track.bottom + timeline.top < timeline.height;
    for (const track of layout.shown.filter(isShown)) {
        const stripes = timeline.stripesOf(track.cpu), right = 168 + timeline.width, red = track.cpu < 0 ? seen.threads : seen.cpus;
        for (const [begin] of stripes) {
            const x = Math.min(begin, right - 3), part = x * scale - Math.floor(x * scale);
            red.push(Math.round(redness(x, track.top + timeline.top - 3, 3, 2) / Math.max(part, 1 - part)));
        }
        for (const loss of trace.losses.filter(loss => track.cpu < 0 || track.cpu === loss.cpu)) {
            const [x, width] = timeline.place(loss, 3) || [-1, 0];
            if (!stripes.some(([from, to]) => from <= x && x + width <= to))
                red.push(0);
        }
    }
    for (let i = 0; i < trace.cnt; i++) {
        const track = layout.tracks[layout.where[i]];
        if (!trace.isWhole(i) && isShown(track))
            seen.calls.push(redness(timeline.x(trace.begin[i]) - 1, track.top + timeline.top + layout.level[i] * 18 + 4, 3, 3));
    }
    return seen;
})()
"""
# From the whole trace to the shortest call in 40 steps, a frame each: the time of each frame's drawing, and between frames.
ZOOM = """
(async () => {
    const { timeline, trace } = netfgraph.page, drawn = [], between = [];
    let best = 0;
    for (let i = 0; i < trace.cnt; i++)
        if (trace.depth[i] > trace.depth[best]) best = i;
    const target = trace.begin[best] + trace.length[best] / 2, span = trace.span, least = Math.max(trace.length[best] * 2, 100);
    for (let step = 0; step <= 40; step++) {
        const length = span * Math.pow(least / span, step / 40);
        const started = performance.now();
        timeline.setRange(target - length / 2, target + length / 2);
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        drawn.push(netfgraph.frames[netfgraph.frames.length - 1]);
        between.push(performance.now() - started);
    }
    timeline.setRange(0, span);
    drawn.sort((a, b) => a - b);
    return { slowest: drawn[40], most: drawn[36], middle: drawn[20], between: Math.max(...between) };
})()
"""


def calls_of(path):
    calls, said = collections.Counter(), Said()
    for line in open(path, encoding="utf-8"):
        call = json.loads(line)
        said.hosts.add(call["host"])
        if "lost" in call:
            said.places += call["cpu"] is not None
            said.lost += call["lost"] or 0
        if "comment" in call:
            said.comments.append(call["comment"])
        if call.get("type") == "event":
            fields = call["fields"]
            # of bits, text has the names
            words = [(name, str(fields.get(name + "_names", value))) for name, value in fields.items()
                     if name.removesuffix("_names") not in fields or not name.endswith("_names")]
            said.comments.append("%s: %s" % (call["name"], " ".join("%s=%s" % word for word in words)))
            said.events.append([value for _, value in words])
        if "func" not in call:
            continue
        name = call["func"] + (" [%s]" % call["module"] if call["module"] else "")
        duration = call["duration_ns"] if call["complete"] and call["duration_ns"] is not None else "open"
        calls["%d %d %s %s" % (call["tid"] or 0, call["depth"], name, duration)] += 1
        values = [[key, value_text(value)] for key, value in (call["args"] or {}).items()]
        values += [["returned", call["ret"]]] if call["ret"] is not None else []
        said.values[json.dumps([name, values], ensure_ascii=False, separators=(",", ":"))] += 1
        if call.get("net_error_ns") is not None:
            net, error = call["net_ns"], call["net_error_ns"]
            said.nets[json.dumps([name, net, error, net is None], ensure_ascii=False, separators=(",", ":"))] += 1
            said.net_of[name].append((call["depth"], net, error))
        said.incomplete += duration == "open"
        said.entries += call["complete"] or not call["returned"]
        if isinstance((call["args"] or {}).get("pkt"), int):
            said.packets[call["args"]["pkt"]].append((call["begin_ns"], name))
    return calls, said


class Said:
    """What a trace says beside its calls' names and times."""

    def __init__(self):
        self.values, self.hosts, self.comments, self.events = collections.Counter(), set(), [], []
        self.packets = collections.defaultdict(list)
        self.nets, self.net_of = collections.Counter(), collections.defaultdict(list)
        self.lost = self.places = self.incomplete = self.entries = 0


def value_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def check(what, is_true, detail=""):
    if not is_true:
        sys.exit("%s: %s" % (what, detail))


class Tour:
    def __init__(self, browser, pictures):
        self.browser, self.pictures = browser, pictures

    def do(self, script):
        value = self.browser.value(script)
        self.browser.value(FRAME)
        return value

    def picture(self, name):
        if self.pictures:
            with open(os.path.join(self.pictures, name + ".png"), "wb") as out:
                out.write(base64.b64decode(self.browser.ask("Page.captureScreenshot")["data"]))

    def press(self, identity):
        self.do("document.querySelector(%s).click()" % json.dumps(identity))

    def mouse(self, kind, x, y, **more):
        self.browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def theme(self, name):
        if self.do("document.documentElement.dataset.theme") != name:
            self.press("#theme")

    def key(self, text):
        self.browser.ask("Input.dispatchKeyEvent", type="keyDown", key=text, text=text)
        self.browser.ask("Input.dispatchKeyEvent", type="keyUp", key=text)
        self.browser.value(FRAME)


def gaps(visit, said):
    """Losses and incomplete calls are red, on the tracks of threads too; the buttons step through all of them."""
    visit.theme("light")
    visit.press("[data-view=tasks]")
    red = visit.do(RED)
    if said.incomplete > 200: # which may share their pixels with others
        red["calls"] = []
    for what, least in ("cpus", 90), ("threads", 20), ("calls", 90):
        check("red " + what, all(one >= least for one in red[what]), red)
    check("losses are drawn", not said.places or red["cpus"], red)
    left_out = sum(text.startswith("left out ") for text in said.comments)
    button = "document.getElementById('%s')"
    for name, cnt, words in (("warn", said.places + said.incomplete + left_out, "lost|incomplete|left out"),
                             ("notes", len(said.comments), "comment")):
        check("the button " + name, visit.do(button % name + ".hidden") == (cnt == 0), cnt)
        titles = collections.Counter()
        for number in range(1, min(cnt, 40) + 1):
            visit.press("#" + name)
            text = visit.do(button % name + ".textContent.replace(/,/g, '')")
            check("the place in the list", re.search("(%s).* · %d / %d$" % (words, number, cnt), text), text)
            titles[visit.do("document.querySelector('#details h2').textContent")] += 1
            shown = visit.do("document.getElementById('details').innerText")
            if name == "notes":
                check("a comment is shown", any(one.strip() in shown for one in said.comments) or
                      any(all(value in shown for value in values) for values in said.events), shown)
            elif number == 1:
                visit.picture("gap-light")
        if 0 < cnt <= 40:
            check("all kinds were shown", titles["events were lost"] == (said.places if name == "warn" else 0) and
                  titles["comment"] == (left_out if name == "warn" else len(said.comments) - len(said.events)) and
                  titles["event"] == (0 if name == "warn" else len(said.events)), titles)
    visit.do("netfgraph.page.choose(-1); netfgraph.page.timeline.setRange(0, netfgraph.page.trace.span)")
    if not said.places:
        return
    box = visit.do("(() => { const t = netfgraph.page.timeline, loss = netfgraph.page.trace.losses[netfgraph.page.trace.losses.length - 1],"
                   " track = t.layout.shown.find(one => one.cpu === loss.cpu), b = t.canvas.getBoundingClientRect(), at = t.place(loss, 3);"
                   " t.revealMark(loss); t.draw(); return [b.left + at[0] + 1, b.top + t.top + track.top - 2, loss.cnt]; })()")
    visit.mouse("mouseMoved", box[0], box[1])
    visit.browser.value(FRAME)
    tip = visit.do("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText.replace(/,/g, '')")
    check("the loss under the pointer", tip.startswith("events were lost") and str(box[2] or "unknown") in tip, tip)


# The arrow's pixels in its middle, of the colour in which it is drawn.
ARROW = """
(() => {
    const { page } = netfgraph, { timeline, trace } = page, { tracks, where, level } = timeline.layout;
    const { from, to } = trace.arrows.find(arrow => arrow.number === trace.packetOf(timeline.selected));
    const middle = i => [timeline.x(trace.begin[i]), tracks[where[i]].top + level[i] * 18 + 9 + timeline.top];
    const [left, top] = middle(from), [right, bottom] = middle(to);
    const x = Math.round((left + right) / 2 * timeline.scale), y = Math.round((top + bottom) / 2 * timeline.scale);
    const { data } = timeline.context.getImageData(x - 2, y - 2, 5, 5);
    const hot = page.bytes.hot;
    let best = 765;
    for (let at = 0; at < data.length; at += 4)
        best = Math.min(best, [0, 1, 2].reduce((sum, k) => sum + Math.abs(data[at + k] - hot[k]), 0));
    return best;
})()
"""


def packets(visit, said):
    """An arrow from each call with a packet's number to the next one; the keys go along it."""
    ways = {number: [func for _, func in sorted(calls)] for number, calls in said.packets.items()}
    arrows = visit.do("netfgraph.page.trace.arrows.length")
    check("arrows", arrows == sum(len(way) - 1 for way in ways.values()), (arrows, ways))
    if not arrows:
        return
    visit.theme("light")
    visit.press("[data-view=tasks]")
    visit.do("netfgraph.page.choose(-1); netfgraph.page.timeline.setRange(0, netfgraph.page.trace.span)")
    if arrows <= 2000:
        check("arrows are drawn", visit.do("netfgraph.page.timeline.arrowCnt") > 0)
    visit.key("p")
    way = ways[visit.do("netfgraph.page.trace.packetOf(netfgraph.page.timeline.selected)")]
    seen = []
    for _ in way[:20]:
        seen.append(visit.do("netfgraph.page.nameOf(netfgraph.page.timeline.selected)"))
        visit.key("p")
    check("the calls of the packet", seen == way[:20], (seen, way))
    visit.do("netfgraph.page.timeline.setRange(0, netfgraph.page.trace.span)")
    check("the packet's arrow", visit.do(ARROW) < 150, visit.do(ARROW))
    visit.picture("packet-light")
    visit.do("netfgraph.page.choose(-1)")


def check_nets(browser, said):
    """Each call's net duration; the table's sums where no call can lie inside another one of its function."""
    got = collections.Counter(browser.value(NETS))
    check("net durations", got == said.nets,
          "%s, but not %s" % (list((said.nets - got).items())[:3], list((got - said.nets).items())[:3]))
    table = browser.value(NET_TABLE)
    check("net columns", bool(table) == bool(said.nets), list(table.items())[:3])
    for name, (net, error, net_self) in table.items():
        calls = said.net_of[name]
        check("net self time of %s" % name, 0 <= net_self <= net or len({depth for depth, _, _ in calls}) > 1, (net, net_self))
        if len({depth for depth, _, _ in calls}) == 1 and all(one is not None for _, one, _ in calls):
            check("net time of %s" % name, abs(net - sum(one for _, one, _ in calls)) < 1 and
                  error == sum(one for _, _, one in calls), (net, error, calls[:5]))


def tour(visit, wanted):
    """All views in both colours, a call chosen, a search."""
    name = collections.Counter()
    for key, cnt in wanted.items():
        name[key.split(" ", 2)[2].rsplit(" ", 1)[0]] += cnt
    func, _ = max(name.items(), key=lambda item: (item[1], item[0]))
    for theme in "light", "dark":
        visit.theme(theme)
        for view in "tasks", "cpus", "flame", "table":
            visit.press("[data-view=%s]" % view)
            visit.picture("%s-%s" % (view, theme))
    rows = visit.do("[...document.querySelectorAll('tbody tr')].map(row => [row.cells[0].textContent, row.cells[1].textContent.replace(/,/g, '')])")
    whole = collections.Counter()
    for key, cnt in wanted.items():
        if not key.endswith(" open"):
            whole[key.split(" ", 2)[2].rsplit(" ", 1)[0]] += cnt
    check("the table of functions", {row[0]: int(row[1]) for row in rows} == dict(whole), rows[:5])
    visit.press("[data-view=tasks]")
    visit.key("/")
    visit.browser.ask("Input.insertText", text=func)
    visit.browser.value(FRAME)
    hits = sum(cnt for one, cnt in name.items() if func.lower() in one.lower())
    found = visit.do("document.getElementById('found').textContent.replace(/,/g, '')")
    check("calls found by %s" % func, found.split()[0] == str(hits), found)
    visit.press("#next")
    check("a call is chosen", func in visit.do("document.querySelector('#details h2').textContent"))
    visit.do("netfgraph.page.timeline.zoomTo(netfgraph.page.timeline.selected)")
    visit.picture("search-dark")
    box = visit.do("(() => { const t = netfgraph.page.timeline, i = t.selected, { trace } = netfgraph.page, l = t.layout,"
                   " b = t.canvas.getBoundingClientRect();"
                   " return [b.left + t.x(trace.begin[i] + trace.length[i] / 2), b.top + t.top + l.tracks[l.where[i]].top + l.level[i] * 18 + 9]; })()")
    visit.mouse("mouseMoved", box[0], box[1])
    visit.browser.value(FRAME)
    tip = visit.do("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText")
    check("the call under the pointer", tip.startswith(func) or func in tip.split("\n")[0], tip)
    visit.theme("light")
    visit.mouse("mouseMoved", box[0], box[1] + 1)
    visit.browser.value(FRAME)
    visit.picture("hover-light")
    before = visit.do("netfgraph.page.timeline.to - netfgraph.page.timeline.from")
    visit.mouse("mouseWheel", box[0], box[1], deltaX=0, deltaY=-240, modifiers=2)
    visit.browser.value(FRAME)
    check("Ctrl and the wheel zoom", visit.do("netfgraph.page.timeline.to - netfgraph.page.timeline.from") < before)
    at = visit.do("netfgraph.page.timeline.from")
    visit.mouse("mousePressed", box[0], box[1], button="left", clickCount=1)
    visit.mouse("mouseMoved", box[0] - 60, box[1], button="left", buttons=1)
    visit.mouse("mouseReleased", box[0] - 60, box[1], button="left", clickCount=1)
    visit.browser.value(FRAME)
    check("dragging moves", visit.do("netfgraph.page.timeline.from") > at)
    visit.do("document.getElementById('search').value = ''; netfgraph.page.search(''); netfgraph.page.choose(-1);"
             " document.getElementById('search').blur()")
    visit.key("0")
    check("0 shows all", visit.do("netfgraph.page.timeline.to - netfgraph.page.timeline.from === netfgraph.page.trace.span"))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("browser")
    parser.add_argument("page")
    parser.add_argument("calls")
    parser.add_argument("-p", dest="pictures")
    parser.add_argument("-s", dest="limits")
    options = parser.parse_args()
    wanted, said = calls_of(options.calls)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(options.browser, profile)
        try:
            started = time.monotonic()
            browser.open_page("file://" + os.path.abspath(options.page), "window.onerror = text => { window.failure = text; };")
            browser.wait(READY, "the page does not come up")
            outside, waited = (time.monotonic() - started) * 1000, browser.waited_ms()
            check("the page fails", not browser.value("netfgraph.error || window.failure || ''"),
                  browser.value("netfgraph.error || window.failure"))
            seen = browser.value(SUMMARY)
            painted = browser.value("netfgraph.paintedMs")
            check("calls", seen["calls"] == sum(wanted.values()), seen)
            about = "%s call%s" % (format(said.entries, ","), "" if said.entries == 1 else "s")
            check("the number of calls", about in seen["about"].split(" · "), (about, seen))
            check("losses", (seen["losses"], seen["lost"]) == (said.places, said.lost), seen)
            check("comments", seen["comments"] == len(said.comments), seen)
            check("the host", all(host is None or host in seen["about"] for host in said.hosts), seen)
            got = collections.Counter(browser.value(CALLS))
            check("each call", got == wanted, "%s, but not %s" % (list((wanted - got).items())[:3], list((got - wanted).items())[:3]))
            if seen["calls"] < 100000:
                got = collections.Counter(browser.value(VALUES))
                check("values", got == said.values, "%s, but not %s" % (list((said.values - got).items())[:3], list((got - said.values).items())[:3]))
                check_nets(browser, said)
            check("softirqs of idle CPUs", not browser.value(IDLE), "on the tracks of their tasks")
            zoom = browser.value(ZOOM)
            if options.pictures:
                os.makedirs(options.pictures, exist_ok=True)
            tour(Tour(browser, options.pictures), wanted)
            gaps(Tour(browser, options.pictures), said)
            packets(Tour(browser, options.pictures), said)
            check("the page fails", not browser.value("window.failure || ''"), browser.value("window.failure"))
            browser.close()
        finally:
            browser.process.kill()
            browser.process.wait()
    print("%d calls, %d functions, %d losses, %d comments, %d values" % (
        seen["calls"], len({key.split(" ", 2)[2].rsplit(" ", 1)[0] for key in wanted}), said.places, len(said.comments),
        sum(cnt for key, cnt in said.values.items() if not key.endswith(",[]]"))))
    print("first picture after %.0f ms (%.0f ms seen from outside, %.0f ms without a CPU); a frame of a zoom: %.1f ms, 90 %% within %.1f ms, slowest %.1f ms" % (
        painted, outside, waited, zoom["middle"], zoom["most"], zoom["slowest"]))
    if options.limits:
        first, frame = (float(part) for part in options.limits.split(","))
        check("the first picture comes too late", painted - waited <= first, "%.0f ms, %.0f ms of them without a CPU" % (painted, waited))
        check("a frame takes too long", zoom["most"] <= frame, "%.1f ms" % zoom["most"])


main()
