/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/push/push.h"

#include <string.h>

#include "algo/trisolve/push/lists.h"
#include "base/error.h"

enum { BLOCK_ROWS = 16 }; /* values are sent block by block */

/*
 * The inbox before a value arrives: for f64 a NaN that arithmetic does not produce, for f32 no mark
 * in the upper half.
 */
static const uint64_t armed[TULLE_TYPE_COUNT] = {[TULLE_F32] = 0, [TULLE_F64] = UINT64_C(0x7ff874756c6c6573)};
static const uint64_t mark_f32 = UINT64_C(1) << 32;

/*
 * The value of an element of lines in transit. One with the bits of the pattern becomes another
 * NaN.
 */
static uint64_t word_of(tulle_type type, const void *value)
{
    uint64_t word;
    uint32_t half;
    if (type == TULLE_F32) {
        memcpy(&half, value, sizeof half);
        return mark_f32 | half;
    }
    memcpy(&word, value, sizeof word);
    return word == armed[type] ? word ^ 1 : word;
}

/*
 * The number of own rows before those of each tile, in the order of solving; [ntiles]. Returns
 * their total.
 */
static int64_t count_own(const tulle__triangle *t, int64_t *before)
{
    int64_t own = 0;
    for (int s = 0; s < t->ntiles; s++) {
        int i = t->upper ? t->ntiles - 1 - s : s;
        before[i] = own;
        if (tulle__layout_owner(t->distributed, i, 0) == t->T->comm->rank) own += t->cut[i + 1] - t->cut[i];
    }
    return own;
}

/* The line of an own row. */
static int64_t line_of(const tulle__triangle *t, const int64_t *before, int tile, tulle_gidx row)
{
    return before[tile] + (t->upper ? t->cut[tile + 1] - 1 - row : row - t->cut[tile]);
}

/* Scratch while a schedule is made. */
struct making {
    const tulle__triangle *t;
    tulle__push *push;
    tulle__worker_schedule *schedule;
    int64_t *before;  /* [ntiles] */
    int32_t *slot;    /* [n], by row: slot of the ghost; -1: none yet */
    int64_t capacity; /* for ghosts */
};

static tulle_status add_ghost(struct making *m, tulle_gidx row)
{
    tulle__push *push = m->push;
    TULLE_CALL(tulle__grow(push->nghosts, &m->capacity, 1024, sizeof *push->ghost, "ghosts", &push->ghost));
    m->slot[row] = (int32_t)push->nghosts;
    push->ghost[push->nghosts++] = (int32_t)row;
    return TULLE_OK;
}

/* Adds the entries of a row, in the order in which their unknowns are solved, as lines. */
static tulle_status add_row(struct making *m, const tulle__triangle_span *span, int64_t at)
{
    const tulle__triangle *t = m->t;
    int64_t n = span->to - span->from;
    int tile = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t e = t->upper ? span->to - 1 - k : span->from + k;
        tulle_gidx row = span->tile->colind[e];
        if (row < t->cut[tile] || row >= t->cut[tile + 1]) tile = tulle__layout_find(t->cut, t->ntiles, row);
        int own = tulle__layout_owner(t->distributed, tile, 0) == t->T->comm->rank;
        if (!own && m->slot[row] < 0) {
            TULLE_CALL(add_ghost(m, row));
        }
        int64_t line = own ? line_of(t, m->before, tile, row) : m->push->nown + m->slot[row];
        m->schedule->colind[at + k] = (int32_t)line;
    }
    return TULLE_OK;
}

static tulle_status add_block(struct making *m, int64_t from, int64_t to)
{
    tulle__worker_schedule *schedule = m->schedule;
    tulle__row_block block = {.rowptr = schedule->rowptr + from,
        .colind = schedule->colind,
        .val = schedule->val,
        .at = from,
        .count = (int32_t)(to - from)};
    schedule->nwaits = m->push->nghosts;
    return to > from ? tulle__worker_schedule_add(schedule, &block) : TULLE_OK;
}

