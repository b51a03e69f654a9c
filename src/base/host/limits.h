/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of what this process may use of its machine: cores and memory, within what its launcher, its control groups
 * (v1 and v2, nested) and its own limits leave. `root` is "" for this machine; tests read the files of another one
 * below a folder.
 */
#ifndef TULLE_BASE_LIMITS_H
#define TULLE_BASE_LIMITS_H

#include <stddef.h>

/* An amount, and what bounds it, as a message names it: "the limit of a control group". */
typedef struct tulle__headroom {
    size_t bytes;
    const char *by;
} tulle__headroom;

/*
 * Memory that it may still take: what is free; what its control groups leave, where pages of files that can be dropped
 * are free; and what it may still map.
 */
tulle__headroom tulle__memory_headroom(const char *root);

/*
 * Memory of its own that it may still map, with or without pages: SIZE_MAX, or what is left of ulimit -v, of ulimit -d,
 * or, where memory is not overcommitted, of what the host may promise.
 */
tulle__headroom tulle__mapping_headroom(const char *root);

/* Cores that the machine, or the quota of a control group, has for the processes of this host together; at least 1. */
int tulle__cores_of_host(const char *root);

/*
 * Cores that this process may use: those of the host, at most those that it is bound to, SLURM_CPUS_PER_TASK if Slurm
 * started it, and OMP_NUM_THREADS; at least 1.
 */
int tulle__cores_available(const char *root);

/* The share of one of `processes` that the host runs. */
int tulle__cores_each(int processes);

#endif
