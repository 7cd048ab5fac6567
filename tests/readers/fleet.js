#!/usr/bin/env node
// Runs files of SQL with DuckDB in the working directory, as they are.
//
//     fleet.js MODULES FILE...
//
// MODULES is the node_modules with @duckdb/node-api. Standard output has a line for each statement that has a result:
// its rows as JSON, lists in the order of the columns; numbers of 64 bits and times are text.
'use strict';
const fs = require('fs');
const path = require('path');

const [modules, ...files] = process.argv.slice(2);
const { DuckDBInstance } = require(path.resolve(modules, '@duckdb/node-api'));

async function main() {
    const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
    for (const file of files) {
        const statements = await connection.extractStatements(fs.readFileSync(file, 'utf8'));
        for (let i = 0; i < statements.count; i++) {
            const result = await (await statements.prepare(i)).runAndReadAll();
            if (result.columnCount && !['Count', 'Success'].includes(result.columnName(0)))
                console.log(JSON.stringify(result.getRowsJson()));
        }
    }
}

main().catch(error => {
    console.error(error.message);
    process.exit(1);
});
