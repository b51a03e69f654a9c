#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products with a matrix in a file that is several times as large as the memory that may be used.

    bench/out_of_core.py --tulle build/tulle --folder DISK [--budget 256] [--times 4] [--cols 1 8] [--format csr auto]
                         [--rounds 3]

A cantilever's matrix of --times the budget (as CSR) is written to --folder in each format and multiplied by `tulle stream --source file`, in a
process whose data (RLIMIT_DATA) are limited to less than the matrix: a team reserves address space for its segments
beside what it allocates, so the limit is twice --memory and 128 MB; what was really resident at most is told as well.
Beside it, in turn with it: the same file by plain reads around the page cache into memory on huge pages, as many and as
large at a time as the stream has under way, and the product with the matrix in memory. Target: 90 % of the slower of these, medians of
--rounds; and that by /proc/self/io the matrix is read once a pass.
"""
import argparse
import ctypes
import json
import mmap
import os
import resource
import statistics
import subprocess
import tempfile
import threading
import time

from compare import commit, machine, run

READERS, PART = 3, 4 << 20  # of src/io/rows_file.c
HUGE = 2 << 20
MB = 1e6
TARGET, ONCE = 0.90, 1.01


def huge_room():
    """Memory of one part on huge pages, as a stream's buffers are: a request then has few pieces, and is twice as fast."""
    room = mmap.mmap(-1, PART + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.madvise(mmap.MADV_HUGEPAGE)
    skip = -ctypes.addressof(ctypes.c_char.from_buffer(room)) % HUGE
    view = memoryview(room)[skip:skip + PART]
    view[::4096] = bytes(PART // 4096)
    return view


def plain_reads(path):
    """Bytes a second of one pass over a file."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size = os.fstat(file).st_size
    offsets = iter(range(0, size, PART))
    lock = threading.Lock()

    def reader(room):
        while True:
            with lock:
                offset = next(offsets, None)
            if offset is None:
                return
            os.preadv(file, [room], offset)

    threads = [threading.Thread(target=reader, args=(huge_room(),)) for _ in range(READERS)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(file)
    return size / (time.monotonic() - start)


def limited(command, data):
    """What a process said that may have so many bytes of data, and how much was resident at most."""
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))

    # threads of a BLAS, which nobody needs here, would each take a buffer
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}) as child:
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if child.returncode or not lines:
        raise SystemExit(f"{' '.join(command)}: {said.strip()}")
    return json.loads(lines[-1]), usage.ru_maxrss * 1024


def nodes_for(bytes_wanted, dof):
    nodes = 8
    while 12 * (3 * nodes - 2) ** 3 * dof ** 2 < bytes_wanted:
        nodes += 1
    return nodes


def measure(options, path, cols, vectors):
    budget = options.budget * MB
    # beside the budget: X and Y on the host, row pointers, a part of the file
    memory = budget + vectors + 48 * MB
    data = int(2 * memory + 128 * MB)
    common = [options.tulle, "stream", path, "--cols", str(cols), "--pes", "1", "--threads", str(options.threads),
              "--products", str(options.products), "--json", "--quiet"]
    told, plain, streamed, inside, resident = None, [], [], [], 0
    for _ in range(options.rounds):
        plain.append(statistics.median(plain_reads(path) for _ in range(options.products)))
        told, peak = limited(common + ["--source", "file", "--budget", f"{budget:.0f}", "--memory", f"{memory:.0f}"], data)
        streamed.append(told["matrix"] / told["seconds"])
        resident = max(resident, peak)
        objects, wrong = run(common, {}, options.limit)
        if wrong:
            raise SystemExit(f"in memory: {wrong}")
        inside.append(told["matrix"] / objects[-1]["seconds"])
    return told, statistics.median(plain), statistics.median(streamed), statistics.median(inside), data, resident


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--folder", default=".", help="on the disk that is to be measured")
    parser.add_argument("--budget", type=float, default=256, help="MB that slabs, X and Y may take")
    parser.add_argument("--times", type=float, default=4, help="the matrix is so many times as large")
    parser.add_argument("--dof", type=int, default=3)
    parser.add_argument("--cols", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--format", nargs="+", default=["csr", "auto"], help="of the file, as tulle gen takes them")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--products", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one command")
    options = parser.parse_args()
    nodes = nodes_for(options.times * options.budget * MB, options.dof)
    verdicts = {"rate": [], "once": []}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, "matrix.bsp.h5")
        print("| file | columns | matrix MB | budget MB | data limit MB | resident MB | plain reads GB/s | in memory GB/s "
              "| from the file GB/s | of the slower | seconds | from storage a pass | slabs | read |\n" + "|---" * 14 + "|")
        for form in options.format:
            subprocess.run([options.tulle, "gen", f"cantilever:nodes={nodes},dof={options.dof}", "--format", form, "-o", path,
                            "-q"], check=True)
            for cols in options.cols:
                vectors = 2 * nodes ** 3 * options.dof * cols * 8
                told, plain, streamed, inside, data, resident = measure(options, path, cols, vectors)
                share = streamed / min(plain, inside)
                io = told.get("io", {"asked": 0, "storage": 0})
                counted = io["storage"] or io["asked"]
                verdicts["rate"].append(share >= TARGET)
                verdicts["once"].append(told["read"] <= counted <= ONCE * told["matrix"] if counted else None)
                passed = f"{counted / told['matrix']:.4f} of the matrix" if counted else "not counted"
                print(f"| {told['format']} | {cols} | {told['matrix'] / MB:.0f} | {options.budget:.0f} | {data / MB:.0f} | "
                      f"{resident / MB:.0f} | {plain / 1e9:.2f} | {inside / 1e9:.2f} | {streamed / 1e9:.2f} | {share:.2f} | "
                      f"{told['matrix'] / streamed:.3g} | {passed} | {told['slabs']} | {told['mode']} |", flush=True)
    print(f"\n- at least {100 * TARGET:.0f} % of the slower: {sum(verdicts['rate'])} of {len(verdicts['rate'])}")
    known = [good for good in verdicts["once"] if good is not None]
    print(f"- the matrix is read once a pass: {sum(known)} of {len(known)}" if known else
          "- the matrix is read once a pass: not measured, the system does not count it")
    print(f"\n{machine()}, {commit()}")


if __name__ == "__main__":
    main()
