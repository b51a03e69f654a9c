/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a team. Each is a comm with a control slot of its own, agreed on by its PEs. */
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "comm/comm.h"

struct member {
    int color, key, world;
    uint32_t slots;
};

static int before(const struct member *a, const struct member *b)
{
    return a->key != b->key ? a->key < b->key : a->world < b->world;
}

static void drop(tulle_comm *part)
{
    tulle__free(part->world);
    tulle__free(part);
}

static tulle_status split(tulle_comm *comm, int color, int key, tulle_comm **part)
{
    tulle_status status;
    struct member mine = {color, key, comm->pe->rank, comm->pe->slots}, *all = NULL;
    tulle_comm *made = NULL;
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *all, "members of a part", &all));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "part of a team", &made));
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *made->world, "members of a part", &made->world));
    TULLE_TRY(tulle_comm_allgather(comm, &mine, sizeof mine, all));
    uint32_t used = 0;
    made->pe = comm->pe;
    for (int r = 0; r < comm->size; r++) {
        if (all[r].color != color) continue;
        used |= all[r].slots;
        int at = made->size++;
        for (; at > 0 && before(&all[r], &all[made->world[at - 1]]); at--) made->world[at] = made->world[at - 1];
        made->world[at] = r;
    }
    for (int i = 0; i < made->size; i++) {
        made->world[i] = all[made->world[i]].world;
        if (made->world[i] == comm->pe->rank) made->rank = i;
    }
    while (made->slot < TULLE__SLOTS && used >> made->slot & 1) made->slot++;
    if (made->slot == TULLE__SLOTS)
        TULLE_TRY(
            tulle__fail(TULLE_ERR_LIMIT, "a PE can be in at most %d parts of a team at a time", TULLE__SLOTS - 1));
    *part = made;
out:
    tulle__free(all);
    if (status != TULLE_OK && made) drop(made);
    return status;
}

tulle_status tulle_comm_split(tulle_comm *comm, int color, int key, tulle_comm **part)
{
    if (TULLE__NULL(comm) || TULLE__NULL(part)) return tulle__refuse(comm);
    tulle_comm *made = NULL;
    tulle_status status = tulle_comm_agree(comm, split(comm, color, key, &made));
    if (status == TULLE_OK) {
        comm->pe->slots |= 1u << made->slot;
        comm->pe->of_slot[made->slot] = made;
        *part = made;
    } else if (made) {
        drop(made);
    }
    return status;
}

void tulle__parts_free(tulle__pe *pe)
{
    for (int s = 1; s < TULLE__SLOTS; s++)
        if (pe->of_slot[s]) drop(pe->of_slot[s]);
    for (tulle_comm *part = pe->lost, *next; part; part = next) {
        next = part->next_lost;
        drop(part);
    }
}

/* 1: it was in the list, and is removed */
static int was_lost(tulle_comm *part)
{
    for (tulle_comm **at = &part->pe->lost; *at; at = &(*at)->next_lost)
        if (*at == part) {
            *at = part->next_lost;
            return 1;
        }
    return 0;
}

void tulle_comm_free(tulle_comm *part)
{
    if (!part || part->slot == 0) return;
    if (was_lost(part)) {
        drop(part);
        return;
    }
    part->pe->of_slot[part->slot] = NULL;
    /*
     * no PE writes a word of this slot after this meeting; if it fails, the slot stays taken for
     * this run
     */
    if (tulle_comm_barrier(part) == TULLE_OK) {
        memset(tulle__slot_own(part), 0, sizeof(tulle__slot));
        part->pe->slots &= ~(1u << part->slot);
    }
    drop(part);
}
