/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory budgets. Each part of an operation registers its least memory before anything is read or
 * allocated. The sum is the limit below which the operation is refused, and from which it works.
 * Bytes are those of all PEs together, like the memory of a team (tulle_team_options). Memory above
 * the least widens blocks of vectors, ranges of columns and slabs, so that more memory makes an
 * operation faster. Not collective.
 */
#ifndef TULLE_BUDGET_H
#define TULLE_BUDGET_H

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TULLE_NEEDS_MOST = 16 };

typedef struct tulle_budget {
    int needs;
    struct {
        const char *what; /* a noun; not copied */
        double bytes;
    } need[TULLE_NEEDS_MOST];
} tulle_budget;

/* Registers a need; one of the same name grows by it. */
TULLE_API void tulle_budget_add(tulle_budget *budget, const char *what, double bytes);

/* Bytes of all registered needs. */
TULLE_API double tulle_budget_least(const tulle_budget *budget);

/*
 * TULLE_ERR_LIMIT, with the sum and its parts, if the sum exceeds `memory` bytes. `who` begins the
 * message: "spgemm A.mtx"; NULL: "this".
 */
TULLE_API tulle_status tulle_budget_check(const tulle_budget *budget, double memory, const char *who);

/*
 * Bytes of this machine's memory available to this process, within the limits of control groups and
 * its own. A team without a limit takes four fifths of them.
 */
TULLE_API double tulle_memory_free(void);

/*
 * Cores of this machine available to this process: of its binding, of the quotas of control groups,
 * SLURM_CPUS_PER_TASK and OMP_NUM_THREADS, the least; at least 1. A team without a number of PEs has
 * as many.
 */
TULLE_API int tulle_cores_free(void);

#ifdef __cplusplus
}
#endif
#endif
