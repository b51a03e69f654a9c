/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/required_rows.h"

#include "algo/chain/band.h"
#include "algo/product/source/delegation_balance.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/planted.h"

/*
 * Messages of delegated rows beside their bytes: a get of the values, a push (a slot there and
 * back, the record, its word, the acknowledgement), and the owner's get of the panel, with the wait
 * for it.
 */
enum { SEND_MESSAGES = 7, GET_MESSAGES = 4, DELEGATION_MESSAGES = 1 + SEND_MESSAGES + GET_MESSAGES };

/* The accuracy of the model: delegation must be better by as much. */
#define CLEARLY 0.98

/* Rows of B[k,j] that own tile A[i,k] needs. */
struct want {
    tulle__subset *subset; /* NULL: the whole tile */
    tulle__cut *cut;       /* NULL: all of A is multiplied here */
};

struct tulle__required {
    tulle_comm *comm;
    int K, N;
    int *row; /* [M K]: of the table, for own tiles of A; -1: not own */
    int64_t rows;
    struct want *want; /* [rows N] */
    tulle__delegations *delegations;
    tulle__node_cache *node_cache;
    int64_t give; /* any PE has delegations */
    tulle__required_figures figures;
};

/* Inputs of the transfer decision for one pair. */
struct pair {
    const tulle__operands *operands;
    tulle_transfers transfers;
    const tulle__transfer_costs *costs;
    const tulle__csr *A;
    const tulle__row_set *rows; /* that A names */
    int i, k, j;
    int here, there;
    int may_give;
    tulle__delegation_balance *balance; /* NULL: it does not matter who multiplies */
};

static struct want *find(const tulle__required *required, int i, int k, int j)
{
    int row = required ? required->row[(int64_t)i * required->K + k] : -1;
    return row < 0 ? NULL : &required->want[(int64_t)row * required->N + j];
}

static void drop(struct want *want)
{
    tulle__subset_free(want->subset);
    tulle__cut_free(want->cut);
    *want = (struct want){NULL, NULL};
}

static double cost(const struct pair *p, double bytes, double ranges, double messages)
{
    return tulle__transfer_cost(p->costs, p->here, p->there, bytes, ranges, messages);
}

static double subset_cost(const struct pair *p, const tulle__subset *e)
{
    double bytes = (double)tulle__subset_bytes(e), ranges = (double)tulle__subset_ranges(e);
    return cost(p, bytes, ranges, ranges > 0);
}

/*
 * Decides by bytes, or by modelled time. The time omits the cost of ranges of rows of B, in which
 * engines differ most, so that covers must pay without it.
 */
static tulle_status delegate_rows(const struct pair *p, const int64_t *rowptr, const tulle__subset *all,
    struct want *want, tulle__cover_weight *weight)
{
    const tulle_mat *B = p->operands->B;
    TULLE__SCOPED_BY(tulle__row_set_fini) tulle__row_set rows = {0};
    tulle__row_terms terms = {tulle__tile_cols(B, p->j), tulle_type_size(B->type), rowptr};
    int by_time = p->transfers == TULLE_TRANSFERS_AUTO;
    double limit = (double)tulle__subset_bytes(all) - p->costs->record;
    double by_rows = cost(p, (double)tulle__subset_bytes(all), 0, 1);
    if (by_time) limit = CLEARLY * by_rows - cost(p, p->costs->record, 0, DELEGATION_MESSAGES);
    TULLE_CALL(tulle__cut_new(p->A, &terms, limit, by_time, &want->cut, weight));
    if (!want->cut) return TULLE_OK;
    TULLE_CALL(tulle__row_set_named_by(&want->cut->rest, &rows));
    TULLE_CALL(tulle__subset_new(B, p->k, p->j, &rows, rowptr, &want->subset));
    double values = (double)want->cut->given * (double)terms.size, partial = (double)want->cut->bytes - values;
    tulle__delegated_cost delegated = {.rows = by_rows,
        .rest = subset_cost(p, want->subset),
        .values = cost(p, values, (double)want->cut->rows, 1),
        .send = cost(p, p->costs->record, 0, SEND_MESSAGES),
        .get = cost(p, partial, 0, GET_MESSAGES),
        .bytes = partial,
        .multiplications = (double)want->cut->given / (double)p->A->rowptr[p->A->m] *
                           tulle__operands_work(p->operands, p->i, p->k, p->j)};
    if (by_time && delegated.rest + delegated.values + delegated.send + delegated.get >= CLEARLY * by_rows)
        drop(want);
    else if (p->balance)
        tulle__delegation_balance_delegate(p->balance, p->there, &delegated);
    return TULLE_OK;
}

