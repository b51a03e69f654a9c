/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of a product's kernel on its own rows. Tables by density (rates.c) do not know how near columns lie to each
 * other, how many rows are alike, or how much of B stays in a cache: together up to a factor of 8. So every PE
 * multiplies ranges of the rows of its tiles of A by those tiles of B that it reads in place, all PEs at the same time.
 * Ranges are spread over the rows; those of a product of less than about SECONDS are all of it.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include <tulle/machine.h>

#include "base/arg.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/context.h"
#include "mat/mat.h"
#include "tile/tile_csr.h"

enum { RANGES_MOST = 16, STRIDE = 5 /* prime to it: the next range is far away */, ROUNDS = 8 };
/* Seconds of all ranges. Multiplications of a range, at most, beside which the start of a sparse kernel, as long as
 * 10^5 to 10^6 of them, does not count for much. Entries of a dense C, and of parts that are merged. */
static const double SECONDS = 0.06, WORK = 3e6, ENTRIES_MOST = 1e6;
enum { MERGED_MOST = 1 << 18 };

/* Room of the results, in turn. */
struct workspace {
    size_t rows, entries;
    int64_t *rowptr;
    tulle_lidx *colind;
    void *val;
    tulle_type type;
    bool grown; /* since it was last looked at */
};

struct sample {
    const tulle_mat *A, *B;
    tulle__context *context;
    bool alone; /* one thread, whose processor time counts: PEs may share cores */
    int npairs; /* tiles of one row of A, and of one column of B */
    tulle_tile *a, *b;
    tulle__spmm_pair *dense; /* rows of these that are multiplied now */
    tulle__spgemm_pair *sparse;
    struct workspace C, sum;
    tulle__csr_result made; /* the latest sparse C */
    double work, seconds;   /* of the ranges, each the median of its times */
    double merged, merging; /* entries that were merged, and their seconds */
};

static void drop_workspace(struct workspace *C)
{
    tulle__free(C->rowptr);
    tulle__free(C->colind);
    tulle__free(C->val);
    C->rowptr = NULL;
    C->colind = NULL;
    C->val = NULL;
    C->rows = C->entries = 0;
}

/* More than is asked for, and touched: new pages are not to be timed. */
static tulle_status grow(struct workspace *C, size_t rows, size_t entries)
{
    if (rows <= C->rows && entries <= C->entries) return TULLE_OK;
    const size_t size = tulle_type_size(C->type), m = rows > C->rows ? rows + rows / 8 : C->rows,
                 nnz = entries > C->entries ? entries + entries / 8 : C->entries;
    drop_workspace(C);
    TULLE_CALL(tulle__alloc(m + 1, sizeof *C->rowptr, "a product to time", &C->rowptr));
    TULLE_CALL(tulle__alloc(nnz, sizeof *C->colind, "a product to time", &C->colind));
    TULLE_CALL(tulle__alloc(nnz, size, "a product to time", &C->val));
    C->rows = m;
    C->entries = nnz;
    memset(C->colind, 0, C->entries * sizeof *C->colind);
    memset(C->val, 0, C->entries * size);
    C->grown = true;
    return TULLE_OK;
}

static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct workspace *workspace = context;
    TULLE_CALL(grow(workspace, (size_t)m, (size_t)nnz));
    C->nnz = nnz;
    C->rowptr = workspace->rowptr;
    C->colind = workspace->colind;
    C->val = workspace->val;
    return TULLE_OK;
}

/* Room that is not needed stays. */
static tulle_status trim(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)context, (void)m;
    C->nnz = nnz;
    return TULLE_OK;
}

