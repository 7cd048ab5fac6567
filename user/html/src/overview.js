// The whole trace above the views: how much ran when, what is lost, and which part is shown.
import { select, pointer } from "d3-selection";

const HEIGHT = 46;

export class Overview {
	constructor(view) {
		this.view = view;
		this.canvas = document.getElementById("overview");
		this.context = this.canvas.getContext("2d");
		let start = null;
		select(this.canvas)
			.on("pointerdown", event => {
				this.canvas.setPointerCapture(event.pointerId);
				start = this.time(event);
			})
			.on("pointermove", event => {
				if (start !== null && Math.abs(this.time(event) - start) * this.width > 4 * this.view.trace.span)
					this.view.timeline.setRange(Math.min(start, this.time(event)), Math.max(start, this.time(event)));
			})
			.on("pointerup", event => {
				const { timeline, trace } = this.view, length = timeline.to - timeline.from;
				if (start !== null && Math.abs(this.time(event) - start) * this.width <= 4 * trace.span)
					timeline.setRange(start - length / 2, start + length / 2);
				start = null;
			});
	}

	time(event) {
		return Math.min(Math.max(pointer(event, this.canvas)[0] / this.width, 0), 1) * this.view.trace.span;
	}

	resize() {
		const scale = window.devicePixelRatio || 1, width = this.canvas.clientWidth;
		if (width !== this.width) {
			this.width = width;
			this.canvas.width = width * scale;
			this.canvas.height = HEIGHT * scale;
			this.scale = scale;
			this.bins = this.sumUp();
		}
		this.draw();
	}

	// Time in outermost calls, of all CPUs together, by pixel.
	sumUp() {
		const { trace } = this.view, bins = new Float64Array(this.width + 1);
		const pixel = trace.span / this.width;
		for (let i = 0; i < trace.cnt; i++) {
			if (trace.level[i])
				continue;
			const from = trace.begin[i] / pixel, to = (trace.begin[i] + trace.length[i]) / pixel;
			let bin = Math.floor(from);
			if (to <= bin + 1) {
				bins[bin] += to - from;
				continue;
			}
			bins[bin] += bin + 1 - from;
			for (bin++; bin < to - 1; bin++)
				bins[bin]++;
			bins[bin] += to - bin;
		}
		return bins;
	}

	// What is at the trace's end is before its edge.
	mark(one, y, least) {
		const { span } = this.view.trace;
		this.context.fillRect(Math.min(one.begin / span * this.width, this.width - least), y, Math.max(one.length / span * this.width, least), 5);
	}

	draw() {
		const { context, bins, width } = this, { theme, trace, timeline } = this.view;
		if (!bins)
			return;
		context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
		context.fillStyle = theme.bg;
		context.fillRect(0, 0, width, HEIGHT);
		let most = 0;
		for (const bin of bins)
			most = Math.max(most, bin);
		context.fillStyle = theme.dim;
		context.globalAlpha = 0.65;
		for (let x = 0; most && x < width; x++) {
			const height = Math.ceil(Math.sqrt(bins[x] / most) * (HEIGHT - 8));
			context.fillRect(x, HEIGHT - height, 1, height);
		}
		context.globalAlpha = 1;
		context.fillStyle = theme.bad;
		for (const loss of trace.losses)
			this.mark(loss, 0, 3);
		context.fillStyle = theme.note;
		let last = -1;
		for (const comment of trace.comments) {
			const x = Math.floor(comment.begin / trace.span * width);
			if (x > last)
				this.mark(comment, 6, 1);
			last = x;
		}
		const from = timeline.from / trace.span * width, to = timeline.to / trace.span * width;
		context.fillStyle = theme.bg;
		context.globalAlpha = 0.65;
		context.fillRect(0, 0, from, HEIGHT);
		context.fillRect(to, 0, width - to, HEIGHT);
		context.globalAlpha = 1;
		context.strokeStyle = theme.hot;
		context.strokeRect(from + 0.5, 0.5, Math.max(to - from - 1, 1), HEIGHT - 1);
	}
}