static tulle_status decide(
    const struct pair *p, const int64_t *rowptr, struct want *want, tulle__required_figures *figures)
{
    tulle_status status;
    const tulle_mat *B = p->operands->B;
    tulle__subset *all = NULL;
    size_t whole = tulle__fetch_bytes(B, p->k, p->j), bytes = whole;
    TULLE_TRY(tulle__subset_new(B, p->k, p->j, p->rows, rowptr, &all));
    tulle__cover_weight weight = {.bound = (int64_t)tulle__subset_bytes(all), .exact = 1};
    if (p->may_give) TULLE_TRY(delegate_rows(p, rowptr, all, want, &weight));
    if (want->cut) {
        figures->covers++;
        bytes = tulle__subset_bytes(want->subset) + (size_t)want->cut->bytes + (size_t)p->costs->record;
    } else if (p->transfers == TULLE_TRANSFERS_COVER ? tulle__subset_bytes(all) < whole
                                                     : subset_cost(p, all) < cost(p, (double)whole, 1, 1)) {
        figures->rows++;
        bytes = tulle__subset_bytes(all);
        want->subset = all;
        all = NULL;
    } else {
        figures->whole++;
    }
    if (p->balance && !want->cut) tulle__delegation_balance_fetch(p->balance, p->there, cost(p, (double)bytes, 0, 1));
    figures->greedy += !weight.exact;
    figures->bytes += (int64_t)bytes;
    figures->bound += weight.bound;
out:
    tulle__subset_free(all);
    return status;
}

/* Finds rows that own tile (i, k) of A needs of row k of tiles of B. */
static tulle_status look_at(tulle__required *required, const tulle__policy *policy, struct pair p)
{
    const tulle__operands *o = p.operands;
    TULLE__SCOPED_BY(tulle__row_set_fini) tulle__row_set rows = {0};
    tulle__csr A;
    tulle_tile tile;
    TULLE__SCOPED int64_t *rowptr = NULL;
    for (p.j = 0; p.j < o->N; p.j++) {
        if (!tulle__operands_meet(o, p.i, p.k, p.j) || policy->worker(o, p.i, p.k, p.j) != p.here) continue;
        if (p.balance) tulle__delegation_balance_work(p.balance, tulle__operands_work(o, p.i, p.k, p.j));
        if (!tulle__fetch_bytes(o->B, p.k, p.j)) continue;
        if (!tulle__subset_possible(o->B, p.k, p.j)) {
            required->figures.whole++;
            required->figures.bytes += (int64_t)tulle__fetch_bytes(o->B, p.k, p.j);
            required->figures.bound += (int64_t)tulle__fetch_bytes(o->B, p.k, p.j);
            continue;
        }
        if (!rows.range) {
            TULLE_CALL(tulle_mat_tile(o->A, p.i, p.k, &tile));
            A = tulle__tile_csr(&tile);
            TULLE_CALL(tulle__row_set_named_by_tile(&tile, &rows));
            p.A = &A;
            p.rows = &rows;
        }
        if (o->B->kind == TULLE_CSR) TULLE_CALL(tulle__rowptr_read(o->B, p.k, p.j, &rowptr));
        struct want *want = find(required, p.i, p.k, p.j);
        p.there = tulle__layout_owner(o->B->layout, p.k, p.j);
        p.may_give = required->delegations && tulle__tile_is_mine(o->C, p.i, p.j);
        TULLE_CALL(decide(&p, rowptr, want, &required->figures));
        if (want->cut) TULLE_CALL(tulle__delegations_add(required->delegations, p.there, p.i, p.j, p.k, &A, want->cut));
        tulle__free(rowptr);
        rowptr = NULL;
    }
    return TULLE_OK;
}

static tulle_status look_at_all(tulle__required *required, const tulle__policy *policy, struct pair p)
{
    const tulle__operands *o = p.operands;
    for (p.i = 0; p.i < o->M; p.i++)
        for (p.k = 0; p.k < o->K; p.k++)
            if (find(required, p.i, p.k, 0)) TULLE_CALL(look_at(required, policy, p));
    return TULLE_OK;
}

