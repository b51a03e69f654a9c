/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/operand_cache.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/planted.h"

/* The share of the memory left that kept parts may use. */
#define KEPT_MOST 0.25

/* A part that more than one job reads. */
struct kept {
    int uses, taken; /* jobs that read it; that have started in this execution */
    tulle__fetch fetch;
};

struct tulle__operand_cache {
    tulle__source source;
    const tulle__operands *operands;
    int M, K, N;
    int *slot; /* [M K + K N]: parts of A, of B: index into kept; -1: not kept */
    int nkept;
    struct kept *kept;
    size_t held;  /* bytes of parts */
    bool limited; /* not all of them fit */
    bool for_all; /* the source below brings what all jobs need; else parts are fetched whole */
};

static int64_t index_a(const tulle__operand_cache *s, int i, int k)
{
    return (int64_t)i * s->K + k;
}

static int64_t index_b(const tulle__operand_cache *s, int k, int j)
{
    return (int64_t)s->M * s->K + (int64_t)k * s->N + j;
}

/* NULL: it is not kept. */
static struct kept *find(tulle__operand_cache *s, const tulle__wanted *w)
{
    int64_t index = w->factor == TULLE__FACTOR_A ? index_a(s, w->i, w->k) : index_b(s, w->k, w->j);
    return s->slot[index] >= 0 ? &s->kept[s->slot[index]] : NULL;
}

/* Counts the jobs of this PE that read each part, in the table that becomes the index. */
static void count_uses(tulle__operand_cache *s, tulle_comm *comm, const tulle__policy *policy, const tulle__operands *o,
    const tulle__required *required, double *bytes)
{
    for (int i = 0; i < s->M; i++)
        for (int k = 0; k < s->K; k++)
            for (int j = 0; j < s->N; j++) {
                if (policy->worker(o, i, k, j) != comm->rank || !tulle__operands_meet(o, i, k, j)) continue;
                s->slot[index_a(s, i, k)]++;
                s->slot[index_b(s, k, j)]++;
                bytes[index_a(s, i, k)] += (double)tulle__fetch_bytes(o->A, i, k);
                bytes[index_b(s, k, j)] += (double)tulle__required_bytes(required, o, i, k, j);
            }
}

static size_t bytes_of(const tulle__operand_cache *s, const tulle__operands *o, int64_t index)
{
    int64_t b = index - (int64_t)s->M * s->K;
    return b < 0 ? tulle__fetch_bytes(o->A, (int)(index / s->K), (int)(index % s->K))
                 : tulle__fetch_bytes(o->B, (int)(b / s->N), (int)(b % s->N));
}

/* With what is held. Shapes take none: the PE that is simulated has enough. */
static double memory_left(const tulle_comm *comm, size_t held)
{
    return tulle__is_shape_only(comm) ? INFINITY : (double)tulle__memory_left() + (double)held;
}

int64_t tulle__operand_cache_capacity(const tulle_comm *comm)
{
    double capacity = KEPT_MOST * memory_left(comm, 0);
    return capacity < 9e18 ? (int64_t)capacity : INT64_MAX;
}

void tulle__operand_cache_limit(tulle__operand_cache *s, bool limited)
{
    s->limited = limited;
}

tulle_status tulle__operand_cache_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *o,
    const tulle__required *required, tulle__operand_cache **out)
{
    tulle_status status;
    tulle__operand_cache *s = NULL;
    double *bytes = NULL;
    int64_t parts = (int64_t)o->M * o->K + (int64_t)o->K * o->N;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *s, "parts to keep", &s));
    s->operands = o;
    s->M = o->M;
    s->K = o->K;
    s->N = o->N;
    TULLE_TRY(tulle__alloc_zero((size_t)parts, sizeof *s->slot, "parts to keep", &s->slot));
    TULLE_TRY(tulle__alloc_zero((size_t)parts, sizeof *bytes, "parts to keep", &bytes));
    count_uses(s, comm, policy, o, required, bytes);
    for (int64_t p = 0; p < parts; p++) {
        size_t whole = bytes_of(s, o, p);
        s->nkept += s->slot[p] > 1 && whole && (double)whole <= bytes[p];
    }
    TULLE_TRY(tulle__alloc_zero((size_t)s->nkept, sizeof *s->kept, "parts to keep", &s->kept));
    s->nkept = 0;
    double all = 0;
    for (int64_t p = 0; p < parts; p++) {
        size_t whole = bytes_of(s, o, p);
        int uses = s->slot[p];
        s->slot[p] = -1;
        if (uses < 2 || !whole || (double)whole > bytes[p]) continue;
        s->kept[s->nkept] = (struct kept){.uses = uses, .fetch = {.group = -1}};
        s->slot[p] = s->nkept++;
        all += (double)whole;
    }
    s->limited = all > (double)tulle__operand_cache_capacity(comm);
    *out = s;
    s = NULL;
