/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/alltoallv.h"

#include <string.h>

#include "base/error.h"

/* Place of the message to one PE: bytes from `at` in the block. */
struct envelope {
    tulle__place place;
    uint64_t at;
    int64_t bytes;
};

struct box {
    char *text;
    size_t bytes, capacity;
};

struct tulle__alltoallv {
    tulle_comm *comm;
    struct box *box;    /* [size] messages being written, until the release */
    tulle__place block; /* all messages, while other PEs read */
    int taken;
    char *text;   /* all received messages */
    size_t *from; /* [size + 1] where each PE's message begins in it */
};

tulle_status tulle__alltoallv_new(tulle_comm *comm, tulle__alltoallv **out)
{
    tulle_status status;
    tulle__alltoallv *x = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *x, "an all-to-all", &x));
    x->comm = comm;
    TULLE_TRY(tulle__alloc_zero((size_t)comm->size, sizeof *x->box, "an all-to-all", &x->box));
    TULLE_TRY(tulle__alloc_zero((size_t)comm->size + 1, sizeof *x->from, "an all-to-all", &x->from));
    *out = x;
    return TULLE_OK;
out:
    tulle__alltoallv_free(x);
    return status;
}

void tulle__alltoallv_release(tulle__alltoallv *x)
{
    for (int r = 0; x->box && r < x->comm->size; r++) tulle__free(x->box[r].text);
    tulle__free(x->box);
    x->box = NULL;
    if (x->taken) tulle__heap_give(x->comm->pe->data, &x->block);
    x->taken = 0;
}

void tulle__alltoallv_free(tulle__alltoallv *x)
{
    if (!x) return;
    tulle__alltoallv_release(x);
    tulle__free(x->text);
    tulle__free(x->from);
    tulle__free(x);
}

tulle_status tulle__alltoallv_reserve(tulle__alltoallv *x, int to, size_t bytes, char **at)
{
    struct box *box = &x->box[to];
    if (box->bytes + bytes > box->capacity) {
        size_t capacity = 2 * box->capacity + bytes;
        TULLE_CALL(tulle__realloc(capacity, 1, "an all-to-all", &box->text));
        box->capacity = capacity;
    }
    *at = box->text + box->bytes;
    return TULLE_OK;
}

void tulle__alltoallv_written(tulle__alltoallv *x, int to, size_t bytes)
{
    x->box[to].bytes += bytes;
}

static tulle_status write_messages(tulle__alltoallv *x, struct envelope *envelope)
{
    size_t all = 0;
    for (int r = 0; r < x->comm->size; r++) {
        envelope[r] = (struct envelope){.at = all, .bytes = (int64_t)x->box[r].bytes};
        all += x->box[r].bytes;
    }
    if (!all) return TULLE_OK;
    TULLE_CALL(tulle__heap_take(x->comm->pe->data, all, "an all-to-all", &x->block));
    x->taken = 1;
    char *block = tulle__mapped(x->comm, &x->block);
    for (int r = 0; r < x->comm->size; r++) {
        if (x->box[r].bytes) memcpy(block + envelope[r].at, x->box[r].text, x->box[r].bytes);
        envelope[r].place = x->block;
    }
    return TULLE_OK;
}

tulle_status tulle__alltoallv_exchange(tulle__alltoallv *x)
{
    TULLE__SCOPED struct envelope *mine = NULL, *theirs = NULL;
    int size = x->comm->size, group = tulle__comm_group(x->comm);
    TULLE_CALL(tulle__alloc((size_t)size, sizeof *mine, "an all-to-all", &mine));
    TULLE_CALL(tulle__alloc((size_t)size, sizeof *theirs, "an all-to-all", &theirs));
    TULLE_CALL(write_messages(x, mine));
    TULLE_CALL(tulle__comm_exchange(x->comm, mine, sizeof *mine, theirs));
    for (int r = 0; r < size; r++) x->from[r + 1] = x->from[r] + (size_t)theirs[r].bytes;
    TULLE_CALL(tulle__alloc(x->from[size], 1, "an all-to-all", &x->text));
    for (int n = 0; n < size; n++) { /* from the next PE on, so that not all PEs begin with the same one */
        int r = (x->comm->rank + n) % size;
        const struct envelope *l = &theirs[r];
        if (l->bytes) tulle__get(x->comm, group, &l->place, l->at, x->text + x->from[r], (size_t)l->bytes);
    }
    return tulle__wait(x->comm, group);
}

const char *tulle__alltoallv_from(const tulle__alltoallv *x, int from, size_t *bytes)
{
    *bytes = x->from[from + 1] - x->from[from];
    return x->text + x->from[from];
}

size_t tulle__alltoallv_bytes(const tulle__alltoallv *x)
{
    return x->from[x->comm->size];
}
