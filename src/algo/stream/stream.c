/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls: creation, products, reports. Every collective one ends in an agreement. */
#include "algo/stream/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tulle/budget.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "mat/blocks/blocks.h"
#include "mat/overlap.h"
#include "mat/pe_device.h"

/* Local. */
static void drop(tulle__owned *object)
{
    struct tulle_stream *s = (struct tulle_stream *)object;
    if (s->device) {
        tulle__ring_drop(s);
        s->device->ops->host_free(s->device, s->staged);
        s->device->ops->host_free(s->device, s->pointers);
        tulle__device_buffer_free(s->device, s->X);
        tulle__device_buffer_free(s->device, s->Y);
    }
    if (s->producer) s->producer->ops->free(s->producer);
    tulle__packed_free(s->packed);
    tulle__device_close(s->device);
    tulle_layout_free(s->layout);
    tulle__free(s->range);
    tulle__free(s->rowptr);
    tulle__free(s->slab);
    tulle__free(s->spec);
    tulle__free(s->spill_of);
    tulle__free(s);
}

void tulle_stream_free(tulle_stream *s)
{
    if (!s) return;
    if (s->owned.free) tulle__pe_disown(&s->owned);
    tulle_mat_free(s->copy);
    tulle_mat_free(s->spilled);
    drop(&s->owned);
}

static tulle_status check_options(const tulle_stream_options *o)
{
    if (o->cols < 1) return tulle__fail(TULLE_ERR_ARG, "a stream for %" PRId64 " columns", o->cols);
    if (o->slabs < 0) return tulle__fail(TULLE_ERR_ARG, "%d slabs", o->slabs);
    int least = o->no_overlap ? 1 : 2;
    if (o->ring && (o->ring < least || o->ring > TULLE__STREAM_RING))
        return tulle__fail(TULLE_ERR_ARG, "a ring of %d buffers: it can have %d to %d, or 0 for the default", o->ring,
            least, (int)TULLE__STREAM_RING);
    return TULLE_OK;
}

static tulle_status open_device(struct tulle_stream *s, int near_rank, int near_size, int processes)
{
    tulle_stream_plan *plan = &s->plan;
    const char *spec = s->options.device ? s->options.device : "cpu";
    int is_virtual = tulle__is_virtual(s->comm);
    tulle__device_setting setting = {.threads = s->comm->pe->threads,
        .overlap = !s->options.no_overlap,
        .rank = s->comm->rank,
        .near_rank = near_rank,
        .near_size = near_size,
        .near_processes = processes,
        .timeline = is_virtual ? NULL : s->comm->pe->timeline};
    TULLE_CALL(tulle__alloc(strlen(spec) + 1, 1, "a spec", &s->spec));
    strcpy(s->spec, spec);
    s->options.device = s->spec;
    TULLE_CALL(tulle__pe_device_open(s->comm->pe, spec, &setting, &s->device));
    if (is_virtual && s->device->real_time)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' takes real time, but the engine's time is virtual",
            s->device->name);
    if (s->device->virtual_time)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' multiplies dense tiles alone", s->device->name);
    snprintf(plan->device, sizeof plan->device, "%s", s->device->text);
    plan->capacity = s->device->capacity;
    if (s->options.memory && s->options.memory < plan->capacity) plan->capacity = s->options.memory;
    return TULLE_OK;
}

/*
 * Refuses a stream that the PE's memory cannot hold beside the reserve. Fewer columns a product are
 * better than slabs of a few rows, so several columns require more memory for slabs.
 */
static tulle_status check_memory(const struct tulle_stream *s)
{
    static const double SLABS = 3 << 20, SLABS_LEAST = 1 << 20;
    double matrix = (double)tulle__slab_bytes(s, s->lines, s->entries),
           most = s->options.cols > 1 ? SLABS : SLABS_LEAST;
    char who[64];
    tulle_budget budget = {.needs = 0};
    if (s->options.memory) most = 0; /* of the device: then as many as fit there */
    if (!s->device->on_host) return TULLE_OK;
    snprintf(who, sizeof who, "a stream of %" PRId64 " columns on PE %d", s->options.cols, s->comm->rank);
    tulle_budget_add(&budget, "X and Y", (double)s->plan.vectors);
    tulle_budget_add(&budget, "reserved for other users", (double)s->options.reserve);
    tulle_budget_add(&budget, "row pointers", (double)(s->lines + 1) * (double)s->device->rowptr_bytes);
    tulle_budget_add(&budget, "slabs", matrix < most ? matrix : most);
    return tulle_budget_check(&budget, (double)s->left * 0.95, who);
}