/* Decides again without delegation; the bound stays. */
static tulle_status require_all(tulle__required *required, const tulle__policy *policy, struct pair p)
{
    tulle__required_figures possible = required->figures;
    for (int64_t w = 0; w < required->rows * required->N; w++) drop(&required->want[w]);
    tulle__delegations_free(required->delegations);
    required->delegations = NULL;
    required->figures = (tulle__required_figures){.whole = 0};
    p.balance = NULL;
    tulle_status status = look_at_all(required, policy, p);
    required->figures.greedy = possible.greedy;
    required->figures.bound = possible.bound;
    return status;
}

/* If time matters, all PEs delegate or none does. */
static tulle_status give(tulle__required *required, const tulle__policy *policy, struct pair p)
{
    int pays = 1;
    TULLE__SCOPED_BY(tulle__delegation_balance_fini) tulle__delegation_balance balance = {.before = NULL};
    TULLE_CALL(tulle__delegations_new(required->comm, &required->delegations));
    if (p.transfers == TULLE_TRANSFERS_AUTO) {
        TULLE_CALL(tulle__delegation_balance_init(required->comm, p.costs, &balance));
        p.balance = &balance;
    }
    TULLE_CALL(look_at_all(required, policy, p));
    required->give = required->figures.covers > 0;
    TULLE_CALL(tulle_comm_reduce_int(required->comm, TULLE_MAX, 1, &required->give));
    if (required->give && p.balance) TULLE_CALL(tulle__delegation_balance_pays(&balance, &pays));
    required->give &= pays;
    if (!pays) TULLE_CALL(require_all(required, policy, p));
    if (required->give) TULLE_CALL(tulle__delegations_exchange(required->delegations));
    return TULLE_OK;
}

/*
 * ask: requests the rows of B[k,j] that own tile A[i,k] requires. Else: subtracts their bytes if
 * the node caches them.
 */
static tulle_status share_pair(tulle__required *required, const tulle__operands *o, int i, int k, int j, int ask)
{
    tulle_tile tile;
    uint64_t *bits = NULL;
    const struct want *want = find(required, i, k, j);
    if (ask) {
        if (want->cut && !want->cut->rest.rowptr[want->cut->rest.m]) return TULLE_OK;
        TULLE_CALL(tulle_mat_tile(o->A, i, k, &tile));
        if (tile.nnz) TULLE_CALL(tulle__node_cache_request(required->node_cache, k, j, tile.n, &bits));
        if (bits && want->cut)
            tulle__bits_named_by(&want->cut->rest, bits);
        else if (bits)
            o->A->format->names(&tile, bits);
    } else if (tulle__node_cache_has(required->node_cache, k, j)) {
        required->figures.bytes -= (int64_t)tulle__required_bytes(required, o, i, k, j);
    }
    return TULLE_OK;
}

static tulle_status share(tulle__required *required, const tulle__policy *policy, const tulle__operands *o)
{
    TULLE_CALL(tulle__node_cache_new(required->comm, o, &required->node_cache));
    for (int ask = 1; ask >= 0; ask--) {
        for (int i = 0; i < o->M; i++)
            for (int k = 0; k < o->K; k++)
                for (int j = 0; j < o->N && find(required, i, k, j); j++)
                    if (tulle__operands_meet(o, i, k, j) && tulle__subset_possible(o->B, k, j) &&
                        policy->worker(o, i, k, j) == required->comm->rank)
                        TULLE_CALL(share_pair(required, o, i, k, j, ask));
        if (ask) TULLE_CALL(tulle__node_cache_exchange(required->node_cache, o->B));
    }
    required->figures.bytes += (int64_t)tulle__node_cache_bytes(required->node_cache);
    return TULLE_OK;
}

tulle_status tulle__required_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *o,
    tulle_transfers transfers, int alone, const tulle__transfer_costs *costs, tulle__required **out)
{
    tulle__required *required = NULL;
    int64_t tiles = (int64_t)o->M * o->K;
    struct pair pair = {.operands = o, .transfers = transfers, .costs = costs, .here = comm->rank};
    TULLE_CALL(tulle__alloc_zero(1, sizeof *required, "needed rows", &required));
    *out = required;
    required->comm = comm;
    required->K = o->K;
    required->N = o->N;
    TULLE_CALL(tulle__alloc((size_t)tiles, sizeof *required->row, "needed rows", &required->row));
    for (int64_t t = 0; t < tiles; t++)
        required->row[t] = tulle__tile_is_mine(o->A, (int)(t / o->K), (int)(t % o->K)) ? (int)required->rows++ : -1;
    TULLE_CALL(
        tulle__alloc_zero((size_t)(required->rows * o->N), sizeof *required->want, "needed rows", &required->want));
    /* rows are delegated by their entries */
    if (policy->reach == TULLE__REACH_NONE && transfers != TULLE_TRANSFERS_ROWS && !alone && o->A->kind == TULLE_CSR)
        TULLE_CALL(give(required, policy, pair));
    else
        TULLE_CALL(look_at_all(required, policy, pair));
    if (policy->reach == TULLE__REACH_NONE && !alone) TULLE_CALL(share(required, policy, o));
    return TULLE_OK;
}

