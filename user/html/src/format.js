// Numbers and colours for people.
export function time(ns) {
	const size = Math.abs(ns);
	if (size >= 1e9)
		return (ns / 1e9).toFixed(3) + " s";
	if (size >= 1e6)
		return (ns / 1e6).toFixed(3) + " ms";
	return (ns / 1e3).toFixed(size >= 1e5 ? 1 : 3) + " µs";
}

// What is below its error says only that.
export function netTime(net, error) {
	return net < error ? "< " + time(error) : time(net);
}

// A place in the trace, exact enough for what a pixel is.
export function moment(ns, step) {
	const unit = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "µs"] : [1, "ns"];
	const digits = Math.max(0, Math.ceil(-Math.log10(step / unit[0]) - 1e-9));
	return (ns / unit[0]).toFixed(digits) + " " + unit[1];
}

// The same by its own size: 21.810663 ms.
export function instant(ns, step) {
	const size = Math.abs(ns), unit = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
	return (ns / unit[0]).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit[0]) - 1e-9))) + " " + unit[1];
}

export const count = new Intl.NumberFormat("en").format;

const HUES = [210, 28, 145, 275, 190, 340, 95, 50, 240, 10, 165, 310];

// Functions of one family (tcp_, ip_, __skb) look alike.
export function colours(names, isDark) {
	const families = new Map();
	return names.map(name => {
		const family = name.replace(/^_+/, "").split(/[_ ]/)[0];
		if (!families.has(family))
			families.set(family, families.size);
		const at = families.get(family);
		let spread = 0;
		for (let i = 0; i < name.length; i++)
			spread = (spread * 31 + name.charCodeAt(i)) & 0xff;
		const hue = (HUES[at % HUES.length] + Math.floor(at / HUES.length) * 17) % 360;
		const shade = (isDark ? 34 : 76) + (spread % 9) - 4;
		return `hsl(${hue} ${isDark ? 38 : 58}% ${shade}%)`;
	});
}
