/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power grids and edge elements, compared with a sweep over all cells and lines, and known small
 * cases.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "generated.h"
#include "tap.h"

/* An edge of a mesh: the coordinates of its ends. */
struct edge {
    int a[3], b[3];
};

/* Edges in their plain order: node by node, x first, or direction by direction. */
static int list_edges(const int size[3], int simplices, int by_direction, struct edge *edge)
{
    int count = 0, nodes = size[0] * size[1] * size[2], outer = by_direction ? 7 : nodes;
    for (int o = 0; o < outer; o++)
        for (int i = 0; i < (by_direction ? nodes : 7); i++) {
            int node = by_direction ? i : o, d = (by_direction ? o : i) + 1, inside = 1;
            struct edge e = {.a = {node % size[0], node / size[0] % size[1], node / size[0] / size[1]}};
            if (!simplices && d != 1 && d != 2 && d != 4) continue;
            for (int axis = 0; axis < 3; axis++) {
                e.b[axis] = e.a[axis] + (d >> axis & 1);
                inside = inside && e.b[axis] < size[axis];
            }
            if (inside) edge[count++] = e;
        }
    return count;
}

/*
 * The place of a node in a cell, or -1: cells are cubes, or the path through a cube by axes in some
 * order.
 */
static int place_in_cell(const int node[3], const int cube[3], const int *axes)
{
    int off[3], path[3] = {0, 0, 0};
    for (int axis = 0; axis < 3; axis++) {
        off[axis] = node[axis] - cube[axis];
        if (off[axis] < 0 || off[axis] > 1) return -1;
    }
    if (!axes) return 0;
    for (int step = 0; step <= 3; step++) {
        if (memcmp(path, off, sizeof path) == 0) return step;
        if (step < 3) path[axes[step]] = 1;
    }
    return -1;
}

static int share_cell(const int size[3], int simplices, const struct edge *e, const struct edge *f)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int flat = size[2] == 1, cube[3];
    for (cube[2] = 0; cube[2] < (flat ? 1 : size[2] - 1); cube[2]++)
        for (cube[1] = 0; cube[1] < size[1] - 1; cube[1]++)
            for (cube[0] = 0; cube[0] < size[0] - 1; cube[0]++)
                for (int o = 0; o < (simplices ? 6 : 1); o++) {
                    const int *axes = simplices ? orders[o] : NULL;
                    if (place_in_cell(e->a, cube, axes) >= 0 && place_in_cell(e->b, cube, axes) >= 0 &&
                        place_in_cell(f->a, cube, axes) >= 0 && place_in_cell(f->b, cube, axes) >= 0)
                        return 1;
                }
    return 0;
}

static void test_edges(void)
{
    static const char *const cells[] = {"tetrahedron", "hexahedron", "triangle", "quadrilateral"};
    static const int sizes[][3] = {{2, 2, 2}, {3, 4, 2}, {4, 3, 3}};
    struct edge edge[300];
    for (int c = 0; c < 4; c++)
        for (int s = 0; s < 3; s++)
            for (int by_direction = 0; by_direction < 2; by_direction++) {
                char spec[200];
                matrix A;
                int size[3] = {sizes[s][0], sizes[s][1], c < 2 ? sizes[s][2] : 1}, simplices = c % 2 == 0;
                snprintf(spec, sizeof spec, "nedelec:nx=%d,ny=%d,nz=%d,cell=%s,block=1,order=%s", size[0], size[1],
                    size[2], cells[c], by_direction ? "direction" : "node");
                int n = list_edges(size, simplices, by_direction, edge);
                int good = matrix_init(&A, spec, TULLE_F64) == TULLE_OK && A.shape.m == n && A.shape.n == n;
                for (int i = 0; good && i < n; i++)
                    for (int k = 0; k < n; k++)
                        good = good && share_cell(size, simplices, &edge[i], &edge[k]) != isnan(entry(&A, i, k));
                ok(good && symmetric(&A) && dominant(&A), "%s: %d edges, each coupled with those of its cells", spec,
                    n);
                matrix_fini(&A);
            }
}

