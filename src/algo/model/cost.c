/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/model/cost.h"

#include <math.h>

#include "algo/chain/transfer_cost.h"
#include "algo/model/rates.h"
#include "base/error.h"
#include "tile/tile_blocks.h"

enum { PANEL = 8 << 20 };

/* Bytes: blocks of B for each product, those of C three times for the products that fall there, those of A hardly. */
double tulle__cost_block_rate(const tulle__costs *c, double work, double entries)
{
    const tulle_counts *counts = c->counts;
    const double size = (double)tulle_type_size(counts->type),
                 products = work / (counts->height * counts->inner * counts->width);
    const double bytes = size * (products * counts->inner * counts->width + 3 * entries);
    double rate = c->share * fmin(c->machine->fma[counts->type], 2 * work / bytes * c->machine->cache),
           measured = c->share * tulle__rate_blocks(c->machine, cbrt(counts->height * counts->inner * counts->width));
    if (counts->type == TULLE_F32) measured *= 1.5; /* measured with values of 8 bytes */
    return measured > 0 && measured < rate ? measured : rate;
}

/* Time of a job in a simulation, without launch and result (product/execution/account_work.h). */
static double simulated_seconds(const tulle__costs *c, int i, int k, int j, double *idle)
{
    const tulle__operands *o = &c->counts->operands;
    const tulle_machine *machine = c->machine;
    const double size = (double)tulle_type_size(c->counts->type), entry = size + sizeof(tulle_lidx);
    const double work = c->counts->work[tulle__unit_index(c->counts, i, k, j)];
    const double m = (double)tulle__tile_rows(o->A, i), n = (double)tulle__tile_cols(o->C, j),
                 inner = (double)tulle__tile_rows(o->B, k),
                 nnz = (double)o->A->directory[tulle__tile_index(o->A, i, k)].nnz;
    double memory, cache = 0;
    if (c->counts->sparse && o->B->format->in_blocks)
        memory = size * work * (1 / c->counts->height + 1 / c->counts->width) + sizeof(int64_t) * (m + 1);
    else if (c->counts->sparse)
        memory = entry * (work + nnz) + sizeof(int64_t) * (m + 1);
    else if (o->A->kind == TULLE_DENSE)
        memory = size * inner * (m + n);
    else {
        memory = entry * nnz + sizeof(int64_t) * (m + 1) + size * n * fmin(nnz, inner);
        cache = size * n * nnz;
    }
    const double busy = fmax(2 * work / machine->fma[c->counts->type], cache / machine->cache);
    *idle = fmax(busy - memory / machine->stream, 0);
    return fmax(busy, memory / machine->stream);
}

/*
 * True if rows of B come from the cache: all of the tile stays there, as that of the benchmark does, or rows of A
 * that follow each other name the same ones, as in a band.
 */
static bool rows_are_near(const tulle__costs *c, int k, int j)
{
    enum { STAYS = 4 << 20, BAND = 4 };
    const tulle_mat *B = c->counts->operands.B;
    return (double)B->directory[tulle__tile_index(B, k, j)].place.length <= STAYS ||
           c->counts->effective_cols < (double)B->layout->n / BAND;
}

