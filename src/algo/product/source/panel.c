/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/panel.h"
#include "algo/chain/segments.h"

#include "base/error.h"
#include "base/planted.h"
#include "mat/fetch.h"

enum { UNDER_WAY = 2 };

/* A tile of the panel that is on its way. */
struct coming {
    const tulle_mat *X;
    int i, j;             /* tile */
    int slot;             /* the tile row of C or, behind them, the tile column that it is for */
    int64_t index;        /* of the tile in X */
    uint64_t length;      /* bytes */
    int segments;         /* that it comes in */
    int position;         /* of this PE among those that it goes to */
    int have, asked;      /* segments that are here, that have been asked for, */
    int before;           /* and that had been at the last call */
    int group[UNDER_WAY]; /* of segment s at s % UNDER_WAY */
};

/* Facts that all PEs know of one. */
struct shared {
    tulle__place words, data;
    uint64_t capacity_a, capacity_b; /* bytes of a buffer for tiles of A, and of B behind them */
};

struct tulle__panels {
    tulle__source source;
    tulle_comm *comm;
    const tulle__operands *operands;
    tulle__arrival arrival;
    int direct, buffers, ahead, steps;
    int q;      /* shift: the PEs are q x q */
    char *need; /* [size * (M + N)]: whether a PE has C tiles in that tile row or column */
    struct shared own, *shared;
    int data_taken, words_taken;
    int64_t *at_a, *at_b;  /* [tiles of A, of B]: where the tile lies in its part of a buffer */
    struct coming *coming; /* [capacity]: of the step that was started last */
    int ncoming, step;     /* -1: none was started in this execution */
    int reached;           /* that step is there, on all PEs; -1: none */
    uint64_t base;         /* steps of all executions before this one */
};

static uint64_t length_of(const tulle_mat *X, int i, int j)
{
    return (X->directory[tulle__tile_index(X, i, j)].place.length + 63) / 64 * 64;
}

static int needs(const tulle__panels *p, int pe, int slot)
{
    return p->need[(int64_t)pe * (p->operands->M + p->operands->N) + slot];
}

/* The part of the inner indices that k belongs to under Cannon. */
static int part_of(const tulle__panels *p, int k)
{
    return tulle__layout_owner(p->operands->A->layout, 0, k) % p->q;
}

int tulle__panels_in_step(const tulle__panels *p, int t, int k)
{
    if (p->arrival == TULLE__ARRIVAL_BROADCAST) return k == t;
    int rank = p->comm->rank;
    return part_of(p, k) == (rank / p->q + rank % p->q + t) % p->q;
}

int tulle__panels_steps(const tulle__panels *p)
{
    return p->steps;
}

/*
 * ---- the tree or chain that a tile goes down: its owner, then the PEs that need it, by rank from
 * the owner around ----
 */

/* Begin of segment s. */
static uint64_t cut_at(const struct coming *x, int s)
{
    return s == x->segments ? x->length : x->length / (uint64_t)x->segments * (uint64_t)s / 64 * 64;
}

static int tile_owner(const struct coming *x)
{
    return tulle__layout_owner(x->X->layout, x->i, x->j);
}

static int member(const tulle__panels *p, const struct coming *x, int position)
{
    int owner = tile_owner(x), size = p->comm->size;
    for (int distance = 0; distance < size; distance++) {
        int pe = (owner + distance) % size;
        if ((distance == 0 || needs(p, pe, x->slot)) && position-- == 0) return pe;
    }
    return -1;
}

static int members_of(const tulle__panels *p, const struct coming *x)
{
    int count = 1;
    for (int pe = 0; pe < p->comm->size; pe++) count += pe != tile_owner(x) && needs(p, pe, x->slot);
    return count;
}

static int position_of(const tulle__panels *p, const struct coming *x)
{
    int position = 0;
    while (member(p, x, position) != p->comm->rank) position++;
    return position;
}

