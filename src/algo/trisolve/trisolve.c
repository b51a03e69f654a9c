/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/method.h"

#include <math.h>
#include <string.h>

#include "algo/option_readers.h"
#include "algo/option_values.h"
#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/right_hand_sides.h"
#include "base/error.h"
#include "mat/overlap.h"

/* Frees private memory only: the rest is freed with the team. */
static void drop(tulle_trisolve *solver)
{
    for (int a = 0; a < TULLE__CANDIDATES; a++) tulle__method_schedule_fini(&solver->candidate[a]);
    if (solver->words.length) tulle__heap_give(solver->comm->pe->control, &solver->words);
    tulle__triangle_fini(&solver->triangle);
    tulle__free(solver->word);
    tulle__free(solver->row);
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
    tulle__solver_free(solver);
}

/* Distributes the addresses of all workers' words. */
static tulle_status connect(tulle_trisolve *solver)
{
    tulle_comm *comm = solver->comm;
    tulle__place *place = NULL;
    size_t line = 64, bytes = line * (size_t)solver->each;
    tulle_status status = tulle__alloc((size_t)comm->size, sizeof *place, "places of words", &place);
    if (status == TULLE_OK)
        status = tulle__alloc((size_t)solver->workers, sizeof *solver->word, "words", &solver->word);
    if (status == TULLE_OK) status = tulle__heap_take(comm->pe->control, bytes, "words of progress", &solver->words);
    if (status == TULLE_OK) memset(tulle__mapped(comm, &solver->words), 0, bytes);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_allgather(comm, &solver->words, sizeof solver->words, place));
    for (int w = 0; w < solver->workers && solver->mine; w++) {
        char *words = tulle__mapped(comm, &place[w / solver->each]);
        solver->word[w] = (uint64_t *)(void *)(words + line * (size_t)(w % solver->each));
    }
out:
    tulle__free(place);
    return status;
}

/* Opens the timeline rows of the workers, each written by one thread. */
static tulle_status open_rows(tulle_trisolve *solver)
{
    tulle__timeline *timeline = solver->comm->pe->timeline;
    if (!timeline) return TULLE_OK;
    tulle_status status =
        tulle__alloc_zero((size_t)solver->each, sizeof *solver->row, "rows of a timeline", &solver->row);
    for (int t = 0; t < solver->each && status == TULLE_OK; t++)
        status = tulle__timeline_thread(timeline, t, &solver->row[t]);
    return status;
}

static const char *name_of(int method)
{
    return tulle_trisolve_method_name((tulle_trisolve_method)method);
}

/* Refuses options that the method does not read; AUTO becomes the first method that reads those given. */
static tulle_status check_options(tulle_trisolve_options *o)
{
    enum { AUTO = 1u << TULLE_TRISOLVE_AUTO, CHUNKED = 1u << TULLE_TRISOLVE_CHUNKED, PUSH = 1u << TULLE_TRISOLVE_PUSH };
    const unsigned with_tasks = PUSH | 1u << TULLE_TRISOLVE_UNIFIED_TASKS | 1u << TULLE_TRISOLVE_ZEROCOPY;
    const unsigned with_solves = AUTO | 1u << TULLE_TRISOLVE_SERIAL | CHUNKED;
    const unsigned all = (1u << TULLE_TRISOLVE_METHOD_COUNT) - 1;
    unsigned readers = all;
    const tulle__option_reader rows[] = {{"chunk", o->chunk != 0, CHUNKED}, {"tasks", o->tasks != 0, with_tasks},
        {"fanout", o->fanout != 0, PUSH}, {"solves", o->solves != 0, with_solves},
        {"relax", o->relax != 0, AUTO | 1u << TULLE_TRISOLVE_SUPERNODAL}};
    tulle_status status =
        tulle__option_readers(rows, sizeof rows / sizeof *rows, name_of, (int)o->method, TULLE_TRISOLVE_AUTO, &readers);
    if (status == TULLE_OK && o->method == TULLE_TRISOLVE_AUTO && readers != all)
        o->method = (tulle_trisolve_method)__builtin_ctz(readers);
    return status;
}

