/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor: takes jobs (a C tile and a few k) from the schedule, or reserves them under stealing, fetches the tiles
 * of the next `lookahead` jobs that have remote ones while it multiplies, and serves its queue between jobs. Under
 * SUMMA and Cannon bulk.c does that part, step by step. It ends when all units that own C tiles are the sum of have
 * been multiplied here or come in partial results; then parts are merged, once, and C is published. multiply.c sees to
 * where each result goes.
 */
#include "algo/product/execute.h"
#include "algo/product/bulk.h"
#include "algo/product/charge.h"
#include "algo/product/phase.h"
#include "algo/product/watch.h"
#include "base/error.h"

enum { RING_MAX = 1024, ERRANDS_AHEAD = 8 };

/* The record of the next job that is started. */
static tulle__job *free_job(tulle__exec *x)
{
    return &x->ring[(x->head + x->filled) % x->depth];
}

/*
 * Under stealing: what the job started last has fetched and this one needs again, for a band of the same chain, or for
 * a chain of the same tile column.
 */
struct again {
    const tulle__fetch *a, *b;
};

static struct again again(const tulle__exec *x, const tulle__job *last, const tulle__job *job, int k)
{
    const tulle__needs *needs = x->plan->needs;
    struct again found = {NULL, NULL};
    int n = 0;
    while (last && n < last->nk && last->k[n] != k) n++;
    if (!last || n == last->nk) return found;
    if (last->i == job->i) found.a = &last->a[n];
    if (last->j == job->j && (last->i == job->i || (tulle__needs_whole(needs, last->i, k, job->j) &&
                                                       tulle__needs_whole(needs, job->i, k, job->j))))
        found.b = &last->b[n];
    return found;
}

/* Starts the fetches of a job of nk units, or of an errand, that has been written into the free record. */
static tulle_status start_job(tulle__exec *x, int nk, const tulle__errand *errand)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    int64_t start = tulle__now(plan->comm);
    tulle__job *job = free_job(x);
    job->nk = job->remote = 0;
    job->number = x->jobs++;
    const tulle__job *last = plan->steal && x->filled ? &x->ring[(x->head + x->filled - 1) % x->depth] : NULL;
    x->filled++;
    job->errand = errand;
    for (int n = 0; n < nk; n++) {
        struct again had = again(x, last, job, job->k[n]);
        job->b[n] = (tulle__fetch){.group = -1};
        if (had.a)
            job->a[n] = tulle__fetch_share(had.a);
        else
            TULLE_TRY(errand ? tulle__errand_fetch(errand, plan->operands.A, &job->a[n])
                             : tulle__keeps_fetch_a(plan->keeps, &plan->operands, job->i, job->k[n], &job->a[n]));
        job->nk++; /* from here on ending the job sees to what was fetched */
        if (had.b)
            job->b[n] = tulle__fetch_share(had.b);
        else
            TULLE_TRY(
                tulle__keeps_fetch_b(plan->keeps, plan->needs, &plan->operands, job->i, job->k[n], job->j, &job->b[n]));
        job->remote |= job->a[n].group >= 0 || job->b[n].group >= 0;
    }
    if (errand)
        x->errands_ahead++;
    else
        x->ahead += job->remote;
    x->communicate_ns += tulle__now(plan->comm) - start;
out:
    return status;
}

/* What others wait for is multiplied first; its values are few, so that they hold up no rows of B. */
static tulle_status start_errands(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    const tulle__errands *errands = tulle__needs_errands(x->plan->needs);
    while (x->errands < tulle__errands_count(errands) && x->filled < x->depth) {
        if (x->filled && (x->errands_ahead == ERRANDS_AHEAD || !x->plan->lookahead)) break;
        const tulle__errand *errand = tulle__errands_at(errands, x->errands++);
        tulle__job *job = free_job(x);
        job->i = errand->i;
        job->j = errand->j;
        job->k[0] = errand->k;
        job->units = 1;
        job->of = 0;
        TULLE_TRY(start_job(x, 1, errand));
    }
out:
    return status;
}

