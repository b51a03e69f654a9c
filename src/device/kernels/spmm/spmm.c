/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = alpha sum_p A_p B_p + beta C by rows of C, for rows of chunks with nearly equal work, which threads take in turn:
 * neighbouring chunks run at the same time, so that threads share in the outer cache the rows of B that neighbours have
 * in common. Rows too long for one thread are left out at first, then summed in pieces by all.
 *
 * Costs, with v bytes a value, N columns, z entries of A:
 *   flops   2 z N; an FMA per vector needs one load of B, so at best the loads' rate (two 32-byte vectors a cycle)
 *   memory  A once (z (4 + v)), B at least once, C once (streamed) or twice (a store to memory is a load of it too)
 *   cache   z N v bytes of B from wherever its row was left by the rows before: what a structured matrix lives on
 * With few columns A's bytes dominate; with many, whether N v bytes times the rows of B that are in use fit the caches.
 * Columns or strides other than row-major go through packed panels of 32 columns.
 */
#include "device/kernels/spmm/spmm.h"

#include <stdatomic.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spmm/identical_rows.h"
#include "device/kernels/spmm/unchecked_rows.h"

/* Groups of four entries of a row that count against masks. */
enum { MASKED_FOURS = 16 };
/* Work, below which a processor remembers where rows end from one product to the next. */
enum { FORESEEN_WORK = 1 << 16 };
/* Entries of a row below which rows at offsets are faster one by one, with one column: 0.7 times at two of them. */
enum { OFFSET_ROW = 8 };
/* ... and from which on one column that lies far off is gathered by instructions. */
enum { FAR_ROW = 16 };
enum { PANEL = 32, PASS_LINES = 8, MANY_LINES = 4, CHUNKS_PER_THREAD = 24, SCRATCH_ROWS = 256, ROW_WORK = 4 };
enum { LONG_ROW = 1 << 16, PIECE = 1 << 14 }; /* entries; fixed, so that sums do not depend on threads */
static const double streamed_bytes = 24e6, fetched_bytes = 256e3, fetched_column = 16e6, always_fetched_bytes = 20e6,
                    far_column = 2e6;

/* Part of a long row. */
struct piece {
    int64_t rowptr[2];
    int pair;
};

struct job {
    tulle__pool *pool;
    tulle__spmm_kernel kernel;
    const tulle__spmm_task *task;
    const tulle__unchecked_csr *unchecked; /* NULL, or the rows of the only pair */
    const tulle__checks *check;            /* of them */
    atomic_bool invalid;                   /* some of them are not valid */
    tulle__spmm_operand *operand;          /* [npairs]: as of this pass */
    size_t size;
    int64_t inner;        /* rows of B, of all pairs */
    int64_t first, width; /* the columns of this pass */
    char *packed;
    int packs;   /* B is not row-major: panels of it are */
    int scratch; /* C is not row-major: a thread's rows are made beside it, then put there */
    int stream;
    int groups;    /* kinds that are frequent in A */
    int irregular; /* rows of A end where their neighbours do not, and there is a kernel for such */
    double work;   /* entries and rows, with ROW_WORK */
    int column;    /* one, with B's rows next to each other in all pairs */
    int64_t nchunks;
    int64_t *long_row; /* [most_long]: rows that were left out */
    int64_t most_long;
    struct piece *piece;
    int64_t npieces;
    char *sums; /* npieces x width: of one long row */
    atomic_int_fast64_t next, nlong;
};

/* The first entry of row i of a pair; pointers that have not been checked may descend, but name entries. */
static int64_t begin_of_row(const struct job *job, int p, int64_t i)
{
    return job->unchecked ? tulle__unchecked_near(job->unchecked, i) : job->task->pair[p].A.rowptr[i];
}

static int64_t row_length(const struct job *job, int64_t i)
{
    int64_t length = 0;
    for (int p = 0; p < job->task->npairs; p++) length += begin_of_row(job, p, i + 1) - begin_of_row(job, p, i);
    return length;
}

/* Work before row i: its entries, and something for each row. */
static int64_t work_before(const struct job *job, int64_t i)
{
    int64_t work = ROW_WORK * i;
    for (int p = 0; p < job->task->npairs; p++) work += begin_of_row(job, p, i) - begin_of_row(job, p, 0);
    return work;
}

