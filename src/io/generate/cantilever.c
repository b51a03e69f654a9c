/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cantilever's matrix, block row by block row. Each node sums the elements it belongs to in the
 * order of their numbers, so that an entry does not depend on the PE that generates it and equals
 * its mirror image.
 */
#include "io/generate/cantilever.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/generate/hexahedron.h"

enum { NODES = TULLE__HEXAHEDRON_NODES, NEAR = 27, DOF = TULLE__HEXAHEDRON_DOF };

/* A node and the box of its neighbours. */
struct place {
    int64_t at[3], low[3]; /* low: the first neighbour */
    int near[3];           /* neighbours in each direction: 2 or 3 */
    int count;             /* of all */
};

static struct place place_of(const tulle__generator *g, int64_t node)
{
    const int64_t *n = g->as.cantilever.nodes;
    struct place p = {.at = {node % n[0], node / n[0] % n[1], node / n[0] / n[1]}, .count = 1};
    for (int k = 0; k < 3; k++) {
        p.low[k] = p.at[k] > 0 ? p.at[k] - 1 : 0;
        p.near[k] = (int)((p.at[k] + 1 < n[k] ? p.at[k] + 1 : p.at[k]) - p.low[k]) + 1;
        p.count *= p.near[k];
    }
    return p;
}

/* The index of the first neighbour in line (y, z) of the box; the others follow. */
static int64_t line_start(const tulle__generator *g, const struct place *p, int y, int z)
{
    const int64_t *n = g->as.cantilever.nodes;
    return ((p->low[2] + z) * n[1] + p->low[1] + y) * n[0] + p->low[0];
}

double tulle__cantilever_coefficient(const tulle__generator *g, int64_t ex, int64_t ey, int64_t ez)
{
    const int64_t *n = g->as.cantilever.nodes;
    double vary = g->as.cantilever.vary;
    if (vary <= 1) return 1;
    uint64_t element = (uint64_t)((ez * (n[1] - 1) + ey) * (n[0] - 1) + ex);
    return 1 + (vary - 1) * tulle__random_unit(tulle__random_at(g->pattern_seed, 3, element));
}

int tulle__is_cantilever(const tulle__generator *g)
{
    return g->kind == &tulle__generator_cantilever && g->mode == TULLE__VALUES_ELEMENTS;
}

/* val[a][neighbour * d + b], summed over all elements. */
static inline __attribute__((always_inline)) void add_elements(
    const tulle__generator *g, const struct place *p, double val[DOF][NEAR * DOF], const int d)
{
    const int64_t *n = g->as.cantilever.nodes;
    for (int a = 0; a < d; a++) memset(val[a], 0, (size_t)(p->count * d) * sizeof **val);
    for (int l = NODES - 1; l >= 0; l--) { /* the node's index within the element: the last, in the first element */
        int64_t e[3];
        int inside = 1, first[3];
        for (int k = 0; k < 3; k++) {
            e[k] = p->at[k] - (l >> k & 1);
            first[k] = (int)(e[k] - p->low[k]);
            inside &= e[k] >= 0 && e[k] + 1 < n[k];
        }
        if (!inside) continue;
        double c = tulle__cantilever_coefficient(g, e[0], e[1], e[2]);
        const double *K = g->as.cantilever.K + l * d * NODES * d;
        for (int a = 0; a < d; a++)
            for (int pair = 0; pair < NODES / 2; pair++, K += 2 * d) { /* of nodes that differ in x */
                int near = ((first[2] + (pair >> 1)) * p->near[1] + first[1] + (pair & 1)) * p->near[0] + first[0];
                double *to = val[a] + near * d;
                for (int t = 0; t < 2 * d; t++) to[t] += c * K[t];
            }
    }
}

/*
 * Clears the columns of clamped nodes in the row of a free node; makes the row of a clamped node
 * the identity.
 */
static void clamp(const struct place *p, int d, double val[DOF][NEAR * DOF])
{
    int own = (int)(((p->at[2] - p->low[2]) * p->near[1] + p->at[1] - p->low[1]) * p->near[0] + p->at[0] - p->low[0]);
    if (p->low[0] > 0) return;
    for (int a = 0; a < d; a++)
        for (int i = 0; i < p->count; i++) {
            if (p->at[0] > 0 && i % p->near[0] > 0) continue;
            memset(val[a] + i * d, 0, (size_t)d * sizeof **val);
            if (i == own) val[a][i * d + a] = 1;
        }
}

