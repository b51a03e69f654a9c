/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/comm.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/arg.h"
#include "base/attend.h"
#include "base/error.h"
#include "base/spin.h"

size_t tulle__control_fixed(int npes)
{
    return sizeof(tulle__fixed) + TULLE__SLOTS * tulle__slot_bytes(npes);
}

static void set_up(tulle__pe *pe, int more)
{
    const tulle__link *link = pe->link;
    int before = pe->setting_up > 0;
    pe->setting_up += more;
    if (link->virtual_time && link->virtual_time->set_up && before != (pe->setting_up > 0))
        link->virtual_time->set_up(link->clock, !before);
}

void tulle__set_up_begin(tulle_comm *comm)
{
    set_up(comm->pe, 1);
}

void tulle__set_up_end(tulle_comm *comm)
{
    set_up(comm->pe, -1);
}

void tulle__pe_reset(tulle__pe *pe)
{
    memset(tulle__fixed_own(pe), 0, tulle__control_fixed(pe->npes));
    pe->inside = 0;
    pe->depth = 0;
    pe->slots = 1;
    for (int s = 1; s < TULLE__SLOTS; s++) {
        if (!pe->of_slot[s]) continue;
        pe->of_slot[s]->next_lost = pe->lost;
        pe->lost = pe->of_slot[s];
        pe->of_slot[s] = NULL;
    }
    pe->of_slot[0] = &pe->comm;
    set_up(pe, -pe->setting_up);
    pe->comm = (tulle_comm){.pe = pe, .rank = pe->rank, .size = pe->npes};
}

tulle_status tulle__pe_new(tulle__link *link, tulle__timeline *timeline, const tulle_team_options *options,
    tulle__account *account, tulle__pe **out)
{
    tulle_status status;
    tulle__pe *pe = NULL;
    size_t fixed = (tulle__control_fixed(link->npes) + 4095) / 4096 * 4096;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *pe, "PE state", &pe));
    TULLE_TRY(tulle__alloc_zero(TULLE__SLOTS, sizeof(tulle_comm *), "PE state", &pe->of_slot));
    pe->link = link;
    pe->timeline = timeline;
    pe->account = account;
    pe->rank = link->rank;
    pe->npes = link->npes;
    pe->threads = options->threads;
    pe->arena_bytes = options->arena;
    pe->arena_panels = options->panels;
    pe->owned.previous = pe->owned.next = &pe->owned;
    if (fixed >= link->segment_bytes[TULLE__CONTROL])
        TULLE_TRY(tulle__fail(TULLE_ERR_LIMIT, "the control segment of %zu bytes is too small for %d PEs (%zu needed)",
            link->segment_bytes[TULLE__CONTROL], link->npes, fixed + 4096));
    /* heap offsets count from the segment's start: the control heap begins after the fixed part */
    TULLE_TRY(tulle__heap_new(link, TULLE__CONTROL, account, &pe->control));
    tulle__place place;
    TULLE_TRY(tulle__heap_take(pe->control, fixed, "fixed control words", &place));
    TULLE_TRY(tulle__heap_new(link, TULLE__DATA, account, &pe->data));
    tulle__pe_reset(pe);
    *out = pe;
    return TULLE_OK;
out:
    if (pe) {
        tulle__heap_free(pe->control);
        tulle__heap_free(pe->data);
        tulle__free(pe->of_slot);
    }
    tulle__free(pe);
    return status;
}

void tulle__pe_free(tulle__pe *pe)
{
    tulle__attend_forget(pe); /* a thread that closes a comm may hold it */
    if (!pe) return;
    while (pe->owned.next != &pe->owned) {
        tulle__owned *object = pe->owned.next;
        tulle__pe_disown(object);
        object->free(object);
    }
    tulle__parts_free(pe);
    tulle__heap_free(pe->control);
    tulle__heap_free(pe->data);
    tulle__free(pe->of_slot);
    tulle__free(pe);
}

