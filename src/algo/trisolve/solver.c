/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/solver.h"

#include <string.h>

#include "algo/trisolve/chunked.h"
#include "base/error.h"

/* Private memory only: what is left goes with the team. */
static void drop(tulle_trisolve *solver)
{
    for (int w = 0; solver->share && w < solver->mine; w++) tulle__share_fini(&solver->share[w]);
    if (solver->words.length) tulle__heap_give(solver->comm->pe->control, &solver->words);
    tulle__order_fini(&solver->order);
    tulle__triangle_fini(&solver->triangle);
    tulle__free(solver->share);
    tulle__free(solver->word);
    tulle__free(solver);
}

static void drop_owned(tulle__owned *object)
{
    drop((tulle_trisolve *)object);
}

/* Collective. */
static void free_matrices(tulle_trisolve *solver)
{
    tulle_mat_free(solver->stage_B);
    tulle_mat_free(solver->stage_X);
    tulle_mat_free(solver->lines);
    tulle_mat_free(solver->triangle.own);
}

void tulle_trisolve_free(tulle_trisolve *solver)
{
    if (!solver) return;
    tulle__pe_disown(&solver->owned);
    free_matrices(solver);
    drop(solver);
}

/* Where all workers count their rows. */
static tulle_status connect(tulle_trisolve *solver)
{
    tulle_comm *comm = solver->comm;
    tulle__place *place = NULL;
    size_t line = 64, bytes = line * (size_t)solver->each;
    tulle_status status = tulle__alloc((size_t)comm->size, sizeof *place, "places of words", &place);
    if (status == TULLE_OK)
        status = tulle__alloc((size_t)solver->workers, sizeof *solver->word, "words", &solver->word);
    if (status == TULLE_OK) status = tulle__heap_take(comm->pe->control, bytes, "words of progress", &solver->words);
    if (status == TULLE_OK) memset(tulle__direct(comm, &solver->words), 0, bytes);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_allgather(comm, &solver->words, sizeof solver->words, place));
    for (int w = 0; w < solver->workers && solver->mine; w++) {
        char *words = tulle__direct(comm, &place[w / solver->each]);
        solver->word[w] = (uint64_t *)(void *)(words + line * (size_t)(w % solver->each));
    }
out:
    tulle__free(place);
    return status;
}

static tulle_status make_share(void *arg, int thread, int nthreads)
{
    tulle_trisolve *solver = arg;
    int worker = solver->comm->rank * solver->each + thread;
    tulle__share *share = &solver->share[thread];
    (void)nthreads;
    if (!tulle__solver_permutes(solver))
        return tulle__chunked_share(&solver->triangle, solver->shift, worker, solver->workers, share);
    return tulle__leveled_share(
        &solver->triangle, &solver->order, solver->method == TULLE_METHOD_LEVELS, worker, share);
}

static tulle_status on_workers(tulle_trisolve *solver, tulle__pool_body body)
{
    if (!solver->mine) return TULLE_OK;
    return solver->mine == 1 ? body(solver, 0, 1) : tulle__pool_run(solver->context->pool, body, solver);
}

/* Logarithm of a power of two that is at least x. */
static int shift_of(int64_t x)
{
    int shift = 0;
    while (shift < 62 && (int64_t)1 << shift < x) shift++;
    return shift;
}

