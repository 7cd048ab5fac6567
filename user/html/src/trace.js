// The records that user/format/fmt_html.c writes, as arrays: calls in the order of their ends.
import { gunzipSync } from "fflate";

export const HAS_ENTRY = 1, HAS_RETURN = 2, HAS_DURATION = 4;
const ARGS = 8, RET = 16, CALLER = 32, SLEPT = 64, SOFTIRQ = 128, NET = 256;
const NONE = 0xffffffff;
export const CONTEXTS = ["task", "softirq", "hard interrupt"];

const utf8 = new TextDecoder();

function fromBase64(text) {
	const packed = atob(text);
	const bytes = new Uint8Array(packed.length);
	for (let i = 0; i < packed.length; i++)
		bytes[i] = packed.charCodeAt(i);
	return bytes;
}

export async function unpack(text) {
	const bytes = fromBase64(text);
	if (typeof DecompressionStream === "undefined")
		return gunzipSync(bytes);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Room for as many calls as there come, doubled as needed.
class Columns {
	constructor(kinds) {
		this.kinds = kinds;
		this.cap = 1 << 16;
		for (const [name, Kind] of Object.entries(kinds))
			this[name] = new Kind(this.cap);
	}

	grow() {
		this.cap *= 2;
		for (const [name, Kind] of Object.entries(this.kinds)) {
			const wider = new Kind(this.cap);
			wider.set(this[name]);
			this[name] = wider;
		}
	}
}

export class Trace {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.cnt = 0;
		this.tasks = [];
		this.funcs = [{ name: "[unknown]", context: 0 }];
		this.losses = [];
		this.comments = [];
		this.hasNet = false; // of any call
		this.lostCnt = 0; // in all, as far as the trace says
		this.slept = new Map();
		this.numbers = new Map(); // of packets (--track), by the call that has one
		this.columns = new Columns({
			begin: Float64Array, length: Float64Array, func: Uint32Array, task: Uint32Array,
			depth: Uint16Array, cpu: Uint16Array, flags: Uint16Array, texts: Uint32Array,
			net: Float64Array, netError: Float64Array, // NaN: not known
		});
		this.readAll();
		Object.assign(this, Object.fromEntries(Object.keys(this.columns.kinds).map(
			name => [name, this.columns[name].subarray(0, this.cnt)])));
		this.columns = null;
		this.setTimes();
		this.findParents();
		this.followPackets();
	}

	number() {
		const bytes = this.bytes;
		let value = bytes[this.at++];
		if (value < 0x80)
			return value;
		value &= 0x7f;
		for (let scale = 128; ; scale *= 128) {
			const byte = bytes[this.at++];
			value += (byte & 0x7f) * scale;
			if (!(byte >= 0x80))
				return value;
		}
	}

	text() {
		const length = this.number();
		this.at += length;
		return utf8.decode(this.bytes.subarray(this.at - length, this.at));
	}

	time() {
		const value = this.number();
		const half = Math.floor(value / 2);
		this.last += value % 2 ? -half - 1 : half;
		return this.last;
	}

	readAll() {
		this.last = 0;
		while (this.at < this.bytes.length)
			this.record(this.number());
	}

	record(kind) {
		if (kind === 4) {
			this.readCall();
		} else if (kind === 1) {
			this.meta = { version: this.number(), kernel: this.text(), offset: BigInt(this.text()), cpus: this.number(), program: this.text(), host: this.text() };
			if (this.meta.version !== 4)
				throw new Error("records of version " + this.meta.version);
		} else if (kind === 2) {
			const id = this.number();
			const task = { id, kind: this.number(), tid: this.number(), pid: this.number(), cpu: this.number(), name: this.text(), process: this.text() };
			if (this.tasks[id] && this.tasks[id].pid && !task.pid)
				task.pid = this.tasks[id].pid;
			this.tasks[id] = task;
		} else if (kind === 3) {
			this.funcs.push({ context: this.number(), name: this.text() });
		} else if (kind === 5) {
			this.losses.push({ cpu: this.number(), begin: this.time(), length: this.number(), cnt: this.number() });
		} else if (kind === 6) {
			this.comments.push({ task: this.number(), cpu: this.number(), begin: this.time(), length: 0, text: this.text() });
		} else if (kind === 7) {
			this.lostCnt = this.number();
		} else if (kind === 8) {
			this.comments.push(this.event());
		} else {
			throw new Error("an unknown record at byte " + this.at);
		}
	}

	// A comment whose text is that of its fields.
	event() {
		const event = { task: this.number(), cpu: this.number(), begin: this.time(), length: 0, system: this.text(), name: this.text() };
		event.fields = Array.from({ length: this.number() }, () => [this.text(), this.text()]);
		event.text = `${event.name}: ${event.fields.map(([name, value]) => `${name}=${value}`).join(" ")}`;
		return event;
	}

	readCall() {
		const columns = this.columns;
		const i = this.cnt++;
		if (i === columns.cap)
			columns.grow();
		const flags = this.number();
		columns.flags[i] = flags;
		columns.task[i] = this.number();
		columns.func[i] = this.number();
		columns.depth[i] = this.number();
		columns.cpu[i] = this.number();
		columns.begin[i] = this.time();
		columns.length[i] = this.number();
		if (flags & SLEPT)
			this.slept.set(i, this.number());
		columns.net[i] = columns.netError[i] = NaN;
		if (flags & NET) {
			columns.net[i] = this.number();
			columns.netError[i] = this.number();
			this.hasNet = true;
		}
		if (!(flags & (ARGS | RET | CALLER)))
			return;
		columns.texts[i] = this.at;
		for (let bit = ARGS; bit <= CALLER; bit *= 2) {
			if (flags & bit) {
				const length = this.number();
				this.at += length;
				if (bit === ARGS)
					this.noteNumber(i, this.at - length);
			}
		}
	}

	// "pkt=7", as the last argument: from its end, because all calls pass here.
	noteNumber(i, from) {
		const { bytes } = this;
		let value = 0, scale = 1, at = this.at - 1;
		for (; at >= from && bytes[at] >= 48 && bytes[at] <= 57; at--, scale *= 10)
			value += (bytes[at] - 48) * scale;
		if (scale > 1 && at - 3 >= from && bytes[at] === 61 && bytes[at - 1] === 116 && bytes[at - 2] === 107 && bytes[at - 3] === 112 && (at - 3 === from || bytes[at - 4] === 32))
			this.numbers.set(i, value);
	}

	// Times begin with the trace.
	setTimes() {
		const { begin, length, cnt } = this;
		let first = Infinity, last = 0;
		for (let i = 0; i < cnt; i++) {
			if (begin[i] < first)
				first = begin[i];
			if (begin[i] + length[i] > last)
				last = begin[i] + length[i];
		}
		for (const one of [...this.losses, ...this.comments]) {
			first = Math.min(first, one.begin);
			last = Math.max(last, one.begin + one.length);
		}
		this.first = first === Infinity ? 0 : first;
		for (let i = 0; i < cnt; i++)
			begin[i] -= this.first;
		for (const one of [...this.losses, ...this.comments])
			one.begin -= this.first;
		this.losses.sort((a, b) => a.begin - b.begin);
		this.comments.sort((a, b) => a.begin - b.begin);
		this.span = Math.max(last - this.first, 1);
	}

	// From the last call on: a call's parent is the task's latest one above it. What runs in an interrupt is on its CPU's track.
	findParents() {
		const { cnt, task, depth, func, cpu, begin, length } = this;
		const parent = this.parent = new Uint32Array(cnt).fill(NONE);
		const context = this.context = new Uint8Array(cnt);
		const home = this.home = new Uint16Array(cnt); // the CPU of the interrupt
		const level = this.level = new Uint16Array(cnt);
		const open = this.tasks.map(() => []);
		for (let i = cnt - 1; i >= 0; i--) {
			const stack = open[task[i]], d = depth[i];
			const above = d ? stack[d - 1] : undefined;
			const isInside = above !== undefined && begin[above] <= begin[i] && begin[i] + length[i] <= begin[above] + length[above];
			const own = this.funcs[func[i]].context || (this.flags[i] & SOFTIRQ && 1);
			stack[d] = i;
			stack.length = d + 1;
			level[i] = d;
			if (isInside) {
				parent[i] = above;
				context[i] = context[above];
				home[i] = home[above];
				level[i] = level[above] + 1;
			}
			if (own && own !== context[i]) {
				context[i] = own;
				home[i] = cpu[i];
				level[i] = 0;
			}
		}
	}

	// Arrows from each call with a packet's number to its next one, by the time at which they begin.
	followPackets() {
		const { begin } = this, packets = this.packets = new Map();
		for (const [i, number] of this.numbers) {
			if (!packets.has(number))
				packets.set(number, []);
			packets.get(number).push(i);
		}
		this.arrows = [];
		for (const [number, calls] of packets) {
			calls.sort((a, b) => begin[a] - begin[b] || b - a);
			for (let k = 1; k < calls.length; k++)
				this.arrows.push({ number, from: calls[k - 1], to: calls[k] });
		}
		this.arrows.sort((a, b) => begin[a.from] - begin[b.from]);
		this.arrowBegins = Float64Array.from(this.arrows, arrow => begin[arrow.from]);
		let latest = 0;
		this.arrowEnds = Float64Array.from(this.arrows, arrow => latest = Math.max(latest, begin[arrow.to])); // up to each
	}

	// The packet that a call is for: its own, or the nearest one above. undefined: none.
	packetOf(i) {
		while (!this.numbers.has(i) && this.hasParent(i))
			i = this.parent[i];
		return this.numbers.get(i);
	}

	hasParent(i) {
		return this.parent[i] !== NONE;
	}

	// Arguments, result and caller of call i.
	values(i) {
		const flags = this.flags[i], found = {};
		if (!this.texts[i])
			return found;
		this.at = this.texts[i];
		if (flags & ARGS)
			found.args = this.text();
		if (flags & RET)
			found.ret = this.text();
		if (flags & CALLER)
			found.caller = this.text();
		return found;
	}

	// Without returns that have no entry.
	callCnt() {
		let cnt = 0;
		for (let i = 0; i < this.cnt; i++)
			cnt += this.flags[i] & HAS_ENTRY;
		return cnt;
	}

	isWhole(i) {
		return (this.flags[i] & 7) === 7;
	}

	duration(i) {
		return this.slept.has(i) ? this.slept.get(i) : this.length[i];
	}
}
