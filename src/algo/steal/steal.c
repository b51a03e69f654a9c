/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/steal/steal.h"

#include <string.h>

#include "algo/steal/items.h"
#include "base/error.h"
#include "base/planted.h"
#include "mat/fetch.h"

struct tulle__steal {
    tulle_comm *comm;
    const tulle__transfer_costs *costs; /* NULL: every tile is read in place */
    int batch;
    tulle__items items;
    /* the words of each PE, followed by the number of words that may have free items */
    tulle__place own, *place;
    int taken;
    /* this execution: */
    uint64_t *known; /* [first_word[size]]: the words as last seen; bits are only ever added */
    double *left;    /* [size]: work not known to be taken */
    double mine;     /* work claimed by this PE */
    /*
     * [size]: the next word to examine: own ones upwards from the first, others' downwards from the
     * last; -1: exhausted
     */
    int64_t *at;
    /*
     * [size]: the number of leading words of a PE that may have free items, as last read or better
     */
    int64_t *open;
    char *progress_read; /* [size]: that was read, and no claim has failed since */
    int far;             /* nothing is left at hand: any item may be taken */
    int victim;          /* the PE whose items are in hand */
    int64_t word;
    uint64_t hand; /* its bits claimed and not yet passed on */
    int64_t stolen, probes;
    int last_i, last_j; /* of the last job, whose tiles are still here; -1: none */
};

/*
 * True if this PE may take an item of another PE. At hand: one of its tiles is own, or read in
 * place.
 */
static int within_reach(tulle__steal *s, int pe, int64_t item)
{
    const tulle__operands *o = s->items.operands;
    if (s->far) return 1;
    const tulle__item_chain *c = tulle__items_look_at(&s->items, pe, item);
    int first, count = tulle__items_products(&s->items, tulle__items_whole(&s->items, item - c->first), &first);
    if (tulle__layout_owner(o->C->layout, c->i, c->j) == s->comm->rank) return 1;
    for (int p = first; p < first + count; p++)
        if (!tulle__fetch_bytes(o->A, c->i, s->items.k[p]) || !tulle__fetch_bytes(o->B, s->items.k[p], c->j)) return 1;
    return 0;
}

/* Records the observed state of another PE's word. */
static void note(tulle__steal *s, int pe, int64_t word, uint64_t seen)
{
    uint64_t *known = &s->known[s->items.first_word[pe] + word];
    for (uint64_t gone = seen & ~*known; gone; gone &= gone - 1)
        s->left[pe] -= tulle__items_work(&s->items, pe, word * s->items.span[pe] + __builtin_ctzll(gone));
    *known = seen;
}

/* True if stealing the item is profitable. */
static int pays(tulle__steal *s, int pe, int64_t item)
{
    if (!s->items.policy->by_chain || !s->costs || pe == s->comm->rank) return 1;
    const tulle__item_chain *c = tulle__items_look_at(&s->items, pe, item);
    return tulle__steal_profits(
        s->items.operands, s->costs, s->comm->rank, c->i, c->j, s->left[pe], (tulle__at_hand){s->last_i, s->last_j});
}

/*
 * The amount of work of a claim: half of this PE's distance to the mean, but at most half of the
 * other PE's remaining work; above the mean, its part of the remaining work.
 */
static double portion(const tulle__steal *s, int pe)
{
    double part = s->left[pe] / (2 * s->comm->size), missing = (s->items.mean - s->mine) / 2;
    if (pe != s->comm->rank && missing > s->left[pe] / 2) missing = s->left[pe] / 2;
    return missing > part ? missing : part;
}

/* Chooses free items of a word, as far as known: a portion, and at least one. */
static uint64_t choose(tulle__steal *s, int pe, int64_t word)
{
    uint64_t chosen = 0, known = s->known[s->items.first_word[pe] + word];
    int64_t first = word * s->items.span[pe];
    int count = tulle__items_of(&s->items, pe, word), others = pe != s->comm->rank;
    double most = portion(s, pe), sum = 0;
    int64_t chain = -1;
    for (int n = 0; n < count; n++) {
        int bit = others ? count - 1 - n : n;
        if (known >> bit & 1 || (others && !within_reach(s, pe, first + bit))) continue;
        sum += tulle__items_work(&s->items, pe, first + bit);
        if (chosen && (sum > most || (others && s->items.policy->by_chain && s->items.looked_at != chain))) break;
        chain = s->items.looked_at;
        chosen |= (uint64_t)1 << bit;
    }
    if (!chosen) return 0;
    return pays(s, pe, first + (others ? 63 - __builtin_clzll(chosen) : __builtin_ctzll(chosen))) ? chosen : 0;
}

