/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/chunked.h"

#include "base/error.h"

/* Row pointers of rows of a tile without entries, in either direction; and something for its entries to point to. */
static const int64_t no_entries[2 * TULLE__GROUP_ROWS + 2];

static tulle__group group_at(const tulle__triangle_span *span, tulle_gidx row)
{
    const tulle_tile *tile = span->tile;
    const int64_t *none = no_entries + TULLE__GROUP_ROWS;
    if (!tile->nnz) return (tulle__group){.rowptr = none, .colind = (const int32_t *)none, .val = none, .at = row};
    return (tulle__group){.rowptr = tile->rowptr + span->local, .colind = tile->colind, .val = tile->val, .at = row};
}

/* What a row needs of the chunks of others. Columns come in runs of one chunk. */
static void note_needs(const tulle__triangle *t, const tulle__triangle_span *span, int64_t mine, int shift, int workers,
    tulle__share *share)
{
    int64_t known = mine, before = 0, rest = ((int64_t)1 << shift) - 1;
    int worker = 0;
    for (int64_t e = span->from; e < span->to; e++) {
        int64_t step = t->upper ? t->n - 1 - span->tile->colind[e] : span->tile->colind[e], chunk = step >> shift;
        if (chunk == mine) continue;
        if (chunk != known) {
            known = chunk;
            worker = (int)(chunk % workers);
            before = chunk / workers << shift;
        }
        if (worker != share->worker) tulle__share_needs(share, worker, before + (step & rest) + 1);
    }
}

static tulle_status add_chunk(
    const tulle__triangle *t, int64_t chunk, int shift, int workers, int *cursor, tulle__share *share)
{
    int64_t from = chunk << shift, to = (chunk + 1) << shift, entries = 0;
    tulle__group group = {.count = 0};
    const tulle_tile *tile = NULL;
    tulle_status status = TULLE_OK;
    if (to > t->n) to = t->n;
    for (int64_t step = from; step < to; step++) {
        tulle_gidx row = tulle__triangle_row(t, step);
        tulle__triangle_span span = tulle__triangle_at(t, row, cursor);
        int64_t more = span.to - span.from;
        if (group.count &&
            (span.tile != tile || group.count == TULLE__GROUP_ROWS || entries + more > TULLE__GROUP_ENTRIES)) {
            TULLE_TRY(tulle__share_wait(share));
            TULLE_TRY(tulle__share_add(share, &group));
            group.count = 0;
        }
        if (!group.count) {
            group = group_at(&span, row);
            tile = span.tile;
            entries = 0;
        }
        note_needs(t, &span, chunk, shift, workers, share);
        group.count++;
        entries += more;
        share->nnz += more;
    }
    if (group.count) {
        TULLE_TRY(tulle__share_wait(share));
        status = tulle__share_add(share, &group);
    }
out:
    return status;
}

tulle_status tulle__chunked_share(const tulle__triangle *t, int shift, int worker, int workers, tulle__share *share)
{
    int cursor = 0;
    int64_t chunks = t->n ? ((t->n - 1) >> shift) + 1 : 0;
    tulle_status status;
    TULLE_TRY(tulle__share_begin(share, worker, workers));
    for (int64_t chunk = worker; chunk < chunks; chunk += workers)
        TULLE_TRY(add_chunk(t, chunk, shift, workers, &cursor, share));
    TULLE_TRY(tulle__share_invert(share, t));
out:
    tulle__share_end(share);
    return status;
}
