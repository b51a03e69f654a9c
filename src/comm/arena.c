/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/arena.h"

#include <string.h>

#include "base/error.h"

struct tulle__arena {
    tulle_comm *comm;
    int panels;
    size_t panel_bytes;
    tulle__place data, words;
    int data_taken, words_taken;
    uint64_t *sent; /* [panels] times that it was taken; free when the acknowledgement word is equal */
    struct {
        int taken;
        tulle__place place;
    } * block; /* [panels] the block that replaces it */
};

static void shrink(tulle__arena *arena, int panel)
{
    if (arena->block[panel].taken) tulle__heap_give(arena->comm->pe->data, &arena->block[panel].place);
    arena->block[panel].taken = 0;
}

void tulle__arena_free(tulle__arena *arena)
{
    if (!arena) return;
    for (int panel = 0; arena->block && panel < arena->panels; panel++) shrink(arena, panel);
    if (arena->data_taken) tulle__heap_give(arena->comm->pe->data, &arena->data);
    if (arena->words_taken) tulle__heap_give(arena->comm->pe->control, &arena->words);
    tulle__free(arena->sent);
    tulle__free(arena->block);
    tulle__free(arena);
}

tulle_status tulle__arena_new(tulle_comm *comm, size_t bytes, int panels, tulle__arena **arena)
{
    tulle_status status;
    tulle__arena *a = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *a, "arena", &a));
    a->comm = comm;
    a->panels = panels;
    a->panel_bytes = bytes / (size_t)panels / 64 * 64;
    if (!a->panel_bytes)
        TULLE_TRY(tulle__fail(TULLE_ERR_LIMIT, "an arena of %zu bytes cannot hold %d panels", bytes, panels));
    TULLE_TRY(tulle__alloc_zero((size_t)panels, sizeof *a->sent, "arena", &a->sent));
    TULLE_TRY(tulle__alloc_zero((size_t)panels, sizeof *a->block, "arena", &a->block));
    TULLE_TRY(tulle__heap_take(comm->pe->data, a->panel_bytes * (size_t)panels, "arena of partial results", &a->data));
    a->data_taken = 1;
    TULLE_TRY(tulle__heap_take(comm->pe->control, (size_t)panels * sizeof(uint64_t), "arena words", &a->words));
    a->words_taken = 1;
    memset(tulle__mapped(comm, &a->words), 0, (size_t)panels * sizeof(uint64_t));
    *arena = a;
    return TULLE_OK;
out:
    tulle__arena_free(a);
    return status;
}

size_t tulle__arena_panel_bytes(const tulle__arena *arena)
{
    return arena->panel_bytes;
}

static int is_free(tulle__arena *arena, int panel)
{
    const uint64_t *word = tulle__mapped(arena->comm, &arena->words);
    if (tulle__word_read(&word[panel]) != arena->sent[panel]) return 0;
    shrink(arena, panel);
    return 1;
}

tulle_status tulle__arena_take(tulle__arena *arena, tulle__serve serve, void *context, tulle__panel *panel)
{
    for (int turns = 0;;) {
        /* the first free one, whose pages and cache lines are warmest */
        for (int index = 0; index < arena->panels; index++) {
            if (!is_free(arena, index)) continue;
            arena->sent[index]++;
            *panel = (tulle__panel){.index = index,
                .local = (char *)tulle__mapped(arena->comm, &arena->data) + (size_t)index * arena->panel_bytes,
                .place = arena->data,
                .at = (uint64_t)index * arena->panel_bytes,
                .ack = arena->words,
                .ack_at = (uint64_t)index * sizeof(uint64_t)};
            return TULLE_OK;
        }
        tulle_status status = tulle__comm_failed(arena->comm);
        if (status == TULLE_OK) status = serve(context);
        if (status != TULLE_OK) return status;
        tulle__pause(arena->comm, &turns);
    }
}

tulle_status tulle__arena_grow(tulle__arena *arena, size_t bytes, size_t written, tulle__panel *panel)
{
    tulle__place place;
    TULLE_CALL(tulle__heap_reserve(arena->comm->pe->data, bytes, written, "a partial result", &place));
    arena->block[panel->index].taken = 1;
    panel->place = arena->block[panel->index].place = place;
    panel->local = tulle__mapped(arena->comm, &place);
    panel->at = 0;
    return TULLE_OK;
}

void tulle__arena_return(tulle__arena *arena, const tulle__panel *panel)
{
    arena->sent[panel->index]--;
    shrink(arena, panel->index);
}

tulle_status tulle__arena_drain(tulle__arena *arena, tulle__serve serve, void *context)
{
    for (int i = 0, turns = 0; i < arena->panels;) {
        if (is_free(arena, i)) {
            i++;
            continue;
        }
        tulle_status status = tulle__comm_failed(arena->comm);
        if (status == TULLE_OK) status = serve(context);
        if (status != TULLE_OK) return status;
        tulle__pause(arena->comm, &turns);
    }
    return TULLE_OK;
}
