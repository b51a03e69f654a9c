/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nedelec: the pattern of edge elements of lowest order (curl-curl problems: electromagnetic
 * fields) on a box of nodes. An unknown is an edge of the mesh, and coupled with all edges of the
 * cells that it belongs to:
 *
 *     hexahedron     33 entries a row inside, 12 to 33 in all
 *     tetrahedron    a cube is cut into six by the order of its axes (Kuhn): 13 or 19 a row inside
 *     quadrilateral  7, triangle 5; both with nz = 1
 *
 * A cube's corner is a set of axes, as bits. An edge leads from a node by a set of axes, its
 * direction: one axis, or several where cubes or squares are cut. A simplex of a cube is a chain of
 * corners that grow by an axis each, so its edges lead from every corner of the chain to every
 * later one.
 *
 * Edges are numbered by the node that they begin at, or (order=direction) direction after
 * direction, and shuffled in windows of `block` numbers, as mesh generators leave them: near edges
 * have near numbers, in no pattern.
 */
#include <inttypes.h>

#include "base/bisect.h"
#include "base/error.h"
#include "io/generate/generator.h"
#include "io/generate/shuffle.h"

enum { AXES = 3, CORNERS = 8, WINDOW_MOST = 1 << 20, ROW_MOST = 64 };

static int is_direction(const tulle__generator *g, int direction)
{
    return g->as.nedelec.simplices || !(direction & (direction - 1));
}

/* The number of nodes along an axis at which edges of a direction begin. */
static int64_t along(const tulle__generator *g, int axis, int direction)
{
    return g->as.nedelec.nodes[axis] - (direction >> axis & 1);
}

/*
 * The number of edges of a direction that begin at nodes before `at`, x first; all of them for the
 * box's end.
 */
static int64_t edges_before(const tulle__generator *g, int direction, const int64_t at[AXES])
{
    int64_t count = 0;
    if (!is_direction(g, direction)) return 0;
    for (int axis = AXES; axis-- > 0;) {
        int64_t most = along(g, axis, direction);
        count = count * most + (at[axis] < most ? at[axis] : most);
        if (at[axis] >= most) { /* all of what is left lies before */
            while (axis-- > 0) count *= along(g, axis, direction);
            return count;
        }
    }
    return count;
}

static int64_t edges_of(const tulle__generator *g, int direction)
{
    return edges_before(g, direction, (const int64_t[AXES]){0, 0, g->as.nedelec.nodes[2]});
}

static int exists(const tulle__generator *g, const int64_t node[AXES], int direction)
{
    for (int axis = 0; axis < AXES; axis++)
        if (node[axis] < 0 || node[axis] >= along(g, axis, direction)) return 0;
    return 1;
}

static void node_at(const tulle__generator *g, int64_t number, int64_t node[AXES])
{
    node[0] = number % g->as.nedelec.nodes[0];
    node[1] = number / g->as.nedelec.nodes[0] % g->as.nedelec.nodes[1];
    node[2] = number / g->as.nedelec.nodes[0] / g->as.nedelec.nodes[1];
}

/* The number in the plain order. */
static int64_t plain_number(const tulle__generator *g, const int64_t node[AXES], int direction)
{
    int64_t number = 0;
    if (g->as.nedelec.by_direction) {
        for (int d = 1; d < direction; d++) number += edges_of(g, d);
        return number + edges_before(g, direction, node);
    }
    for (int d = 1; d < CORNERS; d++) number += edges_before(g, d, node);
    for (int d = 1; d < direction; d++) number += is_direction(g, d) && exists(g, node, d);
    return number;
}

/* The inverse: the last node whose edges do not begin after the number. */
static int find_edge(const tulle__generator *g, int64_t number, int64_t node[AXES])
{
    int64_t low = 0, nodes = g->as.nedelec.nodes[0] * g->as.nedelec.nodes[1] * g->as.nedelec.nodes[2];
    int direction = 1;
    if (g->as.nedelec.by_direction) {
        for (; number >= edges_of(g, direction); direction++) number -= edges_of(g, direction);
        int64_t w = along(g, 0, direction), h = along(g, 1, direction);
        node[0] = number % w, node[1] = number / w % h, node[2] = number / w / h;
        return direction;
    }
    TULLE__LAST_WHERE(low, nodes, middle, (node_at(g, middle, node), plain_number(g, node, 1) <= number));
    node_at(g, low, node);
    number -= plain_number(g, node, 1);
    for (;; direction++)
        if (is_direction(g, direction) && exists(g, node, direction) && number-- == 0) return direction;
}

/* The window that a number lies in: its key, first number and length. */
static uint64_t window(const tulle__generator *g, int64_t number, int64_t *first, int64_t *size)
{
    int64_t block = g->as.nedelec.block;
    *first = number / block * block;
    *size = g->m - *first < block ? g->m - *first : block;
    return tulle__random_at(g->pattern_seed, 3, (uint64_t)(number / block));
}

static int64_t edge_number(const tulle__generator *g, const int64_t node[AXES], int direction)
{
    int64_t first, size, number = plain_number(g, node, direction);
    uint64_t key = window(g, number, &first, &size);
    return first + tulle__shuffle(key, size, number - first);
}

/*
 * The edges of the cube at `cube` that share a cell with the one from corner `from` on: numbers,
 * with repeats.
 */