/* Shares as the method wants them. */
static tulle_status arrange(tulle_trisolve *solver)
{
    tulle_status status = TULLE_OK;
    const tulle__triangle *t = &solver->triangle;
    int64_t bytes = 0;
    if (solver->method == TULLE_METHOD_SERIAL) solver->shift = shift_of(t->n);
    if (solver->method == TULLE_METHOD_CHUNKED && solver->options.chunk)
        solver->shift = shift_of(solver->options.chunk);
    if (tulle__solver_permutes(solver)) {
        TULLE_TRY(tulle__order_init(t, solver->workers, solver->method == TULLE_METHOD_LEVELS, &solver->order));
        solver->levels = solver->order.levels;
        bytes = solver->comm->rank == 0 ? (int64_t)solver->order.block.length : 0;
    }
    TULLE_TRY(tulle_comm_agree(solver->comm, on_workers(solver, make_share)));
    for (int w = 0; w < solver->mine; w++) bytes += (int64_t)tulle__share_bytes(&solver->share[w], t->T->type);
    TULLE_TRY(tulle_comm_reduce_int(solver->comm, TULLE_SUM, 1, &bytes));
    solver->bytes = (size_t)bytes;
out:
    return status;
}

static tulle_status check_operand(const tulle_mat *T)
{
    if (T->kind != TULLE_CSR) return tulle__fail(TULLE_ERR_ARG, "a triangular solve wants a sparse matrix");
    if (T->layout->m != T->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "a triangle is square, this matrix is %lld x %lld", (long long)T->layout->m,
            (long long)T->layout->n);
    if (T->layout->m > INT32_MAX - 1)
        return tulle__fail(
            TULLE_ERR_OVERFLOW, "%lld rows: at most %d can be solved with", (long long)T->layout->m, INT32_MAX - 1);
    return tulle__wants_values(T->comm, "a triangular solve");
}

/* Without the agreement at the end. */
static tulle_status analyse(tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **out)
{
    tulle_comm *comm = T->comm;
    tulle_trisolve *solver = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *solver, "a solver", &solver);
    if (status == TULLE_OK) {
        *out = solver;
        solver->comm = comm;
        solver->options = options ? *options : TULLE_TRISOLVE_DEFAULT;
        solver->each = tulle__is_virtual(comm) ? 1 : comm->pe->threads;
        status = tulle__context_get(comm, &solver->context);
    }
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle__triangle_init(T, &solver->options, &solver->triangle));
    int all = !solver->triangle.gathered;
    solver->workers = all ? solver->each * comm->size : solver->each;
    solver->mine = all || comm->rank == 0 ? solver->each : 0;
    status = tulle__alloc_zero((size_t)solver->mine, sizeof *solver->share, "shares", &solver->share);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle__triangle_inspect(&solver->triangle));
    TULLE_TRY(connect(solver));
    TULLE_TRY(tulle__solver_choose(solver));
    status = arrange(solver);
out:
    return status;
}

tulle_status tulle_trisolve_new(tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **out)
{
    tulle_trisolve *solver = NULL;
    tulle_comm *comm = T->comm;
    int64_t start = tulle__now(comm);
    tulle_status status = tulle_comm_agree(comm, check_operand(T));
    if (status == TULLE_OK) status = tulle_comm_agree(comm, analyse(T, options, &solver));
    if (status == TULLE_OK) {
        solver->analysis_seconds = (double)(tulle__now(comm) - start) * 1e-9;
        status = tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 1, &solver->analysis_seconds));
    }
    if (status != TULLE_OK && solver) {
        free_matrices(solver);
        drop(solver);
    }
    if (status != TULLE_OK) return status;
    tulle__pe_own(comm->pe, &solver->owned, drop_owned);
    *out = solver;
    return TULLE_OK;
}

tulle_status tulle_trisolve_layout(const tulle_trisolve *solver, tulle_gidx cols, tulle_layout **layout)
{
    return tulle__triangle_gathered(solver->triangle.n, cols, layout);
}

/* Collective: a row-major matrix of one tile and so many columns, unless *stage is one. */
static tulle_status make_stage(tulle_trisolve *solver, tulle_gidx cols, tulle_mat **stage)
{
    tulle_layout *layout = NULL;
    if (*stage && (*stage)->layout->n == cols) return TULLE_OK;
    tulle_mat_free(*stage);
    *stage = NULL;
    tulle_status status = tulle_comm_agree(solver->comm, tulle__triangle_gathered(solver->triangle.n, cols, &layout));
    if (status == TULLE_OK)
        status = tulle_mat_new_dense(solver->comm, layout, solver->triangle.T->type, TULLE_ROW_MAJOR, stage);
    tulle_layout_free(layout);
    return status;
}

