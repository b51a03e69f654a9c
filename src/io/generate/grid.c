/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices of regular grids: stencil2d, stencil3d, fem. Point (x, y, z) has number (z ny + y) nx +
 * x.
 */
#include <inttypes.h>

#include "base/error.h"
#include "io/generate/generator.h"

/* Points of the star of a cube with the cube's corners. */
enum { CORNERED = 15 };

/* The sum over a line of the points within one step of each other: 3 a point but for the ends. */
static int64_t line(int64_t n)
{
    return 3 * n - 2;
}

static tulle_status open_grid(tulle__spec_part *part, tulle__generator *g, const char *edge, int flat)
{
    int64_t n = 0, size[3] = {0, 0, flat};
    static const char *const keys[] = {"nx", "ny", "nz"};
    TULLE_CALL(tulle__spec_int(part, edge, 1, TULLE__GENERATOR_MAX, &n));
    for (int i = 0; i < 3 - flat; i++) {
        if (size[i] == 0) size[i] = n;
        TULLE_CALL(tulle__spec_int(part, keys[i], 1, TULLE__GENERATOR_MAX, &size[i]));
        if (size[i] == 0)
            return tulle__fail(TULLE_ERR_ARG, "'%s' needs %s, or nx, ny%s", part->name, edge, flat ? "" : ", nz");
    }
    g->as.grid.nx = size[0];
    g->as.grid.ny = size[1];
    g->as.grid.nz = size[2];
    g->as.grid.flat = flat;
    g->as.grid.dof = 1;
    g->as.grid.anisotropy = 1;
    if (__builtin_mul_overflow(size[0], size[1], &n) || __builtin_mul_overflow(n, size[2], &n) ||
        n > TULLE__GENERATOR_MAX)
        return tulle__fail(TULLE_ERR_ARG, "a grid of %" PRId64 " x %" PRId64 " x %" PRId64 " points is over the limit",
            size[0], size[1], size[2]);
    g->m = g->n = n;
    g->symmetric = 1;
    return TULLE_OK;
}

static tulle_status open_stencil(tulle__spec_part *part, tulle__generator *g, int flat, int64_t star, int64_t box)
{
    int64_t points = star;
    TULLE_CALL(open_grid(part, g, "n", flat));
    TULLE_CALL(tulle__spec_int(part, "points", 1, 27, &points));
    g->as.grid.corners = !flat && points == CORNERED;
    if (points != star && points != box && !g->as.grid.corners)
        return tulle__fail(TULLE_ERR_ARG, "'%s' has points=%" PRId64 "%s or %" PRId64 ", not %" PRId64, part->name,
            star, flat ? "" : ", 15", box, points);
    TULLE_CALL(tulle__spec_real(part, "anisotropy", 0, 1e30, &g->as.grid.anisotropy));
    TULLE_CALL(tulle__spec_real(part, "shift", -1e30, 1e30, &g->as.grid.shift));
    int64_t nx = g->as.grid.nx, ny = g->as.grid.ny, nz = g->as.grid.nz;
    g->as.grid.reach = points == box ? 3 : 1;
    if (points != star) {
        if (g->as.grid.anisotropy < 1 || g->as.grid.anisotropy > 1)
            return tulle__fail(TULLE_ERR_ARG, "'%s': anisotropy goes with points=%" PRId64 " only", part->name, star);
    }
    if (points == box) {
        g->nnz = line(nx) * line(ny) * line(nz);
    } else {
        g->nnz = star * g->m - 2 * (nx * ny + nx * nz + ny * nz);
        if (flat) g->nnz += 2 * nx * ny; /* the third direction, which star does not count */
        if (g->as.grid.corners) g->nnz += 8 * (nx - 1) * (ny - 1) * (nz - 1);
    }
    return TULLE_OK;
}

static tulle_status open_stencil2d(tulle__spec_part *part, tulle__generator *g)
{
    return open_stencil(part, g, 1, 5, 9);
}

static tulle_status open_stencil3d(tulle__spec_part *part, tulle__generator *g)
{
    return open_stencil(part, g, 0, 7, 27);
}