static double kernel_seconds(const tulle__costs *c, int i, int k, int j)
{
    const tulle__operands *o = &c->counts->operands;
    double work = c->counts->work[tulle__unit_index(c->counts, i, k, j)], rate, measured;
    double m = (double)tulle__tile_rows(o->A, i), n = (double)tulle__tile_cols(o->C, j);
    if (work <= 0) return 0;
    if (c->machine->simulated) return simulated_seconds(c, i, k, j, &c->idle[tulle__unit_index(c->counts, i, k, j)]);
    if (c->machine->kernel > 0 && o->A->kind == TULLE_CSR) return 2 * work / c->machine->kernel;
    if (c->counts->sparse && o->B->format->in_blocks)
        return 2 * work / tulle__cost_block_rate(c, work, tulle__counts_expected(c->counts, i, j, work));
    if (c->counts->sparse) {
        double cf = work / tulle__counts_expected(c->counts, i, j, work);
        rate = tulle_roofline_spgemm(c->machine, c->threads, c->counts->type, cf).rate;
        measured = tulle__rate_spgemm(c->machine, cf);
        if (measured > 0 && rows_are_near(c, k, j))
            rate = fmin(c->share * c->machine->fma[c->counts->type], rate * c->machine->cache / c->machine->stream);
    } else if (o->A->kind == TULLE_DENSE) {
        rate =
            tulle_roofline_gemm(c->machine, c->threads, c->counts->type, m, (double)tulle__tile_rows(o->B, k), n).rate;
        measured = 0; /* the BLAS comes near to it */
    } else {
        double nnz = (double)o->A->directory[tulle__tile_index(o->A, i, k)].nnz;
        rate =
            tulle_roofline_spmm(c->machine, c->threads, c->counts->type, m, (double)tulle__tile_rows(o->B, k), nnz, n)
                .rate;
        measured = tulle__rate_spmm(c->machine, nnz / m, n);
    }
    /* the kernels were benchmarked with values of 8 bytes */
    if (c->counts->type == TULLE_F32) measured *= c->counts->sparse ? 1 : 2;
    if (measured > 0 && c->share * measured < rate) rate = c->share * measured;
    return 2 * work / rate;
}

tulle_status tulle__costs_init(
    const tulle_counts *counts, const tulle_machine *machine, const tulle_model_options *options, tulle__costs *costs)
{
    tulle_model_options o = *options;
    if (machine->threads < 1 || !(machine->stream > 0) || !(machine->fma[TULLE_F32] > 0) ||
        !(machine->fma[TULLE_F64] > 0))
        return tulle__fail(
            TULLE_ERR_ARG, "the machine file lacks threads, memory bandwidth or the rate of multiply-adds");
    tulle__costs c = {.counts = counts,
        .machine = machine,
        .threads = o.threads > 0 ? o.threads : 1,
        .lookahead = o.lookahead == 0            ? -1
                     : o.lookahead == TULLE_NONE ? 0
                                                 : o.lookahead,
        .deterministic = o.deterministic,
        .made = o.symmetric_c ? 0.5 : 1,
        .transfers = o.transfers,
        .panel = o.panel ? (double)o.panel : PANEL,
        .capacity = o.capacity};
    c.share = tulle__machine_fraction(machine, c.threads);
    c.node_pes = machine->node_pes ? machine->node_pes : (int)(1 / c.share + 0.5);
    c.direct = machine->in_place && c.node_pes >= counts->pes;
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) c.tier[d] = tulle__tier_of(machine, (tulle_distance)d, c.threads);
    const tulle__operands *t = &counts->operands;
    tulle_status status = tulle__alloc((size_t)t->M * (size_t)t->K * (size_t)t->N, sizeof *c.unit, "model", &c.unit);
    if (status == TULLE_OK)
        status = tulle__alloc_zero((size_t)t->M * (size_t)t->K * (size_t)t->N, sizeof *c.idle, "model", &c.idle);
    if (status == TULLE_OK) status = tulle__alloc((size_t)counts->pes, sizeof *c.part, "model", &c.part);
    if (status != TULLE_OK) {
        tulle__costs_fini(&c);
        return status;
    }
    for (int i = 0; i < t->M; i++)
        for (int k = 0; k < t->K; k++)
            for (int j = 0; j < t->N; j++)
                c.unit[tulle__unit_index(counts, i, k, j)] = c.made * kernel_seconds(&c, i, k, j);
    *costs = c;
    return TULLE_OK;
}

void tulle__costs_fini(tulle__costs *costs)
{
    tulle__free(costs->unit);
    tulle__free(costs->idle);
    tulle__free(costs->part);
}