/* Keeps as many remote jobs started as asked for, and the local ones between them. */
static tulle_status start_scheduled(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    TULLE_TRY(start_errands(x));
    while (x->filled < x->depth && tulle__schedule_has_next(&x->schedule)) {
        if (x->filled && tulle__schedule_next_is_remote(&x->schedule) && x->ahead >= x->plan->lookahead) break;
        tulle__job *job = free_job(x);
        int nk;
        tulle__schedule_take(&x->schedule, &job->i, &job->j, &nk, job->k);
        job->units = nk;
        job->of = 0;
        TULLE_TRY(start_job(x, nk, NULL));
    }
out:
    return status;
}

/*
 * Reserves anew while one job is left, so that its tiles come while that one is multiplied; what is not reserved stays
 * free for others. Of what was reserved together as many jobs as asked for are started.
 */
static tulle_status start_reserved(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle__steal *steal = x->plan->steal;
    while (x->filled <= x->plan->lookahead && (x->filled < 2 || tulle__steal_in_hand(steal))) {
        tulle__job *job = free_job(x);
        tulle__share share = {.k = job->k};
        int64_t start = tulle__now(x->plan->comm);
        status = tulle__steal_take(steal, &share);
        x->communicate_ns += tulle__now(x->plan->comm) - start;
        if (status != TULLE_OK || !share.nk) break;
        job->i = share.i;
        job->j = share.j;
        job->units = share.units;
        job->band = share.band;
        job->bands = share.bands;
        job->of = share.of;
        TULLE_TRY(start_job(x, share.nk, NULL));
    }
out:
    return status;
}

static tulle_status start_jobs(tulle__exec *x)
{
    return x->plan->steal ? start_reserved(x) : start_scheduled(x);
}

void tulle__exec_drop_slices(tulle__exec *x, const tulle__job *job)
{
    for (int n = 0; n < job->nk; n++) {
        tulle__free(x->slice[n]);
        x->slice[n] = NULL;
    }
}

static void end_job(tulle__exec *x)
{
    tulle__job *job = &x->ring[x->head];
    for (int n = 0; n < job->nk; n++) {
        tulle__fetch_fini(&job->a[n]);
        tulle__fetch_fini(&job->b[n]);
    }
    tulle__exec_drop_slices(x, job);
    job->nk = 0;
    x->head = (x->head + 1) % x->depth;
    x->filled--;
}

tulle_status tulle__exec_set_tiles(
    tulle__exec *x, const tulle__job *job, int n, const tulle_tile *a, const tulle_tile *b)
{
    x->a[n] = tulle__tile_csr(a);
    x->b_tile[n] = *b;
    if (!x->plan->sparse) return TULLE_OK;
    if (x->plan->phases > 1) {
        tulle_gidx lo, hi;
        tulle__phase_part(x->plan, x->phase, job->j, &lo, &hi);
        return tulle__phase_slice(b, lo, hi, &x->b[n], &x->slice[n]);
    }
    x->b[n] = tulle__tile_csr(b);
    return TULLE_OK;
}

/* Waits for the tiles of the job at the head. */
static tulle_status await_job(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    int64_t start = tulle__now(x->plan->comm);
    tulle__shelves *shelves = tulle__needs_shelves(x->plan->needs);
    if (job->errand)
        x->errands_ahead--;
    else
        x->ahead -= job->remote;
    for (int n = 0; n < job->nk; n++) {
        tulle_tile a = {.rowptr = NULL}, b;
        tulle__csr given = {.m = 0};
        const tulle__cut *cut = tulle__needs_cut(x->plan->needs, job->i, job->k[n], job->j);
        TULLE_TRY(
            job->errand ? tulle__errand_await(job->errand, &job->a[n], &given) : tulle__fetch_await(&job->a[n], &a));
        if (shelves && !job->errand && tulle__shelves_have(shelves, job->k[n], job->j))
            TULLE_TRY(
                tulle__shelves_await(shelves, x->plan->operands.B, job->k[n], job->j, tulle__inbox_serve, &x->inbox));
        TULLE_TRY(tulle__fetch_await(&job->b[n], &b));
        tulle__keeps_arrived(x->plan->keeps, job->i, job->k[n], job->j);
        TULLE_TRY(tulle__exec_set_tiles(x, job, n, &a, &b));
        if (job->errand) x->a[n] = given;
        if (cut) x->a[n] = cut->rest;
    }
out:
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    return status;
}

