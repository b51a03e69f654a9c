#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quarter_hour.py SOURCE BUILD whole|parts: bench/gpu/quarter_hour.sh and gpu_measure under emulation, with small inputs.

A run has every row of its list, with rivals, and then a table; a pattern restricts it; what hangs, ends by itself, or
finds no memory costs its limit and no more, and is said.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

import tap
from tap import ok

SOURCE, BUILD = map(os.path.abspath, sys.argv[1:3])
RUNS = sys.argv[3]
SCRIPT = os.path.join(SOURCE, "bench", "gpu", "quarter_hour.sh")
LIST = os.path.join(SOURCE, "bench", "gpu", "measurements.list")
MEASURE = os.path.join(BUILD, "emul", "emul_measure")
HOUR = 3600  # of ctest's limit, which finds what does not end
PLANTED = ["planted/right|9|-|true", "planted/hangs|2|-|sleep 600", "planted/wrong|9|-|false",
           "planted/alone|9|alone|true", "product/staging|30|-|test_product_staging cuda"]
SANITIZER = """#!/bin/sh
case "$*" in
*racecheck*block_spgemm*) echo '========= Error: planted' && exit 9 ;;
*initcheck*) exec sleep 600 ;;
*together*) exit 9 ;;
esac
"""
os.environ["TULLE_MODULE_PATH"] = os.path.join(BUILD, "emul")


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def measured(lines):
    return [x for x in lines if x.get("kind") == "measurement" and "left_out" not in x]


def name(x):
    return "/".join((x["part"], x["operand"], x["variant"], x["type"]))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def attempt(folder, seconds, pattern=""):
    """A run in a folder of its own: its lines, its files, what it printed."""
    out = os.path.join(folder, "out" + str(len(pattern)))
    tests = write(os.path.join(folder, "tests"), "\n".join(PLANTED) + "\n")
    os.chmod(write(os.path.join(folder, "compute-sanitizer"), SANITIZER), 0o755)
    done = subprocess.run(["sh", SCRIPT, "try", BUILD, str(seconds), pattern], cwd=SOURCE, capture_output=True, text=True,
                          env=os.environ | {"OUT": out, "TESTS": tests, "PATH": folder + ":" + os.environ["PATH"]}, check=False, timeout=HOUR)
    print("# " + (done.stdout + done.stderr).replace("\n", "\n# "))
    files = os.listdir(out)
    results = [f for f in files if f.endswith(".jsonl")]
    ok(done.returncode == 0 and len(results) == 1 and results[0].startswith("gpu-GPU-0-of-the-emulation-"),
       "a run ends, with a file of lines that is named by the card")
    with open(os.path.join(out, results[0]), encoding="utf-8") as file:
        return os.path.join(out, results[0]), lines_of(file.read()), files, done.stdout


def plan(*words):
    done = subprocess.run([MEASURE, LIST, "--small", "--plan", *words], capture_output=True, text=True, check=True)
    return [line.split(" ")[1] for line in done.stdout.splitlines()]


def rivals_of(part):
    return {"spmm": 1, "spgemm": 1, "blocks": 1, "gemm": 1, "solves": 1, "slabs": 2}.get(part, 0)


def ours_of(part):
    return {"rates": 10, "sign": 4, "slabs": 5, "stream": 3, "solves": 2, "functions": 2}.get(part, 1)


def whole(folder):
    path, lines, files, said = attempt(folder, 60)
    rows = measured(lines)
    wanted = plan()
    missing = [w for w in wanted
               if sum(name(x) == w and "rival" in x for x in rows) != rivals_of(w.partition("/")[0]) or
               sum(name(x) == w and "rival" not in x for x in rows) != ours_of(w.partition("/")[0])]
    for w in missing:
        print(f"# not as wanted: {w}")
    ok(len(wanted) > 40 and not missing, f"each of {len(wanted)} measurements has its rows, and its rivals'")
    ok({name(x) for x in rows} == set(wanted), "and there are no others")
    ok({x["round"] for x in rows} == {1, 2, 3, 4}, "all rounds end")
    ok(not any("left_out" in x or "error" in x for x in lines), "nothing is left out")
    ok(all(x.get("seconds", x.get("bytes_per_second", 0)) > 0 for x in rows), "each has a time")
    ok(all("max_difference" in x for x in rows if x["part"] not in ("rates", "sign", "systems")),
       "each result was compared")
    results = {x["name"]: x["result"] for x in lines if x["kind"] == "test"}
    ok(results == {"planted/right": "ok", "planted/hangs": "cut off", "planted/wrong": "failed", "planted/alone": "ok",
                   "product/staging": "ok"}, f"tests have run, one that hangs has been cut off: {results}")
    tools = {(x["tool"], x["suite"].partition(" ")[0]): x["result"] for x in lines if x["kind"] == "sanitizer"}
    ok(len(tools) == 8 and tools["racecheck", "test_device_block_spgemm"] == "found" and
       tools["initcheck", "test_device_block_spgemm"] == "cut off" and list(tools.values()).count("clean") == 6,
       f"tools have run, one that hangs has been cut off: {tools}")
    ok(len(files) <= 7, f"{len(files)} files, at most seven")
    printed = {line.split(" ")[0] for line in said.splitlines()}
    ok({w for w in wanted if w.partition("/")[0] not in ("rates", "sign")} <= printed, "the table has every row")
    ok("cut off: planted/hangs" in said and "failed: planted/wrong" in said and
       "sanitizer: racecheck test_device_block_spgemm" in said, "and what went wrong")
    done = subprocess.run([sys.executable, os.path.join(SOURCE, "test", "emul", "gpu_table.py"), SOURCE, path],
                          capture_output=True, text=True, check=False)
    print("# " + done.stdout.replace("\n", "\n# "))
    ok(done.returncode == 0, "the tables of doc/performance.md are made of it")