/* X and Y are required there in any case. */
static tulle_status make_vectors(struct tulle_stream *s)
{
    tulle_stream_plan *plan = &s->plan;
    size_t size = tulle_type_size(s->type), cols = (size_t)s->options.cols, x, y;
    x = (size_t)s->x_lines * cols * size;
    y = (size_t)tulle__stream_y_lines(s) * cols * size;
    plan->vectors = x + y;
    if (plan->vectors > plan->capacity)
        return tulle__fail(TULLE_ERR_LIMIT, "X and Y of %zu column(s) take %zu bytes of the device, which has %zu",
            cols, plan->vectors, plan->capacity);
    TULLE_CALL(check_memory(s));
    TULLE_CALL(tulle__device_buffer_new(s->device, x, "X", &s->X));
    return tulle__device_buffer_new(s->device, y, "Y", &s->Y);
}

/* Decisions after the partition. Local. */
static tulle_status plan_stream(struct tulle_stream *s)
{
    tulle__stream_rates rates;
    int is_virtual = tulle__is_virtual(s->comm);
    TULLE_CALL(make_vectors(s));
    tulle__stream_format_text(&s->format, s->plan.format, sizeof s->plan.format);
    TULLE_CALL(s->packed ? tulle__producer_of_packed(s, &s->producer)
               : s->rows ? tulle__producer_of_rows(s, &s->producer)
                         : tulle__producer_new(s, &s->producer));
    if (!is_virtual) TULLE_CALL(tulle__stream_benchmark(s, &rates));
    TULLE_CALL(tulle__stream_make_plan(s, is_virtual ? NULL : &rates));
    TULLE_CALL(tulle__stream_point(s));
    tulle__free(s->rowptr);
    s->rowptr = NULL;
    TULLE_CALL(tulle__ring_make(s));
    s->plan.device_bytes = s->device->used;
    s->plan.host_bytes = tulle__ring_host_bytes(s);
    return TULLE_OK;
}

/* Checks what a PE can check by itself, and allocates the stream. */
static tulle_status begin(
    const tulle_comm *comm, const tulle_mat *A, const tulle_stream_options *options, struct tulle_stream **s)
{
    TULLE_CALL(tulle__wants_values(comm, "streaming"));
    TULLE_CALL(check_options(options));
    if (A && A->kind != TULLE_CSR) return tulle__fail(TULLE_ERR_ARG, "a stream needs a sparse matrix");
    return tulle__alloc_zero(1, sizeof **s, "a stream", s);
}