static int64_t cube_edges(const tulle__generator *g, const int64_t cube[AXES], int from, int direction, int64_t *col)
{
    int all = g->as.nedelec.nodes[2] > 1 ? 7 : 3, to = from | direction;
    int64_t count = 0;
    for (int low = 0; low <= all; low++)
        for (int step = 1; step <= all; step++) {
            int high = low | step;
            if (low & step || !is_direction(g, step)) continue;
            if (g->as.nedelec.simplices) { /* all four corners are on one chain: each two, one within the other */
                int corner[] = {low, high, from, to}, chain = 1;
                for (int a = 0; a < 2; a++)
                    for (int b = 2; b < 4; b++) {
                        int both = corner[a] & corner[b];
                        chain = chain && (both == corner[a] || both == corner[b]);
                    }
                if (!chain) continue;
            }
            int64_t node[AXES];
            for (int axis = 0; axis < AXES; axis++) node[axis] = cube[axis] + (low >> axis & 1);
            col[count++] = edge_number(g, node, step);
        }
    return count;
}

static int64_t nedelec_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t node[AXES], first, size, found[ROW_MOST], count = 0;
    int flat = g->as.nedelec.nodes[2] == 1;
    uint64_t key = window(g, row, &first, &size);
    int direction = find_edge(g, first + tulle__unshuffle(key, size, row - first), node);
    for (int from = 0; from < (flat ? 4 : CORNERS); from++) { /* the corner of the cube at which the edge begins */
        int64_t cube[AXES];
        int good = !(from & direction);
        for (int axis = 0; good && axis < AXES; axis++) {
            cube[axis] = node[axis] - (from >> axis & 1);
            good = cube[axis] >= 0 && (cube[axis] + 1 < g->as.nedelec.nodes[axis] || (axis == 2 && flat));
        }
        if (good) count += cube_edges(g, cube, from, direction, found + count);
    }
    count = tulle__sort_columns(found, count);
    for (int64_t k = 0; k < count; k++) col[k] = found[k];
    return tulle__generator_clip(col, count, c0, c1);
}

static tulle_status open_nedelec(tulle__spec_part *part, tulle__generator *g)
{
    enum { TETRAHEDRON, HEXAHEDRON, TRIANGLE, QUADRILATERAL, CELLS };
    static const char *const cells[] = {"tetrahedron", "hexahedron", "triangle", "quadrilateral"};
    static const char *const orders[] = {"node", "direction"}, *const names[] = {"nx", "ny", "nz"};
    int64_t n = 0, *nodes = g->as.nedelec.nodes, all = 7;
    const char *word = NULL;
    int cell = TETRAHEDRON;
    TULLE_CALL(tulle__spec_word(part, "cell", &word));
    if (word) TULLE_CALL(tulle__name_parse("cell (cell=)", word, cells, CELLS, &cell));
    word = NULL;
    TULLE_CALL(tulle__spec_word(part, "order", &word));
    if (word) TULLE_CALL(tulle__name_parse("order of edges (order=)", word, orders, 2, &g->as.nedelec.by_direction));
    TULLE_CALL(tulle__spec_int(part, "nodes", 2, TULLE__GENERATOR_MAX, &n));
    g->as.nedelec.simplices = cell == TETRAHEDRON || cell == TRIANGLE;
    for (int axis = 0; axis < AXES; axis++) {
        int flat = axis == 2 && cell >= TRIANGLE;
        nodes[axis] = flat ? 1 : n;
        TULLE_CALL(tulle__spec_int(part, names[axis], flat ? 1 : 2, flat ? 1 : TULLE__GENERATOR_MAX, &nodes[axis]));
        if (nodes[axis] == 0) return tulle__fail(TULLE_ERR_ARG, "'nedelec' needs nodes, or nx, ny and nz");
        if (__builtin_mul_overflow(all, nodes[axis], &all) || all > TULLE__GENERATOR_MAX)
            return tulle__fail(TULLE_ERR_ARG, "'nedelec' has too many nodes: at most 2^48 edges");
    }
    g->as.nedelec.block = 32;
    TULLE_CALL(tulle__spec_int(part, "block", 1, WINDOW_MOST, &g->as.nedelec.block));
    for (int d = 1; d < CORNERS; d++) g->m += edges_of(g, d);
    g->n = g->m;
    g->symmetric = 1;
    return TULLE_OK;
}

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    int flat = g->as.nedelec.nodes[2] == 1;
    (void)row, (void)c0, (void)c1; /* a row is generated whole and then cut */
    return g->as.nedelec.simplices ? (flat ? 5 : 19) : flat ? 7 : 33;
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    /* neighbours lie in the same layer of nodes, or the next, of each direction */
    double part = (double)(c1 - c0) / (double)(g->n > 0 ? g->n : 1);
    return (double)(r1 - r0) * (double)bound(g, 0, 0, 0) * (part < .25 ? 4 * part : 1) + 32;
}

static const char *const keys[] = {"nodes", "nx", "ny", "nz", "cell", "block", "order", NULL};

const tulle__generator_kind tulle__generator_nedelec = {
    .name = "nedelec",
    .sentence = "edge elements of a box of nodes (nx, ny, nz): cell=tetrahedron, hexahedron, triangle, quadrilateral",
    .keys = keys,
    .mode = TULLE__VALUES_SPD,
    .open = open_nedelec,
    .bound = bound,
    .estimate = estimate,
    .row = nedelec_row,
};
