// The page: reads the trace that stands in it, and joins its views.
import { Trace, unpack, CONTEXTS, HAS_ENTRY, HAS_RETURN } from "./trace.js";
import { makeLayout } from "./layout.js";
import { Timeline } from "./timeline.js";
import { Flame } from "./flame.js";
import { Table } from "./table.js";
import { Overview } from "./overview.js";
import { colours, count, instant, netTime, time } from "./format.js";

const at = id => document.getElementById(id);
const state = window.netfgraph = { isReady: false, frames: [] };

// Colours as red, green and blue, as the canvas understands them.
function toBytes(names) {
	const canvas = document.createElement("canvas");
	canvas.width = canvas.height = 1;
	const context = canvas.getContext("2d", { willReadFrequently: true }), known = new Map();
	return names.map(name => {
		if (!known.has(name)) {
			context.fillStyle = name;
			context.fillRect(0, 0, 1, 1);
			known.set(name, [...context.getImageData(0, 0, 1, 1).data]);
		}
		return known.get(name);
	});
}

const many = (cnt, what) => count(cnt) + " " + what + (cnt === 1 ? "" : "s");
const isLeftOut = comment => /^(left out |the trace ends)/.test(comment.text);

function groupBy(list, keyOf) {
	const groups = new Map();
	for (const one of list) {
		if (!groups.has(keyOf(one)))
			groups.set(keyOf(one), []);
		groups.get(keyOf(one)).push(one);
	}
	return groups;
}

class Page {
	constructor(trace) {
		this.trace = trace;
		this.makeLayout = makeLayout;
		this.matches = null;
		this.byCpu = groupBy(trace.losses, loss => loss.cpu).set(-1, trace.losses);
		this.gapAt = this.noteAt = -1;
		this.setTheme(this.savedTheme());
		this.timeline = new Timeline(this);
		this.overview = new Overview(this);
		this.flame = new Flame(this);
		this.table = new Table(this);
		this.about();
		this.listen();
		this.showView("tasks");
		this.overview.resize();
	}

	// cpu -1: all
	lossesOf(cpu) {
		return this.byCpu.get(cpu) || [];
	}

	nameOf(i) {
		return this.trace.funcs[this.trace.func[i]].name;
	}

	// ---- colours ----

	savedTheme() {
		try {
			const saved = localStorage.getItem("netfgraph-theme");
			if (saved)
				return saved;
		} catch { /* not allowed to keep anything */ }
		return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	}

	setTheme(name) {
		document.documentElement.dataset.theme = name;
		const style = getComputedStyle(document.documentElement);
		this.theme = { name };
		for (const key of ["bg", "fg", "dim", "line", "bar", "hot", "bad", "note"])
			this.theme[key] = style.getPropertyValue("--" + key).trim();
		this.colours = colours(this.trace.funcs.map(func => func.name), name === "dark");
		this.bytes = toBytes(this.colours);
		[this.bytes.hot, this.bytes.bad] = toBytes([this.theme.hot, this.theme.bad]);
		this.theme.hatch = this.hatch();
	}

	hatch() {
		const tile = document.createElement("canvas");
		tile.width = tile.height = 8;
		const context = tile.getContext("2d");
		context.strokeStyle = this.theme.bad;
		context.globalAlpha = 0.6;
		context.lineWidth = 1.6;
		context.beginPath();
		for (const shift of [-8, 0, 8]) {
			context.moveTo(shift, 8);
			context.lineTo(shift + 8, 0);
		}
		context.stroke();
		return context.createPattern(tile, "repeat");
	}

	toggleTheme() {
		const name = this.theme.name === "dark" ? "light" : "dark";
		this.setTheme(name);
		try {
			localStorage.setItem("netfgraph-theme", name);
		} catch { /* likewise */ }
		this.redraw();
	}

	// ---- above ----

	about() {
		const { trace } = this, { meta } = trace, calls = trace.callCnt(); // as info counts
		const began = this.wallClock(0).slice(0, 19).replace("T", " ");
		at("about").textContent = [meta.host, meta.kernel && "Linux " + meta.kernel, began && began + " UTC", time(trace.span), many(calls, "call"),
			trace.cnt > calls && many(trace.cnt - calls, "return") + " without entry", many(trace.funcs.length - 1, "function"), many(Object.keys(trace.tasks).length, "task")].filter(Boolean).join(" · ");
		at("about").title = at("about").textContent;
		document.title = ["netfgraph", meta.host, began].filter(Boolean).join(" · ");
		this.warning = this.warn();
		this.showCounts();
	}