/* One tile that all workers reach. */
static int is_in_place(const tulle_trisolve *solver, const tulle_mat *X)
{
    if (X->layout->mt > 1 || X->layout->nt > 1) return 0;
    return solver->triangle.gathered ? X->layout->owner[0] == 0 : tulle__tile_direct(X, 0, 0) != NULL;
}

/* Elements of a dense tile from those of another of the same rows and columns. */
static void copy_elements(const tulle_tile *from, const tulle_tile *to, size_t size)
{
    int rows = from->order == TULLE_ROW_MAJOR && to->order == TULLE_ROW_MAJOR;
    int64_t from_row = from->order == TULLE_ROW_MAJOR ? from->ld : 1,
            to_row = to->order == TULLE_ROW_MAJOR ? to->ld : 1;
    int64_t from_col = from->order == TULLE_ROW_MAJOR ? 1 : from->ld,
            to_col = to->order == TULLE_ROW_MAJOR ? 1 : to->ld;
    for (tulle_gidx r = 0; r < to->m; r++)
        for (tulle_gidx c = 0; c < to->n; c += rows ? to->n : 1)
            memcpy((char *)to->val + (size_t)(r * to_row + c * to_col) * size,
                (const char *)from->val + (size_t)(r * from_row + c * from_col) * size,
                size * (size_t)(rows ? to->n : 1));
}

/* Own tiles of X to the only tile of the stage, which this PE reaches, or back. */
static void copy_tiles(const tulle_mat *X, const tulle_mat *stage, int back)
{
    const tulle_layout *l = X->layout;
    size_t size = tulle_type_size(X->type);
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            if (!tulle__tile_is_mine(X, i, j)) continue;
            tulle_tile tile = tulle__tile_in_place(X, i, j), part = tulle__tile_in_place(stage, 0, 0);
            if (!tile.nnz) continue;
            part.val = (char *)part.val + (size_t)(l->row_cut[i] * part.ld + l->col_cut[j]) * size;
            part.m = tile.m;
            part.n = tile.n;
            copy_elements(back ? &part : &tile, back ? &tile : &part, size);
        }
}

/* Collective: B to the stage, complete on return. */
static tulle_status bring(tulle_trisolve *solver, tulle_mat *B)
{
    if (solver->triangle.gathered) {
        tulle_mat_free(solver->stage_B);
        solver->stage_B = NULL;
        tulle_layout *layout = NULL;
        tulle_status status = tulle_comm_agree(solver->comm, tulle_trisolve_layout(solver, B->layout->n, &layout));
        if (status == TULLE_OK) status = tulle_mat_redistribute(B, layout, &solver->stage_B);
        tulle_layout_free(layout);
        return status;
    }
    tulle_status status = make_stage(solver, B->layout->n, &solver->stage_B);
    if (status != TULLE_OK) return status;
    copy_tiles(B, solver->stage_B, 0);
    return tulle_comm_barrier(solver->comm);
}

/* Collective: X from the stage, complete on return. */
static tulle_status take(tulle_trisolve *solver, tulle_mat *X)
{
    tulle_mat *parts = NULL;
    size_t size = tulle_type_size(X->type);
    if (!solver->triangle.gathered) {
        copy_tiles(X, solver->stage_X, 1);
        return tulle_comm_barrier(solver->comm);
    }
    tulle_status status = tulle_mat_redistribute(solver->stage_X, X->layout, &parts);
    if (status != TULLE_OK) return status;
    for (int i = 0; i < X->layout->mt; i++)
        for (int j = 0; j < X->layout->nt; j++) {
            if (!tulle__tile_is_mine(X, i, j)) continue;
            tulle_tile from = tulle__tile_in_place(parts, i, j), to = tulle__tile_in_place(X, i, j);
            if (to.nnz) copy_elements(&from, &to, size);
        }
    status = tulle_comm_barrier(solver->comm);
    tulle_mat_free(parts);
    return status;
}