static int64_t all_jobs(const tulle__exec *x)
{
    return tulle__schedule_jobs(&x->schedule) + tulle__errands_count(tulle__needs_errands(x->plan->needs));
}

/* What others of the node wait for. */
static tulle_status serve_shelves(tulle__exec *x, int *done)
{
    tulle_plan *plan = x->plan;
    tulle__shelves *shelves = tulle__needs_shelves(plan->needs);
    *done = 1;
    if (!shelves) return TULLE_OK;
    int64_t start = tulle__now(plan->comm);
    tulle_status status = tulle__shelves_serve(shelves, plan->operands.B, 1 + plan->lookahead, done);
    x->communicate_ns += tulle__now(plan->comm) - start;
    return status;
}

static tulle_status run_jobs(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    const tulle__steal *steal = x->plan->steal;
    tulle__watch watch = tulle__watch_phase(x->plan, x->phase, steal ? tulle__steal_share(steal) : all_jobs(x));
    int served;
    TULLE_TRY(start_jobs(x));
    TULLE_TRY(serve_shelves(x, &served));
    while (x->filled) {
        const tulle__job *job = &x->ring[x->head];
        TULLE_TRY(await_job(x, job));
        TULLE_TRY(start_jobs(x)); /* so that the next fetches run while this job is multiplied */
        TULLE_TRY(tulle__inbox_serve(&x->inbox));
        TULLE_TRY(tulle__multiply_job(x, job));
        int64_t done = steal ? job->units : 1;
        end_job(x);
        tulle__progress(x->plan->comm);
        tulle__watch_done(&watch, done);
        TULLE_TRY(start_jobs(x));
        TULLE_TRY(serve_shelves(x, &served));
    }
    while (!served) TULLE_TRY(serve_shelves(x, &served));
out:
    tulle__watch_end(&watch, status);
    return status;
}

/* Counted termination: all units of own tiles have been multiplied or have come, and all own panels been taken. */
static tulle_status receive_rest(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    int64_t start = tulle__now(x->plan->comm), busy = x->inbox.accumulate_ns;
    for (int turns = 0; x->own_units + x->inbox.received < plan->units;) {
        int64_t before = x->inbox.received;
        TULLE_TRY(tulle__inbox_serve(&x->inbox));
        if (x->inbox.received > before) {
            turns = 0;
            continue;
        }
        TULLE_TRY(tulle__comm_failed(plan->comm));
        tulle__pause(plan->comm, &turns);
    }
    if (plan->arena) TULLE_TRY(tulle__arena_drain(plan->arena, tulle__inbox_serve, &x->inbox));
out:
    x->wait_ns += tulle__now(x->plan->comm) - start - (x->inbox.accumulate_ns - busy);
    return status;
}

/* Jobs that may be started at a time: local ones take no memory, so that remote ones can be found far ahead. */
static int ring_size(const tulle_plan *plan, int64_t jobs)
{
    int64_t size = plan->direct || plan->lookahead == 0 ? 1 : plan->lookahead + (int64_t)RING_MAX;
    jobs += tulle__errands_count(tulle__needs_errands(plan->needs));
    return (int)(jobs < 1 ? 1 : size < jobs ? size : jobs);
}