/* Adds the rows of one own tile. */
static tulle_status add_task(struct making *m, int i, int64_t *at)
{
    const tulle__triangle *t = m->t;
    tulle__worker_schedule *schedule = m->schedule;
    int64_t begin = m->before[i], rows = t->cut[i + 1] - t->cut[i];
    int cursor = i;
    for (int64_t line = begin; line < m->before[i] + rows; line++) {
        tulle_gidx row = t->upper ? t->cut[i + 1] - 1 - (line - m->before[i]) : t->cut[i] + (line - m->before[i]);
        tulle__triangle_span span = tulle__triangle_at(t, row, &cursor);
        if (line - begin == BLOCK_ROWS || (line > begin && *at - schedule->rowptr[begin] > TULLE__BLOCK_ENTRIES)) {
            TULLE_CALL(add_block(m, begin, line));
            begin = line;
        }
        m->push->row[line] = (int32_t)row;
        TULLE_CALL(add_row(m, &span, *at));
        *at += span.to - span.from;
        schedule->rowptr[line + 1] = *at;
    }
    return add_block(m, begin, m->before[i] + rows);
}

static int64_t entries_of(const tulle__triangle *t)
{
    int64_t entries = 0;
    for (int i = 0; i < t->ntiles; i++)
        if (tulle__layout_owner(t->distributed, i, 0) == t->T->comm->rank && t->tile[i].nnz)
            entries += t->tile[i].nnz - (t->head + t->tail) * (t->cut[i + 1] - t->cut[i]);
    return entries;
}

static tulle_status make_schedule(struct making *m)
{
    tulle_status status;
    const tulle__triangle *t = m->t;
    tulle__push *push = m->push;
    tulle__worker_schedule *schedule = m->schedule;
    int64_t at = 0;
    TULLE_TRY(tulle__worker_schedule_begin(schedule, t->T->comm->rank, t->T->comm->size));
    push->nown = count_own(t, m->before);
    for (tulle_gidx r = 0; r < t->n; r++) m->slot[r] = -1;
    schedule->nnz = entries_of(t);
    TULLE_TRY(tulle__alloc((size_t)t->ntiles, sizeof *push->task, "tasks", &push->task));
    TULLE_TRY(tulle__alloc((size_t)push->nown, sizeof *push->row, "rows", &push->row));
    TULLE_TRY(tulle__alloc((size_t)push->nown + 1, sizeof *schedule->rowptr, "row pointers", &schedule->rowptr));
    TULLE_TRY(tulle__alloc((size_t)schedule->nnz, sizeof *schedule->colind, "column indices", &schedule->colind));
    TULLE_TRY(tulle__alloc((size_t)schedule->nnz, tulle_type_size(t->T->type), "values", &schedule->val));
    schedule->rowptr[0] = 0;
    schedule->row = push->row;
    for (int s = 0; s < t->ntiles; s++) {
        int i = t->upper ? t->ntiles - 1 - s : s;
        if (tulle__layout_owner(t->distributed, i, 0) != t->T->comm->rank) continue;
        push->task[push->ntasks++] = m->before[i];
        TULLE_TRY(add_task(m, i, &at));
    }
    status = tulle__worker_schedule_fill(schedule, t);
out:
    tulle__worker_schedule_end(schedule);
    return status;
}

static int owner_of(const tulle__triangle *t, tulle_gidx row)
{
    return tulle__layout_owner(t->distributed, tulle__layout_find(t->cut, t->ntiles, row), 0);
}

/* Counts after first[1] become offsets; and, once each has advanced by its count, offsets again. */
static void add_up(int64_t *first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) first[i + 1] += first[i];
}
static void step_back(int64_t *first, int64_t n)
{
    for (int64_t i = n; i > 0; i--) first[i] = first[i - 1];
    first[0] = 0;
}

/* Requests to owners: the ghosts to send, and where. */
static void write_requests(const tulle__triangle *t, const tulle__push *push, tulle__list_item *list, int64_t *first)
{
    for (int64_t g = 0; g < push->nghosts; g++) first[owner_of(t, push->ghost[g]) + 1]++;
    add_up(first, push->comm->size);
    for (int64_t g = 0; g < push->nghosts; g++)
        list[first[owner_of(t, push->ghost[g])]++] =
            (tulle__list_item){.about = push->ghost[g], .rank = push->comm->rank, .slot = (int32_t)g};
    step_back(first, push->comm->size);
}

