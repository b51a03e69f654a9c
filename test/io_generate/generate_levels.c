/* SPDX-License-Identifier: Apache-2.0 */
/* The generators of triangles for the paper on zero-copy solves: levels, shuffles, roads. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "generated.h"
#include "io/generate/shuffle.h"
#include "tap.h"

/* Levels of the strict lower triangle: the longest chain of dependent rows. */
static int64_t count_levels(const matrix *A, int64_t *lower)
{
    int64_t *level = calloc((size_t)A->shape.m + 1, sizeof *level), most = 0;
    *lower = A->shape.m;
    for (int64_t r = 0; r < A->shape.m; r++) {
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1] && A->entries.colind[i] < r; i++, ++*lower)
            if (level[A->entries.colind[i]] > level[r]) level[r] = level[A->entries.colind[i]];
        if (++level[r] > most) most = level[r];
    }
    free(level);
    return most;
}

/* The purpose of these generators: entries and levels of the lower triangle. */
static void test_levels(void)
{
    /* levels are exact where a formula exists: a plain order, and chains; the others are bounds */
    static const struct {
        const char *spec;
        int64_t least, most;
        double dependency; /* entries a row, with a unit diagonal; about */
    } known[] = {
        {"delaunay:n=40,shuffle=0,block=1", 118, 118, 3.9}, /* along x, two a row: 40 + 2 39 */
        {"delaunay:n=40", 40, 118, 3.9}, {"delaunay:n=40,shuffle=1,block=40", 6, 30, 3.9},
        {"shell:n=20,shuffle=0,block=1", 6 * 58, 6 * 58, 25.5}, /* the same in nodes, each six rows in turn */
        {"shell:n=20", 100, 6 * 80, 25.5},
        {"stencil3d:n=8,points=15", 36, 36, 6.6}, /* x + y + 3 z: a corner of the layer below is up to (1, 1) ahead */
        {"road:n=50,degree=4,shuffle=0,block=1", 99, 99, 3}, {"road:n=60", 12, 120, 2.4},
        {"road:n=30,pieces=3,block=1,shuffle=.2", 12, 400, 2.08}, {"web:n=20000,host=128,split=.5", 128, 150, 2.4},
        {"cliques:n=6144", 64, 1536, 3}, {"cliques:n=6144,chain=1", 1536, 1536, 4}, {"nlpkkt:n=6", 2, 2, 9.7},
        {"fem:nodes=8", 50, 50, 10.9}, /* x + 2 y + 4 z */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        matrix A;
        int64_t lower = 0, levels = 0;
        tulle_status status = matrix_init(&A, known[i].spec, TULLE_F64);
        if (status == TULLE_OK) levels = count_levels(&A, &lower);
        double dependency = (double)lower / (double)A.shape.m;
        ok(status == TULLE_OK && levels >= known[i].least && levels <= known[i].most &&
                fabs(dependency / known[i].dependency - 1) < .1,
            "%s: %" PRId64 " levels, dependency %.2f, parallelism %.2f", known[i].spec, levels, dependency,
            (double)A.shape.m / (double)levels);
        matrix_fini(&A);
    }
}

static void test_shuffle(void)
{
    for (int64_t size = 1; size < 400; size = size * 5 / 4 + 1) {
        int seen[400] = {0}, fine = 1, moved = 0;
        for (int64_t x = 0; x < size; x++) {
            int64_t y = tulle__shuffle(77, size, x);
            fine = fine && y >= 0 && y < size && !seen[y]++ && tulle__unshuffle(77, size, y) == x;
            moved += x != y;
        }
        ok(fine && (size < 20 || moved > size * 3 / 4), "%" PRId64 " places are shuffled and back", size);
    }
    int fine = 1;
    for (int64_t x = 0; x < 1000; x++) {
        int64_t size = ((int64_t)1 << 47) + 12345, place = size - 1 - x * x * 1000003;
        fine = fine && tulle__unshuffle(5, size, tulle__shuffle(5, size, place)) == place;
    }
    ok(fine, "of very many, too");
}

/*
 * Rows and edges of roads: equally many points on each kept edge, and the requested fraction of
 * edges.
 */
static void test_roads(void)
{
    matrix A;
    ok(matrix_init(&A, "road:n=100,degree=2.8,pieces=0", TULLE_F64) == TULLE_OK && A.shape.m == 10000, "crossings");
    double degree = (double)(A.entries.nnz - A.shape.m) / (double)A.shape.m;
    ok(degree > 2.73 && degree < 2.8, "a mean degree of %.3f, less what the border cuts off 2.8", degree);
    matrix_fini(&A);
    ok(matrix_init(&A, "road:n=100,degree=2.8,pieces=3", TULLE_F64) == TULLE_OK && A.shape.m == 10000 + 3 * 14000,
        "three points on each of 1.4 edges a crossing");
    degree = (double)(A.entries.nnz - A.shape.m) / (double)A.shape.m;
    int64_t pairs = 0;
    for (int64_t r = 0; r < A.shape.m; r++) pairs += A.rowptr[r + 1] - A.rowptr[r] == 3;
    ok(degree > 2.1 && degree < 2.16 && pairs >= 3 * 14000 - 300, "degree %.3f, %" PRId64 " rows of two neighbours",
        degree, pairs);
    matrix_fini(&A);
}

int main(void)
{
    test_levels();
    test_shuffle();
    test_roads();
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block is left");
    return tap_done();
}