void tulle__pe_own(tulle__pe *pe, tulle__owned *object, void (*free_object)(tulle__owned *object))
{
    /* newest first, so that the team frees a plan before the matrices that it uses */
    object->free = free_object;
    object->previous = &pe->owned;
    object->next = pe->owned.next;
    object->next->previous = object;
    pe->owned.next = object;
}

void tulle__pe_disown(tulle__owned *object)
{
    if (!object->next) return;
    object->previous->next = object->next;
    object->next->previous = object->previous;
    object->previous = object->next = NULL;
}

int tulle_comm_rank(const tulle_comm *comm)
{
    if (TULLE__NULL(comm)) return 0;
    return comm->rank;
}

int tulle_comm_size(const tulle_comm *comm)
{
    if (TULLE__NULL(comm)) return 0;
    return comm->size;
}

/* The handle after a start. If the transfer was complete on return, the earlier ones remain. */
static tulle__transfer started(tulle__pe *pe, int group, uint64_t count)
{
    if (count > pe->count[group]) pe->count[group] = count;
    return (tulle__transfer){group, pe->count[group]};
}

tulle__transfer tulle__get(
    tulle_comm *comm, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    tulle__pe *pe = comm->pe;
    if (!bytes) return started(pe, group, 0);
    pe->counters.gets++;
    pe->counters.bytes += (int64_t)bytes;
    return started(pe, group, pe->link->ops->get(pe->link, group, place, at, local, bytes));
}

tulle__transfer tulle__put(
    tulle_comm *comm, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    tulle__pe *pe = comm->pe;
    if (!bytes) return started(pe, group, 0);
    pe->counters.puts++;
    pe->counters.bytes += (int64_t)bytes;
    return started(pe, group, pe->link->ops->put(pe->link, group, place, at, local, bytes));
}

static int64_t count_ranges(int n, const tulle__range *range)
{
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += (int64_t)range[i].bytes;
    return bytes;
}

tulle__transfer tulle__getv(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range)
{
    tulle__pe *pe = comm->pe;
    pe->counters.gets++;
    pe->counters.bytes += count_ranges(n, range);
    return started(pe, group, pe->link->ops->getv(pe->link, group, place, n, range));
}

tulle__transfer tulle__putv(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range)
{
    tulle__pe *pe = comm->pe;
    pe->counters.puts++;
    pe->counters.bytes += count_ranges(n, range);
    return started(pe, group, pe->link->ops->putv(pe->link, group, place, n, range));
}

int tulle__transfer_ready(tulle_comm *comm, const tulle__transfer *transfer)
{
    return comm->pe->link->ops->ready(comm->pe->link, transfer->group, transfer->count);
}

tulle_status tulle__transfer_wait(tulle_comm *comm, const tulle__transfer *transfer)
{
    tulle__pe *pe = comm->pe;
    int64_t start = tulle__now(comm);
    tulle_status status = pe->link->ops->wait(pe->link, transfer->group, transfer->count);
    pe->counters.wait_ns += tulle__now(comm) - start;
    return status;
}

tulle_status tulle__wait(tulle_comm *comm, int group)
{
    return tulle__transfer_wait(comm, &(tulle__transfer){group, TULLE__ALL});
}

uint64_t tulle__fetch_add(tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t value)
{
    comm->pe->counters.atomics++;
    return comm->pe->link->ops->fetch_add(comm->pe->link, place, at, value);
}

uint64_t tulle__compare_swap(
    tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    comm->pe->counters.atomics++;
    return comm->pe->link->ops->compare_swap(comm->pe->link, place, at, expected, desired);
}

void tulle__store(tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t value)
{
    comm->pe->counters.atomics++;
    comm->pe->link->ops->store(comm->pe->link, place, at, value);
}

uint64_t tulle__load(tulle_comm *comm, const tulle__place *place, uint64_t at)
{
    comm->pe->counters.atomics++;
    return comm->pe->link->ops->load(comm->pe->link, place, at);
}

tulle_status tulle__put_signal(tulle_comm *comm, const tulle__place *place, uint64_t at, const void *local,
    size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value)
{
    comm->pe->counters.puts++;
    comm->pe->counters.bytes += (int64_t)bytes;
    return tulle__link_put_signal(comm->pe->link, place, at, local, bytes, word, word_at, value);
}