	// What a reader must know: what is missing, and where.
	warn() {
		const { trace } = this, words = [];
		const placed = trace.losses.reduce((sum, loss) => sum + loss.cnt, 0), lost = Math.max(trace.lostCnt, placed);
		let unsure = 0, leftOut = 0;
		for (let i = 0; i < trace.cnt; i++)
			unsure += !trace.isWhole(i);
		for (const comment of trace.comments.filter(isLeftOut))
			leftOut += comment.text.split(": ")[0].split(", ").length;
		if (lost || trace.losses.length)
			words.push((lost ? many(lost, "event") : "events") + " lost" + (trace.losses.length ? " in " + many(trace.losses.length, "place") : "") +
				(lost > placed ? (placed ? ", " + count(lost - placed) + " of them" : "") + " in no known place" : ""));
		if (unsure)
			words.push(many(unsure, "call") + " incomplete");
		if (leftOut)
			words.push(many(leftOut, "function") + " left out");
		return words.join(", ");
	}

	// "at" is the place in the list that is shown, or -1.
	showCounts() {
		const { warning, gapAt, noteAt, trace } = this;
		at("warn").textContent = warning + (gapAt < 0 ? "" : ` · ${count(gapAt + 1)} / ${count(this.gaps().length)}`);
		at("warn").hidden = !warning;
		at("notes").textContent = many(trace.comments.length, "comment") + (noteAt < 0 ? "" : ` · ${count(noteAt + 1)} / ${count(trace.comments.length)}`);
		at("notes").hidden = !trace.comments.length;
	}

	// All that the warning counts and that has a place, by time: losses, comments, and calls as {call}.
	gaps() {
		if (this.allGaps)
			return this.allGaps;
		const { trace } = this, gaps = [...trace.losses, ...trace.comments.filter(isLeftOut)];
		for (let i = 0; i < trace.cnt; i++) {
			if (!trace.isWhole(i))
				gaps.push({ call: i, begin: trace.begin[i], length: trace.length[i] });
		}
		this.allGaps = gaps.sort((a, b) => a.begin - b.begin || (a.call ?? -1) - (b.call ?? -1));
		return gaps;
	}

	stepGap(by) {
		this.gapAt = this.show(this.gaps(), this.gapAt, by);
		this.showCounts();
	}

	stepNote(by) {
		this.noteAt = this.show(this.trace.comments, this.noteAt, by);
		this.showCounts();
	}

	// The next one of a list: on the timeline and below it. Returns its place.
	show(list, at, by) {
		if (!list.length)
			return -1;
		at = at < 0 && by < 0 ? list.length - 1 : (at + by + list.length) % list.length;
		if (this.current())
			this.showView("tasks");
		this.timeline.lookAt(list[at]);
		if (list[at].call >= 0)
			this.timeline.reveal(list[at].call);
		else
			this.timeline.revealMark(list[at]);
		this.choose(list[at].call ?? -1, list[at].call >= 0 ? null : list[at]);
		return at;
	}

	// Along the way of the chosen call's packet, or of the first one.
	stepPacket(by) {
		const { trace, timeline } = this, { selected } = timeline;
		const number = selected >= 0 ? trace.packetOf(selected) : trace.arrows.length ? trace.arrows[0].number : undefined;
		const calls = trace.packets.get(number);
		if (!calls)
			return;
		// a call below one with the number stands where that one does
		let at = selected;
		while (at >= 0 && !trace.numbers.has(at) && trace.hasParent(at))
			at = trace.parent[at];
		const place = calls.indexOf(at);
		const i = calls[place < 0 ? 0 : (place + by + calls.length) % calls.length];
		if (this.current())
			this.showView("tasks");
		timeline.reveal(i);
		this.choose(i);
	}

	wallClock(ns) {
		const { meta, first } = this.trace;
		if (!meta.offset)
			return "";
		const whole = meta.offset + BigInt(Math.round(first + ns));
		return new Date(Number(whole / 1000000n)).toISOString().slice(0, 19) + "." + String(whole % 1000000000n).padStart(9, "0") + "Z";
	}

	listen() {
		for (const tab of document.querySelectorAll("[data-view]"))
			tab.addEventListener("click", () => this.showView(tab.dataset.view));
		at("theme").addEventListener("click", () => this.toggleTheme());
		at("in").addEventListener("click", () => this.timeline.zoomBy(2));
		at("out").addEventListener("click", () => this.timeline.zoomBy(0.5));
		at("all").addEventListener("click", () => this.timeline.setRange(0, this.trace.span));
		at("warn").addEventListener("click", event => this.stepGap(event.shiftKey ? -1 : 1));
		at("notes").addEventListener("click", event => this.stepNote(event.shiftKey ? -1 : 1));
		at("keys").addEventListener("click", () => at("help").showModal());
		at("close").addEventListener("click", () => at("help").close());
		at("search").addEventListener("input", () => this.search(at("search").value));
		at("next").addEventListener("click", () => this.step(1));
		at("prev").addEventListener("click", () => this.step(-1));
		addEventListener("resize", () => this.resize());
		addEventListener("keydown", event => this.key(event));
	}

