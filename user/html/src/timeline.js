// The calls over time, on a canvas: a frame takes time by the pixels, not by the calls.
import { ticks, bisectLeft } from "d3-array";
import { select, pointer } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { SIZES } from "./layout.js";
import { moment } from "./format.js";

const { HEAD, ROW } = SIZES;
const GUTTER = 168, AXIS = 24, MIN_SPAN = 10, MOST_ARROWS = 2000;

export class Timeline {
	constructor(view) {
		this.view = view; // trace, colours, theme, matches
		this.scroller = document.getElementById("chart");
		this.canvas = document.getElementById("timeline");
		this.spacer = document.getElementById("spacer");
		this.context = this.canvas.getContext("2d");
		this.strokes = document.createElement("canvas").getContext("2d");
		this.layouts = {};
		this.selected = this.hovered = -1;
		this.marked = null; // a loss or a comment that was chosen
		this.from = 0;
		this.to = view.trace.span;
		this.listen();
	}

	listen() {
		this.zoom = zoom()
			.filter(event => event.type === "wheel" ? event.ctrlKey || event.metaKey || event.shiftKey : !event.button)
			.clickDistance(4)
			.on("start", () => this.canvas.classList.add("drag"))
			.on("end", () => this.canvas.classList.remove("drag"))
			.on("zoom", ({ transform }) => this.take(transform));
		select(this.canvas).call(this.zoom).on("dblclick.zoom", null)
			.on("dblclick", event => this.zoomTo(this.callAt(event)))
			.on("click", event => this.click(event))
			.on("mousemove", event => this.hover(event))
			.on("mouseleave", () => this.hover(null));
		this.scroller.addEventListener("scroll", () => this.draw());
	}

	show(kind) {
		this.kind = kind;
		if (!this.layouts[kind])
			this.layouts[kind] = makeOnce(this.view, kind);
		this.layout = this.layouts[kind];
		this.resize();
	}

	resize() {
		const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
		const scale = window.devicePixelRatio || 1;
		this.canvas.width = width * scale;
		this.canvas.height = height * scale;
		this.canvas.style.width = width + "px";
		this.canvas.style.height = height + "px";
		this.spacer.style.height = this.layout.height + AXIS + "px";
		this.scale = scale;
		this.width = this.canvas.clientWidth - GUTTER;
		this.height = height;
		this.strokes.canvas.width = Math.max(this.width, 1);
		this.strokes.canvas.height = 1;
		this.line = this.strokes.createImageData(Math.max(this.width, 1), 1);
		const { span } = this.view.trace;
		this.zoom.extent([[0, 0], [this.width, height]]).translateExtent([[0, -Infinity], [this.width, Infinity]])
			.scaleExtent([1, Math.max(1, span / MIN_SPAN)]);
		this.setRange(this.from, this.to);
	}

	take(transform) {
		const { span } = this.view.trace;
		this.from = -transform.x / transform.k / this.width * span;
		this.to = this.from + span / transform.k;
		this.pixel = (this.to - this.from) / this.width;
		this.view.moved();
		this.later();
	}

	setRange(from, to) {
		const { span } = this.view.trace;
		const length = Math.min(Math.max(to - from, MIN_SPAN), span);
		from = Math.min(Math.max((from + to - length) / 2, 0), span - length);
		const k = span / length;
		select(this.canvas).call(this.zoom.transform, zoomIdentity.translate(-from / span * this.width * k, 0).scale(k));
	}

	// by: 2 is half the time on the screen.
	zoomBy(by, at = 0.5) {
		const middle = this.from + (this.to - this.from) * at, length = (this.to - this.from) / by;
		this.setRange(middle - length * at, middle + length * (1 - at));
	}

	moveBy(part) {
		const by = (this.to - this.from) * part;
		this.setRange(this.from + by, this.to + by);
	}

	// Far enough in to see it, with what is around it.
	lookAt({ begin, length }) {
		const wide = Math.max(length * 8, Math.min(this.to - this.from, this.view.trace.span / 40)), middle = begin + length / 2;
		this.setRange(middle - wide / 2, middle + wide / 2);
	}

