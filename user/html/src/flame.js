// Stacks summed up, wherever in time they were.
import { hierarchy, partition } from "d3-hierarchy";
import { fit } from "./timeline.js";
import { CONTEXTS } from "./trace.js";
import { time, count } from "./format.js";

const ROW = 19;

function child(node, key, func, name) {
	let found = node.byKey.get(key);
	if (!found) {
		found = { func, name, self: 0, total: 0, cnt: 0, byKey: new Map(), children: [] };
		node.byKey.set(key, found);
		node.children.push(found);
	}
	return found;
}

// What has no certain length is left out, as in the tables. Interrupts are beside the tasks, not inside them.
function sumUp(trace) {
	const root = child({ byKey: new Map(), children: [] }, 0, -1, "all");
	const nodeOf = new Array(trace.cnt);
	for (let i = trace.cnt - 1; i >= 0; i--) {
		const task = trace.tasks[trace.task[i]], context = trace.context[i];
		const isInside = trace.hasParent(i) && trace.context[trace.parent[i]] === context;
		let above = isInside ? nodeOf[trace.parent[i]] : undefined;
		if (!above) {
			const name = context ? CONTEXTS[context] : task.kind ? "idle" : task.process || task.name;
			above = child(root, name, -1, name);
		}
		const node = nodeOf[i] = child(above, trace.func[i], trace.func[i], trace.funcs[trace.func[i]].name);
		if (trace.isWhole(i)) {
			node.cnt++;
			node.self += trace.duration(i);
			if (isInside && trace.isWhole(trace.parent[i]))
				above.self -= trace.duration(i);
		}
	}
	return root;
}

export class Flame {
	constructor(view) {
		this.view = view;
		this.box = document.getElementById("flame");
		this.canvas = document.getElementById("flames");
		this.context = this.canvas.getContext("2d");
		this.canvas.addEventListener("mousemove", event => this.hover(event));
		this.canvas.addEventListener("mouseleave", () => this.hover(null));
		this.canvas.addEventListener("click", event => this.choose(this.nodeAt(event)));
	}

	show() {
		if (!this.root) {
			this.root = partition()(hierarchy(sumUp(this.view.trace)).sum(node => Math.max(node.self, 0)).sort((a, b) => b.value - a.value));
			this.focus = this.root;
		}
		this.resize();
	}

	resize() {
		const scale = window.devicePixelRatio || 1;
		this.width = this.box.clientWidth;
		this.height = Math.max(this.box.clientHeight - 4, (this.root.height + 2) * ROW);
		this.canvas.width = this.width * scale;
		this.canvas.height = this.height * scale;
		this.canvas.style.width = this.width + "px";
		this.canvas.style.height = this.height + "px";
		this.context.setTransform(scale, 0, 0, scale, 0, 0);
		this.draw();
	}

	choose(node) {
		if (node) {
			this.focus = node;
			this.draw();
		}
	}

	place(node) {
		const { x0, x1 } = this.focus;
		const part = this.width / Math.max(x1 - x0, 1e-12);
		const isAbove = node.depth < this.focus.depth;
		return isAbove ? [0, this.width] : [(node.x0 - x0) * part, (node.x1 - x0) * part];
	}

	draw() {
		if (!this.root)
			return;
		const { context } = this, { theme, colours, matches } = this.view;
		context.fillStyle = theme.bg;
		context.fillRect(0, 0, this.width, this.height);
		context.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
		context.textBaseline = "middle";
		this.shown = [];
		const visit = node => {
			const [left, right] = this.place(node);
			if (right < 0 || left > this.width || right - left < 0.4)
				return;
			const x = Math.max(left, 0), width = Math.min(right, this.width) - x;
			const isMatch = !matches || (node.data.func >= 0 && matches[node.data.func]);
			this.shown.push({ node, x, width });
			context.globalAlpha = isMatch ? (node.depth < this.focus.depth ? 0.55 : 1) : 0.2;
			context.fillStyle = node.data.func < 0 ? theme.line : colours[node.data.func];
			context.fillRect(x, node.depth * ROW + 4, Math.max(width - 0.6, 0.4), ROW - 1.5);
			if (width > 26) {
				context.fillStyle = theme.fg;
				context.fillText(fit(node.data.name, (width - 6) / 6.63), x + 4, node.depth * ROW + 4 + ROW / 2);
			}
			context.globalAlpha = 1;
			for (const below of node.children || [])
				visit(below);
		};
		for (const above of this.focus.ancestors().reverse()) {
			if (above !== this.focus) {
				this.shown.push({ node: above, x: 0, width: this.width });
				context.globalAlpha = 0.55;
				context.fillStyle = above.data.func < 0 ? theme.line : colours[above.data.func];
				context.fillRect(0, above.depth * ROW + 4, this.width, ROW - 1.5);
				context.fillStyle = theme.fg;
				context.fillText(above.data.name, 4, above.depth * ROW + 4 + ROW / 2);
				context.globalAlpha = 1;
			}
		}
		visit(this.focus);
	}

	nodeAt(event) {
		const box = this.canvas.getBoundingClientRect();
		const x = event.clientX - box.left, depth = Math.floor((event.clientY - box.top - 4) / ROW);
		const found = this.shown.find(one => one.node.depth === depth && x >= one.x && x < one.x + one.width);
		return found && found.node;
	}

	hover(event) {
		const node = event && this.nodeAt(event);
		if (!node) {
			this.view.tipRows(null);
			return;
		}
		const rows = [["total", time(node.value)], ["share", (100 * node.value / Math.max(this.root.value, 1)).toFixed(2) + " %"], ["self", time(Math.max(node.data.self, 0))]];
		if (node.data.func >= 0)
			rows.push(["calls", count(node.data.cnt)]);
		this.view.tipRows(event, node.data.name, rows);
	}
}