	key(event) {
		if (event.target === at("search")) {
			if (event.key === "Enter")
				this.step(event.shiftKey ? -1 : 1);
			if (event.key === "Escape")
				at("search").blur();
			return;
		}
		if (event.ctrlKey || event.metaKey || event.altKey || at("help").open)
			return;
		const { timeline } = this;
		const does = {
			"/": () => at("search").focus(), "?": () => at("help").showModal(), 0: () => timeline.setRange(0, this.trace.span),
			w: () => timeline.zoomBy(1.5), "+": () => timeline.zoomBy(1.5), "=": () => timeline.zoomBy(1.5), s: () => timeline.zoomBy(1 / 1.5), "-": () => timeline.zoomBy(1 / 1.5),
			a: () => timeline.moveBy(-0.15), ArrowLeft: () => timeline.moveBy(-0.15), d: () => timeline.moveBy(0.15), ArrowRight: () => timeline.moveBy(0.15),
			n: () => this.stepGap(event.shiftKey ? -1 : 1), p: () => this.stepPacket(event.shiftKey ? -1 : 1), c: () => this.stepNote(event.shiftKey ? -1 : 1),
			f: () => timeline.zoomTo(timeline.selected), Escape: () => this.choose(-1),
		}[event.key.length === 1 ? event.key.toLowerCase() : event.key];
		if (does) {
			event.preventDefault();
			does();
		}
	}

	// ---- views ----

	showView(name) {
		this.viewName = name;
		for (const tab of document.querySelectorAll("[data-view]"))
			tab.setAttribute("aria-selected", String(tab.dataset.view === name));
		at("chart").hidden = name !== "tasks" && name !== "cpus";
		at("flame").hidden = name !== "flame";
		at("table").hidden = name !== "table";
		this.tipRows(null);
		this.resize();
	}

	current() {
		return { flame: this.flame, table: this.table }[this.viewName];
	}

	resize() {
		if (this.current())
			this.current().show();
		else
			this.timeline.show(this.viewName);
		if (this.overview)
			this.overview.resize();
	}

	redraw() {
		(this.current() || this.timeline).draw();
		this.overview.draw();
	}

	moved() {
		const { from, to } = this.timeline;
		at("range").textContent = `${instant(from, (to - from) / 1000)} + ${time(to - from)}`;
		if (this.overview)
			this.overview.draw();
	}

	drawn(ms) {
		state.frames.push(ms);
		if (state.frames.length > 1000)
			state.frames.shift();
	}

	// A call from another view: on the timeline.
	open(i) {
		this.showView(this.viewName === "cpus" ? "cpus" : "tasks");
		this.timeline.zoomTo(i);
		this.choose(i);
	}

	// ---- finding ----

	search(text) {
		const wanted = text.trim().toLowerCase();
		this.hits = null;
		this.hitAt = -1;
		this.matches = wanted ? this.trace.funcs.map(func => func.name.toLowerCase().includes(wanted)) : null;
		this.findHits();
		at("found").textContent = wanted ? count(this.hits.length) + (this.hits.length === 1 ? " call" : " calls") : "";
		this.redraw();
	}

	findHits() {
		const { trace, matches } = this, hits = [];
		for (let i = 0; matches && i < trace.cnt; i++) {
			if (matches[trace.func[i]])
				hits.push(i);
		}
		this.hits = Uint32Array.from(hits).sort((a, b) => trace.begin[a] - trace.begin[b] || a - b);
	}

	step(by) {
		if (!this.hits || !this.hits.length)
			return;
		if (this.current())
			this.showView("tasks");
		this.hitAt = this.hitAt < 0 && by < 0 ? this.hits.length - 1 : (this.hitAt + by + this.hits.length) % this.hits.length;
		at("found").textContent = count(this.hitAt + 1) + " / " + count(this.hits.length);
		this.timeline.reveal(this.hits[this.hitAt]);
		this.choose(this.hits[this.hitAt]);
	}

	// ---- one call ----

