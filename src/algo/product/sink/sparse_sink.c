/* SPDX-License-Identifier: Apache-2.0 */
/* Results into a sparse C. */
#include "algo/product/sink/deposit.h"
#include "algo/product/sink/merge.h"
#include "algo/product/sink/sink.h"
#include "algo/product/stage/phase.h"
#include "base/error.h"
#include "comm/arena.h"
#include "mat/blocks/filter_tile.h"
#include "tile/tile_blocks.h"

static tulle_status begin(tulle__exec *x)
{
    for (int t = 0; t < x->plan->targets.count; t++) x->plan->targets.at[t].placed = 0;
    return TULLE_OK;
}

/* All rows have their places. */
static tulle_status begin_rows(tulle__exec *x)
{
    for (int t = 0; t < x->plan->targets.count; t++) x->plan->targets.at[t].placed = 1;
    return TULLE_OK;
}

/* ---- summands ---- */

static tulle_status take(tulle__exec *x, const tulle__job *job, int n)
{
    (void)job;
    x->b[n] = tulle__tile_csr(&x->b_tile[n]);
    return TULLE_OK;
}

/* In a phase, its columns of B. */
static tulle_status take_slice(tulle__exec *x, const tulle__job *job, int n)
{
    tulle_gidx lo, hi;
    tulle__phase_part(x->plan, job->j, &lo, &hi);
    return tulle__phase_slice(&x->b_tile[n], lo, hi, &x->b[n], &x->slice[n]);
}

static void drop(tulle__exec *x, const tulle__job *job)
{
    for (int n = 0; n < job->nk; n++) {
        tulle__free(x->slice[n]);
        x->slice[n] = NULL;
    }
}

/* ---- own tiles ---- */

/* The part of (rank, key, row) of a target, made with so many rows if it is not there. */
static tulle_status find_part(tulle__target *target, int rank, int key, int64_t row, int64_t rows, tulle__part **part)
{
    for (int p = 0; p < target->nparts; p++)
        if (target->part[p].rank == rank && target->part[p].key == key && target->part[p].row == row) {
            *part = &target->part[p];
            return TULLE_OK;
        }
    if (target->nparts == target->capacity) {
        int capacity = target->units;
        TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *target->part, "parts of a tile", &target->part));
        target->capacity = capacity;
    }
    *part = &target->part[target->nparts++];
    **part = (tulle__part){.key = key, .rank = rank, .row = row, .size = {.rows = rows}};
    return TULLE_OK;
}

/* The only job of a tile makes the tile; others make parts. */
static tulle_status own_output(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    tulle__target *target = output->target;
    TULLE_CALL(tulle__job_rows(x, job, &output->first, &output->rows));
    output->none = !job->nk && job->units != target->units;
    if (job->units == target->units) {
        target->placed = 1;
        output->whole = x->plan->ways.whole;
        output->adds_old = true;
        TULLE_CALL(tulle__output_tile(x, output));
    } else if (job->nk) {
        TULLE_CALL(find_part(target, x->plan->comm->rank, job->k[0], output->first, output->rows, &output->part));
        tulle__output_block(x, &output->part->size, output->part->block, output);
    }
    return TULLE_OK;
}

/* A block that was made replaces the one that was there. */
static void replace_block(const tulle__tile_output *output, tulle__result_size *size, char **block)
{
    if (output->known) return;
    *size = tulle__output_size(output);
    tulle__free(*block);
    *block = output->block;
}

static tulle_status own_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    (void)x, (void)job;
    if (!output->part) return made;
    if (made == TULLE_OK)
        replace_block(output, &output->part->size, &output->part->block);
    else
        tulle__free(output->block);
    return made;
}

static tulle_status own_rows(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    TULLE_CALL(tulle__job_rows(x, job, &output->first, &output->rows));
    return tulle__output_rows(x, output);
}

/* ---- other PEs' tiles ---- */