static tulle_status check_operand(const tulle_mat *T, const tulle_trisolve_options *options)
{
    if (options->device && options->method != TULLE_TRISOLVE_AUTO && options->method != TULLE_TRISOLVE_SERIAL &&
        options->method != TULLE_TRISOLVE_LEVELS && !tulle__method_of(options->method)->partition)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "devices do not solve by the method %s",
            tulle_trisolve_method_name(options->method));
    if (T->kind != TULLE_CSR) return tulle__fail(TULLE_ERR_ARG, "a triangular solve needs a sparse matrix");
    if (T->layout->m != T->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "a triangle must be square, but this matrix is %lld x %lld",
            (long long)T->layout->m, (long long)T->layout->n);
    if (T->layout->m > INT32_MAX - 1)
        return tulle__fail(TULLE_ERR_OVERFLOW, "a triangle of %lld rows is too large: the limit is %d",
            (long long)T->layout->m, INT32_MAX - 1);
    return tulle__wants_values(T->comm, "a triangular solve");
}

/* Collective. */
void tulle__solver_free(tulle_trisolve *solver)
{
    if (!solver) return;
    free_matrices(solver);
    drop(solver);
}

/* Without the final agreement. */
static tulle_status analyse(const tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **out)
{
    tulle_comm *comm = T->comm;
    tulle_trisolve *solver = NULL;
    const tulle__partition *partition = tulle__method_of(options->method)->partition;
    tulle_status status = tulle__alloc_zero(1, sizeof *solver, "a solver", &solver);
    if (status == TULLE_OK) {
        *out = solver;
        solver->comm = comm;
        solver->options = *options;
        solver->each = tulle__is_virtual(comm) || partition ? 1 : comm->pe->threads;
        status = tulle__context_get(comm, &solver->context);
        if (status == TULLE_OK) status = open_rows(solver);
    }
    TULLE_CALL(tulle_comm_agree(comm, status));
    TULLE_CALL(tulle__triangle_init(T, &solver->options, partition, &solver->triangle));
    int all = solver->triangle.reach != TULLE__ROWS_GATHERED;
    solver->workers = all ? solver->each * comm->size : solver->each;
    solver->mine = all || comm->rank == 0 ? solver->each : 0;
    solver->unvalidated = tulle__solver_is_brief(&solver->options) && !solver->triangle.unit;
    if (solver->unvalidated)
        tulle__triangle_skip_validation(&solver->triangle);
    else
        TULLE_CALL(tulle__triangle_validate(&solver->triangle));
    if (!partition) TULLE_CALL(connect(solver));
    TULLE_CALL(tulle__solver_choose(solver));
    for (int a = 0; a < solver->ncandidates; a++)
        TULLE_CALL(tulle__method_schedule_make(solver, &solver->candidate[a]));
    if (solver->candidate[solver->ncandidates - 1].declined)
        tulle__method_schedule_fini(&solver->candidate[--solver->ncandidates]);
    solver->now = &solver->candidate[solver->ncandidates - 1];
    return TULLE_OK;
}

tulle_status tulle__solver_analyse(const tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **solver)
{
    *solver = NULL;
    tulle_status status = tulle_comm_agree(T->comm, analyse(T, options, solver));
    if (status == TULLE_OK) return TULLE_OK;
    tulle__solver_free(*solver);
    *solver = NULL;
    return status;
}

tulle_status tulle_trisolve_new(const tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **out)
{
    tulle_trisolve_options copy;
    if (TULLE__NULL(T) || TULLE__NULL_AS(out, "solver") || TULLE__OPTIONS(options, &copy, device) ||
        TULLE__SOLVE_WRONG(options) || TULLE__SIDE_WRONG(options))
        return tulle__refuse(T ? T->comm : NULL);
    TULLE__ENTER(T->comm);
    tulle_trisolve *solver = NULL;
    tulle_comm *comm = T->comm;
    int64_t start = tulle__now(comm);
    tulle_status status = check_options(&copy);
    status = tulle_comm_agree(comm, status == TULLE_OK ? check_operand(T, options) : status);
    if (status == TULLE_OK) status = tulle__mat_order(T);
    if (status == TULLE_OK) status = tulle__solver_analyse(T, options, &solver);
    if (options->method == TULLE_TRISOLVE_AUTO && !options->device)
        status = tulle__solver_weigh_push(T, options, status, &solver);
    if (status == TULLE_OK) {
        int64_t analysis = 0;
        tulle__part_end(comm, "analyse", start, &analysis);
        solver->analysis_seconds = (double)analysis * 1e-9;
        status = tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 1, &solver->analysis_seconds));
    }
    if (status != TULLE_OK) tulle__solver_free(solver);
    if (status != TULLE_OK) return status;
    tulle__pe_own(comm->pe, &solver->owned, drop_owned);
    *out = solver;
    return TULLE_OK;
}