/* The first row of a chunk. Also where pointers descend, each row lies in some chunk, so that all are checked. */
static int64_t chunk_start(const struct job *job, int64_t chunk)
{
    int64_t total = work_before(job, job->task->m), low = 0, high = job->task->m;
    int64_t work = (int64_t)((double)total * (double)chunk / (double)job->nchunks);
    if (chunk == job->nchunks) return job->task->m;
    TULLE__PARTITION_POINT(low, high, middle, work_before(job, middle) < work);
    return low;
}

#define STRIDED(T, suffix)                                                                                             \
    /* Rows begin .. end - 1 of the panel of B, row-major. */                                                          \
    static void pack_##suffix(                                                                                         \
        const struct job *job, const tulle__spmm_pair *pair, char *panel, int64_t begin, int64_t end)                  \
    {                                                                                                                  \
        const T *B = pair->B;                                                                                          \
        T *to = (T *)(void *)panel;                                                                                    \
        for (int64_t k = begin; k < end; k++)                                                                          \
            for (int64_t j = 0; j < job->width; j++)                                                                   \
                to[k * job->width + j] = B[k * pair->b_row + (job->first + j) * pair->b_col];                          \
    }                                                                                                                  \
    /* C = x + beta C for a few rows; x = alpha A B is row-major. */                                                   \
    static void put_##suffix(const struct job *job, const void *scratch, int64_t begin, int64_t end)                   \
    {                                                                                                                  \
        const tulle__spmm_task *task = job->task;                                                                      \
        const T *x = scratch, beta = (T)task->beta;                                                                    \
        T *C = task->C;                                                                                                \
        for (int64_t j = 0; j < job->width; j++)                                                                       \
            for (int64_t i = begin; i < end; i++) {                                                                    \
                T *c = &C[i * task->c_row + (job->first + j) * task->c_col], sum = x[(i - begin) * job->width + j];    \
                *c = beta == 0 ? sum : sum + beta * *c;                                                                \
            }                                                                                                          \
    }                                                                                                                  \
    /* Row i of C = alpha (the sum of the pieces' sums) + beta C. */                                                   \
    static void add_pieces_##suffix(const struct job *job, int64_t i)                                                  \
    {                                                                                                                  \
        const tulle__spmm_task *task = job->task;                                                                      \
        const T *x = (const T *)(const void *)job->sums, alpha = (T)task->alpha, beta = (T)task->beta;                 \
        T *C = task->C;                                                                                                \
        for (int64_t j = 0; j < job->width; j++) {                                                                     \
            T *c = &C[i * task->c_row + (job->first + j) * task->c_col], sum = 0;                                      \
            for (int64_t q = 0; q < job->npieces; q++) sum += x[q * job->width + j];                                   \
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;                                                    \
        }                                                                                                              \
    }
STRIDED(float, f32)
STRIDED(double, f64)

static tulle_status pack(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    char *panel = job->packed;
    for (int p = 0; p < job->task->npairs; p++) {
        const tulle__spmm_pair *pair = &job->task->pair[p];
        int64_t k = pair->A.n, begin = k * thread / nthreads, end = k * (thread + 1) / nthreads;
        job->task->type == TULLE_F32 ? pack_f32(job, pair, panel, begin, end) : pack_f64(job, pair, panel, begin, end);
        panel += (size_t)(k * job->width) * job->size;
    }
    return TULLE_OK;
}

/*
 * True to fetch B ahead. A fetch for each entry costs a third of the entry's time where B's row is short, and takes
 * room in the first-level cache where it is long. It is worth that if rows of B come from beyond the second-level cache
 * and are new to most rows of A: where rows overlap, few entries wait, unless B - that of all pairs - is so large that
 * these wait for memory. A single column lies in the outer cache for longer, and its lines serve neighbours.
 */
static int fetches(const struct job *job, int p)
{
    double bytes = (double)job->inner * (double)job->task->n * (double)job->size;
    const int64_t m = job->task->m;
    if (job->task->n == 1) return bytes > fetched_column && !tulle__spmm_rows_overlap(&job->operand[p], m);
    return bytes > always_fetched_bytes || (bytes > fetched_bytes && !tulle__spmm_rows_overlap(&job->operand[p], m));
}

