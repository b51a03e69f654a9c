/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/limits.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/host/cores.h"

enum { PATH_TEXT = 4096 };

/* ---- files ---- */

static FILE *open_in(const char *folder, const char *name)
{
    char path[2 * PATH_TEXT];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
}

/* The number after `key` at the beginning of a line. 0: there is none, as in "max". */
static int read_number(const char *folder, const char *name, const char *key, size_t *value)
{
    char line[256];
    FILE *file = open_in(folder, name);
    int found = 0;
    if (!file) return 0;
    while (!found && fgets(line, sizeof line, file)) {
        const size_t skip = strlen(key);
        if (strncmp(line, key, skip) == 0) found = sscanf(line + skip, "%zu", value) == 1;
    }
    fclose(file);
    return found;
}

/* ---- control groups ---- */

struct hierarchy {
    const char *controller; /* of v1; NULL: v2 */
    char mount[PATH_TEXT];  /* where its files are */
    char root[PATH_TEXT];   /* the group that is there */
    char group[PATH_TEXT];  /* this process's */
};

/* True: a list separated by commas has the word. */
static int lists(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && strchr(",\n ", at[length])) return 1;
    return 0;
}

/* Lines are NUMBER:CONTROLLERS:GROUP. */
static int find_group(const char *root, struct hierarchy *h)
{
    char line[PATH_TEXT];
    int found = 0;
    FILE *file = open_in(root, "proc/self/cgroup");
    if (!file) return 0;
    while (!found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        found = h->controller ? lists(controllers + 1, h->controller) : !controllers[1];
        if (found) snprintf(h->group, sizeof h->group, "%s", group);
    }
    fclose(file);
    return found;
}

/* Lines are ID PARENT DEVICE ROOT MOUNT OPTIONS... - TYPE SOURCE OPTIONS. */
static int find_mount(const char *root, struct hierarchy *h)
{
    char line[2 * PATH_TEXT], type[64], options[1024], at[PATH_TEXT];
    int found = 0;
    FILE *file = open_in(root, "proc/self/mountinfo");
    if (!file) return 0;
    while (!found && fgets(line, sizeof line, file)) {
        const char *dash = strstr(line, " - ");
        if (!dash || sscanf(dash, " - %63s %*s %1023s", type, options) != 2) continue;
        if (sscanf(line, "%*s %*s %*s %4095s %4095s", h->root, at) != 2) continue;
        found =
            h->controller ? strcmp(type, "cgroup") == 0 && lists(options, h->controller) : strcmp(type, "cgroup2") == 0;
    }
    fclose(file);
    if (found) snprintf(h->mount, sizeof h->mount, "%s%s", root, at);
    return found;
}

enum { MEMORY, CPU, CONTROLLERS };
static const char *const controllers[] = {"memory", "cpu"};

/* In v1 and v2; an empty mount: there is none. */
typedef struct hierarchy hierarchies[CONTROLLERS][2];

static void find_all(const char *root, hierarchies all)
{
    for (int c = 0; c < CONTROLLERS; c++)
        for (int v2 = 0; v2 <= 1; v2++) {
            struct hierarchy *h = &all[c][v2];
            h->controller = v2 ? NULL : controllers[c];
            if (!find_group(root, h) || !find_mount(root, h)) h->mount[0] = '\0';
        }
}

/* Groups of this machine, found once: a process stays in its groups. */
static struct {
    pthread_once_t once;
    hierarchies all;
} control_groups = {.once = PTHREAD_ONCE_INIT};

static void find_here(void)
{
    find_all("", control_groups.all);
}

typedef void (*group_look)(const char *folder, int v2, void *arg);

/* Looks at the group and at those above it. */
static void look_up(const struct hierarchy *h, group_look look, void *arg)
{
    char folder[2 * PATH_TEXT];
    if (!h->mount[0]) return;
    /* a container may see only its own group, mounted as the root, or name it from outside */
    const size_t above = strcmp(h->root, "/") == 0 ? 0 : strlen(h->root), base = strlen(h->mount);
    const char *inside = strncmp(h->group, h->root, above) == 0 ? h->group + above : "";
    snprintf(folder, sizeof folder, "%s%s", h->mount, inside);
    for (;;) {
        look(folder, !h->controller, arg);
        char *last = strrchr(folder, '/');
        if (!last || (size_t)(last - folder) < base) break;
        *last = '\0';
    }
}

static void each_group(const char *root, int controller, group_look look, void *arg)
{
    if (*root) {
        hierarchies other = {{{0}}};
        find_all(root, other);
        for (int v2 = 0; v2 <= 1; v2++) look_up(&other[controller][v2], look, arg);
    } else {
        pthread_once(&control_groups.once, find_here);
        for (int v2 = 0; v2 <= 1; v2++) look_up(&control_groups.all[controller][v2], look, arg);
    }
}

/* ---- memory ---- */