void tulle__required_end_exchange(tulle__required *required)
{
    if (required && required->delegations) tulle__delegations_end_exchange(required->delegations);
    if (required && required->node_cache) tulle__node_cache_end_exchange(required->node_cache);
}

void tulle__required_free(tulle__required *required)
{
    if (!required) return;
    for (int64_t w = 0; required->want && w < required->rows * required->N; w++) drop(&required->want[w]);
    tulle__delegations_free(required->delegations);
    tulle__node_cache_free(required->node_cache);
    tulle__free(required->want);
    tulle__free(required->row);
    tulle__free(required);
}

size_t tulle__required_held(const tulle__required *required)
{
    if (!required) return 0;
    size_t bytes = tulle__delegations_held(required->delegations);
    if (required->node_cache) bytes += tulle__node_cache_held(required->node_cache);
    for (int64_t w = 0; w < required->rows * required->N; w++) {
        const struct want *want = &required->want[w];
        bytes += sizeof *want + (want->subset ? tulle__subset_held(want->subset) : 0);
        bytes += tulle__cut_held(want->cut);
    }
    return bytes;
}

int tulle__required_listed(const tulle__required *required, int i, int k, int j)
{
    return find(required, i, k, j) != NULL;
}

int tulle__required_whole(const tulle__required *required, int i, int k, int j)
{
    const struct want *want = find(required, i, k, j);
    return !want || !want->subset;
}

tulle_status tulle__required_fetch(
    const tulle__required *required, const tulle__operands *o, int i, int k, int j, tulle__fetch *fetch)
{
    const struct want *want = find(required, i, k, j);
    if (want && tulle__node_cache_has(required->node_cache, k, j)) {
        *fetch = tulle__node_cache_fetch(required->node_cache, o->B, k, j);
        return TULLE_OK;
    }
    return want && want->subset ? tulle__subset_fetch(o->B, k, j, want->subset, o->receiver, fetch)
                                : tulle__fetch_into(o->B, k, j, o->receiver, fetch);
}

size_t tulle__required_bytes(const tulle__required *required, const tulle__operands *o, int i, int k, int j)
{
    const struct want *want = find(required, i, k, j);
    return want && want->subset ? tulle__subset_bytes(want->subset) : tulle__fetch_bytes(o->B, k, j);
}

const tulle__cut *tulle__required_cut(const tulle__required *required, int i, int k, int j)
{
    const struct want *want = find(required, i, k, j);
    return want ? want->cut : NULL;
}

tulle_status tulle__required_refresh(tulle__required *required, const tulle__operands *o, int64_t *bytes)
{
    tulle_tile tile;
    *bytes = 0;
    if (!required || !required->delegations) return TULLE_OK;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++) {
                struct want *want = find(required, i, k, j);
                if (!want) break;
                if (!want->cut) continue;
                TULLE_CALL(tulle_mat_tile(o->A, i, k, &tile));
                tulle__csr A = tulle__tile_csr(&tile);
                if (!TULLE__PLANTED(stale_values)) tulle__cut_fill(want->cut, &A);
                *bytes += (A.rowptr[A.m] - want->cut->given) * (int64_t)want->cut->size;
            }
    return TULLE_OK;
}

tulle__node_cache *tulle__required_node_cache(const tulle__required *required)
{
    return required ? required->node_cache : NULL;
}

const tulle__delegations *tulle__required_delegations(const tulle__required *required)
{
    return required ? required->delegations : NULL;
}

int tulle__required_delegates(const tulle__required *required)
{
    return required && required->give;
}

tulle__required_figures tulle__required_count(const tulle__required *required)
{
    return required ? required->figures : (tulle__required_figures){.whole = 0};
}