/* The operands of the pass over columns first .. first + width - 1. */
static void set_operands(struct job *job)
{
    static const double none = 0;
    const char *panel = job->packed;
    for (int p = 0; p < job->task->npairs; p++) {
        const tulle__spmm_pair *pair = &job->task->pair[p];
        tulle__spmm_operand *operand = &job->operand[p];
        operand->B = job->packs ? panel : (const char *)pair->B + (size_t)(job->first * pair->b_col) * job->size;
        operand->ldb = job->packs ? job->width : pair->b_row;
        operand->far = job->column && (double)pair->A.n * (double)job->size > far_column &&
                       begin_of_row(job, p, job->task->m) - begin_of_row(job, p, 0) >= FAR_ROW * job->task->m;
        operand->fetch_end = fetches(job, p) ? begin_of_row(job, p, job->task->m) : 0;
        if (pair->A.n == 0) operand->B = &none; /* B has no element, and kernels may read one that they drop */
        if (job->packs) panel += (size_t)(pair->A.n * job->width) * job->size;
    }
}

/* The operands with entries in rows begin .. end - 1, or one that has none: a banded matrix has one in most chunks. */
static int operands_of(const struct job *job, int64_t begin, int64_t end, tulle__spmm_operand *operand)
{
    int n = 0;
    operand[0] = job->operand[0];
    for (int p = 0; p < job->task->npairs; p++) {
        const int64_t *rowptr = job->operand[p].A.rowptr;
        if (rowptr[end] > rowptr[begin]) operand[n++] = job->operand[p];
    }
    return n ? n : 1;
}

static int groups_of_pass(const struct job *job)
{
    int wide = job->width * (int64_t)job->size >= TULLE__OFFSET_BYTES;
    return wide || job->column ? job->groups : job->groups & ~TULLE__ROWS_AT_OFFSETS;
}

/* A thread's own memory. */
struct workspace {
    tulle__spmm_operand *operand; /* [npairs] */
    char *scratch;
    tulle__unchecked_buffer unchecked;
};

/* Rows begin .. end - 1 of the operands, the first of which are for row `first` of C. */
static void multiply_operands(const struct job *job, const struct workspace *workspace,
    const tulle__spmm_operand *operand, int npairs, int64_t begin, int64_t end, int64_t first)
{
    const tulle__spmm_task *task = job->task;
    tulle__spmm_rows rows = {.pair = operand,
        .npairs = npairs,
        .n = job->width,
        .alpha = task->alpha,
        .beta = task->beta,
        .ldc = task->c_row,
        .stream = job->stream,
        .groups = groups_of_pass(job),
        .irregular = job->irregular};
    if (!workspace->scratch) {
        rows.begin = begin;
        rows.end = end;
        rows.C = (char *)task->C + (size_t)(first * task->c_row + job->first) * job->size;
        job->kernel(&rows);
        return;
    }
    rows.beta = 0;
    rows.C = workspace->scratch;
    rows.ldc = job->width;
    for (rows.begin = begin; rows.begin < end; rows.begin = rows.end) {
        rows.end = rows.begin + SCRATCH_ROWS < end ? rows.begin + SCRATCH_ROWS : end;
        job->kernel(&rows);
        const int64_t at = first + rows.begin - begin, stop = first + rows.end - begin;
        task->type == TULLE_F32 ? put_f32(job, workspace->scratch, at, stop)
                                : put_f64(job, workspace->scratch, at, stop);
    }
}

/* Rows that have not been checked, few at a time. */
static void multiply_unchecked(struct job *job, struct workspace *workspace, int64_t begin, int64_t end)
{
    for (int64_t taken; begin < end; begin += taken) {
        tulle__spmm_operand operand = job->operand[0];
        taken = tulle__unchecked_take(job->unchecked, begin, end, &workspace->unchecked, &operand.A);
        if (!taken) {
            atomic_store_explicit(&job->invalid, true, memory_order_relaxed);
            return;
        }
        if (operand.fetch_end && workspace->unchecked.narrowed) operand.fetch_end = operand.A.rowptr[taken];
        multiply_operands(job, workspace, &operand, 1, 0, taken, begin);
    }
}

/* Rows begin .. end - 1, none of them long. */
static void multiply_rows(struct job *job, struct workspace *workspace, int64_t begin, int64_t end)
{
    if (job->unchecked)
        multiply_unchecked(job, workspace, begin, end);
    else
        multiply_operands(
            job, workspace, workspace->operand, operands_of(job, begin, end, workspace->operand), begin, end, begin);
}

/* The first long row of begin .. end - 1, or end: halves without enough entries for one are not looked at. */
static int64_t next_long(const struct job *job, int64_t begin, int64_t end)
{
    while (begin < end && work_before(job, end) - work_before(job, begin) >= LONG_ROW) {
        int64_t middle = begin + (end - begin) / 2;
        if (end - begin == 1) return row_length(job, begin) >= LONG_ROW ? begin : end;
        int64_t found = next_long(job, begin, middle);
        if (found < middle) return found;
        begin = middle;
    }
    return end;
}