/* The place where a partial result is kept for the next execution, which has the same jobs. */
static tulle_status sent_of_job(tulle_product *plan, const tulle__job *job, tulle__sent **sent)
{
    if (job->number >= plan->known.capacity) {
        int64_t capacity = 2 * job->number + 16;
        TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *plan->known.sent, "partial results", &plan->known.sent));
        plan->known.capacity = capacity;
    }
    while (plan->known.jobs <= job->number) plan->known.sent[plan->known.jobs++] = (tulle__sent){.block = NULL};
    *sent = &plan->known.sent[job->number];
    return TULLE_OK;
}

/*
 * Bytes of a block from *from on that the owner of the tile does not have: all, or values if the
 * structure is known.
 */
static int64_t bytes_to_send(const tulle__exec *x, const tulle__result_size *size, int64_t *from)
{
    *from = x->inbox.reuse ? (int64_t)tulle__result_values(x->plan->C, size) : 0;
    return (int64_t)tulle__result_bytes(x->plan->C, size) - *from;
}

static tulle__partial describe(
    const tulle__exec *x, const tulle__job *job, const tulle__tile_output *output, const tulle__result_size *size)
{
    return (tulle__partial){.tile = (int)tulle__tile_index(x->plan->operands.C, job->i, job->j),
        .key = job->k[0],
        .units = job->units,
        .size = *size,
        .row = output->first};
}

/* The result is made in a panel, since its structure is not kept. */
static tulle_status panel_output(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    int64_t start = tulle__now(x->plan->comm);
    TULLE_CALL(tulle__job_rows(x, job, &output->first, &output->rows));
    TULLE_CALL(tulle__arena_take(x->plan->exchange.arena, tulle__inbox_serve, &x->inbox, &output->panel));
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    output->start = tulle__kernel_begin(x->plan->comm);
    tulle__output_panel(x, output);
    return TULLE_OK;
}

static tulle_status panel_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    tulle__panel panel = output->panel;
    int64_t from;
    tulle__computed(x, "multiply", output->start);
    if (made != TULLE_OK) {
        tulle__arena_return(x->plan->exchange.arena, &panel);
        return made;
    }
    const int64_t start = tulle__now(x->plan->comm);
    const tulle__result_size size = tulle__output_size(output);
    const tulle__partial partial = describe(x, job, output, &size);
    const int64_t length = bytes_to_send(x, &size, &from);
    panel.at += (uint64_t)from;
    TULLE_CALL(tulle__partial_push(&x->inbox, &partial, &panel, from, length, 1));
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    return TULLE_OK;
}

static tulle_status block_output(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    TULLE_CALL(tulle__job_rows(x, job, &output->first, &output->rows));
    tulle__output_block(x, &output->sent->size, output->sent->block, output);
    return TULLE_OK;
}

static tulle_status kept_output(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    output->start = tulle__kernel_begin(x->plan->comm);
    TULLE_CALL(sent_of_job(x->plan, job, &output->sent));
    return block_output(x, job, output);
}

static tulle_status once_output(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    output->start = tulle__kernel_begin(x->plan->comm);
    output->sent = &output->once;
    return block_output(x, job, output);
}

static tulle_status kept_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    tulle__sent *sent = output->sent;
    int64_t from;
    tulle__computed(x, "multiply", output->start);
    if (made != TULLE_OK) {
        tulle__free(output->block);
        return made;
    }
    replace_block(output, &sent->size, &sent->block);
    const int64_t start = tulle__now(x->plan->comm);
    const tulle__partial partial = describe(x, job, output, &sent->size);
    const int64_t length = bytes_to_send(x, &sent->size, &from);
    TULLE_CALL(tulle__partial_send(&x->inbox, &partial, sent->block + from, from, length));
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    return TULLE_OK;
}

/* In phases memory is short: the block is freed once it has been copied. */
static tulle_status once_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    const tulle_status status = kept_taken(x, job, output, made);
    tulle__free(output->once.block);
    return status;
}

/* ---- what comes in ---- */

