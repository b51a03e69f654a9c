/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/fetch.h"

#include "base/error.h"
#include "base/memory.h"

struct tulle_fetch {
    tulle__fetch in;
};

size_t tulle__fetch_bytes(const tulle_mat *A, int i, int j)
{
    const tulle__place *place = &A->directory[tulle__tile_index(A, i, j)].place;
    return !place->length || tulle__direct(A->comm, place) ? 0 : place->length;
}

enum { HEAD = 64 }; /* bytes of a buffer before the block, which arrays want aligned */

tulle_status tulle__fetch_room(size_t bytes, tulle__fetch *fetch)
{
    tulle_status status = tulle__alloc(HEAD + bytes, 1, "a fetched tile", &fetch->users);
    if (status != TULLE_OK) return status;
    *fetch->users = 1;
    fetch->block = (char *)fetch->users + HEAD;
    return TULLE_OK;
}

tulle__fetch tulle__fetch_share(const tulle__fetch *fetch)
{
    if (fetch->users) ++*fetch->users;
    return *fetch;
}

tulle_status tulle__fetch_init(tulle_mat *A, int i, int j, tulle__fetch *fetch)
{
    const tulle__tile_record *record = &A->directory[tulle__tile_index(A, i, j)];
    tulle__fetch f = {.A = A, .i = i, .j = j, .group = -1, .record = *record};
    f.block = tulle__tile_direct(A, i, j);
    if (!f.block && record->place.length) {
        f.block = tulle__peek(A->comm, &record->place);
        int hollow = f.block != NULL;
        tulle_status status = hollow ? TULLE_OK : tulle__fetch_room(record->place.length, &f);
        if (status != TULLE_OK) return status;
        f.group = tulle__comm_group(A->comm);
        tulle__get(A->comm, f.group, &record->place, 0, hollow ? NULL : f.block, record->place.length);
    }
    *fetch = f;
    return TULLE_OK;
}

tulle_status tulle__fetch_await(tulle__fetch *fetch, tulle_tile *tile)
{
    tulle_mat *A = fetch->A;
    if (fetch->group >= 0) {
        int group = fetch->group;
        fetch->group = -1;
        tulle_status status = tulle__wait(A->comm, group);
        if (status != TULLE_OK) return status;
    }
    *tile = tulle__tile_view(A, fetch->i, fetch->j, &fetch->record, fetch->block);
    return TULLE_OK;
}

void tulle__fetch_fini(tulle__fetch *fetch)
{
    if (fetch->A && fetch->group >= 0) (void)tulle__wait(fetch->A->comm, fetch->group);
    if (fetch->users && --*fetch->users == 0) tulle__free(fetch->users);
    *fetch = (tulle__fetch){.group = -1};
}

tulle_status tulle_mat_get_tile(tulle_mat *A, int i, int j, tulle_fetch **fetch)
{
    tulle_fetch *f;
    if (i < 0 || i >= A->layout->mt || j < 0 || j >= A->layout->nt)
        return tulle__fail(TULLE_ERR_ARG, "tile (%d, %d) of %d x %d", i, j, A->layout->mt, A->layout->nt);
    tulle_status status = tulle__alloc_zero(1, sizeof *f, "a fetch", &f);
    if (status != TULLE_OK) return status;
    status = tulle__fetch_init(A, i, j, &f->in);
    if (status != TULLE_OK) {
        tulle__free(f);
        return status;
    }
    *fetch = f;
    return TULLE_OK;
}

tulle_status tulle_fetch_wait(tulle_fetch *fetch, tulle_tile *tile)
{
    return tulle__fetch_await(&fetch->in, tile);
}

void tulle_fetch_free(tulle_fetch *fetch)
{
    if (!fetch) return;
    tulle__fetch_fini(&fetch->in);
    tulle__free(fetch);
}