static tulle_status open_fem(tulle__spec_part *part, tulle__generator *g)
{
    int64_t dof = 1;
    TULLE_CALL(open_grid(part, g, "nodes", 0));
    TULLE_CALL(tulle__spec_int(part, "dof", 1, TULLE__FEM_DOF_MAX, &dof));
    g->as.grid.reach = 3;
    g->as.grid.dof = (int)dof;
    g->m = g->n = g->m * dof;
    g->nnz = line(g->as.grid.nx) * line(g->as.grid.ny) * line(g->as.grid.nz) * dof * dof;
    return TULLE_OK;
}

static int64_t most(const tulle__generator *g)
{
    int64_t box = g->as.grid.flat ? 9 : 27, star = g->as.grid.flat ? 5 : 7;
    if (g->as.grid.corners) return CORNERED;
    return (g->as.grid.reach == 1 ? star : box) * g->as.grid.dof;
}

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)row, (void)c0, (void)c1; /* a row is made whole and then cut */
    return most(g);
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    /* a row's entries lie within two planes of its diagonal */
    int64_t span = 2 * g->as.grid.nx * g->as.grid.ny * g->as.grid.dof;
    int64_t low = c0 - span > r0 ? c0 - span : r0, high = c1 + span < r1 ? c1 + span : r1;
    return high > low ? (double)(high - low) * (double)most(g) : 0;
}

static int64_t row_columns(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t nx = g->as.grid.nx, ny = g->as.grid.ny, nz = g->as.grid.nz, dof = g->as.grid.dof;
    int64_t point = row / dof, x = point % nx, y = point / nx % ny, z = point / nx / ny, count = 0;
    for (int dz = z > 0 ? -1 : 0; dz <= (z + 1 < nz); dz++)
        for (int dy = y > 0 ? -1 : 0; dy <= (y + 1 < ny); dy++)
            for (int dx = x > 0 ? -1 : 0; dx <= (x + 1 < nx); dx++) {
                int differ = (dx != 0) + (dy != 0) + (dz != 0);
                if (differ > g->as.grid.reach && !(differ == 3 && g->as.grid.corners)) continue;
                int64_t first = (point + (dz * ny + dy) * nx + dx) * dof;
                for (int64_t k = 0; k < dof; k++) col[count++] = first + k;
            }
    return tulle__generator_clip(col, count, c0, c1);
}

/* Each neighbour pulls with weight 1, those in the last direction with `anisotropy`. */
static double laplace(const tulle__generator *g, int64_t row, int64_t col)
{
    double weight = g->as.grid.anisotropy;
    int64_t step = g->as.grid.flat ? g->as.grid.nx : g->as.grid.nx * g->as.grid.ny;
    if (row != col) return g->as.grid.reach == 1 && (row - col == step || col - row == step) ? -weight : -1;
    double others = (double)(most(g) - 1);
    return others - 2 + 2 * weight + g->as.grid.shift;
}

static const char *const keys2d[] = {"n", "nx", "ny", "points", "anisotropy", "shift", NULL};
static const char *const keys3d[] = {"n", "nx", "ny", "nz", "points", "anisotropy", "shift", NULL};
static const char *const keys_fem[] = {"nodes", "nx", "ny", "nz", "dof", NULL};

const tulle__generator_kind tulle__generator_stencil2d = {
    .name = "stencil2d",
    .sentence = "Laplacian on a grid of n x n points (nx, ny); points=5 or 9, anisotropy=1, shift=0",
    .keys = keys2d,
    .mode = TULLE__VALUES_LAPLACE,
    .open = open_stencil2d,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
    .laplace = laplace,
};

const tulle__generator_kind tulle__generator_stencil3d = {
    .name = "stencil3d",
    .sentence = "Laplacian on a grid of n x n x n points (nx, ny, nz); points=7, 15 or 27, anisotropy=1, shift=0",
    .keys = keys3d,
    .mode = TULLE__VALUES_LAPLACE,
    .open = open_stencil3d,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
    .laplace = laplace,
};

const tulle__generator_kind tulle__generator_fem = {
    .name = "fem",
    .sentence = "finite elements on a cube of nodes^3 (nx, ny, nz): 27 neighbours, full dof x dof blocks; dof=1",
    .keys = keys_fem,
    .mode = TULLE__VALUES_SPD,
    .open = open_fem,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
};