static tulle_status begin(tulle__exec *x, tulle_plan *plan)
{
    tulle_status status;
    size_t group = (size_t)plan->group;
    int64_t copied;
    x->plan = plan;
    if (plan->steal || plan->panels) {
        x->depth = 1 + plan->lookahead;
    } else {
        TULLE_TRY(tulle__schedule_init(&x->schedule, plan));
        x->depth = ring_size(plan, tulle__schedule_jobs(&x->schedule));
    }
    TULLE_TRY(tulle__alloc_zero((size_t)x->depth, sizeof *x->ring, "jobs", &x->ring));
    for (int d = 0; d < x->depth; d++) {
        TULLE_TRY(tulle__alloc(group, sizeof(int), "jobs", &x->ring[d].k));
        TULLE_TRY(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].a));
        TULLE_TRY(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].b));
    }
    TULLE_TRY(tulle__alloc(group, sizeof *x->a, "jobs", &x->a));
    TULLE_TRY(tulle__alloc(group, sizeof *x->b, "jobs", &x->b));
    TULLE_TRY(tulle__alloc(group, sizeof *x->b_tile, "jobs", &x->b_tile));
    TULLE_TRY(tulle__alloc(group, sizeof *x->dense_pair, "jobs", &x->dense_pair));
    TULLE_TRY(tulle__alloc_zero(group, sizeof *x->slice, "jobs", &x->slice));
    tulle__kernel_begin(plan->comm);
    if (tulle__needs_shelves(plan->needs)) tulle__shelves_begin(tulle__needs_shelves(plan->needs));
    TULLE_TRY(tulle__needs_refresh(plan->needs, &plan->operands, &copied));
    tulle__charge_copy(&x->inbox, copied);
    int once =
        plan->policy->by_chain || (plan->policy->alg == TULLE_ALG_STATIONARY_C && !tulle__needs_give(plan->needs));
    for (int t = 0; t < plan->ntargets; t++) {
        plan->target[t].scaled = 0;
        plan->target[t].placed = x->inbox.reuse && plan->steal; /* all rows have their places */
        for (int p = 0; p < plan->target[t].nparts; p++) plan->target[t].part[p].got = 0;
        /* others add into a dense tile as soon as they come: beta first, unless each row is written once anyhow */
        if (!plan->sparse && (!once || !plan->target[t].units)) TULLE_TRY(tulle__scale_target(x, &plan->target[t]));
    }
    tulle__charge_end(&x->inbox);
out:
    return status;
}

static void end(tulle__exec *x)
{
    while (x->ring && x->filled) end_job(x);
    for (int d = 0; x->ring && d < x->depth; d++) {
        tulle__free(x->ring[d].k);
        tulle__free(x->ring[d].a);
        tulle__free(x->ring[d].b);
    }
    tulle__free(x->ring);
    tulle__schedule_fini(&x->schedule);
    tulle__free(x->a);
    tulle__free(x->b);
    tulle__free(x->b_tile);
    tulle__free(x->slice);
    tulle__free(x->dense_pair);
    tulle__free(x->pair);
    tulle__free(x->cut.row);
    tulle__inbox_fini(&x->inbox);
}

static tulle_status refresh(tulle_mat *X, tulle_mat **T)
{
    if (!*T) return TULLE_OK;
    tulle_mat *made;
    tulle_status status = tulle_mat_transpose(X, &made);
    if (status != TULLE_OK) return status;
    tulle__pe_disown(&made->owned);
    tulle__mat_drop(*T); /* transposing has met: nobody still reads the old one */
    *T = made;
    return TULLE_OK;
}