def restricted(folder):
    _, lines, _, _ = attempt(folder, 30, "spgemm/(er1M|grid)|planted/r")
    ok({name(x) for x in measured(lines)} == {"spgemm/er1M/-/f64", "spgemm/grid384/-/f64", "spgemm/er1M/-/f32"} and
       [x["name"] for x in lines if x["kind"] == "test"] == ["planted/right"], "a pattern restricts tests and measurements")


def write_list(folder, *rows):
    return write(os.path.join(folder, "list"), "input copies 1 1\ninput small er:n=500,degree=20 -\n"
                 "input large fem:nodes=48 -\ninput gone @nothing -\n" + "".join(row + "\n" for row in rows))


def measure(folder, rows, *words, **settings):
    done = subprocess.run([MEASURE, write_list(folder, *rows), *words], capture_output=True, text=True, check=False,
                          env=os.environ | settings, timeout=HOUR)
    return done.returncode, lines_of(done.stdout)


def why(lines):
    return [(x["left_out"], x["why"]) for x in lines if "left_out" in x]


QUICK, LONG, LAST = "1 rates copies - - 9", "1 spmm large 400 f64 2", "2 spmm small 2 f64 30"


def limits(folder):
    status, lines = measure(folder, [QUICK, LONG, LAST])
    ok(status == 1 and [(n, w.startswith("cut off after ")) for n, w in why(lines)] == [("spmm/large/400/f64", True)] and
       "spmm/small/2/f64" in map(name, measured(lines)), "what takes too long is cut off, and the rest goes on")
    status, lines = measure(folder, [QUICK, LONG.replace("f64 2", "f64 900"), LAST], "--seconds", "6")
    ok(status == 1 and len(why(lines)) == 1 and {name(x) for x in measured(lines)} == {"rates/copies/-/-"},
       "the time of all is kept too")
    path = write_list(folder, LONG.replace("f64 2", "f64 900"), LAST)
    with subprocess.Popen([MEASURE, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        run.stderr.readline()  # the name of the measurement, which has begun
        with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
        rest, _ = run.communicate()
    lines = lines_of(rest)
    ok(run.returncode == 1 and why(lines) == [("spmm/large/400/f64", "ended by Killed")] and
       name(measured(lines)[-1]) == "spmm/small/2/f64", "what ends its process is said, and the rest goes on")


def refused(folder):
    """The GPU has no memory for SpGEMM, whose result is larger than what else there is."""
    status, lines = measure(folder, ["1 spgemm small - f64 30", "1 nothing small - f64 9", "1 spmm gone 2 f64 9",
                                     "1 spmm small 2 f64 30"],
                            EMUL_MEMORY="1000000")
    errors = [x["error"] for x in lines if "error" in x]
    ok(errors == ["out of memory"], f"a rival without memory: {errors}")
    ok(status == 1 and ("nothing/small/-/f64", "there is no such part") in why(lines), "a part that there is not")
    ok(any(n == "spmm/gone/2/f64" and "nothing.mtx.gz" in w for n, w in why(lines)), "a file that is not here")
    ok([x["seconds"] > 0 for x in lines if x["part"] == "spmm" and "rival" in x] == [True], "what is behind it is measured")
    done = subprocess.run([MEASURE, write_list(folder, "1 spmm unknown 2 f64 30")], capture_output=True, text=True, check=False)
    ok(done.returncode == 2 and "line 5" in done.stderr, "a line that is wrong is named")


with tempfile.TemporaryDirectory() as place:
    for run in (whole,) if RUNS == "whole" else (restricted, limits, refused):
        run(place)
tap.done()