static void make_block_row(const tulle__generator *g, const struct place *p, double val[DOF][NEAR * DOF])
{
    switch (g->as.cantilever.dof) {
    case 1:
        add_elements(g, p, val, 1);
        break;
    case 3:
        add_elements(g, p, val, 3);
        break;
    default:
        add_elements(g, p, val, 6);
    }
    if (g->as.cantilever.clamp) clamp(p, g->as.cantilever.dof, val);
}

/* The intersection of first .. first + count - 1 with c0 .. c1 - 1; returns its length. */
static int64_t inside(int64_t first, int64_t count, int64_t c0, int64_t c1, int64_t *skipped)
{
    int64_t low = first > c0 ? first : c0, high = first + count < c1 ? first + count : c1;
    *skipped = low - first;
    return high > low ? high - low : 0;
}

static void fill_rows(const tulle__generator *g, int64_t r0, int64_t r1, const tulle__generator_box *box)
{
    double val[DOF][NEAR * DOF];
    int d = g->as.cantilever.dof;
    for (int64_t row = r0; row < r1;) {
        int64_t node = row / d, end = (node + 1) * d < r1 ? (node + 1) * d : r1;
        struct place p = place_of(g, node);
        int width = p.near[0] * d;
        make_block_row(g, &p, val);
        for (; row < end; row++) {
            const double *from = val[row - node * d];
            int64_t at = box->rowptr[row - r0];
            for (int line = 0; line < p.count / p.near[0]; line++, from += width) {
                int64_t first = line_start(g, &p, line % p.near[1], line / p.near[1]) * d, skipped;
                int64_t count = inside(first, width, box->c0, box->c1, &skipped);
                if (!count) continue;
                tulle__generator_box_put(box, at, first + skipped, count, from + skipped);
                at += count;
            }
        }
    }
}

static int64_t count_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    int d = g->as.cantilever.dof;
    struct place p = place_of(g, row / d);
    int64_t count = 0, skipped;
    if (line_start(g, &p, 0, 0) * d >= c0 && (line_start(g, &p, p.near[1] - 1, p.near[2] - 1) + p.near[0]) * d <= c1)
        return p.count * d; /* all of them */
    for (int line = 0; line < p.count / p.near[0]; line++)
        count += inside(line_start(g, &p, line % p.near[1], line / p.near[1]) * d, p.near[0] * d, c0, c1, &skipped);
    return count;
}

static int64_t row_columns(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int d = g->as.cantilever.dof;
    struct place p = place_of(g, row / d);
    int64_t count = 0, skipped;
    for (int line = 0; line < p.count / p.near[0]; line++) {
        int64_t first = line_start(g, &p, line % p.near[1], line / p.near[1]) * d;
        int64_t n = inside(first, p.near[0] * d, c0, c1, &skipped);
        for (int64_t i = 0; i < n; i++) col[count++] = first + skipped + i;
    }
    return count;
}

static double element_value(const tulle__generator *g, int64_t row, int64_t col)
{
    double val[DOF][NEAR * DOF];
    int d = g->as.cantilever.dof;
    int64_t near[3];
    struct place p = place_of(g, row / d), q = place_of(g, col / d);
    for (int k = 0; k < 3; k++) near[k] = q.at[k] - p.low[k];
    make_block_row(g, &p, val);
    return val[row % d][((near[2] * p.near[1] + near[1]) * p.near[0] + near[0]) * d + col % d];
}

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)row, (void)c0, (void)c1;
    return NEAR * g->as.cantilever.dof;
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    const int64_t *n = g->as.cantilever.nodes;
    int64_t span = 2 * n[0] * n[1] * g->as.cantilever.dof; /* a row's entries lie within two planes of its diagonal */
    int64_t low = c0 - span > r0 ? c0 - span : r0, high = c1 + span < r1 ? c1 + span : r1;
    return high > low ? (double)(high - low) * NEAR * g->as.cantilever.dof : 0;
}