static double now(const struct sample *s)
{
    struct timespec t;
    if (!s->alone) return tulle__clock_seconds();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tulle_status multiply_dense(struct sample *s, int64_t first, int64_t rows, double *work)
{
    const int64_t n = s->b[0].n;
    const bool by_row = s->b[0].order == TULLE_ROW_MAJOR;
    *work = 0;
    for (int p = 0; p < s->npairs; p++) {
        const tulle__csr A = tulle__tile_csr(&s->a[p]);
        s->dense[p] = (tulle__spmm_pair){.A = tulle__csr_rows(&A, first, rows),
            .B = s->b[p].val,
            .b_row = by_row ? s->b[p].ld : 1,
            .b_col = by_row ? 1 : s->b[p].ld};
        *work += (double)(s->a[p].rowptr[first + rows] - s->a[p].rowptr[first]) * (double)n;
    }
    const tulle__spmm_task task = {.type = s->A->type,
        .m = rows,
        .n = n,
        .npairs = s->npairs,
        .pair = s->dense,
        .C = s->C.val,
        .c_row = by_row ? n : 1,
        .c_col = by_row ? 1 : rows,
        .alpha = 1};
    return s->context->kernels->spmm(s->context->pool, &task);
}

static void pair_rows(struct sample *s, int64_t first, int64_t rows)
{
    for (int p = 0; p < s->npairs; p++) {
        const tulle__csr A = tulle__tile_csr(&s->a[p]);
        s->sparse[p] = (tulle__spgemm_pair){tulle__csr_rows(&A, first, rows), tulle__tile_csr(&s->b[p]), 1};
    }
}

static tulle__spgemm_task sparse_task(const struct sample *s, int64_t rows)
{
    return (tulle__spgemm_task){
        .type = s->A->type, .m = rows, .n = s->b[0].n, .npairs = s->npairs, .pair = s->sparse, .trim = trim};
}

static tulle_status multiply_sparse(struct sample *s, int64_t first, int64_t rows, double *work)
{
    pair_rows(s, first, rows);
    const tulle__spgemm_task task = sparse_task(s, rows);
    const tulle_status status = s->context->kernels->spgemm(s->context->pool, &task, place, &s->C, &s->made);
    *work = (double)s->made.multiplications;
    return status;
}

/* So many of the rows from `first` on, at most *rows, that they have at most WORK multiplications; 0: the first has
 * more. */
static tulle_status limit_rows(struct sample *s, int64_t first, int64_t *rows)
{
    double sum = 0;
    int64_t r = 0, *flops = NULL;
    TULLE_CALL(tulle__alloc((size_t)*rows, sizeof *flops, "a product to time", &flops));
    pair_rows(s, first, *rows);
    const tulle__spgemm_task task = sparse_task(s, *rows);
    const tulle_status status = s->context->kernels->spgemm_flops(s->context->pool, &task, flops);
    while (status == TULLE_OK && r < *rows && (sum += (double)flops[r]) <= WORK) r++;
    tulle__free(flops);
    *rows = r;
    return status;
}

/* Merges rows of the latest C with themselves, as parts of it that have the same entries. */
static tulle_status time_merge(struct sample *s, int64_t rows)
{
    while (rows > 1 && s->made.rowptr[rows] > MERGED_MOST) rows /= 2;
    const tulle__csr part = {
        .m = rows, .n = s->b[0].n, .rowptr = s->made.rowptr, .colind = s->made.colind, .val = s->made.val};
    const tulle__spgemm_pair pair[2] = {{{.m = rows}, part, 1}, {{.m = rows}, part, 1}};
    const tulle__spgemm_task task = {
        .type = s->A->type, .m = rows, .n = s->b[0].n, .npairs = 2, .pair = pair, .trim = trim};
    double took[3];
    for (int n = 0; n < 3; n++) {
        tulle__csr_result sum = {.nnz = 0};
        const double start = now(s);
        TULLE_CALL(s->context->kernels->spgemm(s->context->pool, &task, place, &s->sum, &sum));
        took[n] = now(s) - start;
    }
    s->merged += 2 * (double)s->made.rowptr[rows];
    s->merging += tulle__median(took, 3);
    return TULLE_OK;
}

/* Multiplications of all rows, if the entries of B were spread evenly. */
static double expected_work(const struct sample *s)
{
    double sum = 0;
    for (int p = 0; p < s->npairs; p++)
        sum += (double)s->a[p].nnz *
               (s->b[p].kind == TULLE_DENSE ? (double)s->b[p].n : (double)s->b[p].nnz / (double)s->b[p].m);
    return sum;
}

/* Times ranges of the rows, again and again for so many seconds; at least one, once. */
static tulle_status time_rows(struct sample *s, double seconds)
{
    const bool dense = s->b[0].kind == TULLE_DENSE;
    const int64_t m = s->a[0].m;
    const double all = expected_work(s), until = tulle__clock_seconds() + seconds;
    double took[RANGES_MOST][ROUNDS], work[RANGES_MOST];
    int64_t rows[RANGES_MOST] = {0};
    int times[RANGES_MOST] = {0}, ranges = 1, last = -1;
    while (ranges < RANGES_MOST && ranges < m && all / ranges > 2 * WORK) ranges *= 2;
    const double most = fmin((double)m * WORK / all, dense ? ENTRIES_MOST / (double)s->b[0].n : (double)m);
    const int64_t expected = (int64_t)fmin((double)(m / ranges), ceil(most));
    if (dense) TULLE_CALL(grow(&s->C, (size_t)expected, (size_t)expected * (size_t)s->b[0].n));
    for (int n = 0, calls = 0; n < ROUNDS * ranges && (calls < 2 || tulle__clock_seconds() < until); calls++) {
        const int r = n * STRIDE % ranges;
        const int64_t first = m / ranges * r;
        if (n < ranges) {
            rows[r] = expected;
            if (!dense) TULLE_CALL(limit_rows(s, first, &rows[r]));
        }
        if (!rows[r]) {
            n++;
            continue;
        }
        const double start = now(s);
        TULLE_CALL((dense ? multiply_dense : multiply_sparse)(s, first, rows[r], &work[r]));
        if (!s->C.grown) took[r][times[r]++] = now(s) - start;
        n += !s->C.grown;
        s->C.grown = false;
        last = r;
    }
    for (int r = 0; r < ranges; r++) {
        if (!times[r]) continue;
        s->work += work[r];
        s->seconds += tulle__median(took[r], times[r]);
    }
    return dense || last < 0 ? TULLE_OK : time_merge(s, rows[last]);
}

/* Finds the tiles that this PE may multiply for tile (i, j) of C, if it has any of tile row i of A; their number. */
static int find_pairs(struct sample *s, int i, int j)
{
    bool mine = false;
    s->npairs = 0;
    for (int k = 0; k < s->A->layout->nt; k++) {
        mine |= tulle__tile_is_mine(s->A, i, k);
        if (!tulle__tile_mapped(s->A, i, k) || !tulle__tile_mapped(s->B, k, j)) continue;
        s->a[s->npairs] = tulle__tile_in_place(s->A, i, k);
        s->b[s->npairs++] = tulle__tile_in_place(s->B, k, j);
    }
    return mine ? s->npairs : 0;
}

static tulle_status time_tiles(struct sample *s)
{
    const tulle_layout *a = s->A->layout, *b = s->B->layout;
    const double until = tulle__clock_seconds() + SECONDS;
    for (int i = 0, left = a->mt; i < a->mt && tulle__clock_seconds() < until; i++, left--)
        for (int j = 0; j < b->nt; j++) {
            if (!find_pairs(s, i, (i + j) % b->nt)) continue;
            TULLE_CALL(time_rows(s, (until - tulle__clock_seconds()) / left));
            break;
        }
    return TULLE_OK;
}

static tulle_status time_own(struct sample *s)
{
    tulle_status status;
    const size_t K = (size_t)s->A->layout->nt;
    TULLE_TRY(tulle__alloc(K, sizeof *s->a, "a product to time", &s->a));
    TULLE_TRY(tulle__alloc(K, sizeof *s->b, "a product to time", &s->b));
    TULLE_TRY(tulle__alloc(K, sizeof *s->dense, "a product to time", &s->dense));
    TULLE_TRY(tulle__alloc(K, sizeof *s->sparse, "a product to time", &s->sparse));
    TULLE_TRY(time_tiles(s));
out:
    tulle__free(s->a);
    tulle__free(s->b);
    tulle__free(s->dense);
    tulle__free(s->sparse);
    drop_workspace(&s->C);
    drop_workspace(&s->sum);
    return status;
}

/* True if tiles are multiplied by the kernels that are timed here. */
static bool is_timed(const tulle_mat *X, bool dense)
{
    return (X->kind == TULLE_CSR && tulle_mat_ordered(X) && !X->compressed && tulle_mat_symmetry(X) == TULLE_GENERAL) ||
           (dense && X->kind == TULLE_DENSE);
}

tulle_status tulle_machine_time_product(const tulle_mat *A, const tulle_mat *B, tulle_machine *machine)
{
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(machine))
        return tulle__refuse(A ? A->comm : B ? B->comm : NULL);
    struct sample s = {.A = A, .B = B, .C = {.type = A->type}, .sum = {.type = A->type}};
    TULLE__ENTER(A->comm);
    TULLE_CALL(tulle_comm_agree(A->comm, TULLE_OK)); /* nobody passes NULL */
    machine->kernel = machine->merge = 0;
    tulle_status status = tulle__context_get(A->comm, &s.context);
    const bool match = A->type == B->type && A->comm == B->comm &&
                       tulle__layout_same_cuts(A->layout->col_cut, A->layout->nt, B->layout->row_cut, B->layout->mt);
    if (!match) status = tulle__fail(TULLE_ERR_ARG, "A and B do not match in type, comm or tiles");
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    if (!is_timed(A, false) || !is_timed(B, true) || s.context->kernels == &s.context->none) return TULLE_OK;
    s.alone = tulle__pool_size(s.context->pool) == 1;
    TULLE_CALL(tulle_comm_agree(A->comm, time_own(&s)));
    double sum[] = {s.work, s.seconds, s.merged, s.merging};
    TULLE_CALL(tulle_comm_agree(A->comm, tulle_comm_reduce_real(A->comm, TULLE_SUM, 4, sum)));
    const double crowd = s.alone && machine->crowd > 1 ? machine->crowd : 1;
    if (sum[1] > 0) machine->kernel = 2 * sum[0] / sum[1] / crowd;
    if (sum[3] > 0) machine->merge = sum[2] / sum[3] / crowd;
    return TULLE_OK;
}