out:
    tulle__free(bytes);
    tulle__operand_cache_free(s);
    return status;
}

bool tulle__operand_cache_is_limited(const tulle__operand_cache *s)
{
    return s->limited;
}

/* Drops the cache's share. A transfer is waited for by the job that was given it. */
static void drop(tulle__operand_cache *s, struct kept *kept)
{
    if (!kept->fetch.head || TULLE__PLANTED(stale_cache)) return;
    s->held -= kept->fetch.record.place.length;
    kept->fetch.group = -1;
    tulle__fetch_fini(&kept->fetch);
}

void tulle__operand_cache_free(tulle__operand_cache *s)
{
    if (!s) return;
    tulle__free(s->kept);
    tulle__free(s->slot);
    tulle__free(s);
}

size_t tulle__operand_cache_bytes(const tulle__operand_cache *s)
{
    if (!s) return 0;
    return sizeof *s + ((size_t)s->M * (size_t)s->K + (size_t)s->K * (size_t)s->N) * sizeof *s->slot +
           (size_t)s->nkept * sizeof *s->kept;
}

/* A tile that other jobs read as well: whole. */
static tulle_status take(tulle__operand_cache *s, struct kept *kept, const tulle__wanted *w, tulle__fetch *fetch)
{
    int last = ++kept->taken == kept->uses || (w->done && s->limited), of_a = w->factor == TULLE__FACTOR_A;
    if (kept->fetch.head) {
        *fetch = TULLE__PLANTED(uncounted_reader) ? kept->fetch : tulle__fetch_share(&kept->fetch);
        if (last) drop(s, kept);
        return TULLE_OK;
    }
    const tulle_mat *X = of_a ? s->operands->A : s->operands->B;
    int i = of_a ? w->i : w->k, j = of_a ? w->k : w->j;
    size_t bytes = tulle__fetch_bytes(X, i, j);
    double capacity = KEPT_MOST * memory_left(X->comm, s->held);
    tulle_status status = s->for_all ? tulle__source_start(s->source.below, w, fetch)
                                     : tulle__fetch_into(X, i, j, s->operands->receiver, fetch);
    if (status != TULLE_OK || last || (double)(s->held + bytes) > capacity) return status;
    kept->fetch = tulle__fetch_share(fetch);
    s->held += bytes;
    return TULLE_OK;
}

static tulle_status start(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch)
{
    tulle__operand_cache *s = (tulle__operand_cache *)source;
    struct kept *kept = find(s, wanted);
    return kept ? take(s, kept, wanted, fetch) : tulle__source_start(source->below, wanted, fetch);
}

/* Later readers need not wait. */
static tulle_status await(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch, tulle_tile *tile)
{
    struct kept *kept = find((tulle__operand_cache *)source, wanted);
    TULLE_CALL(tulle__source_await(source->below, wanted, fetch, tile));
    if (kept) kept->fetch.group = -1;
    return TULLE_OK;
}

static void end(tulle__source *source)
{
    tulle__operand_cache *s = (tulle__operand_cache *)source;
    for (int n = 0; n < s->nkept; n++) {
        drop(s, &s->kept[n]);
        s->kept[n].taken = 0;
    }
}

static const tulle__source_ops ops = {.begin = tulle__source_no_begin,
    .start = start,
    .await = await,
    .reach = tulle__source_no_reach,
    .serve = tulle__source_no_serve,
    .end = end};

tulle__source *tulle__operand_cache_source(tulle__operand_cache *s, tulle__source *below, bool for_all)
{
    s->for_all = for_all;
    s->source = (tulle__source){&ops, below};
    return &s->source;
}