/* Sorts the targets of each line by rank. */
static tulle_status sort_targets(
    const tulle__triangle *t, const int64_t *before, tulle__push *push, const tulle__list_item *wish, int64_t count)
{
    TULLE_CALL(tulle__alloc_zero((size_t)push->nown + 1, sizeof *push->first, "targets", &push->first));
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *push->target, "targets", &push->target));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t w = 0; w < count; w++) {
            int64_t line = line_of(t, before, tulle__layout_find(t->cut, t->ntiles, wish[w].about), wish[w].about);
            if (pass == 0)
                push->first[line + 1]++;
            else
                push->target[push->first[line]++] = (tulle__push_target){wish[w].rank, wish[w].slot};
        }
        if (pass == 0) add_up(push->first, push->nown);
    }
    step_back(push->first, push->nown);
    return TULLE_OK;
}

/* The offset of a head's part among m targets: about as many heads as targets of each. */
static int64_t heads_of(int64_t m)
{
    int64_t heads = 1;
    while (heads * heads < m) heads++;
    return heads;
}

/*
 * Chooses relays for lines that more PEs than the fanout require. Their targets are split into
 * parts; the first of a part, its head, receives the value and relays it. first, list: NULL to
 * count only; [size + 1], and what the heads receive.
 */
static void choose_relays(tulle__push *push, int fanout, tulle__list_item *list, int64_t *first)
{
    int64_t kept = 0, from = 0;
    for (int64_t line = 0; line < push->nown; line++) {
        int64_t to = push->first[line + 1], m = to - from, heads = m > fanout ? heads_of(m) : m;
        for (int64_t h = 0; h < heads; h++) {
            int64_t begin = from + m * h / heads, end = from + m * (h + 1) / heads;
            tulle__push_target head = push->target[begin];
            for (int64_t i = begin + 1; i < end; i++)
                if (list)
                    list[first[head.rank]++] = (tulle__list_item){
                        .about = head.slot, .rank = push->target[i].rank, .slot = push->target[i].slot};
                else
                    first[head.rank + 1]++;
            if (list) push->target[kept++] = head;
        }
        from = to;
        if (list) push->first[line + 1] = kept;
    }
}

/* Sorts orders: which of this PE's ghosts it relays, and to whom. */
static tulle_status sort_relay_orders(
    const tulle__triangle *t, tulle__push *push, const tulle__list_item *order, int64_t count, int64_t *step)
{
    if (!count) return TULLE_OK;
    TULLE_CALL(tulle__alloc_zero((size_t)push->nghosts + 1, sizeof *push->relay_first, "relays", &push->relay_first));
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *push->relay_target, "relays", &push->relay_target));
    TULLE_CALL(tulle__alloc((size_t)push->nghosts, sizeof *push->relay, "relays", &push->relay));
    TULLE_CALL(tulle__alloc((size_t)push->nghosts, sizeof *push->due, "relays", &push->due));
    for (int64_t i = 0; i < count; i++) push->relay_first[order[i].about + 1]++;
    for (int64_t r = 0; r < t->n; r++) step[r] = -1;
    for (int64_t g = 0; g < push->nghosts; g++)
        if (push->relay_first[g + 1]) step[t->upper ? t->n - 1 - push->ghost[g] : push->ghost[g]] = g;
    for (int64_t s = 0; s < t->n; s++)
        if (step[s] >= 0) push->relay[push->nrelays++] = (int32_t)step[s];
    add_up(push->relay_first, push->nghosts);
    for (int64_t i = 0; i < count; i++)
        push->relay_target[push->relay_first[order[i].about]++] = (tulle__push_target){order[i].rank, order[i].slot};
    step_back(push->relay_first, push->nghosts);
    return TULLE_OK;
}

/* Relays of unknowns that many PEs require. Collective. */
static tulle_status find_relays(const tulle__triangle *t, tulle__push *push)
{
    tulle_comm *comm = push->comm;
    int fanout = t->options->fanout > 0 ? t->options->fanout : TULLE__FANOUT;
    tulle__list_item *list = NULL, *order = NULL;
    int64_t *first = NULL, *from = NULL, *step = NULL;
    if (comm->size - 1 <= fanout) return TULLE_OK;
    tulle_status status = tulle__alloc_zero((size_t)comm->size + 1, sizeof *first, "orders", &first);
    if (status == TULLE_OK) status = tulle__alloc((size_t)comm->size + 1, sizeof *from, "orders", &from);
    if (status == TULLE_OK) status = tulle__alloc((size_t)t->n, sizeof *step, "steps", &step);
    if (status == TULLE_OK) {
        choose_relays(push, fanout, NULL, first);
        add_up(first, comm->size);
        status = tulle__alloc((size_t)first[comm->size], sizeof *list, "orders", &list);
    }
    if (status == TULLE_OK) {
        choose_relays(push, fanout, list, first);
        step_back(first, comm->size);
    }
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle__lists_exchange(comm, list, first, &order, from));
    status = tulle_comm_agree(comm, sort_relay_orders(t, push, order, from[comm->size], step));