/* Claims items of a word; 0: none within reach is free. */
static int claim(tulle__steal *s, int pe, int64_t word)
{
    uint64_t *known = &s->known[s->items.first_word[pe] + word], chosen;
    while ((chosen = choose(s, pe, word))) {
        uint64_t expected = *known;
        s->probes += pe != s->comm->rank;
        uint64_t seen =
            tulle__compare_swap(s->comm, &s->place[pe], (uint64_t)word * sizeof(uint64_t), expected, expected | chosen);
        note(s, pe, word, seen == expected ? expected | chosen : seen);
        if (seen != expected && !TULLE__PLANTED(claimed_twice)) continue;
        for (uint64_t bits = chosen; bits; bits &= bits - 1)
            s->mine += tulle__items_work(&s->items, pe, word * s->items.span[pe] + __builtin_ctzll(bits));
        s->victim = pe;
        s->word = word;
        s->hand = TULLE__PLANTED(lost_claim) && chosen & (chosen - 1) ? chosen & (chosen - 1) : chosen;
        s->items.looked_at = -1;
        return 1;
    }
    return 0;
}

static int claim_own(tulle__steal *s)
{
    int rank = s->comm->rank;
    int64_t words = tulle__items_words(&s->items, rank);
    uint64_t *own = tulle__mapped(s->comm, &s->own);
    /* items taken by other PEs */
    for (int64_t w = s->at[rank]; w < words; w++) note(s, rank, w, tulle__word_read(&own[w]));
    for (; s->at[rank] < words; s->at[rank]++)
        if (claim(s, rank, s->at[rank])) return 1;
    if (s->open[rank]) tulle__word_write(&own[words], 0);
    s->open[rank] = 0;
    return 0;
}

/* Reads the progress of other PEs, so that words without free items are not probed one by one. */
static void read_progress(tulle__steal *s, int pe)
{
    int64_t open =
        (int64_t)tulle__load(s->comm, &s->place[pe], (uint64_t)tulle__items_words(&s->items, pe) * sizeof(uint64_t));
    s->probes++;
    s->progress_read[pe] = 1;
    for (; s->open[pe] > open; s->open[pe]--)
        note(s, pe, s->open[pe] - 1, tulle__items_all(&s->items, pe, s->open[pe] - 1));
    if (s->at[pe] >= s->open[pe]) s->at[pe] = s->open[pe] - 1;
}

/* Publishes this PE's progress. A later reader may see an earlier number: it only probes more. */
static void publish_progress(tulle__steal *s, int pe)
{
    int64_t open = s->open[pe];
    while (open > 0 && s->known[s->items.first_word[pe] + open - 1] == tulle__items_all(&s->items, pe, open - 1))
        open--;
    if (open == s->open[pe]) return;
    s->open[pe] = open;
    tulle__store(
        s->comm, &s->place[pe], (uint64_t)tulle__items_words(&s->items, pe) * sizeof(uint64_t), (uint64_t)open);
}

/* The PE with the most work left, the nearest of equals; -1: all are exhausted. */
static int fullest(const tulle__steal *s)
{
    int best = -1;
    for (int distance = 1; distance < s->comm->size; distance++) {
        int pe = (s->comm->rank + distance) % s->comm->size;
        if (s->at[pe] >= 0 && (best < 0 || s->left[pe] > s->left[best])) best = pe;
    }
    return best;
}

/* Searches all other PEs' words from their far end. */
static void look_around(tulle__steal *s, int far)
{
    s->far = far;
    for (int pe = 0; pe < s->comm->size; pe++) {
        if (pe != s->comm->rank) s->at[pe] = s->open[pe] - 1;
        s->progress_read[pe] = 0;
    }
}

static tulle_status claim_others(tulle__steal *s)
{
    int pe;
    while ((pe = fullest(s)) >= 0 || !s->far) {
        if (pe < 0) {
            look_around(s, 1);
            continue;
        }
        /* an idle PE must not continue with the work of a failed one */
        TULLE_CALL(tulle__comm_failed(s->comm));
        if (!s->progress_read[pe]) {
            read_progress(s, pe);
            continue;
        }
        int64_t probes = s->probes;
        int claimed = claim(s, pe, s->at[pe]);
        if (s->probes > probes) publish_progress(s, pe);
        if (claimed) return TULLE_OK;
        s->at[pe]--;
        s->progress_read[pe] = s->probes == probes; /* a failed probe: others knew more */
    }
    return TULLE_OK;
}

int tulle__steal_in_hand(const tulle__steal *s)
{
    return s->hand != 0;
}

/* Items first .. first + count - 1 in hand, as bits; 0: not all are. */
static uint64_t held(const tulle__steal *s, int64_t first, int64_t count)
{
    int64_t bit = first - s->word * s->items.span[s->victim];
    if (bit < 0 || bit + count > TULLE__WORD_ITEMS) return 0;
    uint64_t bits = (count < TULLE__WORD_ITEMS ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0) << bit;
    return (s->hand & bits) == bits ? bits : 0;
}

static void give_products(const tulle__steal *s, int n, tulle__claim *job)
{
    int first, count = tulle__items_products(&s->items, n, &first);
    for (int p = first; p < first + count; p++) job->k[job->nk++] = s->items.k[p];
}