static uint64_t word_at(const tulle__panels *p, int slot)
{
    /*
     * two words a slot, in turn: those of one step and the next are written by different PEs, in
     * any order
     */
    int slots = p->operands->M + p->operands->N;
    return (uint64_t)((p->step & 1) * slots + slot) * sizeof(uint64_t);
}

static uint64_t word_value(const tulle__panels *p)
{
    return p->base + (uint64_t)p->step + 1;
}

static void tell(const tulle__panels *p, const struct coming *x, int position)
{
    int pe = member(p, x, position);
    if (pe < 0) return;
    tulle__store(p->comm, &p->shared[pe].words, word_at(p, x->slot), word_value(p) << 8 | (uint64_t)x->have);
}

/* This PE has x->have segments. */
static void tell_children(const tulle__panels *p, const struct coming *x)
{
    int lowest = x->position ? x->position & -x->position : p->comm->size;
    if (x->segments > 1)
        tell(p, x, x->position + 1);
    else
        for (int bit = 1; bit < lowest; bit *= 2) tell(p, x, x->position + bit);
}

/* The segments that may be asked for. */
static int reported(const tulle__panels *p, const struct coming *x)
{
    const char *words = tulle__mapped(p->comm, &p->own.words);
    if (p->arrival == TULLE__ARRIVAL_SHIFT) return 1; /* all had their panels when they met */
    uint64_t word = tulle__word_read((const uint64_t *)(const void *)(words + word_at(p, x->slot)));
    return word >> 8 == word_value(p) ? (int)(word & 0xff) : 0;
}

/* ---- copying ---- */

/* Begin of part A or B of the panel of step t in the data of a PE. */
static uint64_t buffer_at(const tulle__panels *p, const struct shared *pe, int t, int b)
{
    return (uint64_t)(TULLE__PLANTED(panel_overwritten) ? 0 : t % p->buffers) * (pe->capacity_a + pe->capacity_b) +
           (b ? pe->capacity_a : 0);
}

/* Offset of a tile in its part of a PE's panel of one k: behind those of the slots before. */
static uint64_t offset_at(const tulle__panels *p, int pe, const struct coming *x)
{
    uint64_t at = 0;
    int of_b = x->slot >= p->operands->M;
    for (int slot = of_b ? p->operands->M : 0; slot < x->slot; slot++)
        if (needs(p, pe, slot)) at += of_b ? length_of(x->X, x->i, slot - p->operands->M) : length_of(x->X, slot, x->j);
    return at;
}

static int neighbour(const tulle__panels *p, int below)
{
    int row = p->comm->rank / p->q, col = p->comm->rank % p->q;
    return below ? (row + 1) % p->q * p->q + col : row * p->q + (col + 1) % p->q;
}

/* The PE that a tile comes from. */
static int parent_of(const tulle__panels *p, const struct coming *x)
{
    int shift = p->arrival == TULLE__ARRIVAL_SHIFT;
    if (shift) return p->step > 0 ? neighbour(p, x->slot >= p->operands->M) : tile_owner(x);
    return member(p, x, x->segments > 1 ? x->position - 1 : x->position & (x->position - 1));
}

/* Starts getting the next segment, from the tile's owner or from another PE's panel. */
static void ask(tulle__panels *p, struct coming *x)
{
    int of_b = x->slot >= p->operands->M, shift = p->arrival == TULLE__ARRIVAL_SHIFT, parent = parent_of(p, x);
    int group = x->group[x->asked % UNDER_WAY] = tulle__comm_group(p->comm);
    int64_t own_at = of_b ? p->at_b[x->index] : p->at_a[x->index];
    uint64_t from = cut_at(x, x->asked), bytes = cut_at(x, x->asked + 1) - from, at = from;
    char *to = (char *)tulle__mapped(p->comm, &p->own.data) + buffer_at(p, &p->own, p->step, of_b) + own_at + from;
    if (tulle__is_shape_only(p->comm)) to = NULL;
    x->asked++;
    if (parent == tile_owner(x)) {
        if (x->segments > 1)
            tulle__get(p->comm, group, &x->X->directory[x->index].place, at, to, bytes);
        else
            tulle__fetch_start(x->X, x->i, x->j, group, to);
        return;
    }
    const struct shared *pe = &p->shared[parent];
    at += buffer_at(p, pe, shift ? p->step - 1 : p->step, of_b) + (shift ? (uint64_t)own_at : offset_at(p, parent, x));
    tulle__get(p->comm, group, &pe->data, at, to, bytes);
}