/* A long row is left for later. Where pointers descend there may seem to be more than can be. */
static void leave_long(struct job *job, int64_t row)
{
    const int64_t at = atomic_fetch_add_explicit(&job->nlong, 1, memory_order_relaxed);
    if (at < job->most_long)
        job->long_row[at] = row;
    else
        atomic_store_explicit(&job->invalid, true, memory_order_relaxed);
}

static tulle_status multiply(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    tulle_status status = TULLE_OK;
    tulle__spmm_operand one;
    struct workspace workspace;
    (void)thread;
    (void)nthreads;
    workspace.operand = &one;
    workspace.scratch = NULL;
    TULLE_TRY(tulle__unchecked_begin(&workspace.unchecked, job->unchecked, job->check, job->size, LONG_ROW));
    if (job->task->npairs > 1)
        TULLE_TRY(tulle__alloc((size_t)job->task->npairs, sizeof one, "operands of a chunk", &workspace.operand));
    if (job->scratch)
        TULLE_TRY(tulle__alloc(
            (size_t)(SCRATCH_ROWS * job->width), job->size, "rows of C before they are put", &workspace.scratch));
    for (;;) {
        const int64_t chunk = tulle__pool_take(job->pool, &job->next, job->nchunks);
        if (chunk >= job->nchunks) break;
        int64_t end = chunk_start(job, chunk + 1);
        for (int64_t i = chunk_start(job, chunk), stop; i < end; i = stop + 1) {
            stop = next_long(job, i, end);
            if (stop > i) multiply_rows(job, &workspace, i, stop);
            if (stop < end) leave_long(job, stop);
        }
    }
out:
    if (workspace.operand != &one) tulle__free(workspace.operand);
    tulle__free(workspace.scratch);
    tulle__unchecked_end(&workspace.unchecked);
    return status;
}

/* ---- long rows ---- */

static tulle_status multiply_pieces(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    tulle__unchecked_buffer buffer;
    (void)thread;
    (void)nthreads;
    TULLE_CALL(tulle__unchecked_begin(&buffer, job->unchecked, job->check, job->size, LONG_ROW));
    for (int64_t q; (q = tulle__pool_take(job->pool, &job->next, job->npieces)) < job->npieces;) {
        const struct piece *piece = &job->piece[q];
        tulle__spmm_operand operand = job->operand[piece->pair];
        operand.A.m = 1;
        operand.A.rowptr = piece->rowptr;
        if (job->unchecked) {
            operand.fetch_end = 0;
            if (!tulle__unchecked_piece(job->unchecked, piece->rowptr[0], piece->rowptr[1], &buffer, &operand.A)) {
                atomic_store_explicit(&job->invalid, true, memory_order_relaxed);
                continue;
            }
        }
        tulle__spmm_rows rows = {.pair = &operand,
            .npairs = 1,
            .end = 1,
            .n = job->width,
            .C = job->sums + (size_t)(q * job->width) * job->size,
            .ldc = job->width,
            .alpha = 1};
        job->kernel(&rows);
    }
    tulle__unchecked_end(&buffer);
    return TULLE_OK;
}

static tulle_status multiply_long(tulle__pool *pool, struct job *job, int64_t i)
{
    tulle_status status;
    const tulle__spmm_task *task = job->task;
    const int64_t most = row_length(job, i) / PIECE + task->npairs;
    job->npieces = 0;
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *job->piece, "pieces of a long row", &job->piece));
    TULLE_TRY(tulle__alloc((size_t)(most * job->width), job->size, "sums of pieces of a long row", &job->sums));
    for (int p = 0; p < task->npairs; p++) {
        const int64_t stop = begin_of_row(job, p, i + 1);
        for (int64_t a = begin_of_row(job, p, i); a < stop; a += PIECE) {
            int64_t end = a + PIECE < stop ? a + PIECE : stop;
            job->piece[job->npieces++] = (struct piece){.rowptr = {a, end}, .pair = p};
        }
    }
    atomic_store_explicit(&job->next, 0, memory_order_relaxed);
    TULLE_TRY(tulle__pool_run(pool, multiply_pieces, job));
    task->type == TULLE_F32 ? add_pieces_f32(job, i) : add_pieces_f64(job, i);
