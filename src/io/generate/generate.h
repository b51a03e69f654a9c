/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic matrices from a spec such as `rmat:scale=17,edgefactor=8,seed=1`. Every entry is a
 * function of the spec and of its own place alone, so any PE makes any part by itself and the parts
 * fit together bit for bit, whatever the number of PEs or the cut. All calls are local; a generator
 * is constant once open and may be shared by threads.
 *
 *   name       keys (defaults)                                  matrix
 *   rmat       scale, edgefactor=8, a=.57 b=.19 c=.19 d=.05,    2^scale square; the set of distinct edges among
 *              noise=0, relabel=off                             edgefactor * 2^scale drawn ones
 *   er         n (or m and n), degree=8                         each entry there with probability degree / n, so a
 *                                                               row has Binomial(n, degree / n) entries
 *   fem        nodes (or nx, ny, nz), dof=1                     27 neighbours in a grid, full dof x dof blocks
 *   cantilever nodes (or nx, ny, nz), dof=1, 3 or 6,            stiffness of a box of hexahedra, clamped where x = 0:
 *              vary=1, clamp=on                                 generate/cantilever.h
 *   water      n, repeat=1, size=6, matrix=k, cutoff=10,        n^3 molecules, a block each (generate/water.c): a
 *              coupling=1, level=.44                            Hamiltonian in an orthogonal basis (k) or not (h),
 *                                                               overlaps (s); coupling is a factor of the blocks off
 *                                                               the diagonal, level the lowest virtual one: the gap
 *   blocks     n, size=6, pattern=random, degree=8, width=4     n x n dense blocks, of which each is there with
 *                                                               probability degree / n (random), or all within width
 *                                                               of the diagonal (band), or the diagonal
 *   tightbinding  n (or nx, ny=1, nz=1), orbitals=1, hop=-1,    a chain or grid of sites, orbital k at level + k split,
 *              level=0, split=1, periodic=on                    hop to the same orbital of neighbours: eigenvalues
 *                                                               level + k split + 2 hop sum cos(2 pi i / n), over
 *                                                               directions of more than one site (periodic)
 *   cantilever-load  the same                                   the load on its other end, one column
 *   stencil2d  n (or nx, ny), points=5 or 9                     x runs fastest
 *   stencil3d  n (or nx, ny, nz), points=7, 15 or 27            15: the seven and the corners of the cube
 *   band       n, lower=1, upper=lower                          every entry of the band
 *   circuit    n, degree=4, dense=4, width=n/64                 diagonal, `dense` full rows and columns, and about
 *                                                               `degree` neighbours a row within `width`; symmetric
 *   nlpkkt     n                                                optimality system of n^3 points, 6 n^2 controls: n =
 *                                                               80, 120, 160, 200, 240 have the rows and entries of the
 *                                                               matrices of that name; its diagonal is not full
 *   delaunay   n (or nx, ny), block=8, shuffle=.645             triangulated lattice, 7 entries a row
 *   shell      n (or nx, ny), block=16, shuffle=.63, dof=6      lattice of quadrilaterals, 9 full blocks a row
 *   road       n (or nx, ny), block=4, shuffle=.38, degree=2.8, lattice of which a share of the edges is kept, each
 *              pieces=0                                         with so many points on it
 *   powergrid  n (or nx, ny), block=8, shuffle=.645,            Jacobian of a transmission network of n x n buses of
 *              degree=2.8, far=.03, order=split                 mean degree `degree`: P and Q against angle and
 *                                                               magnitude, all angles first or (order=paired) by bus
 *   nedelec    nodes (or nx, ny, nz), cell=tetrahedron,         edge elements of a box: an unknown an edge, coupled
 * with block=32, order=node                             those of its cells (also hexahedron, triangle, quadrilateral):
 * nedelec.c web        n, host=512, links=1, copy=.5, local=.8,         pages of hosts of up to so many: the diagonal,
 * the page split=.73                                        before, 0 .. 2 links others, copied or not cliques    n,
 * size=64, degree=4.7, block=1536, chain=.05    two cliques a row dense      m, n (or n) full
 *
 * In delaunay, shell, road and powergrid the share `shuffle` of the tiles of block x block points
 * is in random order (lattice.c). The first three, web and cliques, circuit and stencil3d with 15
 * points stand for the matrices of the paper on zero-copy triangular solves: doc/inputs.md has
 * which, and how they compare.
 *
 * All take seed=1 and values=, one of
 *   random   uniform in [-1, 1), from (seed, row, column)
 *   ones     1
 *   integer  -4 .. 4 without 0, so that sums are exact
 *   laplace  stencils: minus the Laplacian, zero outside the grid; `anisotropy` weighs the last direction (5 and 7
 *            points), `shift` is added to the diagonal
 *   spd      symmetric patterns: symmetric and strictly diagonally dominant
 *   elements cantilevers: assembled from elements; water: of molecules and pairs of them;
 *            tightbinding: of sites and bonds
 * with laplace for stencils, spd for fem, delaunay, shell, road, nedelec and cliques, elements for cantilevers,
 * water and tightbinding, random for the rest where nothing is said. An f32 value is its f64 value with fewer bits.
 * Nothing depends on the machine's mathematical library.
 */
