/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product's inside: the plan all threads read, a thread's workspace, and the row kernels of one ISA. */
#ifndef TULLE_DEVICE_KERNELS_SPGEMM_H
#define TULLE_DEVICE_KERNELS_SPGEMM_H

#include "device/kernels/spgemm/spgemm_calls.h"

/* A run of consecutive columns in a row of B. */
typedef struct tulle__run {
    int32_t col, len;
} tulle__run;

/* Runs first .. first + count - 1. */
typedef struct tulle__run_list {
    int64_t first;
    int32_t count;
} tulle__run_list;

/* The rows of B as runs. Rows with the columns of the row before share its list (a supernode), but for a few. */
typedef struct tulle__run_rows {
    tulle__run_list *row;
    tulle__run *run;
} tulle__run_rows;

/* Rows first .. end - 1, each with the columns of the one before plus one; at least one row. */
typedef struct tulle__stretch {
    int64_t first, end;
} tulle__stretch;

/*
 * For a pair: the stretch of each row of A and of B, and B's values: where row k belongs to a stretch of OFFSET_ROWS
 * and more, the value of its entry e lies at rowptr[first] - rowptr[0] + e (end - first) + k - first. Without A where
 * that is the identity. Of B the rows from the first to the last that A's stretches take; elsewhere nothing is defined.
 * What is A's may be B's.
 */
typedef struct tulle__offset_rows {
    tulle__stretch *A, *B;
    void *b_val;
    int same; /* A's values are B's */
} tulle__offset_rows;

/* For each of B's rows: a bit a column, PANEL_WORDS words a panel; and how many entries lie before each panel, and in
 * all, for rows of C that are made eight at a time.
 */
typedef struct tulle__panel_rows {
    uint64_t *bits;
    int32_t *start;
} tulle__panel_rows;

/* A row of C and its multiplications. */
typedef struct tulle__row_sample {
    int64_t i, flops;
} tulle__row_sample;

enum { TULLE__SAMPLES = 64 };

typedef struct tulle__spgemm_plan {
    const tulle__spgemm_task *task;
    tulle__spgemm_tuning tuning;
    int64_t flops;                            /* of the whole product */
    tulle__row_sample sample[TULLE__SAMPLES]; /* unless there are none: heavy rows are likelier */
    int64_t nchunks;
    int64_t *chunk_row;          /* nchunks + 1: where chunks of rows begin */
    int64_t *chunk_flops;        /* nchunks + 1: flops before the chunk */
    tulle__run_rows *runs;       /* one a pair, or NULL: not worth it */
    tulle__offset_rows *offsets; /* one a pair, or NULL: not worth it */
    tulle__panel_rows *panels;   /* one a pair, or NULL: not worth it */
    int64_t npanels;
    int groups; /* rows of C are made eight at a time; else panels, if there are, tell the columns of single ones */
    double run, grouped; /* mean length of B's runs; nanoseconds for eight rows at a time, if that was estimated */
    int dense;           /* a thread may have an array as wide as C */
    int near; /* that array is in cache where rows of C use it; near_values: or what misses it costs little */
    int near_values;
    int prefetch; /* B lies outside the cache */
    int singly;   /* most rows of A have one entry, or none, and their rows of C are a row of B */
} tulle__spgemm_plan;

/* The structure of a row of C that begins a stretch of offsets: the next one mostly has the same. */
typedef struct tulle__offset_row {
    int64_t i, nterms, nproducts;
    int64_t most, capacity; /* terms and products there is room for */
    int turn;               /* which half of space->offset_terms has its terms */
    int32_t nnz;
    int32_t *place;        /* of each product, among the columns */
    int32_t *col;          /* of each entry */
    int32_t *first, *last; /* of each entry: where its products begin, end */
} tulle__offset_row;

/* A chunk's rows in a thread's buffer, of all entries that there may be. */
typedef struct tulle__made_chunk {
    int64_t chunk, nnz, capacity;
    int32_t *colind;
    char *val;
} tulle__made_chunk;

