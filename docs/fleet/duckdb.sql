-- netfgraph's JSON lines (schema 2) as tables of DuckDB. Files lie in fleet/date=YYYY-MM-DD/, compressed with zstd or not.

-- DuckDB does not know how many lines files have; for few, it would compare each call with each to find its caller.
SET asof_loop_join_threshold = 0;

CREATE OR REPLACE VIEW lines AS
SELECT * FROM read_json('fleet/date=*/*.jsonl*', format = 'newline_delimited', hive_partitioning = true,
    hive_types = {'date': DATE},
    columns = {
        'schema': 'UTINYINT', 'host': 'VARCHAR',
        -- calls
        'begin_unix_ns': 'BIGINT', 'begin_ns': 'BIGINT', 'end_ns': 'BIGINT', 'duration_ns': 'BIGINT',
        'net_ns': 'BIGINT', 'net_error_ns': 'BIGINT',
        'cpu': 'UINTEGER', 'tid': 'UINTEGER', 'pid': 'UINTEGER', 'cgroup_id': 'UBIGINT',
        'netns': 'UINTEGER', 'comm': 'VARCHAR', 'depth': 'USMALLINT',
        'func': 'VARCHAR', 'module': 'VARCHAR', 'args': 'JSON', 'caller': 'VARCHAR', 'caller_module': 'VARCHAR', 'ret': 'JSON',
        'complete': 'BOOLEAN', 'returned': 'BOOLEAN',
        -- losses, comments, stacks, tracepoints
        'lost': 'UBIGINT', 'comment': 'VARCHAR', 'stack': 'VARCHAR[]', 'source': 'VARCHAR[]',
        'user_stack': 'JSON[]', 'user_stack_note': 'VARCHAR',
        'type': 'VARCHAR', 'name': 'VARCHAR', 'system': 'VARCHAR', 'fields': 'JSON',
        'time_unix_ns': 'BIGINT', 'time_ns': 'BIGINT'
    });

-- A row for each call that ended. A task: the idle task is another on each CPU.
CREATE OR REPLACE VIEW calls AS
SELECT date, host, make_timestamp_ns(begin_unix_ns) AS begin, begin_unix_ns, begin_ns, end_ns, duration_ns, net_ns, net_error_ns, cpu, tid,
    CASE WHEN tid = 0 THEN -1 - cpu::BIGINT ELSE tid END AS task, pid, cgroup_id, netns, comm, depth, func, module, args, caller,
    caller_module, ret, complete, returned
FROM lines WHERE complete IS NOT NULL;

-- A row for each place where events are missing; events is null where their number is not known. Losses without a place are one
-- row of each file, whose cpu and time are null.
CREATE OR REPLACE VIEW losses AS
SELECT date, host, make_timestamp_ns(time_unix_ns) AS time, cpu, lost AS events
FROM lines WHERE type = 'lost';