/* A copy of A in whole rows. Collective, agreed. */
static tulle_status copy_rows(struct tulle_stream *s)
{
    TULLE__SCOPED_LAYOUT tulle_layout *rows = NULL;
    const tulle_layout_spec spec = {.m = s->m, .n = s->n, .grid_rows = s->comm->size, .grid_cols = 1};
    TULLE_CALL(tulle_comm_agree(s->comm, tulle_layout_new(&spec, s->comm->size, &rows)));
    TULLE_CALL(tulle_mat_redistribute(s->A, rows, &s->copy));
    s->A = s->copy;
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status set_up(struct tulle_stream *s)
{
    const tulle_mat *A = s->A;
    tulle_comm *comm = s->comm;
    int near_rank, near_size, processes;
    if (A && A->layout->nt > 1) TULLE_CALL(copy_rows(s));
    if (A) s->structure = s->A->structure;
    TULLE_CALL(tulle__comm_neighbours(comm, &near_rank, &near_size, &processes));
    TULLE_CALL(tulle_comm_agree(comm, open_device(s, near_rank, near_size, processes)));
    TULLE_CALL(tulle__stream_choose_format(s));
    s->x_lines = tulle__blocks_over(s->n, s->format.block) * s->format.block;
    TULLE_CALL(tulle__stream_partition(s));
    TULLE_CALL(tulle__spill_new(s));
    s->left = tulle__memory_left();
    TULLE_CALL(tulle_comm_agree(comm, TULLE_OK)); /* all PEs see the same amount of shared memory */
    TULLE_CALL(tulle_comm_agree(comm, plan_stream(s)));
    if (!s->packed) return TULLE_OK;
    tulle__mat_free_scoped(&s->copy); /* no PE reads it any more; checks read A */
    s->A = A;
    return TULLE_OK;
}

/* A or rows. Collective, agreed. */
static tulle_status make(
    tulle_comm *comm, const tulle_mat *A, tulle_rows *rows, const tulle_stream_options *options, tulle_stream **out)
{
    struct tulle_stream *s = NULL;
    tulle_status status = tulle_comm_agree(comm, begin(comm, A, options, &s));
    if (status == TULLE_OK && A) status = tulle__mat_order(A);
    if (status != TULLE_OK) {
        tulle__free(s);
        return status;
    }
    *s = (struct tulle_stream){.comm = comm, .options = *options, .A = A, .rows = rows};
    s->m = A ? A->layout->m : rows->m;
    s->n = A ? A->layout->n : rows->n;
    s->type = A ? A->type : rows->type;
    tulle__pe_own(comm->pe, &s->owned, drop);
    status = set_up(s);
    if (status != TULLE_OK)
        tulle_stream_free(s);
    else
        *out = s;
    return status;
}

tulle_status tulle_stream_new(const tulle_mat *A, const tulle_stream_options *options, tulle_stream **stream)
{
    tulle_stream_options own;
    if (TULLE__NULL(A) || TULLE__OPTIONS(options, &own, format) || TULLE__NULL(stream))
        return tulle__refuse(A ? A->comm : NULL);
    TULLE__ENTER(A->comm);
    if (own.cols == 0) own.cols = 1;
    return make(A->comm, A, NULL, options, stream);
}

tulle_status tulle_stream_of_rows(tulle_rows *rows, const tulle_stream_options *options, tulle_stream **stream)
{
    tulle_stream_options own;
    if (TULLE__NULL(rows) || TULLE__OPTIONS(options, &own, format) || TULLE__NULL(stream))
        return tulle__refuse(rows ? rows->comm : NULL);
    if (own.cols == 0) own.cols = 1;
    return make(rows->comm, NULL, rows, options, stream);
}

const tulle_stream_plan *tulle_stream_planned(const tulle_stream *s)
{
    if (TULLE__NULL_AS(s, "stream")) return NULL;
    return &s->plan;
}

const tulle_layout *tulle_stream_layout(const tulle_stream *s)
{
    if (TULLE__NULL_AS(s, "stream")) return NULL;
    return s->layout;
}

/* ---- multiplying ---- */

static tulle_status check_vectors(const tulle_stream *s, const tulle_mat *X, const tulle_mat *Y)
{
    const tulle_layout *lx = X->layout, *ly = Y->layout;
    if (X->kind != TULLE_DENSE || Y->kind != TULLE_DENSE || X->type != s->type || Y->type != s->type)
        return tulle__fail(TULLE_ERR_ARG, "X and Y must be dense and of type %s", tulle_type_name(s->type));
    if (lx->m != s->n || ly->m != s->m || lx->n != ly->n)
        return tulle__fail(TULLE_ERR_ARG,
            "Y of %" PRId64 " x %" PRId64 " = A of %" PRId64 " x %" PRId64 " times X of %" PRId64 " x %" PRId64, ly->m,
            ly->n, s->m, s->n, lx->m, lx->n);
    if (lx->n > s->options.cols)
        return tulle__fail(
            TULLE_ERR_ARG, "a stream for %" PRId64 " columns was called with %" PRId64, s->options.cols, lx->n);
    int same = Y->order == TULLE_ROW_MAJOR && ly->nt == 1 &&
               tulle__layout_same_cuts(ly->row_cut, ly->mt, s->layout->row_cut, s->layout->mt);
    for (int i = 0; same && i < ly->mt; i++)
        same = tulle__layout_owner(ly, i, 0) == tulle__layout_owner(s->layout, i, 0);
    if (!same)
        return tulle__fail(
            TULLE_ERR_ARG, "Y must be row-major, with the rows and owners of tulle_stream_layout and one tile column");
    TULLE_CALL(tulle__mat_check_apart(Y, "Y", X, "X"));
    if (s->A && !s->packed) TULLE_CALL(tulle__mat_check_apart(Y, "Y", s->A, "A"));
    if (!s->packed && s->A && s->A->structure != s->structure)
        return tulle__fail(TULLE_ERR_STATE, "the structure of the matrix has changed since its stream was made");
    return TULLE_OK;
}

/* This PE's figures, to be combined with the others'. */
struct totals {
    double transfer, compute, loop, vectors, reading, overlap;
    int64_t bytes, read;
};

static tulle_status fill_report(
    tulle_stream *s, tulle_gidx cols, double seconds, const struct totals *a, tulle_stream_report *report)
{
    double max[] = {a->transfer, a->compute, a->loop, a->vectors, a->reading, seconds};
    double sum[] = {a->transfer, a->compute, a->loop, a->vectors, a->reading, a->overlap, a->transfer > 0};
    int refused = s->device->counting->counts.refused;
    int64_t count[] = {
        a->bytes, a->read, s->nslabs, 2 * s->nnz * cols, refused & TULLE_REFUSED_CSR, refused & TULLE_REFUSED_BSR};
    TULLE_CALL(tulle_comm_reduce_real(s->comm, TULLE_MAX, 6, max));
    TULLE_CALL(tulle_comm_reduce_real(s->comm, TULLE_SUM, 7, sum));
    TULLE_CALL(tulle_comm_reduce_int(s->comm, TULLE_SUM, 6, count));
    double pes = s->comm->size;
    *report = (tulle_stream_report){.seconds = max[5],
        .transfer = {max[0], sum[0] / pes},
        .compute = {max[1], sum[1] / pes},
        .loop = {max[2], sum[2] / pes},
        .vectors = {max[3], sum[3] / pes},
        .reading = {max[4], sum[4] / pes},
        .overlap = sum[6] > 0 ? sum[5] / sum[6] : 0,
        .bytes = count[0],
        .read = count[1],
        .slabs = count[2],
        .flops = count[3],
        .refused = (count[4] ? TULLE_REFUSED_CSR : 0) | (count[5] ? TULLE_REFUSED_BSR : 0)};
    return TULLE_OK;
}

static double limited(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

tulle_status tulle_stream_multiply(tulle_stream *s, const tulle_mat *X, tulle_mat *Y, tulle_stream_report *report)
{
    if (TULLE__NULL_AS(s, "stream") || TULLE__NULL(X) || TULLE__NULL(Y))
        return tulle__refuse(s ? s->comm : X ? X->comm : Y ? Y->comm : NULL);
    TULLE__ENTER(s->comm);
    const tulle__device_counts *counts = &s->device->counting->counts;
    tulle__stream_times times = {0, 0};
    struct totals a = {0};
    int64_t read = s->producer->read, start = tulle__now(s->comm), gathered, end;
    tulle_status status;
    /* also ensures that all PEs have written their rows of X */
    TULLE_CALL(tulle_comm_agree(s->comm, check_vectors(s, X, Y)));
    status = tulle__stream_gather(s, X, true);
    gathered = tulle__now(s->comm);
    tulle__device_counts before = *counts;
    if (status == TULLE_OK) status = tulle__ring_pass(s, X->layout->n, &times);
    tulle__device_counts after = *counts;
    int64_t multiplied = tulle__now(s->comm);
    if (status == TULLE_OK) status = tulle__stream_deliver(s, Y);
    TULLE_CALL(tulle_comm_agree(s->comm, status)); /* also ensures that spill rows are published */
    if (s->spilled) TULLE_CALL(tulle_comm_agree(s->comm, tulle__spill_add(s, Y)));
    end = tulle__now(s->comm);
    if (!report) return TULLE_OK;
    a.transfer = (double)(after.copy_ns[0] - before.copy_ns[0]) * 1e-9;
    a.compute = (double)(after.kernel_ns - before.kernel_ns) * 1e-9;
    a.loop = tulle__is_virtual(s->comm) ? (double)(multiplied - gathered) * 1e-9 : times.loop;
    a.vectors = (double)(end - multiplied + gathered - start) * 1e-9;
    a.reading = times.reading;
    a.bytes = after.bytes[0] - before.bytes[0];
    a.read = s->producer->read - read;
    double lesser = a.transfer < a.compute ? a.transfer : a.compute;
    if (lesser > 0) a.overlap = limited((a.transfer + a.compute - a.loop) / lesser, 0, 1);
    tulle_stream_report made;
    status = fill_report(s, X->layout->n, (double)(tulle__now(s->comm) - start) * 1e-9, &a, &made);
    TULLE_CALL(tulle_comm_agree(s->comm, status)); /* a single PE may lack memory for a reduction */
    *report = made;
    return TULLE_OK;
}
