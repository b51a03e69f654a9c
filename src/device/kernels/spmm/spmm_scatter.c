/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = alpha A^T B + beta C without a transpose of A: a row of A, which is a column of A^T, is added to the lines of C
 * that its columns name, its rows one after the other. Threads share the columns of C in panels of whole lines of the
 * cache, and each goes through all of A: an element is summed by one thread in the order of A's rows, so that results
 * depend on neither their number nor the panels.
 *
 * Costs, with v bytes a value, N columns, z entries of A: A once a panel (z (4 + v)), B once, C once to begin with, and
 * z N v bytes of C loaded and stored where it was left by the rows before, which is why a panel is narrow. A and B are
 * checked and packed a few rows at a time, which stay in the nearest cache.
 */
#include <stdatomic.h>

#include "base/attend.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spmm/scatter_kernel.h"
#include "device/kernels/spmm/spmm.h"
#include "device/kernels/spmm/unchecked_rows.h"
#include "device/values.h"

enum { LINE = 64, PANEL_LINES = 8 };
static const double fetched_bytes = 1e6; /* of a panel of C, from which on lines are fetched ahead */

struct kernels {
    void (*scatter)(tulle_type type, const tulle__scatter_rows *rows);
    void (*lines)(tulle_type type, const tulle__columns *columns, void *to);
};

struct job {
    tulle__pool *pool;
    const struct kernels *kernel;
    const tulle__checks *check;
    const tulle__spmm_task *task;
    const tulle__unchecked_csr *A;
    size_t size;
    int64_t width, panels; /* columns of a panel, their number */
    int packs;             /* B is not row-major: lines of it are */
    int beside;            /* C is not row-major: a panel is made beside it, then added */
    atomic_bool invalid;
    atomic_int_fast64_t next;
};

/* A thread's own memory. */
struct workspace {
    tulle__unchecked_buffer rows;
    char *lines; /* of B, for rows that are taken at a time */
    char *panel; /* of C */
};

/* A panel's part of the work. */
struct part {
    int64_t first; /* columns first .. first + rows.n - 1 */
    tulle__scatter_rows rows;
};

/* X: the lines of B for rows begin .. begin + count - 1 of A. */
static void set_lines(
    const struct job *job, struct workspace *workspace, struct part *part, int64_t begin, int64_t count)
{
    const tulle__spmm_pair *pair = job->task->pair;
    part->rows.X = (const char *)pair->B + (size_t)(begin * pair->b_row + part->first * pair->b_col) * job->size;
    part->rows.ldx = pair->b_row;
    if (!job->packs) return;
    const tulle__columns columns = {part->rows.X, count, part->rows.n, pair->b_row, pair->b_col};
    job->kernel->lines(job->task->type, &columns, workspace->lines);
    part->rows.X = workspace->lines;
    part->rows.ldx = part->rows.n;
}

static void add_rows(
    const struct job *job, struct workspace *workspace, struct part *part, int64_t begin, int64_t count)
{
    set_lines(job, workspace, part, begin, count);
    job->kernel->scatter(job->task->type, &part->rows);
}

/* A row that is longer than what is taken at a time, piece by piece. False if it is not valid. */
static bool add_long_row(const struct job *job, struct workspace *workspace, struct part *part, int64_t i)
{
    const int64_t stop = tulle__unchecked_pointer(job->A, i + 1);
    int64_t end;
    for (int64_t a = tulle__unchecked_pointer(job->A, i); a < stop; a = end) {
        end = stop - a < TULLE__UNCHECKED_ENTRIES ? stop : a + TULLE__UNCHECKED_ENTRIES;
        if (!tulle__unchecked_piece(job->A, a, end, &workspace->rows, &part->rows.A)) return false;
        add_rows(job, workspace, part, i, 1);
    }
    return true;
}

static bool is_long(const tulle__unchecked_csr *A, int64_t i)
{
    return tulle__unchecked_near(A, i + 1) - tulle__unchecked_near(A, i) > TULLE__UNCHECKED_ENTRIES;
}

/* Rows of A from i on; returns how many were taken, or 0 if they are not valid. */
static int64_t add_some(const struct job *job, struct workspace *workspace, struct part *part, int64_t i)
{
    if (is_long(job->A, i))
        return tulle__unchecked_pointer(job->A, i) >= 0 && add_long_row(job, workspace, part, i) ? 1 : 0;
    const int64_t taken = tulle__unchecked_take(job->A, i, job->A->m, &workspace->rows, &part->rows.A);
    if (taken) add_rows(job, workspace, part, i, taken);
    return taken;
}

