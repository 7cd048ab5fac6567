-- netfgraph's JSON lines (schema 2) as a table of ClickHouse. A line is a call (complete is not null, type is empty), or a loss, a
-- comment, a stack or a tracepoint, as type says; what the others have is null or empty.
CREATE TABLE IF NOT EXISTS netfgraph (
    schema UInt8,
    host LowCardinality(String),
    begin_unix_ns Nullable(Int64), begin_ns Nullable(Int64), end_ns Nullable(Int64), duration_ns Nullable(Int64),
    net_ns Nullable(Int64), net_error_ns Nullable(Int64),
    cpu Nullable(UInt32), tid Nullable(UInt32), pid Nullable(UInt32), cgroup_id Nullable(UInt64), netns Nullable(UInt32),
    comm LowCardinality(String), depth Nullable(UInt16),
    func LowCardinality(String), module LowCardinality(String),
    args Map(LowCardinality(String), String), caller LowCardinality(String), caller_module LowCardinality(String), ret Nullable(String),
    complete Nullable(Bool), returned Nullable(Bool),
    lost Nullable(UInt64), comment String, stack Array(String), source Array(String),
    user_stack Array(Map(LowCardinality(String), Nullable(String))), user_stack_note String,
    type LowCardinality(String), name LowCardinality(String), system LowCardinality(String),
    fields Map(LowCardinality(String), String),
    time_unix_ns Nullable(Int64), time_ns Nullable(Int64),
    time DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(coalesce(begin_unix_ns, time_unix_ns, 0), 'UTC')
) ENGINE = MergeTree PARTITION BY toDate(time) ORDER BY (func, host, time);

-- Numbers and booleans of args, fields and ret become text; null becomes the empty text where a column is not nullable.
INSERT INTO netfgraph SELECT * FROM file('fleet/date=*/*.jsonl*', JSONEachRow, 'schema UInt8, host Nullable(String),
    begin_unix_ns Nullable(Int64), begin_ns Nullable(Int64), end_ns Nullable(Int64), duration_ns Nullable(Int64),
    net_ns Nullable(Int64), net_error_ns Nullable(Int64),
    cpu Nullable(UInt32), tid Nullable(UInt32), pid Nullable(UInt32), cgroup_id Nullable(UInt64), netns Nullable(UInt32),
    comm String, depth Nullable(UInt16), func String, module String,
    args Map(String, String), caller String, caller_module String, ret Nullable(String), complete Nullable(Bool), returned Nullable(Bool),
    lost Nullable(UInt64), comment String, stack Array(String), source Array(String),
    user_stack Array(Map(String, Nullable(String))), user_stack_note String,
    type String, name String, system String, fields Map(String, String), time_unix_ns Nullable(Int64), time_ns Nullable(Int64)')
SETTINGS input_format_json_read_numbers_as_strings = 1, input_format_json_read_bools_as_strings = 1,
    input_format_null_as_default = 1;
