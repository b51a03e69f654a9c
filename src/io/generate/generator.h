/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of synthetic matrix provides, and the state it may keep. */
#ifndef TULLE_IO_GENERATE_GENERATOR_H
#define TULLE_IO_GENERATE_GENERATOR_H

#include <stdint.h>

#include "base/random.h"
#include "base/spec.h"
#include "io/generate.h"

/* So large that any matrix fits, so small that counts of its entries stay within 64 bits. */
#define TULLE__GENERATOR_MAX ((int64_t)1 << 48)

enum { TULLE__RMAT_SCALE_MAX = 47, TULLE__FEM_DOF_MAX = 64 };

typedef enum tulle__generator_mode {
    TULLE__VALUES_RANDOM,
    TULLE__VALUES_ONES,
    TULLE__VALUES_INTEGER,
    TULLE__VALUES_LAPLACE,
    TULLE__VALUES_SPD,
    TULLE__VALUES_COUNT
} tulle__generator_mode;

/* A box of columns or rows is half open. */
typedef struct tulle__generator_kind {
    const char *name;
    const char *sentence;
    const char *const *keys; /* beside seed and values; ends with NULL */
    tulle__generator_mode mode;

    /* Reads the keys; sets m, n, nnz, symmetric and its part of `as`. */
    tulle_status (*open)(tulle__spec_part *part, tulle__generator *g);

    /* Row by row: at most this many entries of the row lie in columns c0 .. c1 - 1; how many a box has, roughly. */
    int64_t (*bound)(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1);
    double (*estimate)(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1);

    /* Writes the columns of the row within c0 .. c1 - 1, ascending; returns their number. */
    int64_t (*row)(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col);

    /* Or edge by edge. */
    void (*edges)(const tulle__generator *g, int64_t e0, int64_t e1, int64_t *row, int64_t *col);

    /* values=laplace, NULL if there is none. */
    double (*laplace)(const tulle__generator *g, int64_t row, int64_t col);
} tulle__generator_kind;

struct tulle__generator {
    const tulle__generator_kind *kind;
    int64_t m, n, nnz, edges;
    int symmetric; /* the pattern is, with a full diagonal */
    tulle__generator_mode mode;
    uint64_t seed, pattern_seed, value_seed;
    union {
        struct {
            int64_t nx, ny, nz;
            int reach;   /* how many coordinates may differ at once: 1 for a star, all for a box */
            int corners; /* of a star: those where all three differ, too */
            int flat, dof;
            double anisotropy, shift;
        } grid;
        struct {
            double degree;
            double rate; /* 1 / log(1 - p) */
            int64_t most;
        } er;
        struct {
            int scale, relabel;
            uint64_t limit[TULLE__RMAT_SCALE_MAX][3]; /* cumulated a, b, c in 1/2^32, per level */
            uint64_t odd[4], add[4];
        } rmat;
        struct {
            int64_t lower, upper;
        } band;
        struct {
            int64_t n, constraints; /* of an edge; the first row of these */
        } kkt;
        struct {
            int64_t nx, ny, block, dof, pieces, neighbours;
            uint64_t keep, shuffle; /* edges a point, tiles that are shuffled, in 1/2^32 */
        } lattice;
        struct {
            int64_t host, links;
            uint64_t copy, local, split; /* chances in 1/2^32 */
        } web;
        struct {
            int64_t size, block;
            double degree;
            uint64_t split, chain; /* chances in 1/2^32 */
        } cliques;
        struct {
            int64_t ndense, nlocal;
            uint64_t keep;          /* chance of a neighbour, in 1/2^32 */
            int64_t *dense, *local; /* full rows; distances of neighbours; ascending; `dense` owns both */
        } circuit;
    } as;
};

extern const tulle__generator_kind tulle__generator_rmat, tulle__generator_er, tulle__generator_fem,
    tulle__generator_stencil2d, tulle__generator_stencil3d, tulle__generator_band, tulle__generator_circuit,
    tulle__generator_nlpkkt, tulle__generator_delaunay, tulle__generator_shell, tulle__generator_road,
    tulle__generator_web, tulle__generator_cliques, tulle__generator_dense;

/* Columns below c1 and from c0 on out of an ascending list: keeps them at its start, returns their number. */
static inline int64_t tulle__generator_clip(int64_t *col, int64_t count, int64_t c0, int64_t c1)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        col[kept] = col[i];
        kept += col[i] >= c0 && col[i] < c1;
    }
    return kept;
}

#endif