/* For eight rows of C: terms and eight values of A for each, bits of the rows, and the sums of a panel. */
typedef struct tulle__panel_workspace {
    void *term, *factor, *sums;
    uint64_t *bits;
    int64_t capacity;
} tulle__panel_workspace;

/* A thread's workspace; grown when a row needs it. Between rows dense and bits are zero and key is empty. */
typedef struct tulle__spgemm_workspace {
    const tulle__spgemm_plan *plan;
    void *segment; /* rows of B that a row or block of C sums */
    int64_t segment_capacity;
    void *dense;              /* n sums and padding, times BLOCK_ROWS with runs */
    uint64_t *bits, *summary; /* a bit a column; a bit a word of bits */
    int32_t *word;            /* room for the numbers of all words of bits */
    uint8_t *seen;            /* a byte a column */
    int32_t *list;            /* columns of a row, as they appear */
    int64_t list_capacity;
    int32_t *key; /* hash table */
    void *slot;
    int64_t hash_capacity;
    uint64_t *order, *order2; /* for sorting */
    int64_t order_capacity;
    tulle__run *run; /* the structure of the last block; or of all rows counted, if keep */
    int64_t run_capacity, run_used;
    int keep;
    const tulle__run *stored; /* the structure of the rows to be written, kept when they were counted; or NULL */
    int crowded;              /* how often the ordered table was in vain, lately */
    int scarce;               /* how often positive entries were too few for a selection, lately */
    tulle__offset_row row;    /* the structure of the last stretch */
    void *offset_terms;       /* rows of B under this stretch and the last */
    void *factor;             /* A's values for a few rows of a stretch */
    void *product;            /* what is summed in a row of a stretch, entry by entry */
    tulle__panel_workspace panels;
    tulle__made_chunk made; /* the last one, where it is not placed as it is */
} tulle__spgemm_workspace;

/* Rows begin .. end - 1. */
typedef struct tulle__spgemm_rows {
    /* count[i] = entries in row i of C */
    tulle_status (*count)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count);
    /* Writes rows one after another to colind and val, where `capacity` entries may be touched; fills count. */
    tulle_status (*write)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count, int32_t *colind,
        void *val, int64_t capacity);
    /* Values for a known structure. */
    tulle_status (*values)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, const tulle__csr_result *C);
} tulle__spgemm_rows;

#define TULLE__DECLARE(isa, ISA) extern const tulle__spgemm_rows tulle__spgemm_##isa[TULLE_TYPE_COUNT];
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

/* known: C's structure is, and its values alone are made. */
tulle_status tulle__spgemm_plan_init(tulle__spgemm_plan *plan, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, bool known);
void tulle__spgemm_plan_fini(tulle__spgemm_plan *plan);

void tulle__spgemm_workspace_init(tulle__spgemm_workspace *space, const tulle__spgemm_plan *plan);
void tulle__spgemm_workspace_fini(tulle__spgemm_workspace *space);

/* Sample s of the numbers 0 .. n - 1, spread over them and in step with no grid. */
static inline int64_t tulle__spread(int64_t s, int64_t n)
{
    const double at = 0.6180339887498949 * (double)s;
    return (int64_t)((double)n * (at - (double)(int64_t)at));
}

/* True if the structure of A is that of B, in the same memory: what is known of one need not be found for the other. */
static inline int tulle__same_arrays(const tulle__csr *A, const tulle__csr *B)
{
    return A->rowptr == B->rowptr && A->colind == B->colind && A->m == B->m;
}

/*
 * Looks for stretches of constant-offset rows. *part: of A's entries, those in stretches long enough; 0, and
 * plan->offsets NULL, if there are few.
 */
tulle_status tulle__spgemm_make_offsets(tulle__spgemm_plan *plan, tulle__pool *pool, double *part);
void tulle__spgemm_drop_offsets(tulle__spgemm_plan *plan);

/* Number of rows of C from i on, before row `end`, that are at constant offsets from row i, and made of such rows only;
 * 0: too few. */
