#!/usr/bin/env python3
"""Files of tests/tools/shapes.py, one size and four times that, through every output.

Four times the events take no more than six times the processor time (and what a run takes at
least), no file floods, and memory stays small beside the file. shapecheck.py PROGRAM [SHAPE...]
"""
import os
import resource
import subprocess
import sys
import tempfile

LONGEST_S = 5  # of processor time, at four times the size
LEAST_S = 0.3  # a difference below is noise
MEMORY_LIMIT = 1 << 30
VIEWS = ["report", "report --format json", "report --format chrome", "report --format perfetto", "report --format html",
         "report --format folded", "report --format trace.dat", "report --format trace.dat.v7",
         "report --slower-than 1us", "report --graph-opts tail -T *", "profile --callers", "latency f"]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CPU, (4 * LONGEST_S, 4 * LONGEST_S))


def run(program, view, path):
    """Return: exit status, seconds, bytes of output, bytes of memory."""
    words = [program, *view.split()]
    if path.endswith(".txt"):
        words += ["--from", "ftrace"]
    words += [path] if words[1] == "report" else ["--input", path]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          preexec_fn=limit) as child:
        out = 0
        most = 400 * os.path.getsize(path) + (64 << 20)
        while part := child.stdout.read(1 << 20):
            out += len(part)
            if out > most:
                child.kill()
                break
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
    return status, usage.ru_utime + usage.ru_stime, out, usage.ru_maxrss * 1024


def complaints(sizes, first, second):
    """What is wrong with a run of one size and a run of four times that."""
    status, seconds, out, memory = second
    if os.WIFSIGNALED(status):
        yield "ended by signal %d" % os.WTERMSIG(status)
    if seconds > LONGEST_S or seconds > 6 * first[1] + LEAST_S:
        yield "%.2f s, and %.2f s of a quarter" % (seconds, first[1])
    # a word of 8 bytes is at most a row of two columns for each of 512 callers, and its name
    if out > (1 << 20) + 300 * sizes[1]:
        yield "%d bytes of output from %d" % (out, sizes[1])
    if memory > (96 << 20) + 24 * sizes[1]:
        yield "%d bytes of memory for %d" % (memory, sizes[1])


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        scales = [folder + "/1", folder + "/4"]
        for scale in scales:
            os.mkdir(scale)
            subprocess.run([os.path.dirname(__file__) + "/shapes.py", scale, scale[-1]], check=True)
        for name in sorted(os.listdir(scales[0])):
            if wanted and name not in wanted and name.split(".")[0] not in wanted:
                continue
            paths = [scale + "/" + name for scale in scales]
            sizes = [os.path.getsize(path) for path in paths]
            for view in VIEWS:
                last = None
                for tries in range(1, 4):  # a host that takes its processor away bills that time to us
                    wrong = list(complaints(sizes, *(run(program, view, path) for path in paths)))
                    if not wrong:
                        break
                    last = wrong
                if last and not wrong:
                    print("tried %d times: %s of %s: %s" % (tries, view, name, ", ".join(last)))  # as tests/tries.sh says
                passed += not wrong
                failed += bool(wrong)
                for what in wrong:
                    print("FAIL %s of %s: %s" % (view, name, what))
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
