/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/fetch.h"

#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"

struct tulle_fetch {
    tulle__fetch in;
};

size_t tulle__fetch_bytes(const tulle_mat *A, int i, int j)
{
    const tulle__place *place = &A->directory[tulle__tile_index(A, i, j)].place;
    return !place->length || tulle__tile_mapped(A, i, j) ? 0 : place->length;
}

enum { HEAD = 64 }; /* bytes of a buffer before the block, to keep its arrays aligned */

tulle_status tulle__fetch_buffer(size_t bytes, tulle__receiver *receiver, bool anywhere, tulle__fetch *fetch)
{
    void *landed = receiver && bytes ? receiver->take(receiver, bytes, anywhere) : NULL;
    tulle_status status = tulle__alloc(HEAD + (landed ? 0 : bytes), 1, "a fetched tile", &fetch->head);
    if (status != TULLE_OK) {
        if (landed) receiver->give(receiver, landed);
        return status;
    }
    *fetch->head = (tulle__fetch_head){.users = 1, .receiver = landed ? receiver : NULL};
    fetch->block = landed ? landed : (char *)fetch->head + HEAD;
    return TULLE_OK;
}

tulle__fetch tulle__fetch_share(const tulle__fetch *fetch)
{
    if (fetch->head) fetch->head->users++;
    return *fetch;
}

enum { RANGES = 128 }; /* ranges of one vector get */

/* Gets the rows (row-major) or columns of a part of a dense tile, contiguously. */
static tulle__transfer get_lines(const tulle_mat *A, int i, int j, int group, char *to)
{
    tulle__spot spot = tulle__view_spot(A, i, j);
    tulle__range range[RANGES];
    tulle__transfer last = {.group = group};
    int64_t m = tulle__tile_rows(A, i), n = tulle__tile_cols(A, j);
    int64_t lines = A->order == TULLE_ROW_MAJOR ? m : n, width = A->order == TULLE_ROW_MAJOR ? n : m;
    size_t size = tulle_type_size(A->type), bytes = (size_t)width * size;
    if (spot.ld == width) {
        width *= lines;
        bytes *= (size_t)lines;
        lines = 1;
    }
    for (int64_t line = 0; line < lines;) {
        int count = 0;
        for (; count < RANGES && line < lines; count++, line++)
            range[count] =
                (tulle__range){(uint64_t)(spot.first + line * spot.ld) * size, to + (size_t)line * bytes, bytes};
        last = tulle__getv(A->comm, group, &spot.place, count, range);
    }
    return last;
}

tulle__transfer tulle__fetch_start(const tulle_mat *A, int i, int j, int group, void *to)
{
    const tulle__place *place = &A->directory[tulle__tile_index(A, i, j)].place;
    return A->whole ? get_lines(A, i, j, group, to) : tulle__get(A->comm, group, place, 0, to, place->length);
}

tulle_status tulle__fetch_init(const tulle_mat *A, int i, int j, tulle__fetch *fetch)
{
    return tulle__fetch_into(A, i, j, NULL, fetch);
}

tulle_status tulle__fetch_into(const tulle_mat *A, int i, int j, tulle__receiver *receiver, tulle__fetch *fetch)
{
    const tulle__tile_record *record = &A->directory[tulle__tile_index(A, i, j)];
    tulle__fetch f = {.A = A, .i = i, .j = j, .group = -1, .record = *record};
    f.block = tulle__tile_mapped(A, i, j);
    if (!f.block && record->place.length) {
        void *shape = tulle__peek(A->comm, &record->place);
        int shape_only = shape != NULL;                             /* it has readers, but no memory of its own */
        const bool one_piece = A->kind == TULLE_DENSE && !A->whole; /* of values */
        TULLE_CALL(tulle__fetch_buffer(shape_only ? 0 : record->place.length, receiver, one_piece, &f));
        if (shape_only) f.block = shape;
        f.group = tulle__comm_group(A->comm);
        f.count = (shape_only ? tulle__get(A->comm, f.group, &record->place, 0, NULL, record->place.length)
                              : tulle__fetch_start(A, i, j, f.group, f.block))
                      .count;
    }
    *fetch = f;
    return TULLE_OK;
}

int tulle__fetch_ready(const tulle__fetch *fetch)
{
    const tulle__transfer transfer = {fetch->group, fetch->count};
    return fetch->group < 0 || (fetch->count && tulle__transfer_ready(fetch->A->comm, &transfer) == 1);
}

tulle_status tulle__fetch_arrive(tulle__fetch *fetch)
{
    const tulle__transfer transfer = {fetch->group, fetch->count ? fetch->count : TULLE__ALL};
    fetch->group = -1;
    return transfer.group < 0 ? TULLE_OK : tulle__transfer_wait(fetch->A->comm, &transfer);
}

tulle_status tulle__fetch_await(tulle__fetch *fetch, tulle_tile *tile)
{
    const tulle_mat *A = fetch->A;
    TULLE_CALL(tulle__fetch_arrive(fetch));
    *tile = tulle__tile_view(A, fetch->i, fetch->j, &fetch->record, fetch->block);
    if (A->whole && !fetch->head) tile->ld = tulle__view_spot(A, fetch->i, fetch->j).ld;
    return TULLE_OK;
}

tulle_status tulle__fetch_read(const tulle_mat *A, int i, int j, tulle__fetch *fetch, tulle_tile *tile)
{
    TULLE_CALL(tulle__fetch_init(A, i, j, fetch));
    return tulle__fetch_await(fetch, tile);
}

void tulle__fetch_fini(tulle__fetch *fetch)
{
    if (fetch->A) (void)tulle__fetch_arrive(fetch);
    if (fetch->head && --fetch->head->users == 0) {
        tulle__fetch_head *head = fetch->head;
        if (head->receiver) head->receiver->give(head->receiver, fetch->block);
        tulle__free(head);
    }
    *fetch = (tulle__fetch){.group = -1};
}

tulle_status tulle_mat_get_tile(const tulle_mat *A, int i, int j, tulle_fetch **fetch)
{
    if (TULLE__NULL(A) || TULLE__NULL(fetch)) return TULLE_ERR_ARG;
    TULLE__SCOPED tulle_fetch *f = NULL;
    if (i < 0 || i >= A->layout->mt || j < 0 || j >= A->layout->nt)
        return tulle__fail(TULLE_ERR_ARG, "there is no tile (%d, %d): the matrix has %d x %d tiles", i, j,
            A->layout->mt, A->layout->nt);
    TULLE_CALL(tulle__wants_tiles(A));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *f, "a fetch", &f));
    TULLE_CALL(tulle__fetch_init(A, i, j, &f->in));
    *fetch = f;
    f = NULL;
    return TULLE_OK;
}

tulle_status tulle_fetch_wait(tulle_fetch *fetch, tulle_tile *tile)
{
    if (TULLE__NULL(fetch) || TULLE__NULL(tile)) return TULLE_ERR_ARG;
    return tulle__fetch_await(&fetch->in, tile);
}

void tulle_fetch_free(tulle_fetch *fetch)
{
    if (!fetch) return;
    tulle__fetch_fini(&fetch->in);
    tulle__free(fetch);
}