double tulle__cost_together(const tulle__costs *c, const double *x)
{
    const int pes = c->counts->pes;
    double most = 0, sum = 0;
    for (int pe = 0; pe < pes; pe++) {
        most = fmax(most, x[pe]);
        sum += x[pe];
    }
    return c->machine->crowd > 1 ? fmax(most / c->machine->crowd, sum / pes) : most;
}

static const tulle_tier *tier_of(const tulle__costs *c, int a, int b)
{
    return &c->tier[a / c->node_pes == b / c->node_pes ? TULLE_SAME_NODE : TULLE_OTHER_NODE];
}

int tulle__cost_in_place(const tulle__costs *c, int from, int to)
{
    return from == to || (c->machine->in_place && from / c->node_pes == to / c->node_pes);
}

double tulle__cost_transfer(const tulle__costs *c, int from, int to, double bytes)
{
    const tulle_tier *tier = tier_of(c, from, to);
    return tier->latency + bytes / tier->bandwidth;
}

double tulle__cost_meeting(const tulle__costs *c)
{
    int pes = c->counts->pes;
    return pes > 1 ? ceil(log2(pes)) * tulle__cost_round_trip(c, 0, pes - 1) : 0;
}

double tulle__cost_round_trip(const tulle__costs *c, int from, int to)
{
    const double latency = tier_of(c, from, to)->latency;
    return c->machine->simulated ? 2 * latency + c->machine->overhead : latency; /* a measured get was there and back */
}

double tulle__cost_single(const tulle__costs *c, int from, int to)
{
    const double single =
        c->machine->single[from / c->node_pes == to / c->node_pes ? TULLE_SAME_NODE : TULLE_OTHER_NODE];
    return single > 0 ? single : tier_of(c, from, to)->bandwidth;
}

double tulle__cost_node_mean(const tulle__costs *c, int pe, const double *x)
{
    const int first = pe / c->node_pes * c->node_pes, pes = c->counts->pes;
    double sum = 0;
    int n = 0;
    for (; n < c->node_pes && first + n < pes; n++) sum += x[first + n];
    return sum / n;
}

static double fetch(const tulle__costs *c, int owner, int to, double bytes, tulle__pe_load *load)
{
    if (bytes <= 0 || tulle__cost_in_place(c, owner, to)) return 0;
    double seconds = tulle__cost_transfer(c, owner, to, bytes), moving = bytes / tier_of(c, owner, to)->bandwidth;
    load[to].push += c->machine->overhead;
    load[to].bytes += bytes;
    load[to].messages++;
    load[to].fetch += moving;
    load[owner].served += moving;
    if (owner / c->node_pes == to / c->node_pes) return seconds;
    load[to].far += moving;
    load[owner].far_served += moving;
    return seconds;
}

void tulle__cost_share_nodes(const tulle__costs *c, tulle__pe_load *load)
{
    int pes = c->counts->pes;
    for (int first = 0; first < pes; first += c->node_pes) {
        int end = first + c->node_pes < pes ? first + c->node_pes : pes;
        for (int p = first; p < end; p++) {
            double far = 0, served = 0;
            for (int q = first; q < end; q++) {
                far += fmin(load[q].far, load[p].far);
                served += fmin(load[q].far_served, load[p].far_served);
            }
            load[p].fetch += far / (end - first) - load[p].far;
            load[p].served += served / (end - first) - load[p].far_served;
        }
    }
}

double tulle__cost_fetch(const tulle__costs *c, const tulle_mat *X, int i, int j, int to, tulle__pe_load *load)
{
    double bytes = (double)X->directory[tulle__tile_index(X, i, j)].place.length;
    return fetch(c, tulle__layout_owner(X->layout, i, j), to, bytes, load);
}

/*
 * Assumes rows of B of equal length. The row pointers of a sparse tile
 * arrive with the whole tile only. Delegated rows are not counted: they move less.
 */