static void ask_all(tulle__panels *p, struct coming *x)
{
    int most = reported(p, x);
    while (x->asked < most && x->asked - x->have < UNDER_WAY) ask(p, x);
}

/* Waits for the segment that was asked for first. */
static tulle_status receive(tulle__panels *p, struct coming *x)
{
    TULLE_CALL(tulle__wait(p->comm, x->group[x->have++ % UNDER_WAY]));
    if (p->arrival == TULLE__ARRIVAL_BROADCAST) tell_children(p, x);
    return TULLE_OK;
}

/* Prepares a tile that this PE passes on or needs; a needed one gets its place in the panel. */
static void expect(tulle__panels *p, const tulle_mat *X, int i, int j, int slot, int64_t *at)
{
    struct coming x = {.X = X, .i = i, .j = j, .slot = slot, .index = tulle__tile_index(X, i, j), .segments = 1};
    if (!length_of(X, i, j)) return;
    int mine = tulle__tile_is_mine(X, i, j), broadcast = p->arrival == TULLE__ARRIVAL_BROADCAST;
    x.length = X->directory[x.index].place.length;
    if (broadcast && !X->whole)
        x.segments = tulle__broadcast_segments(x.length, members_of(p, &x)); /* of a part: lines */
    if (broadcast && mine) {
        x.have = x.segments;
        tell_children(p, &x);
    }
    if (!needs(p, p->comm->rank, slot)) return;
    int64_t *where = slot < p->operands->M ? p->at_a : p->at_b;
    where[x.index] = *at;
    *at += (int64_t)length_of(X, i, j);
    if (mine) return;
    if (broadcast) x.position = position_of(p, &x);
    p->coming[p->ncoming++] = x;
}

/* Starts what the panel of step t can be given by now. The last one has been finished. */
static void start_panel(tulle__panels *p, int t)
{
    const tulle__operands *o = p->operands;
    int64_t at_a = 0, at_b = 0;
    p->step = t;
    p->ncoming = 0;
    if (p->direct) return;
    for (int k = 0; k < o->K; k++) {
        if (!tulle__panels_in_step(p, t, k)) continue;
        for (int i = 0; i < o->M; i++) expect(p, o->A, i, k, i, &at_a);
        for (int j = 0; j < o->N; j++) expect(p, o->B, k, j, o->M + j, &at_b);
    }
    for (int n = 0; n < p->ncoming; n++) ask_all(p, &p->coming[n]);
}

/*
 * Passes on segments that were under way at the last call, and starts what has become possible.
 * Cheap.
 */
static tulle_status serve(tulle__source *source, int *done)
{
    tulle__panels *p = (tulle__panels *)source;
    (void)done; /* of the last step nothing is left to be passed on */
    for (int n = 0; n < p->ncoming; n++) {
        struct coming *x = &p->coming[n];
        for (; x->have < x->before;) {
            TULLE_CALL(receive(p, x));
        }
        ask_all(p, x);
        x->before = x->asked;
    }
    return TULLE_OK;
}

/* Waits until the panel that was started is complete. */
static tulle_status finish_panel(tulle__panels *p)
{
    for (int turns = 0;;) {
        int left = 0, received = 0;
        for (int n = 0; n < p->ncoming; n++) ask_all(p, &p->coming[n]);
        for (int n = 0; n < p->ncoming; n++) {
            struct coming *x = &p->coming[n];
            if (x->have < x->asked) {
                TULLE_CALL(receive(p, x));
                ask_all(p, x);
                received++;
            }
            left += x->have < x->segments;
        }
        if (!left) return TULLE_OK;
        if (received) continue;
        TULLE_CALL(tulle__comm_failed(p->comm));
        tulle__pause(p->comm, &turns);
    }
    return TULLE_OK;
}