static tulle_status open_box(tulle__spec_part *part, tulle__generator *g)
{
    static const char *const keys_of[] = {"nx", "ny", "nz"};
    int64_t nodes = 0, dof = 1, rows = 1, *n = g->as.cantilever.nodes;
    TULLE_CALL(tulle__spec_int(part, "nodes", 2, TULLE__GENERATOR_MAX, &nodes));
    TULLE_CALL(tulle__spec_int(part, "dof", 1, DOF, &dof));
    for (int k = 0; k < 3; k++) {
        n[k] = nodes;
        TULLE_CALL(tulle__spec_int(part, keys_of[k], 2, TULLE__GENERATOR_MAX, &n[k]));
        if (!n[k]) return tulle__fail(TULLE_ERR_ARG, "'%s' needs nodes, or nx, ny, nz", part->name);
        if (__builtin_mul_overflow(rows, n[k], &rows)) rows = INT64_MAX;
    }
    if (dof != 1 && dof != 3 && dof != DOF)
        return tulle__fail(TULLE_ERR_ARG, "'%s' has dof=1, 3 or 6, not %" PRId64, part->name, dof);
    if (rows > TULLE__GENERATOR_MAX / DOF)
        return tulle__fail(TULLE_ERR_ARG, "a grid of %" PRId64 " x %" PRId64 " x %" PRId64 " nodes is over the limit",
            n[0], n[1], n[2]);
    g->as.cantilever.dof = (int)dof;
    g->as.cantilever.clamp = 1;
    g->as.cantilever.vary = 1;
    TULLE_CALL(tulle__spec_flag(part, "clamp", &g->as.cantilever.clamp));
    TULLE_CALL(tulle__spec_real(part, "vary", 1, 1e12, &g->as.cantilever.vary));
    g->m = rows * dof;
    return TULLE_OK;
}

static tulle_status open_cantilever(tulle__spec_part *part, tulle__generator *g)
{
    const int64_t *n = g->as.cantilever.nodes;
    TULLE_CALL(open_box(part, g));
    int d = g->as.cantilever.dof;
    g->n = g->m;
    g->symmetric = 1;
    g->nnz = (3 * n[0] - 2) * (3 * n[1] - 2) * (3 * n[2] - 2) * d * d;
    TULLE_CALL(
        tulle__alloc((size_t)(NODES * d * NODES * d), sizeof(double), "an element's matrix", &g->as.cantilever.K));
    tulle__hexahedron(d, g->as.cantilever.K);
    return TULLE_OK;
}

static void close_cantilever(tulle__generator *g)
{
    tulle__free(g->as.cantilever.K);
}

/*
 * ---- the load: a traction of 1 on the face x = max, downwards (-z), distributed by the shape
 * functions; for one unknown, a flux of 1 into it ----
 */

static tulle_status open_load(tulle__spec_part *part, tulle__generator *g)
{
    tulle_status status = open_box(part, g);
    g->n = 1;
    g->nnz = g->m;
    return status;
}

static double load_value(const tulle__generator *g, int64_t row, int64_t col)
{
    const int64_t *n = g->as.cantilever.nodes;
    int d = g->as.cantilever.dof;
    struct place p = place_of(g, row / d);
    (void)col;
    if (p.at[0] + 1 < n[0] || row % d != (d == 1 ? 0 : 2)) return 0;
    return (d == 1 ? 1 : -1) * (double)((p.near[1] - 1) * (p.near[2] - 1)) / 4; /* a quarter of each adjacent face */
}

static const char *const keys[] = {"nodes", "nx", "ny", "nz", "dof", "vary", "clamp", NULL};

const tulle__generator_kind tulle__generator_cantilever = {
    .name = "cantilever",
    .sentence = "stiffness matrix of a cube of nodes^3 (nx, ny, nz), clamped at x=0; dof=1 Laplace, 3 elastic, 6 "
                "micropolar; vary=1, clamp=on",
    .keys = keys,
    .mode = TULLE__VALUES_ELEMENTS,
    .open = open_cantilever,
    .close = close_cantilever,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
    .element = element_value,
    .count = count_row,
    .fill = fill_rows,
};

const tulle__generator_kind tulle__generator_cantilever_load = {
    .name = "cantilever-load",
    .sentence = "load on a cantilever with the same keys, on the face x=max: its right-hand side",
    .keys = keys,
    .mode = TULLE__VALUES_ELEMENTS,
    .dense = 1,
    .open = open_load,
    .bound = tulle__full_bound,
    .estimate = tulle__full_estimate,
    .row = tulle__full_row,
    .element = load_value,
};