/* Where lines of a matrix of one tile are. */
struct lines {
    char *val;
    int64_t line, column; /* elements from one to the next */
};

static struct lines lines_of(const tulle_mat *X)
{
    tulle_tile tile = tulle__tile_in_place(X, 0, 0);
    return tile.order == TULLE_ROW_MAJOR ? (struct lines){tile.val, tile.ld, 1} : (struct lines){tile.val, 1, tile.ld};
}

/* All columns in one pass if they lie side by side, else one after the other. */
static tulle_status make_passes(
    tulle_trisolve *solver, const tulle_mat *B, const tulle_mat *X, tulle__solve_times *times)
{
    tulle_status status = TULLE_OK;
    int permuted = tulle__solver_permutes(solver);
    struct lines b = lines_of(B), x = lines_of(X), own = permuted ? lines_of(solver->lines) : x;
    tulle_gidx n = X->layout->n, cols = n == 1 || (b.column == 1 && x.column == 1) ? n : 1;
    size_t size = tulle_type_size(X->type);
    for (tulle_gidx c = 0; c < n && status == TULLE_OK; c += cols) {
        tulle__pass pass = {.cols = cols,
            .b = b.val + (size_t)(c * b.column) * size,
            .ldb = b.line,
            .x = own.val + (size_t)(c * own.column) * size,
            .ldx = own.line,
            .out = permuted ? x.val + (size_t)(c * x.column) * size : NULL,
            .ldo = x.line};
        status = tulle__solver_pass(solver, &pass, times);
    }
    return status;
}

static tulle_status check_sides(const tulle_trisolve *solver, const tulle_mat *B, const tulle_mat *X)
{
    const tulle__triangle *t = &solver->triangle;
    if (B->kind != TULLE_DENSE || X->kind != TULLE_DENSE || B->type != t->T->type || X->type != t->T->type)
        return tulle__fail(
            TULLE_ERR_ARG, "B and X are dense and of the triangle's type, %s", tulle_type_name(t->T->type));
    if (B->layout->m != t->n || X->layout->m != t->n || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "a triangle of %lld rows, B %lld x %lld, X %lld x %lld", (long long)t->n,
            (long long)B->layout->m, (long long)B->layout->n, (long long)X->layout->m, (long long)X->layout->n);
    if (t->T->structure != t->structure)
        return tulle__fail(TULLE_ERR_STATE, "the triangle has another structure than when it was analysed");
    return TULLE_OK;
}

/* Seconds of all workers. */
static tulle_status spread(tulle_trisolve *solver, const tulle__solve_times *times, tulle_trisolve_report *report)
{
    double most[3] = {report->seconds, 0, 0}, sum[2] = {0, 0};
    for (int w = 0; w < solver->mine; w++) {
        double compute = (double)times[w].compute_ns * 1e-9, wait = (double)times[w].wait_ns * 1e-9;
        if (compute > most[1]) most[1] = compute;
        if (wait > most[2]) most[2] = wait;
        sum[0] += compute;
        sum[1] += wait;
    }
    tulle_status status = tulle_comm_reduce_real(solver->comm, TULLE_MAX, 3, most);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(solver->comm, TULLE_SUM, 2, sum);
    report->seconds = most[0];
    report->compute = (tulle_spread){most[1], sum[0] / solver->workers};
    report->wait = (tulle_spread){most[2], sum[1] / solver->workers};
    return status;
}