static tulle_status reach(tulle__source *source, int step, int64_t *wait_ns)
{
    tulle__panels *p = (tulle__panels *)source;
    int last = step < p->steps ? step : p->steps - 1;
    while (p->reached < last) {
        int t = p->reached + 1;
        if (p->step < t) start_panel(p, t);
        TULLE_CALL(finish_panel(p));
        int64_t start = tulle__now(p->comm);
        if (p->comm->size > 1) TULLE_CALL(tulle_comm_barrier(p->comm));
        *wait_ns += tulle__now(p->comm) - start;
        p->reached = t;
        if (p->ahead && t + 1 < p->steps) start_panel(p, t + 1);
    }
    return TULLE_OK;
}

static tulle_status begin(tulle__source *source, const tulle__waiting *waiting, int64_t *copied)
{
    tulle__panels *p = (tulle__panels *)source;
    (void)waiting, (void)copied;
    p->step = p->reached = -1;
    return TULLE_OK;
}

static void end(tulle__source *source)
{
    tulle__panels *p = (tulle__panels *)source;
    for (int n = 0; n < p->ncoming; n++) {
        struct coming *x = &p->coming[n];
        for (; x->have < x->asked; x->have++) (void)tulle__wait(p->comm, x->group[x->have % UNDER_WAY]);
    }
    p->ncoming = 0;
    p->base += (uint64_t)p->steps;
}

static tulle_tile tile_of(tulle__panels *p, const tulle_mat *X, int i, int j, int t, int of_b)
{
    int64_t index = tulle__tile_index(X, i, j);
    tulle_tile tile = tulle__tile_in_place(X, i, j);
    if (tile.val || !X->directory[index].place.length) return tile;
    void *block = tulle__peek(p->comm, &X->directory[index].place);
    if (!block)
        block = (char *)tulle__mapped(p->comm, &p->own.data) + buffer_at(p, &p->own, t, of_b) +
                (of_b ? p->at_b : p->at_a)[index];
    return tulle__tile_view(X, i, j, &X->directory[index], block);
}

/* Tiles come with their panel. */
static tulle_status start(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch)
{
    (void)source, (void)wanted;
    *fetch = (tulle__fetch){.group = -1};
    return TULLE_OK;
}

static tulle_status await(tulle__source *source, const tulle__wanted *w, tulle__fetch *fetch, tulle_tile *tile)
{
    tulle__panels *p = (tulle__panels *)source;
    (void)fetch;
    *tile = w->factor == TULLE__FACTOR_A ? tile_of(p, p->operands->A, w->i, w->k, p->reached, 0)
                                         : tile_of(p, p->operands->B, w->k, w->j, p->reached, 1);
    return TULLE_OK;
}

static const tulle__source_ops ops = {
    .begin = begin, .start = start, .await = await, .reach = reach, .serve = serve, .end = end};

tulle__source *tulle__panels_source(tulle__panels *p)
{
    return &p->source;
}

/* ---- making ---- */

/* The largest panel: bytes for A and for B, and tiles. */
static int measure(tulle__panels *p)
{
    const tulle__operands *o = p->operands;
    int most = 0;
    for (int t = 0; t < p->steps && !p->direct; t++) {
        uint64_t a = 0, b = 0;
        int tiles = 0;
        for (int k = 0; k < o->K; k++) {
            if (!tulle__panels_in_step(p, t, k)) continue;
            for (int i = 0; i < o->M; i++) a += needs(p, p->comm->rank, i) ? length_of(o->A, i, k) : 0;
            for (int j = 0; j < o->N; j++) b += needs(p, p->comm->rank, o->M + j) ? length_of(o->B, k, j) : 0;
            tiles += o->M + o->N;
        }
        if (a > p->own.capacity_a) p->own.capacity_a = a;
        if (b > p->own.capacity_b) p->own.capacity_b = b;
        if (tiles > most) most = tiles;
    }
    return most;
}

