-- netfgraph's JSON lines (schema 2) as a table of Spark SQL. Numbers and booleans of args, fields and ret become text.
CREATE TABLE netfgraph (
    schema INT, host STRING,
    begin_unix_ns BIGINT, begin_ns BIGINT, end_ns BIGINT, duration_ns BIGINT,
    net_ns BIGINT, net_error_ns BIGINT,
    cpu BIGINT, tid BIGINT, pid BIGINT, cgroup_id BIGINT, netns BIGINT, comm STRING, depth INT,
    func STRING, module STRING, args MAP<STRING, STRING>, caller STRING, caller_module STRING, ret STRING,
    complete BOOLEAN, returned BOOLEAN,
    lost BIGINT, comment STRING, stack ARRAY<STRING>, source ARRAY<STRING>, user_stack ARRAY<STRUCT<ip: STRING, symbol: STRING, offset: BIGINT, file: STRING, build_id: STRING>>,
    user_stack_note STRING,
    type STRING, name STRING, system STRING, fields MAP<STRING, STRING>, time_unix_ns BIGINT, time_ns BIGINT,
    date DATE
) USING json PARTITIONED BY (date) LOCATION 'fleet';

MSCK REPAIR TABLE netfgraph;