static tulle_status make_report(
    tulle_trisolve *solver, tulle_gidx cols, const tulle__solve_times *times, tulle_trisolve_report *report)
{
    int64_t counts[2] = {0, 0};
    tulle_status status = spread(solver, times, report);
    for (int w = 0; w < solver->mine; w++) {
        counts[0] += 2 * solver->share[w].nnz + (solver->triangle.unit ? 0 : solver->share[w].nrows);
        counts[1] += solver->share[w].nwaits;
    }
    if (status == TULLE_OK) status = tulle_comm_reduce_int(solver->comm, TULLE_SUM, 2, counts);
    report->flops = counts[0] * cols;
    report->waits = counts[1];
    report->workers = solver->method == TULLE_METHOD_SERIAL ? 1 : solver->workers;
    report->levels = solver->levels;
    report->chunk = solver->method == TULLE_METHOD_CHUNKED ? (int64_t)1 << solver->shift : 0;
    report->analysis_seconds = solver->analysis_seconds;
    report->bytes = solver->bytes;
    return status;
}

static tulle_status solve(tulle_trisolve *solver, tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    tulle_status status = TULLE_OK;
    tulle_mat *b = B, *x = X;
    int64_t in_place[2] = {is_in_place(solver, B), is_in_place(solver, X)};
    TULLE_TRY(tulle_comm_reduce_int(solver->comm, TULLE_MIN, 2, in_place)); /* all have come: B may be read */
    if (tulle__solver_permutes(solver)) TULLE_TRY(make_stage(solver, X->layout->n, &solver->lines));
    if (!in_place[0]) {
        TULLE_TRY(bring(solver, B));
        b = solver->stage_B;
    }
    if (!in_place[1]) {
        TULLE_TRY(make_stage(solver, X->layout->n, &solver->stage_X));
        x = solver->stage_X;
    }
    if (solver->mine) status = make_passes(solver, b, x, times);
    TULLE_TRY(tulle_comm_agree(solver->comm, status));
    if (x != X) TULLE_TRY(take(solver, X));
out:
    return status;
}

tulle_status tulle_trisolve_execute(tulle_trisolve *solver, tulle_mat *B, tulle_mat *X, tulle_trisolve_report *report)
{
    tulle__solve_times *times = NULL;
    int64_t start = tulle__now(solver->comm);
    tulle_status status = check_sides(solver, B, X);
    if (status == TULLE_OK) status = tulle__alloc_zero((size_t)solver->each, sizeof *times, "times of workers", &times);
    status = tulle_comm_agree(solver->comm, status);
    if (status == TULLE_OK && X->layout->n && solver->triangle.n) status = solve(solver, B, X, times);
    tulle_trisolve_report made = {.seconds = (double)(tulle__now(solver->comm) - start) * 1e-9};
    if (status == TULLE_OK) status = make_report(solver, X->layout->n, times, &made);
    tulle__free(times);
    status = tulle_comm_agree(solver->comm, status);
    if (status == TULLE_OK && report) *report = made;
    return status;
}

static tulle_status refresh_share(void *arg, int thread, int nthreads)
{
    tulle_trisolve *solver = arg;
    (void)nthreads;
    if (tulle__solver_permutes(solver)) tulle__leveled_refill(&solver->triangle, &solver->share[thread]);
    return tulle__share_invert(&solver->share[thread], &solver->triangle);
}

tulle_status tulle_trisolve_update(tulle_trisolve *solver)
{
    tulle__triangle *t = &solver->triangle;
    tulle_status status = TULLE_OK;
    if (t->T->structure != t->structure)
        status = tulle__fail(TULLE_ERR_STATE, "the triangle has another structure than when it was analysed");
    TULLE_TRY(tulle_comm_agree(solver->comm, status));
    TULLE_TRY(tulle__triangle_renew(t));
    TULLE_TRY(tulle__triangle_inspect(t)); /* and all have come */
    status = on_workers(solver, refresh_share);
out:
    return tulle_comm_agree(solver->comm, status);
}

tulle_method tulle_trisolve_method(const tulle_trisolve *solver)
{
    return solver->method;
}
