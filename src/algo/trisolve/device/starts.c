/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/device/starts.h"

#include "algo/trisolve/levels.h"
#include "base/error.h"

/*
 * A thread has a row where threads of a warp have alike, short ones. A thread adds an entry at a time, while a warp
 * reads 32 at once, most of them in vain if a row has fewer. Up to this mean of 32 neighbours threads win ("Capellini"
 * measures 8 to 15); one row of more entries than a warp has lanes would hold up the 31 others.
 */
enum { TOGETHER = 32, MEAN = 8, LONGEST = 32 };

int32_t *tulle__starts_cut(const int32_t *entries, int64_t from, int64_t to, int32_t *group)
{
    while (from < to) {
        int64_t end = to - from < TOGETHER ? to : from + TOGETHER, sum = 0;
        int32_t longest = 0;
        for (int64_t p = from; p < end; p++) {
            sum += entries[p];
            if (entries[p] > longest) longest = entries[p];
        }
        *group++ = (int32_t)from;
        if (sum > MEAN * (end - from) || longest > LONGEST)
            for (int64_t p = from + 1; p < end; p++) *group++ = (int32_t)p;
        from = end;
    }
    return group;
}

/* Orders that are made on the host. */
struct making {
    int32_t *order, *entries, *group; /* [n], [n] by position, [n + 1] */
    int64_t *first;                   /* of levels */
    int64_t groups;
};

static tulle_status sort(const tulle__triangle *t, tulle__starts *starts, struct making *m)
{
    tulle_status status;
    tulle__levels levels = {.level = NULL};
    TULLE_TRY(tulle__levels_find(t, &levels));
    TULLE_TRY(tulle__alloc((size_t)levels.count + 1, sizeof *m->first, "levels", &m->first));
    TULLE_TRY(tulle__alloc((size_t)t->n, sizeof *m->order, "rows by level", &m->order));
    tulle__levels_sort(t, &levels, m->first, m->order);
    starts->levels = levels.count;
out:
    tulle__levels_fini(&levels);
    return status;
}

static void count_entries(const tulle__triangle *t, const struct making *m)
{
    int cursor = 0;
    for (int64_t p = 0; p < t->n; p++) {
        tulle__triangle_span span = tulle__triangle_at(t, m->order ? m->order[p] : tulle__triangle_row(t, p), &cursor);
        m->entries[p] = (int32_t)(span.to - span.from);
    }
}

/*
 * Adds the rows up to a position: a stretch, or more of the last one. They have groups of their own: lanes of a warp do
 * not wait for each other within a level.
 */
static void extend(tulle__starts *starts, struct making *m, int64_t rows, int apart)
{
    int *count = &starts->there.nstretches;
    int64_t from = *count ? starts->stretch[*count - 1].rows : 0;
    if (!*count || apart || starts->stretch[*count - 1].apart) ++*count;
    m->groups = tulle__starts_cut(m->entries, from, rows, m->group + m->groups) - m->group;
    starts->stretch[*count - 1] = (tulle__device_stretch){.rows = rows, .groups = m->groups, .apart = apart};
}

/* Between two levels that are wide there is at most one stretch. */
static tulle_status stretch_levels(int64_t wide, tulle__starts *starts, struct making *m)
{
    size_t count = 1;
    for (int64_t l = 0; l < starts->levels; l++) count += m->first[l + 1] - m->first[l] >= wide ? 2 : 0;
    TULLE_CALL(tulle__alloc(count, sizeof *starts->stretch, "stretches of levels", &starts->stretch));
    for (int64_t l = 0; l < starts->levels; l++)
        extend(starts, m, m->first[l + 1], m->first[l + 1] - m->first[l] >= wide);
    return TULLE_OK;
}

static tulle_status stretch_all(const tulle__triangle *t, tulle__starts *starts, struct making *m)
{
    TULLE_CALL(tulle__alloc(1, sizeof *starts->stretch, "a stretch of rows", &starts->stretch));
    extend(starts, m, t->n, 0);
    return TULLE_OK;
}

static tulle_status send(tulle__device *device, tulle__device_queue *queue, const int32_t *from, int64_t count,
    const char *what, tulle__device_place *to)
{
    size_t bytes = (size_t)count * sizeof *from;
    TULLE_CALL(tulle__device_buffer_new(device, bytes, what, &to->buffer));
    device->ops->upload(queue, to, from, bytes);
    return device->ops->queue_wait(queue);
}

tulle_status tulle__starts_init(
    const tulle__triangle *t, bool by_levels, tulle__device *device, tulle__device_queue *queue, tulle__starts *starts)
{
    tulle_status status;
    struct making m = {.groups = 0};
    *starts = (tulle__starts){.levels = 0};
    if (!device->wide_level) return TULLE_OK;
    if (by_levels) TULLE_TRY(sort(t, starts, &m));
    TULLE_TRY(tulle__alloc((size_t)t->n, sizeof *m.entries, "entries of rows", &m.entries));
    TULLE_TRY(tulle__alloc((size_t)t->n + 1, sizeof *m.group, "groups of rows", &m.group));
    count_entries(t, &m);
    TULLE_TRY(by_levels ? stretch_levels(device->wide_level, starts, &m) : stretch_all(t, starts, &m));
    m.group[m.groups] = (int32_t)t->n;
    starts->there.stretch = starts->stretch;
    if (by_levels) TULLE_TRY(send(device, queue, m.order, t->n, "rows by level", &starts->there.order));
    TULLE_TRY(send(device, queue, m.group, m.groups + 1, "groups of rows", &starts->there.group));
out:
    tulle__free(m.order);
    tulle__free(m.entries);
    tulle__free(m.group);
    tulle__free(m.first);
    return status;
}

void tulle__starts_fini(tulle__device *device, tulle__starts *starts)
{
    tulle__device_buffer_free(device, starts->there.order.buffer);
    tulle__device_buffer_free(device, starts->there.group.buffer);
    tulle__free(starts->stretch);
    *starts = (tulle__starts){.levels = 0};
}
