/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meshes and maps whose numbering follows their geometry only roughly: delaunay, shell, road,
 * powergrid. Points form a lattice that is divided into tiles of block x block. Tiles are numbered
 * row by row. The points of a tile are shuffled in a fraction `shuffle` of the tiles, and in order
 * elsewhere. Numbers ascend along paths through ordered tiles and hardly ever through shuffled
 * ones. The levels of the lower triangle therefore fall with the fraction: from those of the plain
 * order (shuffle=0), proportional to the lattice's edge, to a few dozen (shuffle=1). In between
 * they are set by the largest patch of ordered tiles and grow slowly with the lattice.
 */
#include <inttypes.h>

#include "base/bisect.h"
#include "base/error.h"
#include "io/generate/generator.h"
#include "io/generate/shuffle.h"

enum { RIGHT, UP, DIRECTIONS };
enum { BLOCK_MOST = 1 << 20, PIECES_MOST = 1 << 10 };

struct tile {
    int64_t x, y, w, h;  /* first point, size */
    int64_t first, size; /* first number and how many there are */
    /*
     * road: kept edges among its 2 w h, each of which belongs to the point it leads right or up
     * from
     */
    int64_t kept;
    int shuffled;
    uint64_t key;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * The number of kept edges of the first `points` points, tile by tile: an even fraction, up to
 * rounding.
 */
static int64_t kept_edges(const tulle__generator *g, int64_t points)
{
    return (int64_t)(((unsigned __int128)points * g->as.lattice.keep + UINT32_MAX / 2 + 1) >> 32);
}

/* The numbers of the first `points` points and of their edges' pieces. */
static int64_t numbers(const tulle__generator *g, int64_t points)
{
    return points + g->as.lattice.pieces * kept_edges(g, points);
}

static struct tile tile_at(const tulle__generator *g, int64_t tx, int64_t ty)
{
    int64_t block = g->as.lattice.block;
    struct tile t = {.x = tx * block, .y = ty * block};
    t.w = least(block, g->as.lattice.nx - t.x);
    t.h = least(block, g->as.lattice.ny - t.y);
    int64_t before = t.y * g->as.lattice.nx + t.x * t.h, after = before + t.w * t.h;
    t.first = numbers(g, before);
    t.size = numbers(g, after) - t.first;
    t.kept = kept_edges(g, after) - kept_edges(g, before);
    t.key = tulle__random_at(g->pattern_seed, (uint64_t)tx, (uint64_t)ty);
    t.shuffled = t.key >> 32 < g->as.lattice.shuffle;
    return t;
}

static struct tile tile_of(const tulle__generator *g, int64_t x, int64_t y)
{
    return tile_at(g, x / g->as.lattice.block, y / g->as.lattice.block);
}

/*
 * The tile that holds a number: the tile of the last point, tile by tile, with no more numbers
 * before it.
 */
static struct tile tile_with(const tulle__generator *g, int64_t number)
{
    int64_t nx = g->as.lattice.nx, ny = g->as.lattice.ny, block = g->as.lattice.block, points = nx * ny;
    int64_t point = 0;
    if (g->as.lattice.pieces == 0)
        point = number;
    else
        TULLE__LAST_WHERE(point, points, middle, numbers(g, middle) <= number);
    int64_t ty = point / (nx * block), h = least(block, ny - ty * block), tx = (point - ty * block * nx) / (block * h);
    return tile_at(g, tx, ty);
}

/*
 * The number at a position of a tile: points row by row, then pieces edge by edge; and the inverse.
 */
static int64_t number_in(const struct tile *t, int64_t place)
{
    return t->first + (t->shuffled ? tulle__shuffle(t->key, t->size, place) : place);
}

static int64_t place_in(const struct tile *t, int64_t number)
{
    return t->shuffled ? tulle__unshuffle(t->key, t->size, number - t->first) : number - t->first;
}

static int64_t point(const tulle__generator *g, int64_t x, int64_t y)
{
    struct tile t = tile_of(g, x, y);
    return number_in(&t, (y - t.y) * t.w + x - t.x);
}

static int inside(const tulle__generator *g, int64_t x, int64_t y)
{
    return x >= 0 && x < g->as.lattice.nx && y >= 0 && y < g->as.lattice.ny;
}

/* ---- delaunay and shell: neighbours by place ---- */

/*
 * The first six are a triangulation's, with the diagonals up-left; all eight are a quadrilateral
 * shell's.
 */
static const int near_x[] = {1, -1, 0, 0, -1, 1, 1, -1}, near_y[] = {0, 0, 1, -1, 1, -1, 1, -1};

static int64_t mesh_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t dof = g->as.lattice.dof, count = 0;
    struct tile t = tile_with(g, row / dof);
    int64_t place = place_in(&t, row / dof), nodes[9];
    int64_t x = t.x + place % t.w, y = t.y + place / t.w;
    nodes[count++] = row / dof;
    for (int k = 0; k < g->as.lattice.neighbours; k++)
        if (inside(g, x + near_x[k], y + near_y[k])) nodes[count++] = point(g, x + near_x[k], y + near_y[k]);
    count = tulle__sort_columns(nodes, count);
    for (int64_t k = 0; k < count; k++)
        for (int64_t d = 0; d < dof; d++) col[k * dof + d] = nodes[k] * dof + d;
    return tulle__generator_clip(col, count * dof, c0, c1);
}