tulle_status tulle_trisolve_layout(const tulle_trisolve *solver, tulle_gidx cols, tulle_layout **layout)
{
    if (TULLE__NULL(solver) || TULLE__NEGATIVE(cols) || TULLE__NULL(layout)) return TULLE_ERR_ARG;
    return tulle__triangle_rhs_layout(&solver->triangle, cols, layout);
}

/* X and B borrow the same elements, each in its place. */
static bool is_in_place(const tulle_mat *X, const tulle_mat *B)
{
    return X->borrowed && B->borrowed && X->borrowed->val == B->borrowed->val && X->borrowed->ld == B->borrowed->ld &&
           X->order == B->order && tulle__layout_equal(X->layout, B->layout);
}

static tulle_status check_sides(const tulle_trisolve *solver, const tulle_mat *B, const tulle_mat *X)
{
    const tulle__triangle *t = &solver->triangle;
    if (B->kind != TULLE_DENSE || X->kind != TULLE_DENSE || B->type != t->T->type || X->type != t->T->type)
        return tulle__fail(
            TULLE_ERR_ARG, "B and X must be dense and of the triangle's type, %s", tulle_type_name(t->T->type));
    if (B->layout->m != t->n || X->layout->m != t->n || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG,
            "the shapes do not match: the triangle has %lld rows, B is %lld x %lld, X %lld x %lld", (long long)t->n,
            (long long)B->layout->m, (long long)B->layout->n, (long long)X->layout->m, (long long)X->layout->n);
    if (t->T->structure != t->structure)
        return tulle__fail(TULLE_ERR_STATE, "the structure of the triangle has changed since its analysis");
    if (solver->stale)
        return tulle__fail(TULLE_ERR_STATE, "the last update of the solver failed: it has no values to solve with");
    TULLE_CALL(tulle__mat_check_apart(X, "X", t->T, "the triangle"));
    if (!is_in_place(X, B)) TULLE_CALL(tulle__mat_check_apart(X, "X", B, "B"));
    return TULLE_OK;
}

/* Seconds of all workers. */
static tulle_status reduce_times(tulle_trisolve *solver, const tulle__solve_times *times, tulle_trisolve_report *report)
{
    double most[4] = {report->seconds, 0, 0, 0}, sum[2] = {0, 0};
    for (int w = 0; w < solver->mine; w++) {
        double compute = (double)times[w].compute_ns * 1e-9, wait = (double)times[w].wait_ns * 1e-9;
        if (compute > most[1]) most[1] = compute;
        if (wait > most[2]) most[2] = wait;
        most[3] += (double)times[w].kernel_ns * 1e-9; /* of one worker: a PE has one device */
        sum[0] += compute;
        sum[1] += wait;
    }
    tulle_status status = tulle_comm_reduce_real(solver->comm, TULLE_MAX, 4, most);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(solver->comm, TULLE_SUM, 2, sum);
    report->seconds = most[0];
    report->compute = (tulle_imbalance){most[1], sum[0] / solver->workers};
    report->wait = (tulle_imbalance){most[2], sum[1] / solver->workers};
    report->kernel_seconds = solver->options.device ? most[3] : NAN;
    return status;
}

static tulle_status make_report(
    tulle_trisolve *solver, tulle_gidx cols, const tulle__solve_times *times, tulle_trisolve_report *report)
{
    const tulle__method_schedule *now = solver->now;
    const tulle__method *method = tulle__method_in_use(now);
    int64_t counts[6] = {0, 0, 0, 0, tulle__page_faults(solver->comm), 0};
    counts[4] -= solver->faults;
    tulle_status status = reduce_times(solver, times, report);
    for (int w = 0; w < solver->mine; w++) {
        counts[0] += 2 * now->worker[w].nnz + (solver->triangle.unit ? 0 : now->worker[w].nrows);
        counts[1] += now->worker[w].nwaits;
        counts[2] += times[w].messages;
        counts[3] += times[w].polls;
    }
    for (int a = 0; a < solver->ncandidates; a++) counts[5] += solver->candidate[a].bytes;
    if (status == TULLE_OK) status = tulle_comm_reduce_int(solver->comm, TULLE_SUM, 6, counts);
    report->flops = counts[0] * cols;
    report->waits = counts[1];
    report->messages = counts[2];
    report->polls = counts[3];
    report->faults = counts[4];
    report->tasks = solver->triangle.tasks;
    report->workers = method->alone ? 1 : solver->workers;
    report->levels = now->levels;
    report->supernodes = now->panels;
    report->chunk = now->chunk;
    report->analysis_seconds = solver->analysis_seconds;
    report->bytes = (size_t)counts[5];
    report->method = now->method;
    report->trial = solver->ncandidates > 1 && cols > 0;
    report->reproducible = method->reproducible;
    return status;
}