	zoomTo(i) {
		if (i < 0)
			return;
		const { begin, length } = this.view.trace;
		const room = Math.max(length[i] * 0.15, 50);
		this.setRange(begin[i] - room, begin[i] + length[i] + room);
		this.reveal(i);
	}

	// The call on the screen, at the size that is shown.
	reveal(i) {
		const { begin, length } = this.view.trace;
		const { tracks, where, level } = this.layout;
		const span = this.to - this.from;
		if (begin[i] > this.to || begin[i] + length[i] < this.from)
			this.setRange(begin[i] - span / 3, begin[i] + span * 2 / 3);
		const y = tracks[where[i]].top + level[i] * ROW;
		if (y < this.scroller.scrollTop + HEAD || y > this.scroller.scrollTop + this.height - AXIS - 2 * ROW)
			this.scroller.scrollTop = y - this.height / 3;
	}

	// The track that a loss or comment is on.
	revealMark(one) {
		const track = this.layout.shown.find(track => track.comments.includes(one) || (one.text === undefined && track.cpu === one.cpu));
		if (track && (track.top < this.scroller.scrollTop + HEAD || track.bottom > this.scroller.scrollTop + this.height - AXIS))
			this.scroller.scrollTop = Math.max(track.top - this.height / 3, 0);
	}

	later() {
		if (this.isDue)
			return;
		this.isDue = true;
		requestAnimationFrame(() => this.draw());
	}

	draw() {
		this.isDue = false;
		if (!this.layout)
			return;
		const started = performance.now();
		const { context, theme } = { context: this.context, theme: this.view.theme };
		this.top = AXIS - this.scroller.scrollTop;
		context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
		context.fillStyle = theme.bg;
		context.fillRect(0, 0, this.width + GUTTER, this.height);
		this.drawGrid();
		this.stripes = new Map();
		for (const track of this.layout.shown)
			this.drawTrack(track);
		this.drawArrows();
		this.drawAxis();
		this.view.drawn(performance.now() - started);
	}

	x(time) {
		return GUTTER + (time - this.from) / this.pixel;
	}

	eachTick(visit) {
		const marks = ticks(this.from, this.to, Math.max(2, Math.floor(this.width / 130)));
		const step = marks.length > 1 ? marks[1] - marks[0] : this.to - this.from;
		for (const mark of marks)
			visit(Math.round(this.x(mark)) + 0.5, mark, step);
	}

	drawGrid() {
		const { context } = this;
		context.strokeStyle = this.view.theme.line;
		context.beginPath();
		this.eachTick(x => {
			context.moveTo(x, 0);
			context.lineTo(x, this.height);
		});
		context.stroke();
	}

	drawAxis() {
		const { context } = this, { theme } = this.view;
		context.fillStyle = theme.bar;
		context.fillRect(0, 0, this.width + GUTTER, AXIS - 1);
		context.fillStyle = theme.line;
		context.fillRect(0, AXIS - 1, this.width + GUTTER, 1);
		context.fillStyle = theme.dim;
		context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
		context.textBaseline = "middle";
		this.eachTick((x, mark, step) => context.fillText(moment(mark, step), x + 4, AXIS / 2));
	}

	drawTrack(track) {
		const { context } = this, { theme } = this.view;
		const top = track.top + this.top, bottom = track.bottom + this.top;
		if (bottom < AXIS || (track.head === undefined ? track.top : track.head) + this.top > this.height)
			return;
		context.save();
		context.beginPath();
		context.rect(GUTTER, AXIS, this.width, this.height);
		context.clip();
		context.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
		context.textBaseline = "middle";
		this.drawLosses(track, top, bottom);
		this.drawComments(track, top);
		for (let row = 0; row < track.rowCnt; row++) {
			const y = top + row * ROW;
			if (y + ROW > AXIS && y < this.height)
				this.drawRow(track.firstRow + row, y);
		}
		context.restore();
		context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
		context.textBaseline = "middle";
		context.fillStyle = theme.bg;
		context.fillRect(0, top, GUTTER - 1, bottom - top);
		context.fillStyle = theme.dim;
		context.fillText(fit(track.label, (GUTTER - 22) / 6.6), 16, Math.max(top, AXIS) + ROW / 2);
		context.fillStyle = theme.line;
		context.fillRect(GUTTER - 1, top - 2, 1, bottom - top + 4);
		if (track.head !== undefined) {
			const y = track.head + this.top;
			context.fillStyle = theme.bar;
			context.fillRect(0, y, this.width + GUTTER, HEAD - 4);
			context.fillStyle = theme.fg;
			context.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
			context.fillText(track.group.title, 8, y + (HEAD - 4) / 2);
		}
	}