/*
 * The owners of C tiles; under Cannon all PEs of a grid row or column, as the tiles pass through
 * each.
 */
static void find_needs(tulle__panels *p)
{
    const tulle__operands *o = p->operands;
    const tulle_layout *c = o->C->layout;
    for (int pe = 0; pe < p->comm->size; pe++) {
        char *need = p->need + (int64_t)pe * (o->M + o->N);
        for (int i = 0; i < o->M; i++)
            for (int j = 0; j < o->N; j++) {
                int owner = tulle__layout_owner(c, i, j), shift = p->arrival == TULLE__ARRIVAL_SHIFT;
                need[i] |= owner == pe || (shift && owner / p->q == pe / p->q);
                need[o->M + j] |= owner == pe || (shift && owner % p->q == pe % p->q);
            }
    }
}

tulle_status tulle__panels_new(tulle_comm *comm, const tulle__operands *operands, tulle__arrival arrival, int ahead,
    int direct, tulle__panels **panels)
{
    tulle_status status;
    tulle__panels *p = NULL;
    size_t size = (size_t)comm->size, slots = (size_t)operands->M + (size_t)operands->N;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *p, "panels", &p));
    p->source.ops = &ops;
    p->comm = comm;
    p->operands = operands;
    p->arrival = arrival;
    p->direct = direct;
    p->ahead = ahead;
    p->buffers = arrival == TULLE__ARRIVAL_SHIFT || ahead ? 2 : 1;
    while (p->q * p->q < comm->size) p->q++;
    p->steps = arrival == TULLE__ARRIVAL_SHIFT ? p->q : operands->K;
    TULLE_TRY(tulle__alloc_zero(size, slots, "panels", &p->need));
    find_needs(p);
    int tiles = measure(p);
    TULLE_TRY(tulle__alloc((size_t)tiles, sizeof *p->coming, "panels", &p->coming));
    TULLE_TRY(tulle__alloc(size, sizeof *p->shared, "panels", &p->shared));
    TULLE_TRY(tulle__alloc((size_t)operands->M * (size_t)operands->K, sizeof *p->at_a, "panels", &p->at_a));
    TULLE_TRY(tulle__alloc((size_t)operands->K * (size_t)operands->N, sizeof *p->at_b, "panels", &p->at_b));
    size_t bytes = (size_t)p->buffers * (p->own.capacity_a + p->own.capacity_b);
    TULLE_TRY(tulle__heap_take(comm->pe->data, bytes ? bytes : 1, "panels of tiles", &p->own.data));
    p->data_taken = 1;
    TULLE_TRY(tulle__heap_take(comm->pe->control, 2 * slots * sizeof(uint64_t), "words of panels", &p->own.words));
    p->words_taken = 1;
    uint64_t *word = tulle__mapped(comm, &p->own.words);
    for (size_t w = 0; w < 2 * slots; w++) tulle__word_write(&word[w], 0);
    TULLE_TRY(tulle_comm_allgather(comm, &p->own, sizeof p->own, p->shared));
    *panels = p;
    return TULLE_OK;
out:
    tulle__panels_free(p);
    return status;
}

void tulle__panels_free(tulle__panels *p)
{
    if (!p) return;
    if (p->data_taken) tulle__heap_give(p->comm->pe->data, &p->own.data);
    if (p->words_taken) tulle__heap_give(p->comm->pe->control, &p->own.words);
    tulle__free(p->need);
    tulle__free(p->coming);
    tulle__free(p->shared);
    tulle__free(p->at_a);
    tulle__free(p->at_b);
    tulle__free(p);
}

size_t tulle__panels_bytes(const tulle__panels *p)
{
    return sizeof *p + p->own.data.length;
}