static tulle_status solve(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    tulle_status status = TULLE_OK;
    const tulle_mat *b = B;
    tulle_mat *x = X;
    int64_t start, moving = 0, waiting = 0;
    const tulle__method *method = tulle__method_in_use(solver->now);
    int64_t suit[2] = {tulle__rhs_suit(solver, B), tulle__rhs_suit(solver, X)};
    if (method->open) TULLE_CALL(method->open(solver, X->layout->n));
    /* all have arrived: B may be read; agreed, as the following operations agree by themselves */
    TULLE_CALL(tulle_comm_agree(solver->comm, tulle_comm_reduce_int(solver->comm, TULLE_MIN, 2, suit)));
    if (method->permutes) TULLE_CALL(tulle__rhs_stage(solver, X->layout->n, &solver->lines));
    if (!suit[0]) {
        start = tulle__now(solver->comm);
        TULLE_CALL(tulle__rhs_copy_in(solver, B));
        tulle__part_end(solver->comm, "bring B", start, &moving);
        b = solver->stage_B;
    }
    if (!suit[1]) {
        TULLE_CALL(tulle__rhs_stage(solver, X->layout->n, &solver->stage_X));
        x = solver->stage_X;
    }
    if (solver->mine) status = method->sweep(solver, b, x, times);
    start = tulle__now(solver->comm);
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    tulle__part_end(solver->comm, "wait for PEs", start, &waiting);
    if (x != X) {
        start = tulle__now(solver->comm);
        TULLE_CALL(tulle__rhs_copy_out(solver, X));
        tulle__part_end(solver->comm, "return X", start, &moving);
    }
    return TULLE_OK;
}

tulle_status tulle_trisolve_execute(
    tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle_trisolve_report *report)
{
    if (TULLE__NULL(solver) || TULLE__NULL(B) || TULLE__NULL(X))
        return tulle__refuse(solver ? solver->comm : B ? B->comm : X ? X->comm : NULL);
    TULLE__ENTER(solver->comm);
    tulle__solve_times *times = NULL;
    solver->faults = tulle__page_faults(solver->comm);
    int64_t start = tulle__now(solver->comm);
    tulle_status status = check_sides(solver, B, X);
    if (status == TULLE_OK) status = tulle__alloc_zero((size_t)solver->each, sizeof *times, "times of workers", &times);
    status = tulle_comm_agree(solver->comm, status);
    if (status == TULLE_OK && X->layout->n && solver->triangle.n) status = solve(solver, B, X, times);
    tulle_trisolve_report made = {.seconds = (double)(tulle__now(solver->comm) - start) * 1e-9};
    if (status == TULLE_OK) status = make_report(solver, X->layout->n, times, &made);
    tulle__free(times);
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    solver->unvalidated = 0;
    tulle__solver_tried(solver, X->layout->n, made.seconds);
    if (report) *report = made;
    return TULLE_OK;
}

tulle_status tulle_trisolve_update(tulle_trisolve *solver)
{
    if (TULLE__NULL(solver)) return TULLE_ERR_ARG;
    TULLE__ENTER(solver->comm);
    tulle__triangle *t = &solver->triangle;
    tulle_status status = TULLE_OK;
    if (t->T->structure != t->structure)
        status = tulle__fail(TULLE_ERR_STATE, "the structure of the triangle has changed since its analysis");
    TULLE_TRY(tulle_comm_agree(solver->comm, status));
    TULLE_TRY(tulle__triangle_renew(t));
    TULLE_TRY(tulle__triangle_validate(t)); /* also synchronises all PEs */
    solver->unvalidated = 0;
    for (int a = 0; a < solver->ncandidates && status == TULLE_OK; a++)
        status = tulle__method_schedule_renew(solver, &solver->candidate[a]);
out:
    status = tulle_comm_agree(solver->comm, status);
    solver->stale = status != TULLE_OK;
    return status;
}

tulle_trisolve_method tulle_trisolve_method_of(const tulle_trisolve *solver)
{
    if (TULLE__NULL(solver)) return TULLE_TRISOLVE_AUTO;
    return solver->now->method;
}