	// Left edge and width of a loss or comment; at the trace's end it is before the edge. null: not on the screen.
	place({ begin, length }, least) {
		if (begin > this.to || begin + length < this.from)
			return null;
		const x = Math.max(this.x(begin), GUTTER - 1);
		const right = Math.min(this.x(begin + length), GUTTER + this.width);
		return [Math.min(x, GUTTER + this.width - least), Math.max(right - x, least)];
	}

	// Losses as [from, to] on the screen, joined where they touch. A thread may have run on any CPU: cpu -1.
	stripesOf(cpu) {
		if (this.stripes.has(cpu))
			return this.stripes.get(cpu);
		const joined = [];
		for (const loss of this.view.lossesOf(cpu)) {
			const [x, width] = this.place(loss, 3) || [0, 0], last = joined[joined.length - 1];
			if (last && width && x <= last[1])
				last[1] = Math.max(last[1], x + width);
			else if (width)
				joined.push([x, x + width]);
		}
		this.stripes.set(cpu, joined);
		return joined;
	}

	drawLosses(track, top, bottom) {
		const { context } = this, { theme } = this.view;
		for (const [from, to] of this.stripesOf(track.cpu)) {
			context.globalAlpha = track.cpu < 0 ? 0.3 : 1;
			context.fillStyle = theme.hatch;
			context.fillRect(from, top - 3, to - from, bottom - top + 6);
			context.fillStyle = theme.bad;
			context.fillRect(from, top - 3, 1, bottom - top + 6);
		}
		context.globalAlpha = 1;
		if (this.marked && this.marked.text === undefined && (track.cpu < 0 || track.cpu === this.marked.cpu))
			this.frame(this.marked, top - 3, bottom - top + 6);
	}

	frame(one, y, height) {
		const { context } = this, [x, width] = this.place(one, 3) || [];
		if (x === undefined)
			return;
		context.strokeStyle = this.view.theme.hot;
		context.lineWidth = 2;
		context.strokeRect(x - 1, y, width + 2, height);
		context.lineWidth = 1;
	}

	// Small triangles above the calls, one where many fall together.
	drawComments(track, top) {
		const { context } = this, { theme } = this.view;
		let last = -Infinity;
		for (const comment of track.comments) {
			const x = this.place(comment, 1) && this.x(comment.begin), isMarked = comment === this.marked;
			if (x === null || (x - last < 3 && !isMarked))
				continue;
			last = x;
			context.fillStyle = isMarked ? theme.hot : theme.note;
			context.beginPath();
			context.moveTo(x, top + 1);
			context.lineTo(x - 4, top - 5);
			context.lineTo(x + 4, top - 5);
			context.fill();
		}
	}

	// What began before and still goes on, then what begins; calls that share a pixel are one stroke.
	drawRow(row, y) {
		const { calls, begins, ends, sums, starts } = this.layout;
		const { trace } = this.view;
		const end = starts[row + 1];
		this.lineFrom = Infinity;
		this.lineTo = -1;
		let at = bisectLeft(begins, this.from, starts[row], end);
		for (let k = at - 1, tries = 0; k >= starts[row] && ends[k] > this.from && tries < 256; k--, tries++) {
			if (trace.begin[calls[k]] + trace.length[calls[k]] > this.from)
				this.drawCall(calls[k], y);
		}
		while (at < end && begins[at] <= this.to) {
			const i = calls[at];
			if (trace.length[i] >= this.pixel * 1.5) {
				this.drawCall(i, y);
				at++;
				continue;
			}
			const until = this.from + (Math.floor((begins[at] - this.from) / this.pixel) + 1) * this.pixel;
			let next = at + 1;
			if (next < end && begins[next] < until)
				next = bisectLeft(begins, until, next, end);
			const last = calls[next - 1];
			if (next - 1 > at && trace.length[last] >= this.pixel * 1.5)
				next--;
			this.putStroke(at, next, Math.min(1, (sums[next] - sums[at]) / this.pixel));
			at = next;
		}
		this.drawStrokes(y);
	}