/* All rows of A for the columns of a part, or until a pool is to stop, which says so itself. */
static tulle_status add_all(struct job *job, struct workspace *workspace, struct part *part)
{
    for (int64_t i = 0; i < job->A->m;) {
        if (!job->pool) TULLE_CALL(tulle__attend());
        if (!tulle__pool_continues(job->pool)) return TULLE_OK;
        const int64_t taken = add_some(job, workspace, part, i);
        if (!taken) {
            atomic_store_explicit(&job->invalid, true, memory_order_relaxed);
            return TULLE_OK;
        }
        i += taken;
    }
    return TULLE_OK;
}

/* Columns of one panel, into C or beside it. */
static tulle_status make_panel(struct job *job, struct workspace *workspace, int64_t first)
{
    const tulle__spmm_task *t = job->task;
    struct part part = {.first = first, .rows = {.alpha = t->alpha, .ldc = t->c_row}};
    char *C = (char *)t->C + (size_t)(first * t->c_col) * job->size;
    part.rows.n = t->n - first < job->width ? t->n - first : job->width;
    part.rows.C = C;
    part.rows.fetches = (double)(t->m * part.rows.n) * (double)job->size > fetched_bytes;
    if (job->beside) {
        part.rows.C = workspace->panel;
        part.rows.ldc = part.rows.n;
        tulle__values_scale(NULL, t->type, t->m, part.rows.n, part.rows.n, 0, workspace->panel);
        tulle__values_scale(NULL, t->type, part.rows.n, t->m, t->c_col, t->beta, C);
    } else {
        tulle__values_scale(NULL, t->type, t->m, part.rows.n, t->c_row, t->beta, C);
    }
    TULLE_CALL(add_all(job, workspace, &part));
    if (job->beside) tulle__values_add(t->type, t->m, part.rows.n, workspace->panel, C, t->c_row, t->c_col);
    return TULLE_OK;
}

static tulle_status make_panels(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    tulle_status status;
    struct workspace workspace = {.lines = NULL};
    (void)thread;
    (void)nthreads;
    TULLE_TRY(tulle__unchecked_begin(&workspace.rows, job->A, job->check, job->size, TULLE__UNCHECKED_ENTRIES));
    if (job->packs)
        TULLE_TRY(
            tulle__alloc((size_t)(TULLE__UNCHECKED_ROWS * job->width), job->size, "lines of B", &workspace.lines));
    if (job->beside)
        TULLE_TRY(tulle__alloc((size_t)(job->task->m * job->width), job->size, "columns of C", &workspace.panel));
    for (int64_t p; (p = tulle__pool_take(job->pool, &job->next, job->panels)) < job->panels;)
        TULLE_TRY(make_panel(job, &workspace, p * job->width));
out:
    tulle__unchecked_end(&workspace.rows);
    tulle__free(workspace.lines);
    tulle__free(workspace.panel);
    return status;
}

/* Panels of equal numbers of lines of the cache, one for each thread at least. */
static void cut(struct job *job)
{
    const int64_t a_line = LINE / (int64_t)job->size, lines = (job->task->n + a_line - 1) / a_line,
                  threads = tulle__pool_size(job->pool);
    int64_t panels = (lines + PANEL_LINES - 1) / PANEL_LINES;
    panels = (panels + threads - 1) / threads * threads;
    if (panels > lines) panels = lines;
    job->width = (lines + panels - 1) / panels * a_line;
    if (job->width > job->task->n) job->width = job->task->n;
    job->panels = (job->task->n + job->width - 1) / job->width;
}

#define SCATTER(isa, index) [index] = {tulle__scatter_##isa, tulle__lines_##isa},
#define CHECK(isa, index) [index] = {tulle__columns_check_##isa, tulle__pointers_widen_##isa},
static const struct kernels kernels_of[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(SCATTER)};
static const tulle__checks check_of[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(CHECK)};

tulle_status tulle__spmm_cpu_scatter(
    tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)
{
    struct job job = {
        .kernel = &kernels_of[isa], .check = &check_of[isa], .task = task, .A = A, .size = tulle_type_size(task->type)};
    *valid = A->n <= INT32_MAX && tulle__unchecked_ends(A);
    if (!*valid || task->m == 0 || task->n == 0) return TULLE_OK;
    job.pool = tulle__pool_for(pool, (double)(A->nnz + A->m) * (double)task->n);
    job.packs = task->n > 1 && task->pair->b_col != 1;
    job.beside = task->n > 1 && task->c_col != 1;
    cut(&job);
    if (job.panels == 1) job.pool = NULL;
    const tulle_status status = tulle__pool_run(job.pool, make_panels, &job);
    *valid = !atomic_load_explicit(&job.invalid, memory_order_relaxed);
    return status;
}