double tulle__cost_fetch_b(const tulle__costs *c, int i, int k, int j, int to, tulle__pe_load *load)
{
    const tulle__operands *o = &c->counts->operands;
    const tulle__tile_record *record = &o->B->directory[tulle__tile_index(o->B, k, j)];
    double bytes = (double)record->place.length;
    /* of blocks rows are not fetched alone */
    if (c->counts->named && !o->B->format->in_blocks && c->transfers != TULLE_TRANSFERS_WHOLE &&
        tulle__layout_owner(o->A->layout, i, k) == to) {
        double entry = (double)(tulle_type_size(c->counts->type) + (c->counts->sparse ? sizeof(tulle_lidx) : 0));
        const int64_t tile = (int64_t)i * o->K + k;
        const double needed = c->counts->named[tile] * (double)record->nnz * entry,
                     ranges = fmax(c->counts->named[(int64_t)o->M * o->K + tile], 1);
        const int owner = tulle__layout_owner(o->B->layout, k, j);
        const tulle_tier *tier = tier_of(c, owner, to);
        if (tulle__cost_in_place(c, owner, to)) return 0;
        if (needed + (ranges - 1) * tulle__range_cost(tier) < bytes) {
            bytes = needed;
            /* of the PE's own time, beside what moves */
            load[to].push += (ranges - 1) * tulle__range_cost(tier) / tier->bandwidth;
        }
    }
    return fetch(c, tulle__layout_owner(o->B->layout, k, j), to, bytes, load);
}

bool tulle__cost_norms_first(const tulle__costs *c, const tulle__policy *policy)
{
    return c->counts->needed[0] && c->transfers != TULLE_TRANSFERS_WHOLE && !c->direct &&
           policy->arrival == TULLE__ARRIVAL_SINGLY;
}

static double head_bytes(const tulle_mat *X, int i, int j)
{
    const tulle__tile_record *r = &X->directory[tulle__tile_index(X, i, j)];
    return (double)tulle__vbsr_offsets_of(tulle__tile_block_rows(X, i), r->blocks, r->nnz, X->type).val;
}

double tulle__cost_fetch_stolen_norms(const tulle__costs *c, int i, int k, int j, int to, tulle__pe_load *load)
{
    const tulle__operands *o = &c->counts->operands;
    return fetch(c, tulle__layout_owner(o->A->layout, i, k), to, head_bytes(o->A, i, k), load) +
           fetch(c, tulle__layout_owner(o->B->layout, k, j), to, head_bytes(o->B, k, j), load);
}

static void fetch_norms(
    const tulle__costs *c, const tulle_mat *X, int i, int j, int to, char *seen, tulle__pe_load *load)
{
    if (!*seen)
        load[to].latency += fetch(c, tulle__layout_owner(X->layout, i, j), to, head_bytes(X, i, j), load) > 0
                                ? tulle__cost_latency(c, to, 1) / (c->lookahead + 1)
                                : 0;
    *seen = 1;
}

void tulle__cost_fetch_norms(
    const tulle__costs *c, const tulle__policy *policy, int to, char *seen, tulle__pe_load *load)
{
    const tulle__operands *o = &c->counts->operands;
    char *seen_b = seen + (int64_t)o->M * o->K;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++) {
                if (!tulle__operands_meet(o, i, k, j) || policy->worker(o, i, k, j) != to) continue;
                fetch_norms(c, o->A, i, k, to, &seen[(int64_t)i * o->K + k], load);
                fetch_norms(c, o->B, k, j, to, &seen_b[(int64_t)k * o->N + j], load);
            }
}

/*
 * The part of a tile that comes if some values of it are needed, as if they lay at random: blocks between needed
 * ones come with them where that costs less than a range (norm_source.c), so many as have fewer bytes than
 * one. COVER: exactly the needed ones.
 */
