/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's four methods (sections III to V), which go by columns: the solver of x_j adds l_ij
 * x_j to the partial sum of each row i of its column and counts the entry as done; a row is solved
 * once all its entries are done. Sums of own columns for own rows are private. Those for rows of
 * other PEs
 *
 *   unified: go to one array for all PEs, with an equal part of the rows on each, by atomic
 *            operations; a waiting PE reads the counter there (algorithm 2);
 *   shmem:   stay in arrays of the adding PE, one of all rows; a waiting PE reads those of all others
 *            (algorithm 3, read-only communication).
 *
 * With one task a PE rows are in equal parts; with more (unified-tasks, zerocopy: section V) they
 * are assigned cyclically.
 *
 * Differences from the paper. It counts up in one array and down in another; here shared counters
 * count up to a number that the owner knows, and those of each PE count down to 0. A row reads
 * other PEs' memory only once its own columns are done. The paper's rows are warps of a GPU; here a
 * PE holds a window of up to TULLE__SCATTER_WINDOW rows and polls those that wait. Rows enter the window
 * in the order of solving and stay until they are solved. The first unsolved row of all is
 * therefore always in its PE's window or the next to enter, and all that it requires is done: there
 * is no deadlock.
 */
#ifndef TULLE_TRISOLVE_SCATTER_H
#define TULLE_TRISOLVE_SCATTER_H

#include "algo/trisolve/triangle.h"

enum { TULLE__SCATTER_WINDOW = 1024, TULLE__ADDS = 1024 };

typedef struct tulle__scatter {
    tulle_comm *comm;
    tulle_type type;
    int shared; /* one array for all PEs */
    int64_t n, nown, nnz;
    int ntasks;
    int64_t *task;  /* [ntasks + 1] lines, which are own rows in the order of solving */
    int32_t *row;   /* [nown]: rows of op(T) */
    int32_t *line;  /* [n]: line of an own row; -1: another PE's */
    int64_t *first; /* shared: [size + 1] rows of each part */
    int upper;      /* shared: the last part is the first PE's */
    /* own columns of op(T), off the diagonal */
    int64_t *colptr; /* [nown + 1] */
    int32_t *rowind; /* [nnz] */
    void *val;
    void *inverse; /* [nown] of pivots; NULL: all are 1 */
    /*
     * in-degrees: entries of an own row in own columns, and in other PEs' columns; owed: entries of
     * own columns in a row of another PE
     */
    int32_t *near, *far; /* [nown] */
    int32_t *owed;       /* [n]; NULL if shared */
    /* number of columns last used */
    tulle_gidx cols;
    tulle__place own[2];      /* counters (a word a row); sums (shared: a word each, else values); length 0: none */
    tulle__place *place[2];   /* [size] */
    char **direct[2];         /* [size]; NULL: not mapped */
    void *lines;              /* [nown * cols] B, then X */
    void *sum;                /* [nown * cols]: of own columns, and at the end of all */
    int32_t *left;            /* [nown]: remaining entries in own columns */
    int32_t *waiting, *ready; /* [window] lines */
    char *met;                /* [window * size], of waiting lines: a PE's counter is complete */
    uint64_t *word;           /* [window * size]: counters read */
    void *got;                /* [window * size * cols]: sums read, words if shared */
    tulle__range *range;      /* [window * size] */
    int nadds;                /* shared and not mapped: buffered entries, to be added together */
    int32_t *add_row;         /* [TULLE__ADDS] */
    uint64_t *add_value;      /* [TULLE__ADDS * cols] */
    uint64_t *add_was;        /* [TULLE__ADDS * cols] what they are added to, as it was read */
    tulle__range *add_range;  /* [TULLE__ADDS] of values */
    tulle__range *add_read;   /* [TULLE__ADDS] of what was read */
    int64_t messages;         /* reads and atomics at other PEs, without polls */
    int64_t polls;            /* reads of incomplete counters */
} tulle__scatter;

/* Own columns and in-degrees. The triangle is partitioned and validated. Collective. */
tulle_status tulle__scatter_init(const tulle__triangle *t, int shared, tulle__scatter *s);
/* Local. */
void tulle__scatter_fini(tulle__scatter *s);
size_t tulle__scatter_bytes(const tulle__scatter *s);

/* Updates to new values of the triangle. Collective. */
tulle_status tulle__scatter_update(const tulle__triangle *t, tulle__scatter *s);

/* remote_sums.c: remote partial sums. Allocates for so many columns. Collective. */
tulle_status tulle__remote_sums_open(tulle__scatter *s, tulle_gidx cols);
void tulle__remote_sums_close(tulle__scatter *s);
/* Resets: nothing is solved. All PEs must have done so before any solves. Local. */
void tulle__remote_sums_arm(tulle__scatter *s);
/* Adds val x to the sum of a row of another PE; flush: makes it visible. Local. */
tulle_status tulle__remote_sums_add(tulle__scatter *s, tulle_gidx row, int64_t entry, const void *x);
tulle_status tulle__remote_sums_flush(tulle__scatter *s);
/*
 * Reads the counters of waiting lines; those whose entries are all done move from waiting[0 ..
 * *nwaiting - 1] to ready[0 .. *nready - 1]. Local.
 */
tulle_status tulle__remote_sums_look(tulle__scatter *s, int *nwaiting, int *nready);
/* Adds other PEs' partial sums to those of the ready lines. Local. */
tulle_status tulle__remote_sums_take(tulle__scatter *s, int nready);

static inline void tulle__scatter_axpy(tulle_type type, int64_t cols, const void *a, const void *x, void *y)
{
    if (type == TULLE_F32)
        for (int64_t c = 0; c < cols; c++) ((float *)y)[c] += *(const float *)a * ((const float *)x)[c];
    else
        for (int64_t c = 0; c < cols; c++) ((double *)y)[c] += *(const double *)a * ((const double *)x)[c];
}

#endif