void tulle__progress(tulle_comm *comm)
{
    comm->pe->link->ops->progress(comm->pe->link);
}

void *tulle__mapped(tulle_comm *comm, const tulle__place *place)
{
    char *base = comm->pe->link->ops->mapped(comm->pe->link, place->rank, place->segment);
    return base ? base + place->offset : NULL;
}

void *tulle__peek(tulle_comm *comm, const tulle__place *place)
{
    const tulle__link *link = comm->pe->link;
    if (!tulle__is_shape_only(comm)) return NULL;
    return (char *)link->virtual_time->peek(link->clock, place->rank, place->segment) + place->offset;
}

tulle_status tulle__wants_values(const tulle_comm *comm, const char *what)
{
    if (!tulle__is_shape_only(comm)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s needs values, but data=none simulates sizes only", what);
}

/* In virtual time a wait ends as soon as it can; this bounds waits that no PE ends. */
static const int64_t idle_least_ns = 1000;
enum { IDLE_DOUBLINGS = 20, POLLS_OF_SILENCE = 1 << 14 };
enum { POLLS_A_LOOK = 256 }; /* between two readings of the clock, by PEs that look for those that have returned */

void tulle__pause(tulle_comm *comm, int *turns)
{
    const tulle__link *link = comm->pe->link;
    if (link->virtual_time) {
        int64_t start = tulle__link_now(link);
        link->virtual_time->idle(link->clock, idle_least_ns << (*turns < IDLE_DOUBLINGS ? *turns : IDLE_DOUBLINGS));
        comm->pe->silence |= tulle__link_now(link) - start >= idle_least_ns << IDLE_DOUBLINGS;
        if (*turns < IDLE_DOUBLINGS) ++*turns;
        return;
    }
    if (++*turns < TULLE__SPIN_TURNS) {
        tulle__relax();
        return;
    }
    tulle__progress(comm);
    sched_yield(); /* there may be more PEs than cores */
}

void tulle__wait_step(tulle_comm *comm, const uint64_t *word, uint64_t value, int *turns)
{
    tulle__link *link = comm->pe->link;
    if (*turns < TULLE__SPIN_TURNS || !link->ops->doze || !link->ops->doze(link, word, value))
        tulle__pause(comm, turns);
    else
        comm->pe->polls |= POLLS_A_LOOK - 1; /* a sleep is as long as many polls */
}

void tulle__poll(tulle_comm *comm, int *turns)
{
    tulle__pe *pe = comm->pe;
    if (pe->link->virtual_time) {
        *turns = 0;
        pe->silence |= ++pe->polls % POLLS_OF_SILENCE == 0;
    }
    tulle__pause(comm, turns);
}

int64_t tulle__kernel_begin(tulle_comm *comm)
{
    const tulle__link *link = comm->pe->link;
    if (link->virtual_time) link->virtual_time->kernel(link->clock, NULL);
    return tulle__link_now(link);
}

int64_t tulle__kernel_end(tulle_comm *comm, const tulle__work *work)
{
    const tulle__link *link = comm->pe->link;
    if (link->virtual_time) link->virtual_time->kernel(link->clock, work);
    return tulle__link_now(link);
}

void tulle__pass_until(tulle_comm *comm, int64_t then)
{
    const tulle__link *link = comm->pe->link;
    int64_t left = link->virtual_time ? then - tulle__link_now(link) : 0;
    if (left > 0) link->virtual_time->pass(link->clock, left);
}

double tulle_comm_seconds(const tulle_comm *comm)
{
    if (TULLE__NULL(comm)) return 0;
    return (double)tulle__now(comm) * 1e-9;
}

/* When (collectives begun and completed), which PE, and its status. */
static uint64_t failure_code(const tulle_comm *comm, tulle_status status)
{
    return comm->collectives << 24 | (uint64_t)(comm->pe->rank + 1) << 8 | (uint64_t)status;
}

/* The words of a message that names this PE, or NULL. */
static const char *own_words(const char *text, int rank)
{
    char name[sizeof "PE -2147483648: "];
    const int length = snprintf(name, sizeof name, "PE %d: ", rank);
    return strncmp(text, name, (size_t)length) == 0 ? text + length : NULL;
}

/* at: offset of the message in the failed PE's fixed part */
static void adopt(tulle_comm *comm, uint64_t code, uint64_t at, const char *said)
{
    char text[TULLE_MESSAGE_MAX] = "";
    int failed = tulle__failure_rank(code);
    tulle__pe *pe = comm->pe;
    tulle__place place = {.length = tulle__control_fixed(pe->npes), .rank = failed, .segment = TULLE__CONTROL};
    uint64_t count = pe->link->ops->get(pe->link, 0, &place, at, text, sizeof text);
    if (pe->link->ops->wait(pe->link, 0, count) != TULLE_OK)
        snprintf(text, sizeof text, "(its message could not be read)");
    text[sizeof text - 1] = '\0';
    /* a PE that forwards another's failure already names it, and this PE's own comes back without its name */
    const char *own = own_words(text, pe->rank);
    if (own || strncmp(text, "PE ", 3) == 0 || strcmp(text, said) == 0)
        tulle__fail(tulle__failure_status(code), "%s", own ? own : text);
    else
        tulle__fail(tulle__failure_status(code), "PE %d: %s", failed, text);
}

void tulle__comm_adopt_failure(tulle_comm *comm, uint64_t code, const char *said)
{
    adopt(comm, code, offsetof(tulle__fixed, message), said);
}

/*
 * A PE that fails after it completed the collective that this PE is in cannot keep it from
 * completing: all PEs have come to it. That failure concerns the next operation.
 */
static int concerns(const tulle_comm *comm, uint64_t code)
{
    return code && !((comm->collectives & 1) && code >> 24 > comm->collectives);
}

void tulle_comm_interrupt(tulle_comm *comm, bool on)
{
    if (comm) tulle__word_write(&comm->pe->interrupted, on);
}

tulle_status tulle__comm_interrupted(tulle_comm *comm)
{
    tulle__pe_attend(comm->pe);
    if (!tulle__word_read(&comm->pe->interrupted)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_INTERRUPTED, "interrupted");
}

tulle_status tulle__comm_failed(tulle_comm *comm)
{
    tulle_status interrupted = tulle__comm_interrupted(comm);
    if (interrupted != TULLE_OK || comm->size == 1) return interrupted;
    uint64_t code = tulle__word_read(&tulle__slot_own(comm)->failure[comm->agrees & 1]);
    if (concerns(comm, code)) {
        tulle__comm_adopt_failure(comm, code, "");
        return TULLE_ERR_PEER;
    }
    code = tulle__word_read(&tulle__fixed_own(comm->pe)->left);
    /* a `left` word counts collectives of the whole team */
    if (!code || (comm->slot == 0 && !concerns(comm, code))) return tulle__comm_deserted(comm, comm->agrees + 1);
    adopt(comm, code, offsetof(tulle__fixed, left_message), "");
    return TULLE_ERR_PEER;
}

static const int64_t look_ns = (int64_t)20000000; /* least time between two checks; 1 ms more for each PE */

/* A check reads words of all other PEs. It must cost PEs that wait for good reason nothing. */
static int time_to_look(tulle__pe *pe)
{
    if (pe->link->virtual_time) {
        int silence = pe->silence;
        pe->silence = 0;
        return silence;
    }
    if (++pe->polls % POLLS_A_LOOK) return 0;
    int64_t now = tulle__link_now(pe->link);
    if (now - pe->looked_ns < look_ns + (int64_t)pe->npes * 1000000) return 0;
    pe->looked_ns = now;
    return 1;
}

tulle_status tulle__comm_deserted(tulle_comm *comm, uint64_t agrees)
{
    tulle__pe *pe = comm->pe;
    const tulle__link_ops *ops = pe->link->ops;
    if (!time_to_look(pe)) return TULLE_OK;
    for (int r = 0; r < comm->size; r++) {
        tulle__place place = tulle__fixed_place(comm, r);
        uint64_t returned = r == comm->rank ? 0 : ops->load(pe->link, &place, offsetof(tulle__fixed, returned));
        if (returned / 2 != pe->run) continue;
        int inside = comm->collectives & 1;
        uint64_t at = tulle__slot_at(comm) +
                      (inside ? offsetof(tulle__slot, returned_collectives) : offsetof(tulle__slot, returned_agrees));
        if (ops->load(pe->link, &place, at) >= (inside ? comm->collectives + 1 : agrees)) continue;
        if (returned & 1) { /* it may have failed because of another PE: its message says so, once announced */
            uint64_t code = tulle__word_read(&tulle__fixed_own(pe)->left);
            if (!code) continue;
            adopt(comm, code, offsetof(tulle__fixed, left_message), "");
            return TULLE_ERR_PEER;
        }
        return tulle__fail(TULLE_ERR_PEER,
            "PE %d has returned from its body without the collective call that PE %d is in", tulle__comm_world(comm, r),
            pe->rank);
    }
    return TULLE_OK;
}

tulle_status tulle__wait_word(tulle_comm *comm, const uint64_t *word, uint64_t value)
{
    tulle_status status = TULLE_OK;
    int64_t start = tulle__now(comm);
    for (int turns = 0; (int64_t)(tulle__word_read(word) - value) < 0;) {
        status = tulle__comm_failed(comm);
        if (status != TULLE_OK) {
            /* the awaited value may have come just before the failure */
            if ((int64_t)(tulle__word_read(word) - value) >= 0) status = TULLE_OK;
            break;
        }
        tulle__wait_step(comm, word, value, &turns);
    }
    comm->pe->counters.wait_ns += tulle__now(comm) - start;
    return status;
}

/*
 * True if a failure word needs no update. PEs hear of the one that came least far, as some may
 * still wait for it.
 */
static int known(uint64_t word, uint64_t code)
{
    return word && word >> 24 <= code >> 24;
}

/* Stores the message in `text`, then the code in word `at` of every PE's fixed part. */
static void announce(tulle_comm *comm, uint64_t at, char *text, uint64_t code)
{
    tulle__pe *pe = comm->pe;
    snprintf(text, TULLE_MESSAGE_MAX, "%s", tulle__error_marked());
    for (int r = 0; r < comm->size; r++) {
        tulle__place place = tulle__fixed_place(comm, r);
        uint64_t word = 0, was;
        while ((was = pe->link->ops->compare_swap(pe->link, &place, at, word, code)) != word && !known(was, code))
            word = was;
    }
}

void tulle__comm_fail(tulle_comm *comm, tulle_status status)
{
    uint64_t code = failure_code(comm, status), parity = comm->agrees & 1;
    /* also for this PE's own: another may be reading its message */
    if (known(tulle__word_read(&tulle__slot_own(comm)->failure[parity]), code)) return;
    announce(comm, tulle__slot_at(comm) + offsetof(tulle__slot, failure) + parity * sizeof(uint64_t),
        tulle__fixed_own(comm->pe)->message, code);
}

void tulle__comm_return(tulle__pe *pe, int failed)
{
    for (int s = 0; s < TULLE__SLOTS; s++) {
        const tulle_comm *comm = pe->of_slot[s]; /* NULL: no PE waits for this one there */
        tulle__slot *slot = tulle__slot_of(pe, s);
        tulle__word_write(&slot->returned_collectives, comm ? comm->collectives : UINT64_MAX);
        tulle__word_write(&slot->returned_agrees, comm ? comm->agrees : UINT64_MAX);
    }
    tulle__word_write(&tulle__fixed_own(pe)->returned, 2 * pe->run + (failed != 0));
}

void tulle__comm_leave(tulle__pe *pe, tulle_status status)
{
    tulle__comm_return(pe, 1);
    announce(
        &pe->comm, offsetof(tulle__fixed, left), tulle__fixed_own(pe)->left_message, failure_code(&pe->comm, status));
}