static double part_of(const tulle__costs *c, const tulle_mat *X, int i, int j, int to, double needed)
{
    const tulle__tile_record *r = &X->directory[tulle__tile_index(X, i, j)];
    const double size = (double)tulle_type_size(c->counts->type), whole = (double)r->nnz;
    if (c->transfers == TULLE_TRANSFERS_COVER || needed <= 0 || needed >= whole) return size * needed;
    const double range = tulle__range_cost(tier_of(c, tulle__layout_owner(X->layout, i, j), to));
    const double p = needed / whole, q = 1 - p, gap = floor(range / (size * whole / (double)r->blocks));
    /* a gap has g blocks with probability p q^g; the mean of those of up to `gap` */
    const double filled = q * (1 - (gap + 1) * pow(q, gap) + gap * pow(q, gap + 1)) / p;
    const double runs = 1 + p * (double)r->blocks * pow(q, gap + 1), part = size * needed * (1 + filled);
    const double bytes = part < size * whole ? part : size * whole;
    return bytes + (runs - 1) * range < size * whole ? bytes : size * whole;
}

double tulle__cost_fetch_needed(const tulle__costs *c, int i, int k, int j, int to, tulle__pe_load *load)
{
    const tulle__operands *o = &c->counts->operands;
    const int64_t unit = tulle__unit_index(c->counts, i, k, j);
    const double a = part_of(c, o->A, i, k, to, c->counts->needed[0][unit]),
                 b = part_of(c, o->B, k, j, to, c->counts->needed[1][unit]);
    return fetch(c, tulle__layout_owner(o->A->layout, i, k), to, a, load) +
           fetch(c, tulle__layout_owner(o->B->layout, k, j), to, b, load);
}

double tulle__cost_latency(const tulle__costs *c, int to, double seconds)
{
    if (seconds <= 0) return 0;
    return tier_of(c, to, c->counts->pes > c->node_pes ? (to + c->node_pes) % c->counts->pes : to)->latency;
}

tulle__cost_result tulle__cost_result_of(
    const tulle__costs *c, const tulle__policy *policy, int i, int j, int nk, const int *k)
{
    const tulle_counts *counts = c->counts;
    const tulle__operands *o = &counts->operands;
    double m = (double)tulle__tile_rows(o->C, i), n = (double)tulle__tile_cols(o->C, j), work = 0;
    int which = policy->alg == TULLE_PRODUCT_STATIONARY_A ? 0 : policy->alg == TULLE_PRODUCT_STATIONARY_B ? 1 : -1;
    if (!counts->sparse) return (tulle__cost_result){m * n, 0};
    if (which >= 0 && counts->partial[which] && counts->batch == c->batch) {
        const int64_t unit = tulle__unit_index(counts, i, k[0], j), *blocks = counts->partial_blocks[which];
        return (tulle__cost_result){(double)counts->partial[which][unit], blocks ? (double)blocks[unit] : 0};
    }
    for (int t = 0; t < nk; t++) work += counts->work[tulle__unit_index(counts, i, k[t], j)];
    const double entries = tulle__counts_expected(counts, i, j, work);
    return (tulle__cost_result){entries, entries / (counts->height * counts->width)};
}

/*
 * Pieces of a dense result are whole rows, those of a sparse one bytes of its block: partial.c,
 * multiply.c.
 */