/* ---- road: edges are kept or not, each divided into pieces ---- */

/* The position of the edge from (x, y) among the tile's kept ones; -1: not kept. */
static int64_t kept_place(const struct tile *t, int64_t x, int64_t y, int direction)
{
    int64_t edge = ((y - t->y) * t->w + x - t->x) * DIRECTIONS + direction;
    int64_t place = tulle__shuffle(~t->key, t->w * t->h * DIRECTIONS, edge);
    return place < t->kept ? place : -1;
}

/* The next number after (x, y) on the edge from (fx, fy): a point, a piece, or nothing (-1). */
static int64_t next_along(const tulle__generator *g, int64_t x, int64_t y, int64_t fx, int64_t fy, int direction)
{
    int64_t tx = fx + (direction == RIGHT), ty = fy + (direction == UP), pieces = g->as.lattice.pieces;
    int from = x == fx && y == fy;
    if (!inside(g, fx, fy)) return -1;
    struct tile t = tile_of(g, fx, fy);
    int64_t place = kept_place(&t, fx, fy, direction);
    if (place < 0) return -1;
    if (pieces > 0) return number_in(&t, t.w * t.h + place * pieces + (from ? 0 : pieces - 1));
    if (!from) return point(g, fx, fy);
    return inside(g, tx, ty) ? point(g, tx, ty) : -1;
}

static int64_t road_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t pieces = g->as.lattice.pieces, count = 0, next[5];
    struct tile t = tile_with(g, row);
    int64_t place = place_in(&t, row), points = t.w * t.h;
    next[0] = row;
    if (place < points) {
        int64_t x = t.x + place % t.w, y = t.y + place / t.w;
        next[1] = next_along(g, x, y, x, y, RIGHT);
        next[2] = next_along(g, x, y, x, y, UP);
        next[3] = next_along(g, x, y, x - 1, y, RIGHT);
        next[4] = next_along(g, x, y, x, y - 1, UP);
    } else {
        int64_t piece = (place - points) % pieces;
        int64_t edge = tulle__unshuffle(~t.key, points * DIRECTIONS, (place - points) / pieces);
        int64_t x = t.x + edge / DIRECTIONS % t.w, y = t.y + edge / DIRECTIONS / t.w;
        int64_t tx = x + (edge % DIRECTIONS == RIGHT), ty = y + (edge % DIRECTIONS == UP);
        next[1] = piece > 0 ? number_in(&t, place - 1) : point(g, x, y);
        next[2] = piece + 1 < pieces ? number_in(&t, place + 1) : inside(g, tx, ty) ? point(g, tx, ty) : -1;
        next[3] = next[4] = -1; /* roads end at the border */
    }
    for (int k = 0; k < 5; k++)
        if (next[k] >= 0) col[count++] = next[k];
    return tulle__generator_clip(col, tulle__sort_columns(col, count), c0, c1);
}

/*
 * ---- powergrid: J = d(P, Q) / d(angle, magnitude) of a network of buses ----
 *
 * A 2 x 2 block for each bus and for both directions of each line. Lines are random edges of the
 * triangulated lattice, so that degrees are distributed like those of real networks (0 to 6, mostly
 * 2 to 4), and some connect distant buses.
 */

/* True if the line of point (x, y) in direction 0 (right), 1 (up) or 2 (up-left) exists. */
static int line_kept(const tulle__generator *g, int64_t x, int64_t y, int direction)
{
    uint64_t edge = (uint64_t)(y * g->as.lattice.nx + x) * 3 + (uint64_t)direction;
    return tulle__random_at(g->pattern_seed, UINT64_MAX, edge) >> 32 < g->as.lattice.keep;
}