static void test_known_edges(void)
{
    static const struct {
        const char *spec;
        int64_t rows, nnz;
    } known[] = {
        {"nedelec:nodes=2,cell=triangle", 5, 17},      /* two triangles: the diagonal sees 5, the others 3 */
        {"nedelec:nodes=2,cell=quadrilateral", 4, 16}, /* one square */
        {"nedelec:nodes=2,cell=hexahedron", 12, 144},  /* one cube */
        {"nedelec:nodes=2", 19, 163}, /* the long diagonal sees 19, face diagonals 9, edges at its ends 9, others 6 */
        {"nedelec:nodes=2,block=7,seed=5", 19, 163}, /* in any order */
        {"nedelec:nx=3,ny=2,nz=2,cell=hexahedron", 20, 4 * 20 + 16 * 12},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        matrix A;
        tulle_status status = matrix_init(&A, known[i].spec, TULLE_F64);
        ok(status == TULLE_OK && A.shape.m == known[i].rows && A.entries.nnz == known[i].nnz,
            "%s: %" PRId64 " rows, %" PRId64 " entries", known[i].spec, A.shape.m, A.entries.nnz);
        matrix_fini(&A);
    }
}

/*
 * Windows of `block` numbers hold the same rows as without a shuffle: lengths of rows, sorted, are
 * equal in each.
 */
static void test_windows(void)
{
    matrix A, B;
    int64_t moved = 0;
    int good = matrix_init(&A, "nedelec:nodes=6,block=1", TULLE_F64) == TULLE_OK;
    good &= matrix_init(&B, "nedelec:nodes=6,block=40", TULLE_F64) == TULLE_OK;
    for (int64_t w = 0; good && w < A.shape.m; w += 40) {
        int64_t sum = 0;
        for (int64_t r = w; r < w + 40 && r < A.shape.m; r++) {
            int64_t a = A.rowptr[r + 1] - A.rowptr[r], b = B.rowptr[r + 1] - B.rowptr[r];
            sum += a * a - b * b;
            moved += a != b;
        }
        good = sum == 0;
    }
    ok(good && moved > A.shape.m / 10, "edges are shuffled in windows: %" PRId64 " rows have other lengths", moved);
    matrix_fini(&A);
    matrix_fini(&B);
}

static void test_powergrid(void)
{
    matrix A, B;
    int64_t blocks = 0, buses = 120 * 90, most = 0;
    int good = matrix_init(&A, "powergrid:nx=120,ny=90,values=spd", TULLE_F64) == TULLE_OK && symmetric(&A);
    good &= matrix_init(&B, "powergrid:nx=120,ny=90,order=paired", TULLE_F64) == TULLE_OK && well_formed(&B);
    good = good && A.shape.m == 2 * buses && A.entries.nnz == B.entries.nnz;
    for (int64_t bus = 0; good && bus < buses; bus++) {
        int64_t degree = (A.rowptr[bus + 1] - A.rowptr[bus]) / 2;
        const int64_t *col = A.entries.colind + A.rowptr[bus], *q = A.entries.colind + A.rowptr[buses + bus];
        const int64_t *pair = B.entries.colind + B.rowptr[2 * bus], *next = B.entries.colind + B.rowptr[2 * bus + 1];
        good = degree > 0 && A.rowptr[buses + bus + 1] - A.rowptr[buses + bus] == 2 * degree;
        for (int64_t k = 0; good && k < degree; k++) /* P and Q against angle and magnitude, of the same buses */
            good = col[degree + k] == buses + col[k] && q[k] == col[k] && q[degree + k] == col[degree + k] &&
                   pair[2 * k] == 2 * col[k] && pair[2 * k + 1] == 2 * col[k] + 1 && next[2 * k] == 2 * col[k];
        blocks += degree - 1;
        if (degree > most) most = degree;
    }
    double degree = (double)blocks / (double)buses;
    ok(good && degree > 2.6 && degree < 2.9 && most > 5 && most <= 8, "powergrid: mean degree %.3f, at most %" PRId64,
        degree, most - 1);
    matrix_fini(&A);
    matrix_fini(&B);
    good = matrix_init(&A, "powergrid:n=9,degree=0,far=0", TULLE_F64) == TULLE_OK && A.entries.nnz == 4 * 81;
    good &= matrix_init(&B, "powergrid:nx=2,ny=1,degree=6,far=0,shuffle=0", TULLE_F64) == TULLE_OK;
    ok(good && B.entries.nnz == 16, "powergrid: no lines, and two buses with one");
    matrix_fini(&A);
    matrix_fini(&B);
    good = matrix_init(&A, "powergrid:n=10,degree=0,far=1", TULLE_F64) == TULLE_OK && A.entries.nnz == 8 * 100;
    ok(good && symmetric(&A) == 0, "powergrid: a long line at every bus");
    matrix_fini(&A);
}

int main(void)
{
    test_edges();
    test_known_edges();
    test_windows();
    test_powergrid();
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block is left");
    return tap_done();
}