int64_t tulle__spgemm_offset_rows(const tulle__spgemm_plan *plan, int64_t i, int64_t end);

/*
 * Prepares B for rows of C that are made eight at a time; plan->panels stays NULL if that is not worth it. And for rows
 * made one by one, whose columns are a union of sets of bits then.
 */
tulle_status tulle__spgemm_make_panels(tulle__spgemm_plan *plan, tulle__pool *pool);
tulle_status tulle__spgemm_make_sets(tulle__spgemm_plan *plan, tulle__pool *pool);
void tulle__spgemm_drop_panels(tulle__spgemm_plan *plan);

/* Entries of C are at most that many. */
int64_t tulle__spgemm_bound(const tulle__spgemm_plan *plan);

/*
 * All rows, computed once, into C->colind and C->val, which have room for `capacity` entries: count[i] entries of row
 * i, before[c] before chunk c (nchunks + 1). *fits = 0 if there are more of them: nothing is valid then.
 */
tulle_status tulle__spgemm_once(const tulle__spgemm_plan *plan, const tulle__spgemm_rows *rows, tulle__pool *pool,
    int64_t capacity, int32_t *count, int64_t *before, tulle__csr_result *C, int *fits);

/* Makes the rows of chunk c in `made`, which grows; count[i] entries of row i. What is there is dropped after use. */
tulle_status tulle__spgemm_make_chunk(
    tulle__spgemm_workspace *space, const tulle__spgemm_rows *rows, int64_t c, int32_t *count, tulle__made_chunk *made);
void tulle__spgemm_drop_chunk(tulle__made_chunk *made);

/* Make room: for count segments of size bytes, for the dense sums and bits, for count slots, sort items, runs. */
tulle_status tulle__spgemm_workspace_segments(tulle__spgemm_workspace *space, int64_t count, size_t size);
tulle_status tulle__spgemm_workspace_dense(tulle__spgemm_workspace *space, size_t size);
tulle_status tulle__spgemm_workspace_slots(tulle__spgemm_workspace *space, int64_t count, size_t size);
tulle_status tulle__spgemm_workspace_list(tulle__spgemm_workspace *space, int64_t count); /* entries of a list */
tulle_status tulle__spgemm_workspace_order(tulle__spgemm_workspace *space, int64_t count);
tulle_status tulle__spgemm_workspace_runs(tulle__spgemm_workspace *space, int64_t count); /* contents are kept */
/* For a stretch: count rows of B and as many of A's values; and count products. What was there before is gone. */
tulle_status tulle__spgemm_workspace_offsets(tulle__spgemm_workspace *space, int64_t count, size_t size, size_t factor);
tulle_status tulle__spgemm_workspace_products(tulle__spgemm_workspace *space, int64_t count, size_t size);
/* For eight rows: count terms of term_size bytes, values of `size`. What was there before is gone. */
tulle_status tulle__spgemm_workspace_panels(
    tulle__spgemm_workspace *space, int64_t count, size_t term_size, size_t size);

/* Sorts count items by their upper halves; uses space->order2. The result lies in space->order. */
void tulle__spgemm_sort(tulle__spgemm_workspace *space, int64_t count);

enum {
    TULLE__EMPTY = INT32_MAX,    /* a free slot; greater than every column */
    TULLE__NEAR_BYTES = 1 << 19, /* what stays in the second-level cache, beside the rows of B */
    TULLE__PAD = 16,             /* elements behind a dense array, its bits, or lists of them that vectors may touch */
    TULLE__PANEL = 1024,         /* columns of C whose sums, of eight rows, are made together: 64 kB in f64 */
    TULLE__PANEL_WORDS = TULLE__PANEL / 64,
    TULLE__PANEL_ROWS = 8,
    TULLE__RUN_ROWS = 4,   /* rows of C that are made together where B comes in runs */
    TULLE__OFFSET_ROWS = 8 /* rows of C that are made together at constant offsets; shorter stretches are not */
};

#endif
