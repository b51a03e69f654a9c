/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets of memory. Each part of an operation registers what it needs at least, before anything is read or made; the
 * sum is what the operation is refused below, and works from there on. Bytes are of all PEs together, as the memory of
 * a team is (tulle_team_options); what is left above the least goes to blocks of vectors, to ranges of columns and to
 * slabs, so that more memory makes an operation faster. Not collective.
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

/* Bytes of all that is registered. */
TULLE_API double tulle_budget_least(const tulle_budget *budget);

/* TULLE_ERR_LIMIT, with the least figure and what it consists of, if that is more than `memory` bytes; `who` begins the
 * message: "spgemm A.mtx"; NULL: "this". */
TULLE_API tulle_status tulle_budget_check(const tulle_budget *budget, double memory, const char *who);

/* Bytes of this machine's memory that are free for us now, limits of a control group included: what a team takes if no
 * limit is given is four fifths of them. */
TULLE_API double tulle_memory_free(void);

#ifdef __cplusplus
}
#endif
#endif
