/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a kind of synthetic matrix provides, and the state it may keep. */
#ifndef TULLE_IO_GENERATE_GENERATOR_H
#define TULLE_IO_GENERATE_GENERATOR_H

#include <stdint.h>

#include "base/random.h"
#include "base/spec.h"
#include "io/generate/generate.h"

/* So large that any matrix fits, so small that counts of its entries stay within 64 bits. */
#define TULLE__GENERATOR_MAX ((int64_t)1 << 48)

enum { TULLE__RMAT_SCALE_MAX = 47, TULLE__FEM_DOF_MAX = 64 };

typedef enum tulle__generator_mode {
    TULLE__VALUES_RANDOM,
    TULLE__VALUES_ONES,
    TULLE__VALUES_INTEGER,
    TULLE__VALUES_LAPLACE,
    TULLE__VALUES_SPD,
    TULLE__VALUES_ELEMENTS,
    TULLE__VALUES_COUNT
} tulle__generator_mode;

/*
 * Target of entries of columns c0 .. c1 - 1 of some rows: those of the first row from rowptr[0] on.
 */
typedef struct tulle__generator_box {
    int64_t c0, c1;
    tulle_type type;
    const int64_t *rowptr;
    int32_t *colind; /* from c0; indexed by rowptr values, as val */
    void *val;
} tulle__generator_box;

/* `count` entries in columns col, col + 1, ..., from place `at` on. */
void tulle__generator_box_put(
    const tulle__generator_box *box, int64_t at, int64_t col, int64_t count, const double *val);

/* A box of columns or rows is half open. */
typedef struct tulle__generator_kind {
    const char *name;
    const char *sentence;
    const char *const *keys; /* beside seed and values; ends with NULL */
    tulle__generator_mode mode;
    int dense; /* every entry is there */

    /* Reads the keys; sets m, n, nnz, symmetric and its part of `as`. */
    tulle_status (*open)(tulle__spec_part *part, tulle__generator *g);
    void (*close)(tulle__generator *g); /* frees what open has made, or was about to; NULL: nothing */

    /*
     * Row by row: at most this many entries of the row lie in columns c0 .. c1 - 1; how many a box
     * has, roughly.
     */
    int64_t (*bound)(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1);
    double (*estimate)(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1);

    /* Writes the columns of the row within c0 .. c1 - 1, ascending; returns their number. */
    int64_t (*row)(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col);

    /* Or edge by edge. */
    void (*edges)(const tulle__generator *g, int64_t e0, int64_t e1, int64_t *row, int64_t *col);

    /* values=laplace, NULL if there is none. */
    double (*laplace)(const tulle__generator *g, int64_t row, int64_t col);

    /* values=elements, NULL if there is none. */
    double (*element)(const tulle__generator *g, int64_t row, int64_t col);
    /*
     * The same for many rows at once, NULL or both: how many entries of a row lie in c0 .. c1 - 1,
     * exactly; and rows r0 .. r1 - 1 into a box, which rowptr belongs to that makes.
     */
    int64_t (*count)(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1);
    void (*fill)(const tulle__generator *g, int64_t r0, int64_t r1, const tulle__generator_box *box);
} tulle__generator_kind;

/* Rows of independent entries: their mean number, 1 / log(1 - p), the most of a row. */
typedef struct tulle__er {
    double degree, rate;
    int64_t most;
} tulle__er;

struct tulle__generator {
    const tulle__generator_kind *kind;
    int64_t m, n, nnz, edges;
    int symmetric; /* the pattern is, with a full diagonal */
    int block;     /* the matrix consists of dense blocks of this size; 0: it does not */
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
            int64_t nodes[3];
            int dof, clamp;
            double vary; /* coefficients of elements are 1 .. vary */
            double *K;   /* of an element */
        } cantilever;
        tulle__er er;
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
            uint64_t far;           /* powergrid: chance of a long line, in 1/2^32 */
            int paired;             /* powergrid: a bus's two unknowns are neighbours */
        } lattice;
        struct {
            int64_t nodes[3], block;
            int simplices, by_direction;
        } nedelec;
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
            int64_t n, edge, box; /* molecules along an edge of the box, and of all boxes; in a box */
            int matrix, reach;    /* reach: of the cutoff, in cells */
            double cutoff, coupling, level;
        } water;
        struct {
            int64_t blocks, width; /* a side; of a band, on each side of the diagonal */
            int pattern;
            tulle__er er;
        } blocks;
        struct {
            int64_t sites[3];
            int periodic;
            double hop, level, split;
        } chain;
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
    tulle__generator_powergrid, tulle__generator_nedelec, tulle__generator_web, tulle__generator_cliques,
    tulle__generator_cantilever, tulle__generator_cantilever_load, tulle__generator_water, tulle__generator_blocks,
    tulle__generator_tightbinding, tulle__generator_dense;

/* Parameters of er, for n columns; the columns of a row within c0 .. c1 - 1, whose number it returns. */
tulle__er tulle__er_of(double degree, int64_t n);
int64_t tulle__er_row(const tulle__er *er, uint64_t seed, int64_t row, int64_t c0, int64_t c1, int64_t *col);

/* Bounds if every entry is there. */
int64_t tulle__full_bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1);
double tulle__full_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1);
int64_t tulle__full_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col);

/*
 * Columns below c1 and from c0 on out of an ascending list: keeps them at its start, returns their
 * number.
 */
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
