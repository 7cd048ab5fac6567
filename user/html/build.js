// Makes page.html of src/: everything in one file, with nothing that differs from one build to the next.
import { buildSync, transformSync } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const read = name => readFileSync(join(here, "src", name), "utf8");
const program = buildSync({
	entryPoints: [join(here, "src/main.js")], bundle: true, minify: true, write: false, format: "iife",
	target: "es2020", charset: "ascii", legalComments: "none",
}).outputFiles[0].text.trim();
const style = transformSync(read("style.css"), { loader: "css", minify: true }).code.trim();
// What ends the script's element must not stand in it.
if (/<\/script|<!--/i.test(program))
	throw new Error("the program has what ends it");
const libraries = ["d3-array", "d3-color", "d3-dispatch", "d3-drag", "d3-ease", "d3-hierarchy", "d3-interpolate", "d3-selection", "d3-timer", "d3-transition", "d3-zoom", "fflate", "internmap"];
const licences = libraries.map(name => {
	const { version, license } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
	return `${name} ${version} (${license})\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
}).join("\n" + "=".repeat(72) + "\n\n");
const page = read("page.html").replace("<!DOCTYPE html>\n", () => `<!DOCTYPE html>\n<!--\nnetfgraph's page: GPL-2.0. It contains:\n\n${licences.replaceAll("--", "- -")}-->\n`)
	.replace("@STYLE@", () => style).replace("@PROGRAM@", () => program);
if (page.split("@TRACE@").length !== 2)
	throw new Error("there is no single place for the trace");
writeFileSync(join(process.argv[2] || here, "page.html"), page);
