/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/mail.h"

#include <string.h>

#include "base/error.h"

/* What a PE has for another: bytes from `at` in its block. */
struct letter {
    tulle__place place;
    uint64_t at;
    int64_t bytes;
};

struct box {
    char *text;
    size_t bytes, room;
};

struct tulle__mail {
    tulle_comm *comm;
    struct box *box;    /* [size]: for each PE, until they are sent */
    tulle__place block; /* all boxes, while others read */
    int taken;
    char *text;   /* what has come */
    size_t *from; /* [size + 1]: where the letter of each PE begins in it */
};

tulle_status tulle__mail_new(tulle_comm *comm, tulle__mail **out)
{
    tulle_status status;
    tulle__mail *m = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *m, "letters", &m));
    m->comm = comm;
    TULLE_TRY(tulle__alloc_zero((size_t)comm->size, sizeof *m->box, "letters", &m->box));
    TULLE_TRY(tulle__alloc_zero((size_t)comm->size + 1, sizeof *m->from, "letters", &m->from));
    *out = m;
    return TULLE_OK;
out:
    tulle__mail_free(m);
    return status;
}

void tulle__mail_settle(tulle__mail *m)
{
    for (int r = 0; m->box && r < m->comm->size; r++) tulle__free(m->box[r].text);
    tulle__free(m->box);
    m->box = NULL;
    if (m->taken) tulle__heap_give(m->comm->pe->data, &m->block);
    m->taken = 0;
}

void tulle__mail_free(tulle__mail *m)
{
    if (!m) return;
    tulle__mail_settle(m);
    tulle__free(m->text);
    tulle__free(m->from);
    tulle__free(m);
}

tulle_status tulle__mail_room(tulle__mail *m, int to, size_t bytes, char **at)
{
    struct box *box = &m->box[to];
    if (box->bytes + bytes > box->room) {
        size_t room = 2 * box->room + bytes;
        tulle_status status = tulle__realloc(room, 1, "letters", &box->text);
        if (status != TULLE_OK) return status;
        box->room = room;
    }
    *at = box->text + box->bytes;
    return TULLE_OK;
}

void tulle__mail_written(tulle__mail *m, int to, size_t bytes)
{
    m->box[to].bytes += bytes;
}

static tulle_status write_letters(tulle__mail *m, struct letter *letter)
{
    size_t all = 0;
    for (int r = 0; r < m->comm->size; r++) {
        letter[r] = (struct letter){.at = all, .bytes = (int64_t)m->box[r].bytes};
        all += m->box[r].bytes;
    }
    if (!all) return TULLE_OK;
    tulle_status status = tulle__heap_take(m->comm->pe->data, all, "letters", &m->block);
    if (status != TULLE_OK) return status;
    m->taken = 1;
    char *block = tulle__direct(m->comm, &m->block);
    for (int r = 0; r < m->comm->size; r++) {
        if (m->box[r].bytes) memcpy(block + letter[r].at, m->box[r].text, m->box[r].bytes);
        letter[r].place = m->block;
    }
    return TULLE_OK;
}

tulle_status tulle__mail_exchange(tulle__mail *m)
{
    tulle_status status;
    struct letter *mine = NULL, *theirs = NULL;
    int size = m->comm->size, group = tulle__comm_group(m->comm);
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *mine, "letters", &mine));
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *theirs, "letters", &theirs));
    TULLE_TRY(write_letters(m, mine));
    TULLE_TRY(tulle__comm_exchange(m->comm, mine, sizeof *mine, theirs));
    for (int r = 0; r < size; r++) m->from[r + 1] = m->from[r] + (size_t)theirs[r].bytes;
    TULLE_TRY(tulle__alloc(m->from[size], 1, "letters", &m->text));
    for (int n = 0; n < size; n++) { /* from the next PE around, so that not all begin at one */
        int r = (m->comm->rank + n) % size;
        const struct letter *l = &theirs[r];
        if (l->bytes) tulle__get(m->comm, group, &l->place, l->at, m->text + m->from[r], (size_t)l->bytes);
    }
    TULLE_TRY(tulle__wait(m->comm, group));
out:
    tulle__free(mine);
    tulle__free(theirs);
    return status;
}

const char *tulle__mail_read(const tulle__mail *m, int from, size_t *bytes)
{
    *bytes = m->from[from + 1] - m->from[from];
    return m->text + m->from[from];
}

size_t tulle__mail_bytes(const tulle__mail *m)
{
    return m->from[m->comm->size];
}