/* The far end of a bus's long line, or -1: random pairs of buses, some with a line. */
static int64_t far_bus(const tulle__generator *g, int64_t bus)
{
    int64_t buses = g->as.lattice.nx * g->as.lattice.ny, place = tulle__shuffle(g->pattern_seed, buses, bus);
    if ((place ^ 1) >= buses) return -1;
    if (tulle__random_at(g->pattern_seed, UINT64_MAX - 1, (uint64_t)place / 2) >> 32 >= g->as.lattice.far) return -1;
    return tulle__unshuffle(g->pattern_seed, buses, place ^ 1);
}

static int64_t powergrid_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t buses = g->as.lattice.nx * g->as.lattice.ny, near[8], count = 0;
    int64_t bus = g->as.lattice.paired ? row / 2 : row % buses;
    struct tile t = tile_with(g, bus);
    int64_t place = place_in(&t, bus), x = t.x + place % t.w, y = t.y + place / t.w, other = far_bus(g, bus);
    near[count++] = bus;
    if (other >= 0) near[count++] = other;
    for (int k = 0; k < 6; k++) {
        int64_t tx = x + near_x[k], ty = y + near_y[k];
        if (!inside(g, tx, ty)) continue;
        int back = k == 1 || k == 3 || k == 5; /* the line belongs to the other end */
        if (line_kept(g, back ? tx : x, back ? ty : y, k / 2)) near[count++] = point(g, tx, ty);
    }
    count = tulle__sort_columns(near, count);
    for (int64_t k = 0; k < count; k++) {
        col[g->as.lattice.paired ? 2 * k : k] = g->as.lattice.paired ? 2 * near[k] : near[k];
        col[g->as.lattice.paired ? 2 * k + 1 : count + k] = g->as.lattice.paired ? 2 * near[k] + 1 : buses + near[k];
    }
    return tulle__generator_clip(col, 2 * count, c0, c1);
}

/* ---- all ---- */

static tulle_status open_lattice(tulle__spec_part *part, tulle__generator *g, int64_t block, double shuffle)
{
    int64_t n = 0, size[2] = {0, 0}, points;
    static const char *const names[] = {"nx", "ny"};
    TULLE_CALL(tulle__spec_int(part, "n", 1, TULLE__GENERATOR_MAX, &n));
    for (int i = 0; i < 2; i++) {
        size[i] = n;
        TULLE_CALL(tulle__spec_int(part, names[i], 1, TULLE__GENERATOR_MAX, &size[i]));
        if (size[i] == 0) return tulle__fail(TULLE_ERR_ARG, "'%s' needs n, or nx, ny", part->name);
    }
    TULLE_CALL(tulle__spec_int(part, "block", 1, BLOCK_MOST, &block));
    TULLE_CALL(tulle__spec_real(part, "shuffle", 0, 1, &shuffle));
    g->as.lattice.nx = size[0];
    g->as.lattice.ny = size[1];
    g->as.lattice.block = block;
    g->as.lattice.dof = 1;
    g->as.lattice.shuffle = (uint64_t)(shuffle * 0x1p32);
    if (__builtin_mul_overflow(size[0], size[1], &points) || points > TULLE__GENERATOR_MAX / (3 * PIECES_MOST))
        return tulle__fail(
            TULLE_ERR_ARG, "a lattice of %" PRId64 " x %" PRId64 " points is over the limit", size[0], size[1]);
    g->m = g->n = points;
    g->symmetric = 1;
    return TULLE_OK;
}

static tulle_status open_delaunay(tulle__spec_part *part, tulle__generator *g)
{
    TULLE_CALL(open_lattice(part, g, 8, .645));
    int64_t nx = g->as.lattice.nx, ny = g->as.lattice.ny;
    g->as.lattice.neighbours = 6;
    g->nnz = nx * ny + 2 * ((nx - 1) * ny + nx * (ny - 1) + (nx - 1) * (ny - 1));
    return TULLE_OK;
}

static tulle_status open_shell(tulle__spec_part *part, tulle__generator *g)
{
    int64_t dof = 6;
    TULLE_CALL(open_lattice(part, g, 16, .63));
    TULLE_CALL(tulle__spec_int(part, "dof", 1, TULLE__FEM_DOF_MAX, &dof));
    g->as.lattice.neighbours = 8;
    g->as.lattice.dof = dof;
    g->m = g->n = g->m * dof;
    g->nnz = (3 * g->as.lattice.nx - 2) * (3 * g->as.lattice.ny - 2) * dof * dof;
    return TULLE_OK;
}