out:
    tulle__free(list);
    tulle__free(order);
    tulle__free(first);
    tulle__free(from);
    tulle__free(step);
    return status;
}

/* The PEs that require each own unknown. Collective. */
static tulle_status find_targets(const tulle__triangle *t, const int64_t *before, tulle__push *push)
{
    tulle_comm *comm = push->comm;
    tulle__list_item *list = NULL, *wish = NULL;
    int64_t *first = NULL, *from = NULL;
    tulle_status status = tulle__alloc((size_t)push->nghosts, sizeof *list, "ghosts", &list);
    if (status == TULLE_OK) status = tulle__alloc_zero((size_t)comm->size + 1, sizeof *first, "wishes", &first);
    if (status == TULLE_OK) status = tulle__alloc((size_t)comm->size + 1, sizeof *from, "wishes", &from);
    if (status == TULLE_OK) write_requests(t, push, list, first);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle__lists_exchange(comm, list, first, &wish, from));
    status = sort_targets(t, before, push, wish, from[comm->size]);
    TULLE_TRY(tulle_comm_agree(comm, status));
    status = find_relays(t, push);
out:
    tulle__free(list);
    tulle__free(wish);
    tulle__free(first);
    tulle__free(from);
    return status;
}

static tulle_status prepare_pass(tulle__push *push)
{
    TULLE_CALL(tulle__alloc((size_t)(push->nown + push->nghosts), sizeof *push->known, "unknowns", &push->known));
    TULLE_CALL(tulle__alloc(TULLE__WINDOW, sizeof *push->window, "waiting rows", &push->window));
    return tulle__alloc(TULLE__WINDOW + TULLE__BLOCK_ROWS, sizeof *push->solved, "rows of a round", &push->solved);
}

/* Makes all but the targets. */
static tulle_status make(struct making *m)
{
    tulle__push *push = m->push;
    const size_t pes = (size_t)push->comm->size;
    TULLE_CALL(tulle__alloc((size_t)m->t->ntiles, sizeof *m->before, "tasks", &m->before));
    TULLE_CALL(tulle__alloc((size_t)m->t->n, sizeof *m->slot, "ghosts", &m->slot));
    TULLE_CALL(tulle__alloc(pes, sizeof *push->place, "inboxes", &push->place));
    TULLE_CALL(tulle__alloc(pes, sizeof *push->direct, "inboxes", &push->direct));
    TULLE_CALL(make_schedule(m));
    return prepare_pass(push);
}

tulle_status tulle__push_init(const tulle__triangle *t, tulle__push *push, tulle__worker_schedule *schedule)
{
    tulle_comm *comm = t->T->comm;
    struct making m = {.t = t, .push = push, .schedule = schedule};
    tulle_status status;
    *push = (tulle__push){.comm = comm, .type = t->T->type, .cols = -1};
    TULLE_TRY(tulle_comm_agree(comm, make(&m)));
    TULLE_TRY(find_targets(t, m.before, push));
out:
    tulle__free(m.before);
    tulle__free(m.slot);
    return status;
}

static void close_inbox(tulle__push *push)
{
    tulle__pe *pe = push->comm->pe;
    if (push->inbox.length) tulle__heap_give(push->segment == TULLE__DATA ? pe->data : pe->control, &push->inbox);
    tulle__free(push->lines);
    tulle__free(push->b);
    push->inbox.length = 0;
    push->lines = push->b = NULL;
    push->cols = -1;
}

