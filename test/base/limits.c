/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a process, from files of machines that are not this one: limits FOLDER, where they are written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host/cores.h"
#include "base/host/limits.h"
#include "machine_files.h"
#include "tap.h"

static char root[1024];

static void put(const char *path, const char *text)
{
    machine_put(root, path, text);
}

/* A new machine: 8 GB free, no group. */
static void machine(const char *name, const char *groups, const char *mounts)
{
    char *last = strrchr(root, '/');
    snprintf(last, sizeof root - (size_t)(last - root), "/%s", name);
    (void)mkdir(root, 0777);
    put("proc/meminfo",
        "MemTotal: 16000000 kB\nMemAvailable:    8000000 kB\nCommitLimit: 9000000 kB\nCommitted_AS: 8999000 kB\n");
    put("proc/sys/vm/overcommit_memory", "0\n");
    put("proc/self/status", "VmSize:\t  1000 kB\nVmData:\t  1000 kB\n");
    put("proc/self/cgroup", groups);
    put("proc/self/mountinfo", mounts);
}

static const char unified[] =
    "20 1 0:5 / /proc rw - proc proc rw\n30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";

static void has(size_t bytes, const char *by, const char *what)
{
    const tulle__headroom headroom = tulle__memory_headroom(root);
    ok(headroom.bytes == bytes && strstr(headroom.by, by), "%s: %zu bytes by %s, of %zu", what, headroom.bytes,
        headroom.by, bytes);
}

static void check_v2(void)
{
    machine("v2", "0::/a/b\n", unified);
    has(8000000ull * 1024, "free", "no limit");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/b/memory.current", "400\n");
    put("sys/fs/cgroup/a/memory.max", "1000000\n");
    put("sys/fs/cgroup/a/memory.current", "600000\n");
    has(400000, "control group", "the group above has the limit");
    put("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 100000\n");
    has(500000, "control group", "pages of files can be dropped");
    put("sys/fs/cgroup/a/b/memory.max", "70000\n");
    has(69600, "control group", "the inner limit is the smaller one");
    put("sys/fs/cgroup/a/b/memory.current", "70001\n");
    has(0, "control group", "nothing is left");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
    ok(tulle__cores_of_host(root) == 1, "a quota of one core: %d", tulle__cores_of_host(root));
    put("sys/fs/cgroup/a/cpu.max", "10000 100000\n");
    ok(tulle__cores_of_host(root) == 1, "a tenth of a core is one");
    put("sys/fs/cgroup/a/cpu.max", "900000000 100000\n");
    ok(tulle__cores_of_host(root) == (int)sysconf(_SC_NPROCESSORS_ONLN), "a quota of more cores than there are");
}