static tulle_status open_road(tulle__spec_part *part, tulle__generator *g)
{
    double degree = 2.8;
    TULLE_CALL(open_lattice(part, g, 4, .38));
    TULLE_CALL(tulle__spec_real(part, "degree", 0, 4, &degree));
    TULLE_CALL(tulle__spec_int(part, "pieces", 0, PIECES_MOST, &g->as.lattice.pieces));
    g->as.lattice.keep = (uint64_t)(degree / 2 * 0x1p32); /* edges a point */
    g->as.lattice.neighbours = 4;
    g->m = numbers(g, g->m);
    g->n = g->m;
    return TULLE_OK;
}

static tulle_status open_powergrid(tulle__spec_part *part, tulle__generator *g)
{
    static const char *const orders[] = {"split", "paired"};
    double degree = 2.8, far = .03;
    const char *order = NULL;
    TULLE_CALL(open_lattice(part, g, 8, .645));
    TULLE_CALL(tulle__spec_real(part, "degree", 0, 6, &degree));
    TULLE_CALL(tulle__spec_real(part, "far", 0, 1, &far));
    TULLE_CALL(tulle__spec_word(part, "order", &order));
    if (order) TULLE_CALL(tulle__name_parse("order of unknowns (order=)", order, orders, 2, &g->as.lattice.paired));
    double planar = degree > far ? degree - far : 0;
    g->as.lattice.keep = (uint64_t)(planar / 6 * 0x1p32);
    g->as.lattice.far = (uint64_t)(far * 0x1p32);
    g->as.lattice.neighbours = 7;
    g->as.lattice.dof = 2;
    g->m = g->n = 2 * g->m;
    return TULLE_OK;
}

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)row, (void)c0, (void)c1; /* a row is generated whole and then cut */
    return (g->as.lattice.neighbours + 1) * g->as.lattice.dof;
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    /* neighbours lie in the same row of tiles or the next */
    int64_t span = 2 * g->as.lattice.dof * numbers(g, g->as.lattice.nx * least(g->as.lattice.block, g->as.lattice.ny));
    int64_t low = c0 - span > r0 ? c0 - span : r0, high = c1 + span < r1 ? c1 + span : r1;
    return high > low ? (double)(high - low) * (double)bound(g, 0, 0, 0) : 0;
}

/*
 * Rows of both kinds take all nearby buses; distant lines are counted by their mean, in proportion
 * to the box.
 */
static double powergrid_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    double part = (double)(c1 - c0) / (double)(g->n > 0 ? g->n : 1);
    double row = 2 * (1 + (double)g->as.lattice.keep * 0x1p-32 * 6 + (double)g->as.lattice.far * 0x1p-32);
    return (double)(r1 - r0) * row * (part < .25 ? 4 * part : 1) + 32;
}

static const char *const keys_delaunay[] = {"n", "nx", "ny", "block", "shuffle", NULL};
static const char *const keys_shell[] = {"n", "nx", "ny", "block", "shuffle", "dof", NULL};
static const char *const keys_powergrid[] = {"n", "nx", "ny", "block", "shuffle", "degree", "far", "order", NULL};
static const char *const keys_road[] = {"n", "nx", "ny", "block", "shuffle", "degree", "pieces", NULL};

const tulle__generator_kind tulle__generator_delaunay = {
    .name = "delaunay",
    .sentence = "triangulated lattice of n x n points (nx, ny), shuffle=.645 of tiles of block=8 x 8 shuffled",
    .keys = keys_delaunay,
    .mode = TULLE__VALUES_SPD,
    .open = open_delaunay,
    .bound = bound,
    .estimate = estimate,
    .row = mesh_row,
};

const tulle__generator_kind tulle__generator_shell = {
    .name = "shell",
    .sentence = "quadrilateral shell of n x n nodes (nx, ny), dof=6; shuffle=.63 of tiles of block=16 x 16 shuffled",
    .keys = keys_shell,
    .mode = TULLE__VALUES_SPD,
    .open = open_shell,
    .bound = bound,
    .estimate = estimate,
    .row = mesh_row,
};

const tulle__generator_kind tulle__generator_road = {
    .name = "road",
    .sentence =
        "roads between n x n crossings (nx, ny) of mean degree=2.8, pieces=0 points on each; block=4, shuffle=.38",
    .keys = keys_road,
    .mode = TULLE__VALUES_SPD,
    .open = open_road,
    .bound = bound,
    .estimate = estimate,
    .row = road_row,
};

const tulle__generator_kind tulle__generator_powergrid = {
    .name = "powergrid",
    .sentence = "Jacobian of a network of n x n buses (nx, ny): degree=2.8, long lines far=.03, order=split or paired",
    .keys = keys_powergrid,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_powergrid,
    .bound = bound,
    .estimate = powergrid_estimate,
    .row = powergrid_row,
};
