// Which track each call is on, and the calls of each row of a track by their beginnings.
import { CONTEXTS } from "./trace.js";

const HEAD = 22, ROW = 18, GAP = 8;
export const SIZES = { HEAD, ROW, GAP };

class Track {
	constructor(group, label, cpu) {
		this.group = group;
		this.label = label;
		this.cpu = cpu; // -1: of a thread, which may run on any
		this.rowCnt = 0;
		this.comments = [];
	}
}

function taskLabel(task) {
	return task.kind === 0 ? `${task.name} ${task.tid}` : task.name;
}

// By the process, and by the CPU what belongs to no process.
function taskGroup(task) {
	if (task.kind)
		return ["CPU " + task.cpu, 2, task.cpu];
	if (task.pid)
		return [`${task.process || task.name} (process ${task.pid})`, 0, task.pid];
	return ["threads of unknown processes", 1, 0];
}

function addTrack(tracks, groups, [title, order, number], rank, label, cpu) {
	if (!groups.has(title))
		groups.set(title, { title, order, number });
	const track = new Track(groups.get(title), label, cpu);
	track.rank = rank;
	track.id = tracks.length;
	tracks.push(track);
	return track;
}

// The track of each call: of its task, or of the CPU for what runs in interrupts.
function byTask(trace, tracks, groups) {
	const ofTask = [], ofCpu = new Map();
	const where = new Uint32Array(trace.cnt);
	for (let i = 0; i < trace.cnt; i++) {
		const context = trace.context[i], id = trace.task[i];
		let track;
		if (context) {
			const key = trace.home[i] * 4 + context;
			track = ofCpu.get(key);
			if (!track) {
				track = addTrack(tracks, groups, ["CPU " + trace.home[i], 2, trace.home[i]], context, CONTEXTS[context], trace.home[i]);
				ofCpu.set(key, track);
			}
		} else {
			track = ofTask[id];
			if (!track) {
				const task = trace.tasks[id];
				track = addTrack(tracks, groups, taskGroup(task), task.kind ? 0 : task.tid, taskLabel(task), task.kind ? task.cpu : -1);
				ofTask[id] = track;
			}
		}
		where[i] = track.id;
	}
	const ofAny = (cpu, label) => tracks.find(track => track.cpu === cpu) || addTrack(tracks, groups, ["CPU " + cpu, 2, cpu], 0, label, cpu);
	for (const loss of trace.losses)
		ofAny(loss.cpu, "lost events");
	for (const comment of trace.comments)
		(ofTask[comment.task] || ofAny(comment.cpu, "comments")).comments.push(comment);
	return [where, trace.level];
}

function byCpu(trace, tracks, groups) {
	const ofCpu = [];
	const where = new Uint32Array(trace.cnt);
	const add = cpu => {
		if (!ofCpu[cpu])
			ofCpu[cpu] = addTrack(tracks, groups, ["CPU " + cpu, 0, cpu], 0, "all tasks", cpu);
		return ofCpu[cpu];
	};
	for (let i = 0; i < trace.cnt; i++)
		where[i] = add(trace.cpu[i]).id;
	for (const comment of trace.comments)
		add(comment.cpu).comments.push(comment);
	for (const loss of trace.losses)
		add(loss.cpu);
	return [where, trace.depth];
}

// Rows are slices of one array of calls. sums: the lengths before each; torn: how many before it are incomplete; ends: the
// latest end up to each.
function fillRows(trace, tracks, where, level) {
	const { cnt, begin, length } = trace;
	for (let i = 0; i < cnt; i++) {
		if (level[i] >= tracks[where[i]].rowCnt)
			tracks[where[i]].rowCnt = level[i] + 1;
	}
	let rowCnt = 0;
	for (const track of tracks) {
		track.firstRow = rowCnt;
		rowCnt += track.rowCnt;
	}
	const starts = new Uint32Array(rowCnt + 1);
	for (let i = 0; i < cnt; i++)
		starts[tracks[where[i]].firstRow + level[i] + 1]++;
	for (let row = 0; row < rowCnt; row++)
		starts[row + 1] += starts[row];
	const calls = new Uint32Array(cnt), next = starts.slice();
	for (let i = 0; i < cnt; i++)
		calls[next[tracks[where[i]].firstRow + level[i]]++] = i;
	const begins = new Float64Array(cnt), ends = new Float64Array(cnt), sums = new Float64Array(cnt + 1), torn = new Uint32Array(cnt + 1);
	for (let row = 0; row < rowCnt; row++) {
		const part = calls.subarray(starts[row], starts[row + 1]);
		for (let k = 1; k < part.length; k++) {
			if (begin[part[k]] < begin[part[k - 1]]) {
				part.sort((a, b) => begin[a] - begin[b] || length[b] - length[a]);
				break;
			}
		}
		for (let at = starts[row], latest = 0; at < starts[row + 1]; at++) {
			const i = calls[at];
			latest = Math.max(latest, begin[i] + length[i]);
			begins[at] = begin[i];
			ends[at] = latest;
			sums[at + 1] = sums[at] + length[i];
			torn[at + 1] = torn[at] + !trace.isWhole(i);
		}
		if (starts[row + 1] < cnt)
			sums[starts[row + 1]] = row + 1 < rowCnt ? sums[starts[row + 1]] : 0;
	}
	return { calls, begins, ends, sums, torn, starts };
}

// Tops of the tracks, one below the other.
function place(tracks) {
	let y = 4, group = null;
	for (const track of tracks) {
		if (track.group !== group) {
			group = track.group;
			track.head = y;
			y += HEAD;
		}
		track.top = y;
		track.bottom = y + Math.max(track.rowCnt, 1) * ROW;
		y = track.bottom + GAP;
	}
	return y;
}

export function makeLayout(trace, kind) {
	const tracks = [], groups = new Map();
	const [where, level] = (kind === "cpus" ? byCpu : byTask)(trace, tracks, groups);
	const rows = fillRows(trace, tracks, where, level);
	const shown = [...tracks].sort((a, b) => a.group.order - b.group.order || a.group.number - b.group.number || a.rank - b.rank || a.label.localeCompare(b.label));
	return { ...rows, tracks, shown, where, level, height: place(shown) };
}