#ifndef TULLE_IO_GENERATE_H
#define TULLE_IO_GENERATE_H

#include <stdint.h>

#include <tulle/types.h>

typedef struct tulle__generator tulle__generator;

/*
 * TULLE_ERR_ARG, with the nearest word, for an unknown name or key and for a value out of its
 * range.
 */
tulle_status tulle__generator_open(const char *text, tulle__generator **generator);
void tulle__generator_close(tulle__generator *generator);

/* 1 if text starts with the name of a generator: tells a spec from a file's name. */
int tulle__generator_known(const char *text);

/* For help: name and sentence of generator i = 0, 1, ...; NULL past the last. */
const char *tulle__generator_name(int i, const char **sentence);

typedef struct tulle__generator_shape {
    int64_t m, n;
    int64_t nnz;      /* exact; -1 if only generating the matrix tells */
    int64_t expected; /* nnz, or an estimate that is rather too high */
    int64_t edges;    /* number of drawn edges, repeats included, of a matrix drawn edge by edge (rmat); else 0 */
    int is_dense;
    int block; /* size of its dense blocks; 0: it has none */
} tulle__generator_shape;

void tulle__generator_get_shape(const tulle__generator *generator, tulle__generator_shape *shape);

/*
 * Draws edges e0 .. e1 - 1 (rmat): row[e - e0], col[e - e0]. The matrix is the set of distinct
 * edges: the caller removes repeats, wherever they were drawn, and then asks for the values.
 */
tulle_status tulle__generator_edges(
    const tulle__generator *generator, int64_t e0, int64_t e1, int64_t *row, int64_t *col);

/* val[i] = the value at (row[i], col[i]) if the matrix has an entry there, i < count. */
void tulle__generator_values(const tulle__generator *generator, int64_t count, const int64_t *row, const int64_t *col,
    tulle_type type, void *val);

/*
 * Generates the rectangle of rows r0 .. r1 - 1, columns c0 .. c1 - 1 as CSR with local indices:
 * (*rowptr)[0 .. r1 - r0] from 0, *colind ascending from c0, *val; the caller frees each with
 * tulle__free. TULLE_ERR_OVERFLOW above INT32_MAX columns. The time is proportional to the rows' entries: er, fem,
 * stencil, nlpkkt, delaunay, shell, road, powergrid, nedelec, web, cliques and band generate whole
 * rows, dense and the full rows of circuit only the required part.
 * rmat draws all edges for every tile, as an edge's counter does not reveal its position. To share
 * that work, distribute the edges and send each to its owner.
 */
tulle_status tulle__generator_tile(const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, int64_t **rowptr, int32_t **colind, void **val, int64_t *nnz);

/*
 * True if the following two functions can generate rows of this kind, without memory of their own
 * and at memory speed: cantilevers' and water's. count: row lengths within c0 .. c1 - 1 into rowptr (r1 - r0
 * + 1, from 0). fill: their entries, those of row r0 from rowptr[0] on, possibly in the middle of a
 * larger tile; colind and val point to index 0.
 */
int tulle__generator_counts(const tulle__generator *generator);
void tulle__generator_count(
    const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1, int64_t *rowptr);
void tulle__generator_put(const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, const int64_t *rowptr, int32_t *colind, void *val);

/*
 * Element (r, c) of a rectangle of a dense generator into val[(r - r0) * row_stride + (c - c0) *
 * col_stride].
 */
tulle_status tulle__generator_fill(const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, void *val, int64_t row_stride, int64_t col_stride);

#endif