out:
    tulle__free(job->piece);
    tulle__free(job->sums);
    job->piece = NULL;
    job->sums = NULL;
    return status;
}

static tulle_status multiply_pass(tulle__pool *pool, struct job *job)
{
    if (job->packs) TULLE_CALL(tulle__pool_run(pool, pack, job));
    set_operands(job);
    atomic_store_explicit(&job->next, 0, memory_order_relaxed);
    atomic_store_explicit(&job->nlong, 0, memory_order_relaxed);
    TULLE_CALL(tulle__pool_run(pool, multiply, job));
    const int64_t nlong = atomic_load_explicit(&job->nlong, memory_order_relaxed);
    if (atomic_load_explicit(&job->invalid, memory_order_relaxed)) return TULLE_OK;
    for (int64_t l = 0; l < nlong; l++) TULLE_CALL(multiply_long(pool, job, job->long_row[l]));
    return TULLE_OK;
}

/*
 * Columns of a pass. A pass over 512 bytes of each row of B keeps in the caches the rows that neighbours have in
 * common: 27 of them in L1, the 3 planes of a 3D mesh of 64^3 in L3, where rows of 1 KB cost four times as much a pass.
 * A is read again for each pass, 8 + v bytes against 512.
 */
static int64_t panel_width(int64_t n, size_t size)
{
    int64_t lines = (n * (int64_t)size + 63) / 64, passes = (lines + PASS_LINES - 1) / PASS_LINES;
    return passes < 2 ? n : (lines + passes - 1) / passes * 64 / (int64_t)size;
}

/*
 * Columns of the pass that begins at job->first. Where rows form groups two passes are one: a group needs a row of B
 * once that single rows need from the caches several times. Unless what is left then were to be made in fewer vectors:
 * in how many parts sums are made depends on n alone.
 */
static int64_t pass_width(const struct job *job, int64_t panel)
{
    int64_t left = job->task->n - job->first, few = (MANY_LINES - 1) * 64 / (int64_t)job->size;
    if (left <= panel) return left;
    if (!job->groups || job->packs || job->scratch || left - panel <= few) return panel;
    return left < 2 * panel ? left : 2 * panel;
}

#define SPMM(isa, index) [index] = tulle__spmm_##isa,
#define SPMV(isa, index) [index] = tulle__spmv_##isa,
#define CHECK(isa, index) [index] = {tulle__columns_check_##isa, tulle__pointers_widen_##isa},
static const tulle__spmm_kernel *const spmm_of[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(SPMM)};
static const tulle__spmm_kernel *const spmv_of[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(SPMV)};
static const tulle__checks check_of[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(CHECK)};

/* Sets the fields of all passes; returns the columns of one. */
static int64_t job_init(struct job *job, tulle__pool *pool)
{
    const tulle__spmm_task *task = job->task;
    int threads = tulle__pool_size(pool);
    job->column = task->n == 1;
    for (int p = 0; p < task->npairs; p++) {
        job->packs |= task->pair[p].b_col != 1 && task->n > 1;
        job->column &= task->pair[p].b_row == 1;
    }
    job->scratch = task->c_col != 1 && task->n > 1;
    job->nchunks = threads == 1 && task->npairs == 1 ? 1 : (int64_t)CHUNKS_PER_THREAD * threads;
    if (job->nchunks > task->m) job->nchunks = task->m;
    job->stream = !job->scratch && task->beta == 0 && ((uintptr_t)task->C & 63) == 0 &&
                  (size_t)task->c_row * job->size % 64 == 0 && (size_t)task->n * job->size % 64 == 0 &&
                  (double)task->m * (double)task->n * (double)job->size > streamed_bytes;
    int64_t panel = job->packs || job->scratch ? PANEL : panel_width(task->n, job->size);
    return panel < task->n ? panel : task->n;
}

/* True if a row of B is one vector of the instruction set, of two values at least, or of four in f32. */
static int is_vector(const struct job *job, tulle__isa isa)
{
    int64_t bytes = job->task->n * (int64_t)job->size, widest = isa == TULLE__ISA_AVX512 ? 64 : 32;
    return isa != TULLE__ISA_PORTABLE && (bytes == 16 || bytes == 32 || bytes == 64) && bytes <= widest;
}

