#!/usr/bin/env node
// Reads OTLP as JSON lines with OpenTelemetry's own protobuf definitions, and prints what they understood.
//
//     otlp.js MODULES FILE
//
// MODULES is the node_modules with @opentelemetry/otlp-transformer, whose generated code are the definitions. Each line has
// to be an ExportTraceServiceRequest as the specification writes it in JSON: ids in hexadecimal, enums as numbers, 64-bit
// numbers as strings. It is encoded as protobuf and decoded again: a field that the definitions do not have, or have with
// another type, does not come back. Standard output has a span a line: {resource, span}, as decoded.
'use strict';
const fs = require('fs');
const path = require('path');

const [modules, file] = process.argv.slice(2);
const root = require(path.resolve(modules, '@opentelemetry/otlp-transformer/build/src/generated/root.js'));
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const options = { longs: String, enums: Number, bytes: String };
const idBytes = { traceId: 16, spanId: 8, parentSpanId: 8 };

// Ids, which protobuf's JSON has as base64 and OTLP's has not.
function recode(value, convert) {
    if (Array.isArray(value))
        return value.map(item => recode(item, convert));
    if (value === null || typeof value !== 'object')
        return value;
    return Object.fromEntries(Object.entries(value).map(
        ([key, item]) => [key, key in idBytes ? convert(item, key) : recode(item, convert)]));
}

function toBase64(hex, key) {
    if (typeof hex !== 'string' || !new RegExp(`^[0-9a-f]{${2 * idBytes[key]}}$`).test(hex) || /^0+$/.test(hex))
        throw new Error(`${key} is ${hex}`);
    return Buffer.from(hex, 'hex').toString('base64');
}

function sorted(value) {
    if (Array.isArray(value))
        return value.map(sorted);
    if (value === null || typeof value !== 'object')
        return value;
    return Object.fromEntries(Object.keys(value).sort().map(key => [key, sorted(value[key])]));
}

function understand(text) {
    const given = JSON.parse(text);
    const message = Request.fromObject(recode(given, toBase64));
    const bad = Request.verify(message);
    if (bad)
        throw new Error(bad);
    const bytes = Request.encode(message).finish();
    const back = recode(Request.toObject(Request.decode(bytes), options),
        base64 => Buffer.from(base64, 'base64').toString('hex'));
    const [want, got] = [given, back].map(one => JSON.stringify(sorted(one)));
    if (want !== got) {
        let at = 0;
        while (want[at] === got[at])
            at++;
        throw new Error(`not what the definitions know: ${want.slice(Math.max(0, at - 80), at + 80)}`);
    }
    return back;
}

const lines = fs.readFileSync(file, 'utf8').split('\n');
if (lines.pop() !== '')
    throw new Error('the last line has no end');
for (const [index, line] of lines.entries()) {
    try {
        for (const { resource, scopeSpans } of understand(line).resourceSpans)
            for (const { spans } of scopeSpans)
                for (const span of spans)
                    console.log(JSON.stringify({ resource: resource.attributes, span }));
    } catch (error) {
        console.error(`line ${index + 1}: ${error.message}`);
        process.exit(1);
    }
}