/* Everything between the first and the last meeting. */
static tulle_status execute(tulle__exec *x, tulle_plan *plan, int phase)
{
    tulle_status status;
    x->phase = phase;
    x->inbox.plan = plan;
    x->inbox.reuse = plan->sparse && (!plan->steal || plan->policy->by_chain) && plan->phases == 1 &&
                     plan->options.beta == 0 && plan->known_A && plan->known_A == plan->A->structure &&
                     plan->known_B == plan->B->structure && plan->known_C == plan->C->structure;
    if (!x->inbox.reuse) tulle__plan_forget(plan);
    TULLE_TRY(begin(x, plan));
    TULLE_TRY(plan->panels ? tulle__bulk_run(x) : run_jobs(x));
    TULLE_TRY(receive_rest(x));
    TULLE_TRY(tulle__multiply_finish(x));
    int64_t start = tulle__now(x->plan->comm);
    if (plan->sparse && !x->inbox.reuse)
        TULLE_TRY(tulle__mat_publish(plan->operands.C));
    else if (plan->slices.layer_of)
        TULLE_TRY(tulle_comm_barrier(plan->comm)); /* all partial results are there */
    TULLE_TRY(tulle__slices_join(plan, x->inbox.reuse));
    if ((!plan->sparse || x->inbox.reuse) && plan->comm->size > 1) TULLE_TRY(tulle_comm_barrier(plan->comm));
    x->wait_ns += tulle__now(x->plan->comm) - start;
    if (plan->steal) { /* all have met: nobody claims any more, and nobody does again before all have agreed */
        x->stolen = tulle__steal_stolen(plan->steal);
        x->probes = tulle__steal_probes(plan->steal);
        tulle__steal_reset(plan->steal);
    }
out:
    return status;
}

static tulle_spread spread_of(const double *all, int size, int stride)
{
    tulle_spread s = {all[0], 0};
    for (int r = 0; r < size; r++) {
        double v = all[r * stride];
        if (v > s.max) s.max = v;
        s.mean += v / size;
    }
    return s;
}

enum {
    SECONDS,
    COMPUTE,
    COMMUNICATE,
    ACCUMULATE,
    WAIT,
    WORK,
    LARGEST,
    BYTES,
    MESSAGES,
    PARTIALS,
    UNITS,
    STOLEN,
    PROBES,
    WHOLE,
    ROWS,
    COVERS,
    GREEDY,
    PAIR_BYTES,
    BOUND,
    FACTS
};

static int64_t sum_of(const double *all, int size, int stride)
{
    return (int64_t)(spread_of(all, size, stride).mean * size + 0.5);
}

static tulle_status make_report(tulle_plan *plan, const tulle__exec *x, int64_t elapsed, const tulle__counters *moved,
    int reused, tulle_report *report)
{
    tulle_status status;
    int size = plan->comm->size;
    double mine[FACTS], *all = NULL;
    TULLE_TRY(tulle__alloc((size_t)size * FACTS, sizeof *all, "report", &all));
    mine[SECONDS] = (double)elapsed * 1e-9;
    mine[COMPUTE] = (double)x->compute_ns * 1e-9;
    mine[COMMUNICATE] = (double)x->communicate_ns * 1e-9;
    mine[ACCUMULATE] = (double)x->inbox.accumulate_ns * 1e-9;
    mine[WAIT] = (double)x->wait_ns * 1e-9;
    mine[WORK] = (double)plan->multiplications;
    mine[LARGEST] = plan->largest;
    mine[BYTES] = (double)moved->bytes;
    mine[MESSAGES] = (double)(moved->gets + moved->puts);
    mine[PARTIALS] = (double)x->inbox.sent;
    mine[UNITS] = (double)x->units;
    mine[STOLEN] = (double)x->stolen;
    mine[PROBES] = (double)x->probes;
    tulle__needs_figures figures = tulle__needs_tell(plan->needs);
    mine[WHOLE] = (double)figures.whole;
    mine[ROWS] = (double)figures.rows;
    mine[COVERS] = (double)figures.covers;
    mine[GREEDY] = (double)figures.greedy;
    mine[PAIR_BYTES] = (double)figures.bytes;
    mine[BOUND] = (double)figures.bound;
    TULLE_TRY(tulle_comm_allgather(plan->comm, mine, sizeof mine, all));
    tulle_spread work = spread_of(all + WORK, size, FACTS);
    *report = (tulle_report){.seconds = spread_of(all + SECONDS, size, FACTS).max,
        .compute = spread_of(all + COMPUTE, size, FACTS),
        .communicate = spread_of(all + COMMUNICATE, size, FACTS),
        .accumulate = spread_of(all + ACCUMULATE, size, FACTS),
        .wait = spread_of(all + WAIT, size, FACTS),
        .load_imbalance = work.mean > 0 ? work.max / work.mean : 1,
        .flops = (int64_t)(2 * work.mean * size + 0.5),
        .bytes_moved = sum_of(all + BYTES, size, FACTS),
        .messages = sum_of(all + MESSAGES, size, FACTS),
        .partials = sum_of(all + PARTIALS, size, FACTS),
        .units = sum_of(all + UNITS, size, FACTS),
        .largest_unit = work.mean > 0 ? spread_of(all + LARGEST, size, FACTS).max / work.mean : 0,
        .stolen = sum_of(all + STOLEN, size, FACTS),
        .probes = sum_of(all + PROBES, size, FACTS),
        .nnz_c = plan->sparse ? plan->C->nnz : plan->C->layout->m * plan->C->layout->n,
        .reused = reused,
        .phases = plan->phases,
        .whole_pairs = sum_of(all + WHOLE, size, FACTS),
        .rows_pairs = sum_of(all + ROWS, size, FACTS),
        .cover_pairs = sum_of(all + COVERS, size, FACTS),
        .greedy_pairs = sum_of(all + GREEDY, size, FACTS),
        .pair_bytes = sum_of(all + PAIR_BYTES, size, FACTS),
        .cover_bound = sum_of(all + BOUND, size, FACTS),
        .replication = tulle_plan_replication(plan),
        .predicted_seconds = plan->predicted};
out:
    tulle__free(all);
    return status;
}