/* Stores a part, which is merged at the end. */
static tulle_status receive_part(tulle__inbox *inbox, const tulle__partial_record *record)
{
    tulle_product *plan = inbox->plan;
    tulle__target *target = &plan->targets.at[plan->targets.of[record->tile]];
    tulle__part *part;
    TULLE_CALL(find_part(target, record->rank, record->key, record->row, record->size.rows, &part));
    if (!part->block) {
        part->size = record->size;
        TULLE_CALL(tulle__block_new(plan, &record->size, &part->block));
    }
    return tulle__partial_take(inbox, record, part->block + record->offset);
}

/* Stores values of whole rows of a tile whose structure is known; they are final. */
static tulle_status receive_values(tulle__inbox *inbox, const tulle__partial_record *record)
{
    tulle_own_tile C;
    const tulle_product *plan = inbox->plan;
    const tulle__target *target = &plan->targets.at[plan->targets.of[record->tile]];
    TULLE_CALL(tulle_mat_own_tile(plan->operands.C, target->i, target->j, &C));
    int64_t first = C.rowptr[record->row];
    char *to = (char *)C.val + (size_t)(C.offset ? C.offset[first] : first) * tulle_type_size(C.type) +
               (size_t)record->offset - tulle__result_values(plan->C, &record->size);
    return tulle__partial_take(inbox, record, to);
}

static tulle_status finish(tulle__exec *x)
{
    for (int t = 0; t < x->plan->targets.count; t++) {
        tulle__target *target = &x->plan->targets.at[t];
        if (!target->placed) TULLE_CALL(tulle__merge_parts(x, target));
        /* what layers make is summed before it is filtered */
        if (x->plan->like.task.least && !x->plan->options.keep_pattern && x->plan->ways.layers == 1)
            TULLE_CALL(tulle__filter_tile(x->plan->operands.C, target->i, target->j,
                x->plan->options.filter * x->plan->options.filter, &x->filtered));
    }
    return TULLE_OK;
}

/* Computes the norms of blocks whose values have come: no product does. */
static tulle_status finish_rows(tulle__exec *x)
{
    tulle_mat *C = x->plan->operands.C;
    for (int t = 0; t < x->plan->targets.count; t++) {
        tulle_own_tile tile;
        TULLE_CALL(tulle_mat_own_tile(C, x->plan->targets.at[t].i, x->plan->targets.at[t].j, &tile));
        tulle__blocks_renew_norms(&tile);
    }
    return TULLE_OK;
}

static const tulle__outputs own = {own_output, own_taken};
static const tulle__outputs rows_of_own = {own_rows, own_taken};
static const tulle__outputs kept = {kept_output, kept_taken};
static const tulle__outputs once = {once_output, once_taken};
static const tulle__outputs panels = {panel_output, panel_taken};

#define SINK(...)                                                                                                      \
    {                                                                                                                  \
        .begin = begin, .take = take, .drop = drop, .own = &own, .receive = receive_part, .finish = finish,            \
        __VA_ARGS__                                                                                                    \
    }
/* structures are reused if all of C is made at once and the next execution has the same jobs */
static const tulle__sink structures = SINK(.away = &kept, .publishes = true, .same_jobs = true);
static const tulle__sink values = SINK(.away = &kept, .same_jobs = true);
static const tulle__sink claimed = SINK(.away = &panels, .publishes = true);
static const tulle__sink phase = {.begin = begin,
    .take = take_slice,
    .drop = drop,
    .own = &own,
    .away = &once,
    .receive = receive_part,
    .finish = finish,
    .publishes = true};
static const tulle__sink claimed_values = {.begin = begin_rows,
    .take = take,
    .drop = drop,
    .own = &rows_of_own,
    .away = &panels,
    .receive = receive_values,
    .finish = finish_rows};
#undef SINK

const tulle__sink *tulle__sparse_sink(const tulle_product *plan, int reuse)
{
    if (!plan->ways.whole) return &phase;
    if (plan->policy->reach == TULLE__REACH_NONE) return reuse ? &values : &structures;
    return reuse ? &claimed_values : &claimed;
}