	rowsOf(i) {
		const { trace } = this, task = trace.tasks[trace.task[i]], values = trace.values(i);
		const rows = [["duration", trace.isWhole(i) ? time(trace.duration(i)) : "not known"], ["begin", "+" + (trace.begin[i] / 1e6).toFixed(6) + " ms"]];
		if (!isNaN(trace.net[i]))
			rows.push(["net", netTime(trace.net[i], trace.netError[i]) + (trace.net[i] < trace.netError[i] ? "" : " ± " + time(trace.netError[i]))]);
		if (trace.slept.has(i))
			rows.push(["with sleep", time(trace.length[i])]);
		rows.push(["task", task.kind ? task.name : `${task.name} ${task.tid}`]);
		if (task.pid && task.pid !== task.tid)
			rows.push(["process", `${task.process} ${task.pid}`]);
		rows.push(["CPU", String(trace.cpu[i])]);
		if (trace.context[i])
			rows.push(["context", CONTEXTS[trace.context[i]]]);
		if (!(trace.flags[i] & HAS_ENTRY))
			rows.push(["missing", "its entry was not seen"]);
		if (!(trace.flags[i] & HAS_RETURN))
			rows.push(["missing", "its return was not seen"]);
		for (const part of values.args ? values.args.split(/, (?=[A-Za-z_]\w*=)/) : []) {
			const equals = part.indexOf("=");
			rows.push([part.slice(0, equals), part.slice(equals + 1), true]);
		}
		if (values.ret)
			rows.push(["returned", values.ret, true]);
		if (values.caller)
			rows.push(["caller", values.caller, true]);
		for (const text of this.commentsOf(i))
			rows.push(["comment", text]);
		return rows;
	}

	// Those that stand before the call.
	commentsOf(i) {
		const { trace } = this, key = (task, begin) => task + " " + begin;
		if (!this.byCall)
			this.byCall = groupBy(trace.comments, one => key(one.task, one.begin));
		return (this.byCall.get(key(trace.task[i], trace.begin[i])) || []).map(one => one.text);
	}

	fill(box, rows) {
		for (const [title, value, isValue] of rows) {
			const line = box.appendChild(document.createElement("div"));
			line.appendChild(document.createElement("span")).textContent = title;
			line.appendChild(document.createElement("span")).textContent = value;
			if (isValue)
				line.className = "values";
			if (title === "missing" || title === "lost")
				line.classList.add("badly");
		}
	}

	// A call or, with -1, a loss or comment, or nothing.
	choose(i, mark = null) {
		const box = at("details"), wasHidden = box.hidden;
		this.timeline.selected = i;
		this.timeline.marked = mark;
		box.hidden = i < 0 && !mark;
		box.replaceChildren();
		if (!box.hidden) {
			const [title, listed] = mark ? this.markRows(mark) : [this.nameOf(i), this.rowsOf(i)];
			const close = box.appendChild(document.createElement("button"));
			close.className = "x";
			close.textContent = "×";
			close.addEventListener("click", () => this.choose(-1));
			box.appendChild(document.createElement("h2")).textContent = title;
			const rows = box.appendChild(document.createElement("div"));
			rows.className = "rows";
			const clock = this.wallClock(mark ? mark.begin : this.trace.begin[i]);
			this.fill(rows, [...listed, ...(clock ? [["at", clock]] : [])]);
		}
		if (box.hidden !== wasHidden || !box.hidden)
			this.resize();
	}

	markRows(mark) {
		const begin = ["begin", "+" + (mark.begin / 1e6).toFixed(6) + " ms"], task = this.trace.tasks[mark.task];
		const where = mark.text !== undefined && [begin, ["task", task.kind ? task.name : `${task.name} ${task.tid}`], ["CPU", String(mark.cpu)]];
		if (mark.fields)
			return ["event", [["event", mark.system ? `${mark.system}:${mark.name}` : mark.name], ...mark.fields, ...where]];
		if (where)
			return ["comment", [[isLeftOut(mark) ? "missing" : "says", mark.text], ...where]];
		return ["events were lost", [["lost", mark.cnt ? count(mark.cnt) : "an unknown number"], ["on CPU", String(mark.cpu)], begin, ["within", time(mark.length)],
			["so", "any call of this CPU may be missing or incomplete here"]]];
	}

	tip(event, i, mark) {
		if (i >= 0)
			this.tipRows(event, this.nameOf(i), this.rowsOf(i));
		else if (mark)
			this.tipRows(event, ...this.markRows(mark));
		else
			this.tipRows(null);
	}

	tipRows(event, title, rows) {
		const tip = at("tip");
		tip.hidden = !event;
		if (!event)
			return;
		tip.replaceChildren();
		tip.appendChild(document.createElement("b")).textContent = title;
		this.fill(tip, rows);
		const right = event.clientX + 16 + tip.offsetWidth > innerWidth, below = event.clientY + 18 + tip.offsetHeight > innerHeight;
		tip.style.left = (right ? Math.max(event.clientX - tip.offsetWidth - 12, 4) : event.clientX + 16) + "px";
		tip.style.top = (below ? Math.max(event.clientY - tip.offsetHeight - 12, 4) : event.clientY + 18) + "px";
	}
}

async function main() {
	const text = at("trace");
	const packed = text.textContent;
	text.remove();
	try {
		state.page = new Page(new Trace(await unpack(packed)));
	} catch (error) {
		at("about").textContent = "this trace cannot be shown: " + error.message;
		state.error = String(error.stack || error);
		return;
	}
	requestAnimationFrame(() => setTimeout(() => {
		state.paintedMs = performance.now();
		state.isReady = true;
	}));
}

main();