static void check_v1(void)
{
    machine("v1", "5:cpuset:/\n4:memory:/job/step\n1:cpu,cpuacct:/job\n0::/\n",
        "31 1 0:27 / /cg/memory rw - cgroup cgroup rw,memory\n32 1 0:28 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("cg/memory/memory.usage_in_bytes", "1\n");
    has(8000000ull * 1024, "free", "v1 without a limit");
    put("cg/memory/job/memory.limit_in_bytes", "2000000\n");
    put("cg/memory/job/memory.usage_in_bytes", "1500000\n");
    put("cg/memory/job/memory.stat", "inactive_file 7\ntotal_inactive_file 500000\n");
    has(1000000, "control group", "v1, the group above has the limit");
    put("cg/memory/job/step/memory.limit_in_bytes", "300000\n");
    has(300000, "control group", "v1, nested");
    put("cg/cpu/job/cpu.cfs_quota_us", "-1\n");
    put("cg/cpu/job/cpu.cfs_period_us", "100000\n");
    ok(tulle__cores_of_host(root) == (int)sysconf(_SC_NPROCESSORS_ONLN), "v1 without a quota");
    put("cg/cpu/job/cpu.cfs_quota_us", "100000\n");
    ok(tulle__cores_of_host(root) == 1, "v1, a quota of one core");
}

/* Container runtimes mount the group itself, and /proc/self/cgroup tells its name outside, or "/". */
static void check_containers(void)
{
    machine("mounted", "4:memory:/docker/1a2b\n", "31 1 0:27 /docker/1a2b /cg/memory ro - cgroup cgroup rw,memory\n");
    put("cg/memory/memory.limit_in_bytes", "500000000\n");
    put("cg/memory/memory.usage_in_bytes", "100000000\n");
    has(400000000, "control group", "a group that is mounted");
    machine("namespace", "0::/\n", unified);
    put("sys/fs/cgroup/memory.max", "500000000\n");
    put("sys/fs/cgroup/memory.current", "100000000\n");
    has(400000000, "control group", "a namespace of groups");
    machine("elsewhere", "0::/../other\n", unified);
    put("sys/fs/cgroup/memory.max", "600000000\n");
    has(600000000, "control group", "a group outside of what is mounted");
    machine("none", "", "");
    has(8000000ull * 1024, "free", "no groups at all");
}

static void check_process(void)
{
    struct rlimit before, limit;
    machine("process", "0::/\n", unified);
    put("proc/sys/vm/overcommit_memory", "2\n");
    has(1000ull * 1024, "overcommit", "promises are kept");
    put("proc/sys/vm/overcommit_memory", "0\n");
    static const char *const names[] = {"ulimit -d", "ulimit -v"};
    for (int i = 0; i < 2; i++) {
        if ((i ? getrlimit(RLIMIT_AS, &before) : getrlimit(RLIMIT_DATA, &before)) != 0) continue;
        limit = before;
        limit.rlim_cur = (rlim_t)1 << 47; /* sanitizers map a lot */
        if (limit.rlim_cur > before.rlim_max) continue;
        if ((i ? setrlimit(RLIMIT_AS, &limit) : setrlimit(RLIMIT_DATA, &limit)) != 0) continue;
        const tulle__headroom headroom = tulle__mapping_headroom(root);
        ok(headroom.bytes == ((size_t)1 << 47) - 1000 * 1024 && strstr(headroom.by, names[i]), "%zu bytes by %s",
            headroom.bytes, headroom.by);
        (void)(i ? setrlimit(RLIMIT_AS, &before) : setrlimit(RLIMIT_DATA, &before));
    }
}

static void check_cores(void)
{
    machine("cores", "0::/\n", unified);
    unsetenv("OMP_NUM_THREADS");
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_STEPID");
    const int all = tulle__cores_available(root);
    ok(all >= 1 && all <= tulle__cores_allowed(), "%d cores, those that this process is bound to", all);
    setenv("OMP_NUM_THREADS", "1", 1);
    ok(tulle__cores_available(root) == 1, "OMP_NUM_THREADS is a default");
    setenv("OMP_NUM_THREADS", "1,4", 1);
    ok(tulle__cores_available(root) == 1, "the first of a list");
    setenv("OMP_NUM_THREADS", "many", 1);
    ok(tulle__cores_available(root) == all, "a word counts for nothing");
    unsetenv("OMP_NUM_THREADS");
    setenv("SLURM_CPUS_PER_TASK", "1", 1);
    ok(tulle__cores_available(root) == all, "Slurm's cores of a task count in its steps alone");
    setenv("SLURM_STEP_ID", "0", 1);
    ok(tulle__cores_available(root) == 1, "Slurm's cores of a task");
    ok(tulle__cores_each(1000000) == 1, "each has a core at least");
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    snprintf(root, sizeof root, "%s/limits.%ld", argv[1], (long)getpid());
    if (mkdir(root, 0777) != 0) return 2;
    char clean[2048];
    snprintf(clean, sizeof clean, "rm -rf '%s'", root);
    strcat(root, "/first");
    check_v2();
    check_v1();
    check_containers();
    check_process();
    check_cores();
    ok(system(clean) == 0, "the files are removed");
    return tap_done();
}