/*
 * True to use the flat loop over the entries of all rows; its kernels are for a row of B of one element or vector.
 * Measured on random rows of 2 to 32 entries, graphs and meshes: with one column it is faster up to 11 fours of entries
 * for each end that is mispredicted (ca-AstroPh, 8.3: 1.45 times) and slower at 14 (mfem_bracket_thermal_p2: 0.8
 * times); with eight faster up to 5.5 (coauthor_physics, 4.7: 1.07, with two pairs 1.4 times), slower at 8.3
 * (ca-AstroPh: 0.97). One column of one pair is made row by row under masks, where these are registers: 1.1 to 2
 * times a plain loop's speed on random rows of 3 to 64 entries and on R-MAT graphs, 0.9 times on meshes; entries of
 * long rows cost no more so.
 */
static int is_irregular(const struct job *job, tulle__isa isa)
{
    static const double most_column = 12, most_masked = 40, most_vector = 6;
    const tulle__spmm_task *task = job->task;
    int column = job->column && isa != TULLE__ISA_PORTABLE;
    if (column && task->npairs == 1)
        return isa == TULLE__ISA_AVX512 && job->work >= FORESEEN_WORK && !(job->groups & TULLE__ROWS_AT_OFFSETS) &&
               tulle__spmm_fours_an_unlike_end(job->operand, 1, task->m, MASKED_FOURS) < most_masked;
    if (!column && (!is_vector(job, isa) || (job->groups & TULLE__ROWS_OF_SAME_COLUMNS))) return 0;
    return tulle__spmm_fours_an_unlike_end(job->operand, task->npairs, task->m, INT64_MAX) <
           (column ? most_column : most_vector);
}

/* job: its task, and what else is not 0. */
static tulle_status run(tulle__isa isa, tulle__pool *pool, struct job *job)
{
    tulle_status status = TULLE_OK;
    const tulle__spmm_task *task = job->task;
    tulle__spmm_operand one;
    job->size = tulle_type_size(task->type);
    const int64_t entries = work_before(job, task->m) - ROW_WORK * task->m;
    job->work = (double)(entries + ROW_WORK * task->m);
    job->pool = pool = tulle__pool_for(pool, job->work * (double)task->n);
    const int64_t panel = job_init(job, pool);
    job->kernel = (job->column ? spmv_of : spmm_of)[isa][task->type];
    for (int p = 0; p < task->npairs; p++) job->inner += task->pair[p].A.n;
    job->operand = &one;
    if (task->npairs > 1)
        TULLE_TRY(tulle__alloc((size_t)task->npairs, sizeof one, "operands of a product", &job->operand));
    for (int p = 0; p < task->npairs; p++)
        job->operand[p] = (tulle__spmm_operand){.A = task->pair[p].A, .unchecked = job->unchecked};
    if (isa != TULLE__ISA_PORTABLE) job->groups = tulle__spmm_groups(job->operand, task->npairs, task->m, job->column);
    if (job->column && entries < OFFSET_ROW * task->m) job->groups &= ~TULLE__ROWS_AT_OFFSETS;
    job->irregular = is_irregular(job, isa);
    job->most_long = entries / LONG_ROW;
    if (job->most_long)
        TULLE_TRY(tulle__alloc((size_t)job->most_long, sizeof *job->long_row, "long rows", &job->long_row));
    if (job->packs)
        TULLE_TRY(tulle__alloc((size_t)(job->inner * panel), job->size, "row-major panels of B", &job->packed));
    for (job->first = 0; job->first < task->n; job->first += job->width) {
        job->width = pass_width(job, panel);
        TULLE_TRY(multiply_pass(pool, job));
    }
out:
    if (job->operand != &one) tulle__free(job->operand);
    tulle__free(job->long_row);
    tulle__free(job->packed);
    return status;
}

tulle_status tulle__spmm_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task)
{
    struct job job = {.task = task};
    return task->m == 0 || task->n == 0 ? TULLE_OK : run(isa, pool, &job);
}

tulle_status tulle__spmm_cpu_unchecked(
    tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)
{
    tulle__spmm_pair pair = *task->pair;
    tulle__spmm_task own = *task;
    struct job job = {.task = &own, .unchecked = A, .check = &check_of[isa]};
    pair.A = (tulle__csr){.m = A->m, .n = A->n, .val = A->val};
    own.pair = &pair;
    *valid = A->n <= INT32_MAX && tulle__unchecked_ends(A);
    if (!*valid || task->m == 0 || task->n == 0) return TULLE_OK;
    const tulle_status status = run(isa, pool, &job);
    *valid = !atomic_load_explicit(&job.invalid, memory_order_relaxed);
    return status;
}
