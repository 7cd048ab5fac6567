// Each function's calls and times.
import { time, netTime, count } from "./format.js";

const COLUMNS = [["function", "name"], ["calls", "cnt"], ["total", "total"], ["self", "self"], ["net", "net"], ["net self", "netSelf"], ["mean", "mean"], ["median", "p50"], ["p99", "p99"], ["longest", "max"]];
const NET_COLUMNS = ["net", "netSelf"];

// total: without calls inside another call of the same function.
function sumUp(trace) {
	const rows = trace.funcs.map((func, id) => ({ id, name: func.name, cnt: 0, total: 0, self: 0, max: 0, longest: -1, netCnt: 0, cost: 0, costError: 0, selfCost: 0 }));
	const childCost = new Float64Array(trace.hasNet ? trace.cnt : 0); // calls stand before their callers
	const starts = new Uint32Array(rows.length + 1);
	for (let i = 0; i < trace.cnt; i++) {
		if (!trace.isWhole(i))
			continue;
		const duration = trace.duration(i), func = trace.func[i], row = rows[func];
		let above = i, isInner = false;
		while (!isInner && trace.hasParent(above)) {
			above = trace.parent[above];
			isInner = trace.func[above] === func && trace.isWhole(above);
		}
		starts[func + 1]++;
		row.cnt++;
		row.total += isInner ? 0 : duration;
		row.self += duration;
		if (duration >= row.max) {
			row.max = duration;
			row.longest = i;
		}
		const isBelow = trace.hasParent(i) && trace.context[trace.parent[i]] === trace.context[i];
		if (isBelow)
			rows[trace.func[trace.parent[i]]].self -= trace.isWhole(trace.parent[i]) ? duration : 0;
		if (isNaN(trace.net[i]))
			continue;
		const cost = duration - trace.net[i];
		row.netCnt++;
		row.cost += isInner ? 0 : cost;
		row.costError += isInner ? 0 : trace.netError[i];
		row.selfCost += Math.max(cost - childCost[i], 0);
		if (isBelow)
			childCost[trace.parent[i]] += cost;
	}
	for (let id = 0; id < rows.length; id++)
		starts[id + 1] += starts[id];
	const durations = new Float64Array(starts[rows.length]), next = starts.slice();
	for (let i = 0; i < trace.cnt; i++) {
		if (trace.isWhole(i))
			durations[next[trace.func[i]]++] = trace.duration(i);
	}
	for (const row of rows) {
		const own = durations.subarray(starts[row.id], starts[row.id + 1]).sort();
		row.mean = row.cnt ? own.reduce((a, b) => a + b, 0) / row.cnt : 0;
		row.p50 = own[Math.floor((own.length - 1) * 0.5)];
		row.p99 = own[Math.ceil((own.length - 1) * 0.99)];
		row.self = Math.max(row.self, 0);
		if (row.netCnt !== row.cnt || !row.cnt)
			continue;
		row.net = Math.max(row.total - row.cost, 0);
		row.netSelf = Math.max(row.self - row.selfCost, 0);
		row.netError = row.costError;
		row.netSelfError = row.cost ? row.costError * row.selfCost / row.cost + 1 : 0;
	}
	return rows.filter(row => row.cnt);
}

export class Table {
	constructor(view) {
		this.view = view;
		this.box = document.getElementById("table");
		this.column = "self";
		this.isUp = false;
	}

	show() {
		if (!this.rows)
			this.rows = sumUp(this.view.trace);
		this.columns = COLUMNS.filter(column => this.view.trace.hasNet || !NET_COLUMNS.includes(column[1]));
		this.draw();
	}

	sortBy(key) {
		this.isUp = this.column === key ? !this.isUp : key === "name";
		this.column = key;
		this.draw();
	}

	draw() {
		if (!this.rows)
			return;
		const head = document.createElement("tr"), body = document.createDocumentFragment();
		for (const [title, key] of this.columns) {
			const cell = head.appendChild(document.createElement("th"));
			cell.textContent = title;
			if (key === this.column)
				cell.setAttribute("aria-sort", this.isUp ? "ascending" : "descending");
			cell.addEventListener("click", () => this.sortBy(key));
		}
		const { matches } = this.view, sign = this.isUp ? 1 : -1, key = this.column;
		const rows = this.rows.filter(row => !matches || matches[row.id])
			.sort((a, b) => sign * (key === "name" ? a.name.localeCompare(b.name) : (a[key] || 0) - (b[key] || 0)));
		const whole = this.rows.reduce((sum, row) => sum + row.self, 0) || 1;
		for (const row of rows)
			body.append(this.line(row, whole));
		this.box.querySelector("thead").replaceChildren(head);
		this.box.querySelector("tbody").replaceChildren(body);
	}

	line(row, whole) {
		const line = document.createElement("tr");
		const add = text => {
			const cell = line.appendChild(document.createElement("td"));
			cell.textContent = text;
			return cell;
		};
		const name = add(row.name);
		name.title = "show the longest call";
		name.addEventListener("click", () => this.view.open(row.longest));
		add(count(row.cnt));
		add(time(row.total));
		const bar = add(time(row.self)).appendChild(document.createElement("span"));
		bar.className = "share";
		bar.style.setProperty("--part", (100 * row.self / whole).toFixed(1) + "%");
		for (const key of this.view.trace.hasNet ? NET_COLUMNS : [])
			add(row[key] === undefined ? "" : netTime(row[key], row[key + "Error"]));
		for (const key of ["mean", "p50", "p99", "max"])
			add(time(row[key]));
		return line;
	}
}