void tulle__push_fini(tulle__push *push)
{
    if (!push->comm) return;
    close_inbox(push);
    tulle__free(push->task);
    tulle__free(push->relay);
    tulle__free(push->relay_first);
    tulle__free(push->relay_target);
    tulle__free(push->known);
    tulle__free(push->window);
    tulle__free(push->due);
    tulle__free(push->solved);
    tulle__free(push->row);
    tulle__free(push->ghost);
    tulle__free(push->first);
    tulle__free(push->target);
    tulle__free(push->place);
    tulle__free(push->direct);
    *push = (tulle__push){.nown = 0};
}

static tulle_status take_inbox(tulle__push *push, tulle_gidx cols)
{
    tulle__pe *pe = push->comm->pe;
    size_t size = tulle_type_size(push->type), lines = (size_t)(push->nown + push->nghosts);
    TULLE_CALL(tulle__alloc(lines * (size_t)cols, size, "unknowns", &push->lines));
    TULLE_CALL(tulle__alloc((size_t)push->nown * (size_t)cols, size, "right-hand sides", &push->b));
    return tulle__heap_take(push->segment == TULLE__DATA ? pe->data : pe->control,
        (size_t)push->nghosts * (size_t)cols * sizeof(uint64_t) + sizeof(uint64_t), "inbox of ghosts", &push->inbox);
}

tulle_status tulle__push_open(tulle__push *push, tulle_gidx cols)
{
    tulle_comm *comm = push->comm;
    int64_t direct = !tulle__is_virtual(comm); /* in virtual time a waiting PE must be notified of stores */
    if (push->cols == cols) return TULLE_OK;
    for (int r = 0; r < comm->size; r++)
        if (!comm->pe->link->ops->mapped(comm->pe->link, tulle__comm_world(comm, r), TULLE__DATA)) direct = 0;
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_MIN, 1, &direct)));
    close_inbox(push);
    push->segment = direct ? TULLE__DATA : TULLE__CONTROL;
    TULLE_CALL(tulle_comm_agree(comm, take_inbox(push, cols)));
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_allgather(comm, &push->inbox, sizeof push->inbox, push->place)));
    for (int r = 0; r < comm->size; r++) push->direct[r] = direct ? tulle__mapped(comm, &push->place[r]) : NULL;
    push->cols = cols;
    return TULLE_OK;
}

void tulle__push_arm(tulle__push *push)
{
    uint64_t *word = tulle__mapped(push->comm, &push->inbox);
    for (int64_t w = 0; w < push->nghosts * push->cols; w++) tulle__word_write(&word[w], armed[push->type]);
    push->sent = 0;
}

int tulle__push_has_arrived(tulle__push *push, int64_t slot)
{
    const uint64_t *word = (const uint64_t *)tulle__mapped(push->comm, &push->inbox) + slot * push->cols;
    size_t size = tulle_type_size(push->type);
    char *line = (char *)push->lines + (size_t)((push->nown + slot) * push->cols) * size;
    for (tulle_gidx c = 0; c < push->cols; c++) {
        uint64_t value = tulle__word_read(&word[c]);
        if (value == armed[push->type]) return 0;
        uint32_t half = (uint32_t)value;
        memcpy(line + (size_t)c * size, push->type == TULLE_F32 ? (void *)&half : (void *)&value, size);
    }
    return 1;
}

static void tell(tulle__push *push, int64_t line, const tulle__push_target *target)
{
    size_t size = tulle_type_size(push->type);
    uint64_t at = (uint64_t)(target->slot * push->cols), *inbox = push->direct[target->rank];
    const char *value = (const char *)push->lines + (size_t)(line * push->cols) * size;
    for (tulle_gidx c = 0; c < push->cols; c++, at++, value += size) {
        if (inbox)
            tulle__word_write(&inbox[at], word_of(push->type, value));
        else
            tulle__store(push->comm, &push->place[target->rank], at * sizeof(uint64_t), word_of(push->type, value));
    }
    push->sent += push->cols;
}

void tulle__push_send(tulle__push *push, int64_t line)
{
    for (int64_t i = push->first[line]; i < push->first[line + 1]; i++) tell(push, line, &push->target[i]);
}

void tulle__push_relay(tulle__push *push, int64_t slot)
{
    if (!push->relay_first) return;
    for (int64_t i = push->relay_first[slot]; i < push->relay_first[slot + 1]; i++)
        tell(push, push->nown + slot, &push->relay_target[i]);
}
