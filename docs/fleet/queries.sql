-- Ten questions to many hosts. The tables are those of duckdb.sql. Times are UTC, durations in nanoseconds.

-- 1. The p99 of tcp_v4_connect, by host and hour.
SELECT host, date_trunc('hour', begin)::TIMESTAMP AS hour, count(*) AS calls, quantile_disc(duration_ns, 0.99) AS p99_ns
FROM calls
WHERE func = 'tcp_v4_connect' AND complete
GROUP BY ALL
ORDER BY host, hour;

-- 2. Which hosts lose events, how many, and how many of their calls are incomplete for it?
SELECT host, gaps, events, count(*) FILTER (NOT complete) AS incomplete_calls, count(*) AS calls
FROM calls
JOIN (SELECT host, count(cpu) AS gaps, sum(events)::BIGINT AS events FROM losses GROUP BY host) USING (host)
GROUP BY ALL
ORDER BY gaps DESC, host;

-- 3. Which functions got slower since 17 November? Medians of durations before and after it, with 50 calls on both sides.
SELECT func, module, quantile_disc(duration_ns, 0.5) FILTER (begin < '2026-11-17') AS before_ns,
    quantile_disc(duration_ns, 0.5) FILTER (begin >= '2026-11-17') AS after_ns, round(after_ns / before_ns, 2) AS ratio
FROM calls
WHERE complete
GROUP BY ALL
HAVING count(*) FILTER (begin < '2026-11-17') >= 50 AND count(*) FILTER (begin >= '2026-11-17') >= 50
    AND after_ns > 1.2 * before_ns
ORDER BY ratio DESC, func;

-- 4. The slowest 20 trees, each with the path of its time: at each level the call that took longest.
WITH RECURSIVE slowest AS (
    SELECT host, task, begin_ns, end_ns, duration_ns, depth, func, begin
    FROM calls WHERE depth = 0 AND complete
    ORDER BY duration_ns DESC, host, begin_ns LIMIT 20
), inside AS (
    SELECT c.host, c.task, c.begin_ns, c.end_ns, c.duration_ns, c.depth, c.func, s.begin_ns AS tree_ns
    FROM calls c JOIN slowest s ON c.host = s.host AND c.task = s.task AND c.depth > 0 AND c.complete
        AND c.begin_ns >= s.begin_ns AND c.end_ns <= s.end_ns
), path AS (
    SELECT host, task, begin_ns AS tree_ns, begin_ns, end_ns, depth, func AS path FROM slowest
    UNION ALL
    SELECT p.host, p.task, p.tree_ns, i.begin_ns, i.end_ns, i.depth, p.path || ' > ' || i.func
    FROM path p JOIN inside i ON i.host = p.host AND i.task = p.task AND i.tree_ns = p.tree_ns
        AND i.depth = p.depth + 1 AND i.begin_ns >= p.begin_ns AND i.end_ns <= p.end_ns
    QUALIFY row_number() OVER (PARTITION BY p.host, p.task, p.tree_ns ORDER BY i.duration_ns DESC, i.begin_ns) = 1
)
SELECT s.host, s.begin, s.duration_ns, arg_max(p.path, p.depth) AS path
FROM slowest s JOIN path p ON p.host = s.host AND p.task = s.task AND p.tree_ns = s.begin_ns
GROUP BY ALL
ORDER BY s.duration_ns DESC, s.host, s.begin;

-- 5. Where does the time go: functions by their time without the calls inside. The caller of a call is the first of its
-- task to end after it, one level above.
WITH inside AS (
    SELECT p.host, p.task, p.end_ns, p.depth, sum(c.duration_ns)::BIGINT AS inside_ns
    FROM (SELECT *, depth - 1 AS above FROM calls WHERE complete AND depth > 0) c
    ASOF JOIN (SELECT * FROM calls WHERE complete) p
        ON c.host = p.host AND c.task = p.task AND c.above = p.depth AND c.end_ns <= p.end_ns
    WHERE p.begin_ns <= c.begin_ns
    GROUP BY ALL
)
SELECT func, module, count(*) AS calls, sum(duration_ns - coalesce(inside_ns, 0))::BIGINT AS self_ns
FROM calls LEFT JOIN inside USING (host, task, end_ns, depth)
WHERE complete
GROUP BY ALL
ORDER BY self_ns DESC, func LIMIT 10;

-- 6. Which calls fail, with which error, on how many hosts? (recorded with --graph-opts retval)
SELECT func, try_cast(ret AS BIGINT) AS error, count(*) AS calls, count(DISTINCT host) AS hosts
FROM calls
WHERE try_cast(ret AS BIGINT) BETWEEN -4095 AND -1
GROUP BY ALL
ORDER BY calls DESC, func, error;

-- 7. Which hosts differ from the others: functions whose median is above twice that of all hosts.
WITH medians AS (
    SELECT host, func, quantile_disc(duration_ns, 0.5) AS host_ns FROM calls WHERE complete GROUP BY ALL
), fleet AS (
    SELECT func, quantile_disc(duration_ns, 0.5) AS fleet_ns FROM calls WHERE complete GROUP BY ALL
)
SELECT host, func, host_ns, fleet_ns
FROM medians JOIN fleet USING (func)
WHERE host_ns > 2 * fleet_ns
ORDER BY host, func;

-- 8. Which programs spend most time in what was traced, on all hosts and on the host with most of it?
SELECT comm, sum(ns)::BIGINT AS total_ns, arg_max(host, ns) AS most_on, max(ns)::BIGINT AS most_ns
FROM (SELECT host, comm, sum(duration_ns) AS ns FROM calls WHERE depth = 0 AND complete GROUP BY ALL)
GROUP BY comm
ORDER BY total_ns DESC;

-- 9. Which functions run on some hosts and not on others?
SELECT func, module, count(DISTINCT host) AS hosts, (SELECT count(DISTINCT host) FROM calls) AS of_hosts
FROM calls
WHERE func IS NOT NULL
GROUP BY ALL
HAVING hosts < of_hosts
ORDER BY hosts, func;

-- 10. The busiest minute of each host: in which most trees began.
SELECT host, arg_max(minute, (trees, -epoch_ms(minute))) AS busiest, max(trees) AS trees
FROM (SELECT host, date_trunc('minute', begin)::TIMESTAMP AS minute, count(*) AS trees
      FROM calls WHERE depth = 0 AND begin IS NOT NULL GROUP BY ALL)
GROUP BY host
ORDER BY trees DESC, host;
