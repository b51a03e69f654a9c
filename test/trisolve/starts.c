/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order, groups and stretches by which a device begins the rows of a triangle, as they lie on a device that the
 * host reads: starts SPEC PES. All rows are there, behind what they require; groups are of short rows, or of one;
 * levels that are wide are apart, and no others.
 */
#include <string.h>

#include "algo/trisolve/device/starts.h"
#include "algo/trisolve/levels.h"
#include "tap.h"
#include "triangles.h"

enum { N = 300, WIDE_ROWS = 20, MOST = 32 };

static struct starts_case {
    enum structure structure;
    int upper, unit, levels, tiles;
    int launches, together, alone; /* met: stretches apart, rows of groups, rows alone */
} found;

static int entries_of(const tulle__triangle *t, int32_t row)
{
    int cursor = 0;
    tulle__triangle_span span = tulle__triangle_at(t, row, &cursor);
    return (int)(span.to - span.from);
}

/* The first position behind all rows that a row requires. */
static int64_t after_all(const tulle__triangle *t, int32_t row, const int64_t *position)
{
    int cursor = 0;
    int64_t after = 0;
    tulle__triangle_span span = tulle__triangle_at(t, row, &cursor);
    for (int64_t e = span.from; e < span.to; e++)
        if (position[span.tile->colind[e]] >= after) after = position[span.tile->colind[e]] + 1;
    return after;
}

static tulle_status check_groups(const tulle__triangle *t, const tulle__device_starts *s, const int32_t *row)
{
    tulle_status status = TULLE_OK;
    const int32_t *group = s->group.buffer->direct;
    int64_t g = 0;
    EXPECT(s->nstretches > 0 && group[0] == 0);
    for (int k = 0; k < s->nstretches; k++) {
        for (; g < s->stretch[k].groups; g++) {
            int rows = group[g + 1] - group[g], sum = 0;
            EXPECT(rows >= 1 && rows <= MOST);
            for (int32_t p = group[g]; p < group[g + 1]; p++) sum += entries_of(t, row[p]);
            EXPECT(rows == 1 || sum <= 8 * rows);
            *(rows == 1 ? &found.alone : &found.together) += rows;
        }
        EXPECT(group[g] == s->stretch[k].rows); /* none goes on in the next stretch */
    }
    EXPECT(group[g] == t->n);
out:
    return status;
}

/* Rows of a stretch that are apart require none of it, and are as many as a wide level has; others come behind. */
static tulle_status check_order(const tulle__triangle *t, const tulle__starts *starts, const int32_t *row)
{
    static int64_t position[N];
    tulle_status status = TULLE_OK;
    const tulle__device_starts *s = &starts->there;
    for (int i = 0; i < N; i++) position[i] = -1;
    for (int p = 0; p < N; p++) {
        EXPECT(row[p] >= 0 && row[p] < N && position[row[p]] < 0);
        position[row[p]] = p;
    }
    for (int64_t k = 0, p = 0; k < s->nstretches; k++) {
        int64_t begin = p;
        EXPECT(!s->stretch[k].apart || s->stretch[k].rows - begin >= WIDE_ROWS);
        for (; p < s->stretch[k].rows; p++) EXPECT(after_all(t, row[p], position) <= (s->stretch[k].apart ? begin : p));
        found.launches += s->stretch[k].apart;
    }
out:
    return status;
}

/* As many as there are wide levels, by their definition. */
static tulle_status count_wide(const tulle__triangle *t, int *wide)
{
    static int rows[N];
    tulle__levels levels = {.level = NULL};
    tulle_status status;
    memset(rows, 0, sizeof rows);
    TULLE_TRY(tulle__levels_find(t, &levels));
    for (int i = 0; i < N; i++) *wide += ++rows[levels.level[i]] == WIDE_ROWS;
out:
    tulle__levels_fini(&levels);
    return status;
}

static tulle_status check(tulle_comm *comm, void *arg)
{
    struct starts_case *c = arg;
    const struct triangle t = {.n = N, .upper = c->upper, .unit = c->unit, .structure = c->structure};
    const tulle_trisolve_options options = {
        .uplo = t.upper ? TULLE_UPPER : TULLE_LOWER, .diag = t.unit ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED};
    const tulle__device_setting setting = {.threads = 1};
    const tulle_layout_spec spec = {
        .m = N, .n = N, .grid_rows = tulle_comm_size(comm), .grid_cols = 1, .tile_rows = c->tiles, .tile_cols = 1};
    int32_t in_order[N];
    int wide = 0;
    tulle_layout *layout = NULL;
    tulle_mat *T = NULL;
    tulle__triangle triangle = {.n = 0};
    tulle__device *device = NULL;
    tulle__device_queue *queue = NULL;
    tulle__starts starts = {.levels = 0};
    tulle_status status;
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(distribute_triangle(comm, &t, layout, TULLE_F64, &T));
    TULLE_TRY(tulle__triangle_init(T, &options, NULL, &triangle));
    TULLE_TRY(tulle__triangle_validate(&triangle));
    TULLE_TRY(tulle__device_open("cpu", &setting, &device));
    TULLE_TRY(device->ops->queue_new(device, &queue));
    TULLE_TRY(tulle__starts_init(&triangle, c->levels, device, queue, &starts));
    EXPECT(!starts.there.group.buffer && !starts.there.nstretches); /* nothing for a device without a use for them */
    device->wide_level = WIDE_ROWS;
    TULLE_TRY(tulle__starts_init(&triangle, c->levels, device, queue, &starts));
    EXPECT((starts.there.order.buffer != NULL) == c->levels && (starts.levels > 0) == c->levels);
    for (int p = 0; p < N; p++) in_order[p] = (int32_t)tulle__triangle_row(&triangle, p);
    const int32_t *row = c->levels ? starts.there.order.buffer->direct : in_order;
    if (tulle_comm_rank(comm)) goto out;
    TULLE_TRY(check_order(&triangle, &starts, row));
    TULLE_TRY(check_groups(&triangle, &starts.there, row));
    if (c->levels) TULLE_TRY(count_wide(&triangle, &wide));
    EXPECT(found.launches == wide && found.together + found.alone == N);
out:
    if (device) {
        tulle__starts_fini(device, &starts);
        device->ops->queue_free(device, queue);
    }
    tulle__device_close(device);
    tulle__triangle_fini(&triangle);
    tulle_mat_free(T);
    tulle_layout_free(layout);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]), launches = 0, mixed = 0;
    const tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    tulle_team *team;
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (int k = 0; k < 8 * STRUCTURES; k++) {
        found = (struct starts_case){.structure = (enum structure)(k / 8),
            .upper = k & 1,
            .unit = k >> 1 & 1,
            .levels = k >> 2 & 1,
            .tiles = 1 + k % 3};
        tulle_status status = tulle_team_run(team, check, &found);
        ok(status == TULLE_OK, "%s %s%s %s: %d launches, %d rows in groups, %d alone: %s",
            structure_names[found.structure], found.upper ? "upper" : "lower", found.unit ? " unit" : "",
            found.levels ? "by levels" : "in order", found.launches, found.together, found.alone,
            status == TULLE_OK ? "right" : tulle_error_message());
        launches += found.launches;
        mixed += found.together && found.alone;
    }
    ok(launches && mixed, "%d launches; triangles with both kinds of groups: %d", launches, mixed);
    tulle_team_free(team);
    return tap_done();
}