tulle_status tulle_plan_execute_phase(tulle_plan *plan, int phase, tulle_report *report)
{
    tulle__exec x = {.phase = phase};
    tulle_comm *comm = plan->comm;
    if (phase < 0 || phase >= plan->phases)
        return tulle__fail(TULLE_ERR_ARG, "phase %d of a plan of %d", phase, plan->phases);
    int64_t start = tulle__now(comm);
    tulle__counters before = comm->pe->counters;
    tulle_status status = refresh(plan->A, &plan->At);
    if (status == TULLE_OK) status = refresh(plan->B, &plan->Bt);
    if (status == TULLE_OK) status = tulle__slices_renew(plan);
    if (status == TULLE_OK) {
        tulle__plan_count(plan);
        status = tulle__plan_connect(plan);
    }
    if (status != TULLE_OK) return status;
    status = execute(&x, plan, phase);
    int reused = x.inbox.reuse;
    /* what is on its way must have landed before its memory is freed, and before others are told */
    while (x.ring && x.filled) end_job(&x);
    if (tulle__needs_shelves(plan->needs)) tulle__shelves_quiet(tulle__needs_shelves(plan->needs));
    tulle__keeps_end(plan->keeps);
    status = tulle_comm_agree(comm, status);
    int64_t elapsed = tulle__now(comm) - start;
    if (status == TULLE_OK) {
        if (!reused || plan->steal) {
            plan->multiplications = x.multiplications;
            plan->largest = x.largest;
        }
        if (!reused) {
            plan->known_A = plan->A->structure;
            plan->known_B = plan->B->structure;
            plan->known_C = plan->C->structure;
        }
        tulle__counters moved = comm->pe->counters;
        moved.gets -= before.gets;
        moved.puts -= before.puts;
        moved.bytes -= before.bytes;
        if (report) status = tulle_comm_agree(comm, make_report(plan, &x, elapsed, &moved, reused, report));
    } else {
        tulle__slices_unplace(&plan->slices);
        tulle__mat_unplace(plan->C);
        tulle__plan_forget(plan);
        tulle__plan_disconnect(plan); /* records of this run may still lie in it */
    }
    end(&x);
    return status;
}

tulle_status tulle_plan_execute(tulle_plan *plan, tulle_report *report)
{
    if (plan->phases > 1)
        return tulle__fail(TULLE_ERR_LIMIT,
            "the result does not fit in memory at once: it takes %d phases, each by tulle_plan_execute_phase",
            plan->phases);
    return tulle_plan_execute_phase(plan, 0, report);
}