void tulle__cost_partial(
    const tulle__costs *c, int from, int i, int j, tulle__cost_result result, int passes, tulle__pe_load *load)
{
    const tulle__operands *o = &c->counts->operands;
    int owner = tulle__layout_owner(o->C->layout, i, j);
    double m = (double)tulle__tile_rows(o->C, i), n = (double)tulle__tile_cols(o->C, j), pushes, bytes;
    double size = (double)tulle_type_size(c->counts->type);
    const int64_t nnz = (int64_t)(result.entries + 0.5), blocks = (int64_t)(result.blocks + 0.5);
    if (c->counts->sparse) {
        bytes =
            (double)(o->C->format->in_blocks
                         ? tulle__vbsr_offsets_of(tulle__tile_block_rows(o->C, i), blocks, nnz, c->counts->type).length
                         : tulle__csr_offsets_of((int64_t)m, nnz, c->counts->type).length);
        pushes = ceil(bytes / c->panel);
    } else {
        double rows = floor(c->panel / (size * n));
        bytes = result.entries * size;
        pushes = ceil(result.entries / n / (rows > 0 ? rows : 1));
    }
    double record = TULLE__PARTIAL_RECORD;
    load[from].partials++;
    load[from].bytes += pushes * record;
    load[from].messages += pushes;
    if (from == owner) return;
    /*
     * a slot by fetch-and-add, the record, its sequence word, and the acknowledgement that the end
     * waits for
     */
    load[from].push += pushes * 4 * tulle__cost_transfer(c, from, owner, record);
    if (c->machine->simulated) {
        if (c->counts->sparse)
            load[from].push += pushes * c->machine->launch + 2 * bytes / c->machine->stream; /* copied into panels */
        else
            load[from].push += (pushes - 1) * c->machine->launch; /* each panel's rows by a kernel of their own */
        if (c->counts->sparse && !tulle__cost_in_place(c, from, owner)) passes = 0; /* got where it is kept */
        if (passes) load[owner].accumulate += pushes * c->machine->launch;
    }
    if (!tulle__cost_in_place(c, from, owner)) {
        load[owner].bytes += bytes;
        load[owner].messages += pushes;
        load[owner].accumulate +=
            bytes / tulle__cost_single(c, from, owner) + pushes * tier_of(c, from, owner)->latency;
        if (from / c->node_pes != owner / c->node_pes)
            load[owner].far_partial += bytes / tier_of(c, from, owner)->bandwidth,
                load[from].far_served += bytes / tier_of(c, from, owner)->bandwidth;
        load[from].served += bytes / tier_of(c, from, owner)->bandwidth;
    }
    load[owner].accumulate += passes * bytes / (c->share * c->machine->stream);
}

double tulle__cost_job(const tulle__costs *c, int i, tulle__cost_result result, bool again, double idle)
{
    const double size = (double)tulle_type_size(c->counts->type);
    double bytes = (again ? 2 : 1) * result.entries * size;
    if (!c->machine->simulated) return 0;
    if (c->counts->sparse)
        bytes = c->counts->operands.C->format->in_blocks
                    ? 0
                    : result.entries * (size + sizeof(tulle_lidx)) +
                          sizeof(int64_t) * ((double)tulle__tile_rows(c->counts->operands.C, i) + 1);
    return c->machine->launch + fmax(bytes / c->machine->stream - idle, 0);
}

bool tulle__cost_scales_first(const tulle__costs *c, const tulle__policy *policy)
{
    return !c->counts->sparse && !policy->by_chain && policy->alg != TULLE_PRODUCT_STATIONARY_C;
}

double tulle__cost_scaling(const tulle__costs *c, const tulle__policy *policy, int pe)
{
    const tulle_mat *C = c->counts->operands.C;
    double entries = 0;
    if (!c->machine->simulated || !tulle__cost_scales_first(c, policy)) return 0;
    for (int i = 0; i < C->layout->mt; i++)
        for (int j = 0; j < C->layout->nt; j++)
            if (tulle__layout_owner(C->layout, i, j) == pe)
                entries += (double)tulle__tile_rows(C, i) * (double)tulle__tile_cols(C, j);
    return c->machine->launch + entries * (double)tulle_type_size(c->counts->type) / c->machine->stream;
}

double tulle__cost_merge(const tulle__costs *c, double entries)
{
    /* blocks are read, and a block of C read and written */
    if (c->counts->operands.C->format->in_blocks)
        return 3 * entries * (double)tulle_type_size(c->counts->type) / (c->share * c->machine->stream);
    if (c->machine->simulated) /* read; what is written is hardly more than the largest of them */
        return entries * (double)(tulle_type_size(c->counts->type) + sizeof(tulle_lidx)) / c->machine->stream;
    if (c->machine->merge > 0) return entries / c->machine->merge;
    double rate = tulle_roofline_spgemm(c->machine, c->threads, c->counts->type, 1).rate;
    double measured = c->share * tulle__rate_spgemm(c->machine, 1);
    return 2 * entries / (measured > 0 && measured < rate ? measured : rate);
}