	// Strokes are the pixels of a line, which is drawn at once: one by one they would take most of a frame.
	putStroke(from, to, part) {
		const { matches, trace, bytes } = this.view;
		const { calls, torn } = this.layout;
		const isTorn = torn[to] > torn[from];
		let i = calls[from], isMatch = !matches;
		for (let k = from; matches && !isMatch && k < to && k < from + 64; k++) {
			if (matches[trace.func[calls[k]]]) {
				i = calls[k];
				isMatch = true;
			}
		}
		const x = Math.floor((trace.begin[calls[from]] - this.from) / this.pixel);
		if (x < 0 || x >= this.width)
			return;
		const [red, green, blue] = matches && isMatch ? bytes.hot : isTorn ? bytes.bad : bytes[trace.func[i]], { data } = this.line;
		data[x * 4] = red;
		data[x * 4 + 1] = green;
		data[x * 4 + 2] = blue;
		data[x * 4 + 3] = isTorn && !matches ? 255 : isMatch ? 115 + 140 * part : 30;
		this.lineFrom = Math.min(this.lineFrom, x);
		this.lineTo = Math.max(this.lineTo, x);
	}

	drawStrokes(y) {
		if (this.lineTo < 0)
			return;
		this.strokes.putImageData(this.line, 0, 0);
		this.context.imageSmoothingEnabled = false;
		const width = this.lineTo - this.lineFrom + 1;
		this.context.drawImage(this.strokes.canvas, this.lineFrom, 0, width, 1, GUTTER + this.lineFrom, y + 1, width, ROW - 2);
		this.line.data.fill(0, this.lineFrom * 4, (this.lineTo + 1) * 4);
	}

	drawCall(i, y) {
		const { context } = this, { colours, matches, theme, trace } = this.view;
		const left = Math.max(this.x(trace.begin[i]), GUTTER - 2);
		const right = Math.min(this.x(trace.begin[i] + trace.length[i]), GUTTER + this.width + 2);
		const width = Math.max(right - left - (right - left > 4 ? 0.6 : 0), 1);
		const isMatch = !matches || matches[trace.func[i]];
		context.globalAlpha = isMatch ? 1 : 0.16;
		const isTorn = !trace.isWhole(i);
		context.fillStyle = isTorn && width < 6 ? theme.bad : colours[trace.func[i]];
		context.fillRect(left, y + 1, width, ROW - 2);
		if (isTorn && width >= 6) {
			context.strokeStyle = theme.bad;
			context.setLineDash([4, 3]);
			context.strokeRect(left + 0.5, y + 1.5, Math.max(width - 1, 1), ROW - 3);
			context.setLineDash([]);
		}
		if (matches && isMatch) {
			context.fillStyle = theme.hot;
			context.fillRect(left, y + ROW - 4, width, 3);
		}
		if (width > 26) {
			context.fillStyle = theme.fg;
			context.fillText(fit(this.view.nameOf(i), (width - 6) / 6.63), left + 4, y + ROW / 2 + 0.5);
		}
		context.globalAlpha = 1;
		if (i === this.selected || i === this.hovered) {
			context.strokeStyle = i === this.selected ? theme.hot : theme.fg;
			context.lineWidth = i === this.selected ? 2 : 1;
			context.strokeRect(left, y + 1, width, ROW - 2);
			context.lineWidth = 1;
		}
	}

	// The ways of packets: of all, unless these are too many to be told apart, and over them that of the chosen call's.
	drawArrows() {
		const { trace } = this.view, { context } = this;
		const from = bisectLeft(trace.arrowEnds, this.from), to = bisectLeft(trace.arrowBegins, this.to);
		const call = this.selected >= 0 ? this.selected : this.hovered, chosen = call >= 0 ? trace.packetOf(call) : undefined;
		const isChosen = arrow => arrow.number === chosen, arrows = trace.arrows.slice(from, to);
		context.save();
		context.beginPath();
		context.rect(GUTTER, AXIS, this.width, this.height);
		context.clip();
		this.arrowCnt = 0;
		if (arrows.length <= MOST_ARROWS)
			this.drawWay(arrows.filter(arrow => !isChosen(arrow)), this.view.theme.dim, 1, 0.7);
		this.drawWay(arrows.filter(isChosen), this.view.theme.hot, 2, 1);
		context.restore();
	}