/* Takes one chain's items in hand: complete tile products, or else neighbouring bands of one. */
static void take_items(tulle__steal *s, tulle__claim *job)
{
    int64_t item = s->word * s->items.span[s->victim] + __builtin_ctzll(s->hand);
    const tulle__item_chain *c = tulle__items_look_at(&s->items, s->victim, item);
    int n = tulle__items_whole(&s->items, item - c->first);
    uint64_t bits;
    job->i = s->last_i = c->i;
    job->j = s->last_j = c->j;
    job->of = job->units = 0;
    for (; job->nk < s->batch && n < s->items.nwholes; n++) {
        bits = held(s, c->first + s->items.unit[n], s->items.unit[n + 1] - s->items.unit[n]);
        if (!bits) break;
        give_products(s, n, job);
        job->units += (int)(s->items.unit[n + 1] - s->items.unit[n]);
        s->hand &= ~bits;
    }
    if (job->nk) return;
    give_products(s, n, job);
    job->of = (int)(s->items.unit[n + 1] - s->items.unit[n]);
    job->band = (int)(item - c->first - s->items.unit[n]);
    for (job->bands = 0; job->band + job->bands < job->of; job->bands++) {
        bits = held(s, item + job->bands, 1);
        if (!bits) break;
        s->hand &= ~bits;
    }
    job->units = job->bands;
}

tulle_status tulle__steal_take(tulle__steal *s, tulle__claim *job)
{
    job->nk = 0;
    if (!s->hand && !claim_own(s)) {
        tulle_status status = claim_others(s);
        if (status != TULLE_OK || !s->hand) return status;
    }
    take_items(s, job);
    if (s->victim != s->comm->rank) s->stolen += job->units;
    return TULLE_OK;
}

void tulle__steal_reset(tulle__steal *s)
{
    uint64_t *own = tulle__mapped(s->comm, &s->own);
    int size = s->comm->size, rank = s->comm->rank;
    for (int64_t w = 0; w < tulle__items_words(&s->items, rank); w++) tulle__word_write(&own[w], 0);
    for (int64_t w = 0; w < s->items.first_word[size]; w++) s->known[w] = 0;
    tulle__word_write(&own[tulle__items_words(&s->items, rank)], (uint64_t)tulle__items_words(&s->items, rank));
    for (int pe = 0; pe < size; pe++) s->open[pe] = tulle__items_words(&s->items, pe);
    memcpy(s->left, s->items.work, (size_t)size * sizeof *s->left);
    s->at[rank] = 0;
    look_around(s, s->items.policy->reach == TULLE__REACH_ALL);
    s->hand = 0;
    s->last_i = s->last_j = -1;
    s->stolen = s->probes = 0;
    s->mine = 0;
    s->items.looked_at = -1;
}

tulle_status tulle__steal_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    const tulle__transfer_costs *costs, int batch, tulle__steal **steal)
{
    tulle_status status;
    tulle__steal *s = NULL;
    size_t size = (size_t)comm->size;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *s, "reservations", &s));
    s->comm = comm;
    s->costs = costs;
    s->batch = batch;
    TULLE_TRY(tulle__items_init(&s->items, policy, operands, comm->size));
    TULLE_TRY(tulle__alloc(size, sizeof *s->left, "reservations", &s->left));
    TULLE_TRY(tulle__alloc(size, sizeof *s->at, "reservations", &s->at));
    TULLE_TRY(tulle__alloc(size, sizeof *s->open, "reservations", &s->open));
    TULLE_TRY(tulle__alloc(size, sizeof *s->progress_read, "reservations", &s->progress_read));
    TULLE_TRY(tulle__alloc(size, sizeof *s->place, "reservations", &s->place));
    TULLE_TRY(tulle__alloc((size_t)s->items.first_word[size] + 1, sizeof *s->known, "reservations", &s->known));
    TULLE_TRY(tulle__heap_take(comm->pe->control,
        ((size_t)tulle__items_words(&s->items, comm->rank) + 1) * sizeof(uint64_t), "reservations", &s->own));
    s->taken = 1;
    tulle__steal_reset(s);
    TULLE_TRY(tulle_comm_allgather(comm, &s->own, sizeof s->own, s->place));
    *steal = s;
    return TULLE_OK;
out:
    tulle__steal_free(s);
    return status;
}

void tulle__steal_free(tulle__steal *s)
{
    if (!s) return;
    if (s->taken) tulle__heap_give(s->comm->pe->control, &s->own);
    tulle__items_fini(&s->items);
    tulle__free(s->place);
    tulle__free(s->known);
    tulle__free(s->left);
    tulle__free(s->at);
    tulle__free(s->open);
    tulle__free(s->progress_read);
    tulle__free(s);
}

int64_t tulle__steal_stolen(const tulle__steal *s)
{
    return s->stolen;
}

int64_t tulle__steal_probes(const tulle__steal *s)
{
    return s->probes;
}

int64_t tulle__steal_share(const tulle__steal *s)
{
    int64_t units = 0;
    for (int pe = 0; pe < s->comm->size; pe++) units += s->items.count[pe];
    return units / s->comm->size + 1;
}

size_t tulle__steal_bytes(const tulle__steal *s)
{
    int size = s->comm->size;
    return sizeof *s + (size_t)s->items.first_chain[size] * sizeof *s->items.chain +
           (size_t)(s->items.first_word[size] + tulle__items_words(&s->items, s->comm->rank)) * sizeof *s->known;
}