static void bound(tulle__headroom *headroom, size_t bytes, const char *by)
{
    if (bytes < headroom->bytes) *headroom = (tulle__headroom){bytes, by};
}

static size_t left_of(size_t most, size_t used)
{
    return most > used ? most - used : 0;
}

static void look_at_memory(const char *folder, int v2, void *arg)
{
    const tulle__headroom *headroom = arg;
    size_t most, used = 0, droppable = 0;
    if (!read_number(folder, v2 ? "memory.max" : "memory.limit_in_bytes", "", &most)) return;
    if (most > SIZE_MAX / 4) return; /* none, in words of v1 */
    (void)read_number(folder, v2 ? "memory.current" : "memory.usage_in_bytes", "", &used);
    if (left_of(most, used) >= headroom->bytes) return; /* reading its statistics is slow */
    (void)read_number(folder, "memory.stat", v2 ? "inactive_file " : "total_inactive_file ", &droppable);
    bound(arg, left_of(most, left_of(used, droppable)), "the memory limit of a control group");
}

/* Bytes that a limit of this process leaves beside those which the line `key` of /proc/self/status has in use. */
static size_t limit_left(const char *root, const struct rlimit *limit, const char *key)
{
    size_t kilobytes = 0;
    if (limit->rlim_cur == RLIM_INFINITY || limit->rlim_cur > SIZE_MAX) return SIZE_MAX;
    (void)read_number(root, "proc/self/status", key, &kilobytes);
    return left_of((size_t)limit->rlim_cur, kilobytes * 1024);
}

tulle__headroom tulle__mapping_headroom(const char *root)
{
    tulle__headroom headroom = {SIZE_MAX, "no limit"};
    size_t most = 0, promised = 0, mode = 0;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0)
        bound(&headroom, limit_left(root, &limit, "VmSize:"), "the limit of the address space (ulimit -v)");
    if (getrlimit(RLIMIT_DATA, &limit) == 0)
        bound(&headroom, limit_left(root, &limit, "VmData:"), "the limit of data (ulimit -d)");
    if (read_number(root, "proc/sys/vm/overcommit_memory", "", &mode) && mode == 2 &&
        read_number(root, "proc/meminfo", "CommitLimit:", &most) &&
        read_number(root, "proc/meminfo", "Committed_AS:", &promised))
        bound(&headroom, left_of(most, promised) * 1024, "the host's limit of promises (vm.overcommit_memory=2)");
    return headroom;
}

tulle__headroom tulle__memory_headroom(const char *root)
{
    tulle__headroom headroom = {
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE) / 2, "the memory of the host"};
    const tulle__headroom mapping = tulle__mapping_headroom(root);
    size_t kilobytes = 0;
    if (read_number(root, "proc/meminfo", "MemAvailable:", &kilobytes))
        headroom = (tulle__headroom){kilobytes * 1024, "the free memory of the host"};
    each_group(root, MEMORY, look_at_memory, &headroom);
    bound(&headroom, mapping.bytes, mapping.by);
    return headroom;
}

/* ---- cores ---- */

static void look_at_quota(const char *folder, int v2, void *arg)
{
    double *cores = arg;
    size_t quota = 0, period = 0;
    char line[64] = "";
    if (v2) {
        FILE *file = open_in(folder, "cpu.max");
        if (!file) return;
        if (!fgets(line, sizeof line, file) || sscanf(line, "%zu %zu", &quota, &period) != 2) quota = 0;
        fclose(file);
    } else if (!read_number(folder, "cpu.cfs_quota_us", "", &quota) ||
               !read_number(folder, "cpu.cfs_period_us", "", &period)) {
        return;
    }
    if (quota > 0 && quota < SIZE_MAX / 2 && period > 0 && (double)quota / (double)period < *cores)
        *cores = (double)quota / (double)period;
}

int tulle__cores_of_host(const char *root)
{
    double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    each_group(root, CPU, look_at_quota, &cores);
    return cores < 1.5 ? 1 : (int)(cores + 0.5);
}

/* At most the number that a variable begins with, if it is one: OMP_NUM_THREADS may be a list. */
static int at_most(int cores, const char *variable)
{
    const char *text = secure_getenv(variable);
    const long number = text ? strtol(text, NULL, 10) : 0;
    return number > 0 && number < cores ? (int)number : cores;
}

int tulle__cores_available(const char *root)
{
    int cores = tulle__cores_of_host(root), bound_to = tulle__cores_allowed();
    if (bound_to < cores) cores = bound_to;
    if (secure_getenv("SLURM_STEP_ID") || secure_getenv("SLURM_STEPID")) cores = at_most(cores, "SLURM_CPUS_PER_TASK");
    return at_most(cores, "OMP_NUM_THREADS");
}

int tulle__cores_each(int processes)
{
    const int share = tulle__cores_of_host("") / (processes > 1 ? processes : 1), own = tulle__cores_available("");
    return own < share ? own : share > 1 ? share : 1;
}
