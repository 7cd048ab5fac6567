#!/usr/bin/env node
// Runs a file of SQL with ClickHouse (chDB) in the working directory, as it is, and then a question.
//
//     fleet.ch.js MODULES FILE QUESTION
//
// MODULES is the node_modules with chdb. Standard output has the question's answer as JSON lines.
'use strict';
const fs = require('fs');
const path = require('path');

const [modules, file, question] = process.argv.slice(2);
const { Session } = require(path.resolve(modules, 'chdb'));
const session = new Session();
try {
    const statements = fs.readFileSync(file, 'utf8').replace(/^--.*$/mg, '').split(/;\s*$/m);
    for (const statement of statements.filter(text => text.trim()))
        session.query(statement);
    process.stdout.write(session.query(question, 'JSONCompactEachRow'));
} finally {
    session.cleanup();
}