	drawWay(arrows, colour, width, alpha) {
		const { trace } = this.view, { context } = this, { tracks, where, level } = this.layout;
		const y = i => tracks[where[i]].top + level[i] * ROW + ROW / 2 + this.top;
		context.strokeStyle = context.fillStyle = colour;
		context.lineWidth = width;
		context.globalAlpha = alpha;
		for (const { from, to } of arrows) {
			const [left, top] = [this.x(trace.begin[from]), y(from)], [right, bottom] = [this.x(trace.begin[to]), y(to)];
			if (right < GUTTER || left > GUTTER + this.width || Math.max(top, bottom) < AXIS || Math.min(top, bottom) > this.height)
				continue;
			const bend = Math.max((right - left) / 2, 12);
			context.beginPath();
			context.moveTo(left, top);
			context.bezierCurveTo(left + bend, top, right - bend, bottom, right, bottom);
			context.stroke();
			context.beginPath();
			context.moveTo(right, bottom);
			context.lineTo(right - 7, bottom - 3.5);
			context.lineTo(right - 7, bottom + 3.5);
			context.fill();
			this.arrowCnt++;
		}
	}

	// -1: none; else the call under the pointer, or the first one that its pixel has.
	callAt(event) {
		const [x, y] = pointer(event, this.canvas);
		const track = this.trackAt(x, y);
		if (!track)
			return -1;
		const { calls, begins, ends, starts } = this.layout, { trace } = this.view;
		const row = track.firstRow + Math.floor((y - this.top - track.top) / ROW);
		const time = this.from + (x - GUTTER) * this.pixel;
		for (let k = bisectLeft(begins, time + this.pixel, starts[row], starts[row + 1]) - 1, tries = 0; k >= starts[row] && tries < 256; k--, tries++) {
			if (trace.begin[calls[k]] + Math.max(trace.length[calls[k]], this.pixel * 1.5) >= time)
				return calls[k];
			if (ends[k] + this.pixel * 2 < time)
				break;
		}
		return -1;
	}

	trackAt(x, y) {
		return x < GUTTER || y < AXIS ? undefined : this.layout.shown.find(one => y >= one.top + this.top && y < one.top + one.rowCnt * ROW + this.top);
	}

	// The comment or the loss under the pointer, where no call is: of several losses the one that began last.
	markAt(event) {
		const [x, y] = pointer(event, this.canvas);
		const track = this.layout.shown.find(one => y >= one.top + this.top - 6 && y < one.bottom + this.top + 3);
		if (!track || x < GUTTER || y < AXIS)
			return null;
		const isAt = (one, least, room) => {
			const [left, width] = this.place(one, least) || [Infinity, 0];
			return x >= left - room && x <= left + width + room;
		};
		const comment = y < track.top + this.top + 2 && track.comments.find(one => isAt(one, 1, 4));
		return comment || this.view.lossesOf(track.cpu).filter(one => isAt(one, 3, 1)).pop() || null;
	}

	hover(event) {
		const isMoved = this.canvas.classList.contains("drag");
		const i = event && !isMoved ? this.callAt(event) : -1;
		const mark = event && !isMoved && i < 0 ? this.markAt(event) : null;
		if (i !== this.hovered)
			this.later();
		this.hovered = i;
		this.view.tip(event, i, mark);
	}

	click(event) {
		const i = this.callAt(event);
		this.view.choose(i, i < 0 ? this.markAt(event) : null);
	}
}

export function fit(text, cnt) {
	return text.length <= cnt ? text : cnt < 3 ? "" : text.slice(0, Math.floor(cnt) - 1) + "…";
}

function makeOnce(view, kind) {
	return view.makeLayout(view.trace, kind);
}
