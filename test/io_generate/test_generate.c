/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic matrices. Argument: which part to run (pattern, parts, specs, memory, speed); all
 * without one.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "generated.h"
#include "tap.h"

static const char *const everything[] = {"rmat:scale=9,edgefactor=8", "rmat:scale=8,edgefactor=40,relabel=on,seed=7",
    "rmat:scale=7,noise=0.1,values=integer", "rmat:scale=0,edgefactor=5", "rmat:scale=1", "rmat:scale=6,edgefactor=0",
    "er:n=700,degree=8", "er:m=300,n=90,degree=2.5", "er:n=40,degree=40", "er:n=50,degree=0", "er:m=0,n=5",
    "er:m=5,n=0,degree=0", "fem:nodes=5,dof=3", "fem:nx=2,ny=7,nz=1,dof=2,values=random", "stencil2d:n=17",
    "stencil2d:nx=1,ny=9", "stencil2d:nx=31,ny=9,points=9", "stencil3d:n=7", "stencil3d:nx=3,ny=1,nz=8,points=27",
    "stencil3d:n=5,anisotropy=10,shift=-1", "band:n=60,lower=3,upper=9", "band:n=4,lower=100", "band:n=0",
    "circuit:n=400,degree=5,dense=3", "circuit:n=300,degree=2.5,dense=0,values=spd", "circuit:n=1",
    "circuit:n=3,dense=3", "nlpkkt:n=1", "nlpkkt:n=2", "nlpkkt:n=5,values=integer", "dense:m=20,n=33",
    "stencil3d:n=6,points=15", "delaunay:n=20", "delaunay:nx=1,ny=30,block=7,shuffle=1",
    "delaunay:nx=33,ny=2,shuffle=0", "shell:n=11,block=4,dof=2", "shell:nx=5,ny=3,block=100,shuffle=1", "road:n=21",
    "road:nx=9,ny=14,pieces=3,block=5,shuffle=1", "road:nx=1,ny=1,degree=4,pieces=2", "road:n=8,degree=0",
    "road:n=13,block=3,degree=3.3,pieces=1,shuffle=.5", "web:n=700", "web:n=300,host=37,links=7,copy=.9,local=.3",
    "web:n=50,links=0", "web:n=1,links=3", "cliques:n=900,block=192", "cliques:n=300,size=16,degree=9,block=50,chain=1",
    "cliques:n=1", "cliques:n=90,size=2,degree=0,chain=0", "dense:n=12,values=spd", "dense:m=0,n=4",
    "er:n=100,values=ones", "er:n=100,values=integer", "cantilever:nodes=3,dof=3,vary=7", "cantilever:nx=2,ny=4,nz=3",
    "cantilever:nx=3,ny=2,nz=2,dof=6,clamp=off", "cantilever:nodes=3,dof=3,values=spd", "cantilever-load:nodes=3,dof=3",
    "powergrid:n=17", "powergrid:nx=1,ny=9,order=paired,far=.5,seed=4", "powergrid:n=1",
    "powergrid:nx=6,ny=11,degree=6,far=1,shuffle=0", "nedelec:nodes=4", "nedelec:nx=2,ny=5,nz=3,cell=hexahedron",
    "nedelec:nodes=9,cell=triangle,order=direction", "nedelec:nodes=6,cell=quadrilateral,block=1",
    "nedelec:nodes=4,block=7,seed=3,values=integer", "water:n=1", "water:n=2,repeat=2,size=7,cutoff=6", "water:n=3",
    "water:n=5,cutoff=0,matrix=s", "water:n=4,cutoff=5,values=integer", "blocks:n=30,size=3", "blocks:n=0",
    "blocks:n=9,degree=9,size=1", "blocks:n=9,degree=0", "blocks:n=12,size=4,pattern=band,width=2",
    "blocks:n=3,pattern=band,width=9,values=spd", "blocks:n=7,size=5,pattern=diagonal", "tightbinding:n=1",
    "tightbinding:n=2", "tightbinding:n=9,orbitals=3", "tightbinding:nx=2,ny=3,nz=4,orbitals=2,split=.5",
    "tightbinding:nx=5,ny=2,periodic=off,hop=2,level=1"};
enum { EVERYTHING = sizeof everything / sizeof *everything };

static void test_shapes(void)
{
    for (int i = 0; i < EVERYTHING; i++) {
        matrix A;
        tulle_status status = matrix_init(&A, everything[i], TULLE_F64);
        ok(status == TULLE_OK && well_formed(&A), "%s: %s, sorted, within %" PRId64 " x %" PRId64, everything[i],
            tulle_status_name(status), A.shape.m, A.shape.n);
        matrix_fini(&A);
    }
}

/* Counts by going through all pairs of points of a grid. */
static int64_t count_neighbours(int64_t nx, int64_t ny, int64_t nz, int reach)
{
    int64_t count = 0, points = nx * ny * nz;
    for (int64_t p = 0; p < points; p++)
        for (int64_t q = 0; q < points; q++) {
            int64_t dx = llabs(p % nx - q % nx), dy = llabs(p / nx % ny - q / nx % ny),
                    dz = llabs(p / nx / ny - q / nx / ny);
            count += dx <= 1 && dy <= 1 && dz <= 1 && dx + dy + dz <= reach;
        }
    return count;
}

static void test_formulas(void)
{
    static const int nodes[] = {1, 2, 3, 5, 8}, dofs[] = {1, 3, 6};
    char spec[100];
    matrix A;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++) {
            snprintf(spec, sizeof spec, "fem:nodes=%d,dof=%d", nodes[i], dofs[k]);
            tulle_status status = matrix_init(&A, spec, TULLE_F64);
            int64_t line = 3 * nodes[i] - 2, nnz = line * line * line * dofs[k] * dofs[k];
            ok(status == TULLE_OK && A.shape.nnz == nnz && A.entries.nnz == nnz && dominant(&A), "%s: %" PRId64, spec,
                nnz);
            matrix_fini(&A);
        }
    static const struct {
        int nx, ny, nz, points, reach;
    } grids[] = {{1, 1, 1, 5, 1}, {7, 1, 1, 5, 1}, {1, 6, 1, 9, 2}, {8, 5, 1, 5, 1}, {8, 5, 1, 9, 2}, {2, 2, 2, 7, 1},
        {5, 4, 3, 7, 1}, {5, 4, 3, 27, 3}, {1, 1, 4, 27, 3}, {1, 5, 2, 7, 1}};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        int flat = grids[i].points == 5 || grids[i].points == 9;
        if (flat)
            snprintf(spec, sizeof spec, "stencil2d:nx=%d,ny=%d,points=%d", grids[i].nx, grids[i].ny, grids[i].points);
        else
            snprintf(spec, sizeof spec, "stencil3d:nx=%d,ny=%d,nz=%d,points=%d", grids[i].nx, grids[i].ny, grids[i].nz,
                grids[i].points);
        int64_t nnz = count_neighbours(grids[i].nx, grids[i].ny, grids[i].nz, grids[i].reach);
        tulle_status status = matrix_init(&A, spec, TULLE_F64);
        ok(status == TULLE_OK && A.shape.nnz == nnz && A.entries.nnz == nnz, "%s: %" PRId64, spec, nnz);
        matrix_fini(&A);
    }
}

/* The star of seven points and the corners: boxes of which all three places differ. */
static void test_corners(void)
{
    matrix A;
    tulle_status status = matrix_init(&A, "stencil3d:nx=5,ny=4,nz=3,points=15", TULLE_F64);
    int64_t nnz = count_neighbours(5, 4, 3, 1) + count_neighbours(5, 4, 3, 3) - count_neighbours(5, 4, 3, 2);
    ok(status == TULLE_OK && A.entries.nnz == nnz && entry(&A, 27, 27) == 14 && entry(&A, 27, 1) == -1 &&
            isnan(entry(&A, 27, 2)) && symmetric(&A),
        "15 points: %" PRId64 " entries", nnz);
    matrix_fini(&A);
}

static void test_values(void)
{
    matrix A;
    ok(matrix_init(&A, "stencil2d:nx=4,ny=3,anisotropy=5,shift=0.5", TULLE_F64) == TULLE_OK &&
            entry(&A, 5, 5) == 12.5 && entry(&A, 5, 4) == -1 && entry(&A, 5, 6) == -1 && entry(&A, 5, 1) == -5 &&
            entry(&A, 5, 9) == -5 && isnan(entry(&A, 5, 0)) && isnan(entry(&A, 3, 4)),
        "an anisotropic Laplacian");
    matrix_fini(&A);
    ok(matrix_init(&A, "stencil3d:n=3,points=27", TULLE_F64) == TULLE_OK && entry(&A, 13, 13) == 26 &&
            entry(&A, 13, 0) == -1 && symmetric(&A),
        "27 points");
    matrix_fini(&A);
    static const char *const definite[] = {"fem:nodes=4,dof=2", "band:n=30,lower=4,values=spd",
        "circuit:n=200,dense=3,values=spd", "delaunay:n=15", "shell:n=7,block=3,dof=2", "road:n=12,pieces=2,shuffle=1",
        "road:n=15", "cliques:n=400,block=128,chain=1", "stencil3d:n=4,points=15,values=spd",
        "stencil3d:n=4,values=spd", "dense:n=9,values=spd"};
    for (size_t i = 0; i < sizeof definite / sizeof *definite; i++) {
        ok(matrix_init(&A, definite[i], TULLE_F64) == TULLE_OK && symmetric(&A) && dominant(&A), "%s is definite",
            definite[i]);
        matrix_fini(&A);
    }
    ok(matrix_init(&A, "circuit:n=300,degree=6,dense=4,values=ones", TULLE_F64) == TULLE_OK && symmetric(&A),
        "circuit");
    int full = 0;
    for (int64_t r = 0; r < 300; r++) full += A.rowptr[r + 1] - A.rowptr[r] == 300;
    int64_t local = A.entries.nnz - (2 * 4 * 300 - 16) - (300 - 4); /* less full rows and columns, and the diagonal */
    ok(full == 4 && local > 1400 && local < 1900, "4 full rows, %" PRId64 " neighbours of about 1700", local);
    matrix_fini(&A);

    matrix B;
    int same = matrix_init(&A, "er:n=2000,degree=9", TULLE_F64) == TULLE_OK &&
               matrix_init(&B, "er:n=2000,degree=9", TULLE_F32) == TULLE_OK && A.entries.nnz == B.entries.nnz;
    double sum = 0, square = 0;
    for (int64_t i = 0; same && i < A.entries.nnz; i++) {
        double x = ((const double *)A.entries.val)[i], y = (double)((const float *)B.entries.val)[i];
        same = A.entries.colind[i] == B.entries.colind[i] && x >= y && x - y < 0x1p-23 && x >= -1 && x < 1;
        sum += x;
        square += x * x;
    }
    ok(same, "f32 values are f64 values rounded down");
    int64_t nnz = A.entries.nnz;
    ok(llabs(nnz - 18000) < 6 * 135, "%" PRId64 " entries of about 18000", nnz);
    ok(fabs(sum) < 6 * sqrt((double)nnz / 3) && fabs(square / (double)nnz - 1. / 3) < 0.02, "values spread evenly");
    double variance = 0;
    int64_t column[2000] = {0}, least = 100, most = 0;
    for (int64_t r = 0; r < 2000; r++) variance += pow((double)(A.rowptr[r + 1] - A.rowptr[r]) - 9, 2) / 2000;
    for (int64_t i = 0; i < nnz; i++) column[A.entries.colind[i]]++;
    for (int c = 0; c < 2000; c++) {
        least = column[c] < least ? column[c] : least;
        most = column[c] > most ? column[c] : most;
    }
    ok(variance > 7.8 && variance < 10.2, "a row's count has variance %.2f (binomial: 8.96)", variance);
    ok(most < 30 && column[0] > 0 && column[1999] > 0, "columns hold %" PRId64 " to %" PRId64, least, most);
    matrix_fini(&A);
    matrix_fini(&B);
    ok(matrix_init(&A, "rmat:scale=8,values=integer", TULLE_F32) == TULLE_OK, "integers");
    int whole = 1, seen[9] = {0};
    for (int64_t i = 0; i < A.entries.nnz; i++) {
        float x = ((const float *)A.entries.val)[i];
        whole = whole && x >= -4 && x <= 4 && x == truncf(x);
        if (whole) seen[(int)x + 4]++;
    }
    for (int i = 0; i < 9; i++) whole = whole && (seen[i] > 0) == (i != 4);
    ok(whole, "integers are -4 .. 4 without 0");
    matrix_fini(&A);
}

/* FNV-1a over the matrix: what one machine and compiler makes, another must. */
static uint64_t fingerprint(const matrix *A)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const unsigned char *col = (const unsigned char *)A->entries.colind, *val = A->entries.val;
    for (size_t i = 0; i < (size_t)A->entries.nnz * 8; i++) hash = ((hash ^ col[i]) * 0x100000001b3u ^ val[i]) * 31;
    return hash;
}

static void test_fingerprints(void)
{
    static const struct {
        const char *spec;
        uint64_t hash;
    } known[] = {{"rmat:scale=12,relabel=on,noise=0.05", 0x075aad38ae6b9e22u},
        {"er:n=3000,degree=7.5", 0xfe05481c26312052u}, {"circuit:n=1000,degree=5", 0xe5b1d18fc45838e1u},
        {"fem:nodes=6,dof=2,seed=5", 0x668581851992f685u}, {"stencil3d:n=9,points=27", 0xe2abe63280e14c3bu},
        {"dense:m=100,n=30,values=integer", 0xc3e61429aa2270fcu}, {"delaunay:n=50", 0x8a7f10c58cc981e6u},
        {"shell:n=20,dof=2", 0x6d75f56738f089c9u}, {"road:n=40,pieces=2", 0x2eb12049259478cdu},
        {"web:n=3000", 0x62c236129b83d43du}, {"cliques:n=4000", 0xc14bf85b32425571u},
        {"powergrid:n=30", 0xea1d3b3df5ff320fu}, {"nedelec:nodes=7", 0x3c3ad67a7f49ebb0u},
        {"water:n=3,repeat=2,cutoff=7", 0xe30cc656115d953du}, {"blocks:n=50,size=4", 0xcaf43288d3c513c6u}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        matrix A;
        tulle_status status = matrix_init(&A, known[i].spec, TULLE_F64);
        uint64_t hash = fingerprint(&A);
        ok(status == TULLE_OK && hash == known[i].hash, "%s is what it always was: %016" PRIx64, known[i].spec, hash);
        matrix_fini(&A);
    }
}

static void test_seeds(void)
{
    static const char *const random[] = {"rmat:scale=8", "er:n=300", "circuit:n=300", "dense:n=10", "fem:nodes=3",
        "delaunay:n=20", "shell:n=9", "road:n=20", "web:n=300", "cliques:n=300", "cantilever:nodes=4,vary=2",
        "powergrid:n=20", "nedelec:nodes=5", "water:n=2", "blocks:n=40"};
    for (size_t i = 0; i < sizeof random / sizeof *random; i++) {
        char spec[100];
        matrix A[3];
        int good = 1;
        for (int k = 0; k < 3; k++) {
            snprintf(spec, sizeof spec, "%s,seed=%d", random[i], k < 2 ? 1 : 2);
            good = matrix_init(&A[k], k ? spec : random[i], TULLE_F64) == TULLE_OK && good;
        }
        size_t bytes = (size_t)A[0].entries.nnz * sizeof(double);
        good = good && A[0].entries.nnz == A[1].entries.nnz && !memcmp(A[0].entries.val, A[1].entries.val, bytes);
        ok(good, "%s: the seed is 1 unless said", random[i]);
        ok(A[0].entries.nnz != A[2].entries.nnz || memcmp(A[0].entries.val, A[2].entries.val, bytes),
            "%s: seeds differ", random[i]);
        for (int k = 0; k < 3; k++) matrix_fini(&A[k]);
    }
}

/* The whole matrix, cut into pieces of rows. */
static int rows_agree(const matrix *A, int pieces, tulle_type type)
{
    size_t size = tulle_type_size(type);
    entries part = {0};
    int64_t *rowptr = malloc(((size_t)A->shape.m + 1) * sizeof *rowptr);
    int same = 1;
    for (int i = 0; same && i < pieces; i++) {
        int64_t r0 = A->shape.m * i / pieces, r1 = A->shape.m * (i + 1) / pieces, first = A->rowptr[r0];
        same = generate_rows(A->g, r0, r1, type, rowptr, &part) == TULLE_OK && part.nnz == A->rowptr[r1] - first &&
               part.nnz == rowptr[r1 - r0];
        for (int64_t r = r0; same && r <= r1; r++) same = rowptr[r - r0] == A->rowptr[r] - first;
        if (same && part.nnz > 0)
            same = !memcmp(part.colind, A->entries.colind + first, (size_t)part.nnz * sizeof *part.colind) &&
                   !memcmp(part.val, (const char *)A->entries.val + (size_t)first * size, (size_t)part.nnz * size);
    }
    entries_fini(&part);
    free(rowptr);
    return same;
}

/* The whole matrix, cut into tiles; every row is walked through along the tiles. */
static int tiles_agree(const matrix *A, int down, int across, tulle_type type)
{
    size_t size = tulle_type_size(type);
    int same = 1;
    for (int i = 0; same && i < down; i++) {
        int64_t r0 = A->shape.m * i / down, r1 = A->shape.m * (i + 1) / down, seen = 0;
        for (int k = 0; same && k < across; k++) {
            int64_t c0 = A->shape.n * k / across, c1 = A->shape.n * (k + 1) / across, nnz = -1, *rowptr = NULL;
            int32_t *colind = NULL;
            void *val = NULL;
            same = tulle__generator_tile(A->g, r0, r1, c0, c1, type, &rowptr, &colind, &val, &nnz) == TULLE_OK &&
                   rowptr[0] == 0 && rowptr[r1 - r0] == nnz;
            for (int64_t r = r0; same && r < r1; r++) {
                int64_t at = A->rowptr[r];
                while (at < A->rowptr[r + 1] && A->entries.colind[at] < c0) at++;
                for (int64_t e = rowptr[r - r0]; same && e < rowptr[r - r0 + 1]; e++, at++)
                    same = at < A->rowptr[r + 1] && A->entries.colind[at] == c0 + colind[e] && colind[e] < c1 - c0 &&
                           !memcmp((const char *)val + (size_t)e * size,
                               (const char *)A->entries.val + (size_t)at * size, size);
            }
            seen += nnz;
            tulle__free(rowptr);
            tulle__free(colind);
            tulle__free(val);
        }
        same = same && seen == A->rowptr[r1] - A->rowptr[r0];
    }
    return same;
}

static void test_parts(void)
{
    for (int i = 0; i < EVERYTHING; i++) {
        tulle_type type = i % 2 ? TULLE_F32 : TULLE_F64;
        matrix A;
        if (!ok(matrix_init(&A, everything[i], type) == TULLE_OK, "%s", everything[i])) continue;
        int rows = 1, tiles = 1;
        for (int pieces = 1; pieces <= 7; pieces++) rows = rows_agree(&A, pieces, type) && rows;
        for (int down = 1; down <= 5; down += 2)
            for (int across = 1; across <= 7; across += 3) tiles = tiles_agree(&A, down, across, type) && tiles;
        ok(rows, "%s in 1 to 7 row ranges", everything[i]);
        ok(tiles, "%s in tiles", everything[i]);
        int64_t nnz = A.entries.nnz;
        int64_t *row = malloc(((size_t)nnz + 1) * sizeof *row);
        double *val = malloc(((size_t)nnz + 1) * sizeof *val);
        for (int64_t r = 0; r < A.shape.m; r++)
            for (int64_t e = A.rowptr[r]; e < A.rowptr[r + 1]; e++) row[e] = r;
        tulle__generator_values(A.g, nnz, row, A.entries.colind, type, val);
        ok(nnz == 0 || !memcmp(val, A.entries.val, (size_t)nnz * tulle_type_size(type)), "%s: values by place",
            everything[i]);
        free(row);
        free(val);
        matrix_fini(&A);
    }
    /* one object for rows, then for rows of another type */
    matrix A;
    ok(matrix_init(&A, "er:n=200", TULLE_F32) == TULLE_OK &&
            generate_rows(A.g, 0, 200, TULLE_F64, A.rowptr, &A.entries) == TULLE_OK && well_formed(&A) &&
            rows_agree(&A, 3, TULLE_F64),
        "the lists serve another type");
    matrix_fini(&A);
}

static void test_fill(void)
{
    matrix A;
    double rows[3 * 7], columns[3 * 7];
    float single[3 * 7];
    int same = matrix_init(&A, "dense:m=9,n=11", TULLE_F64) == TULLE_OK &&
               tulle__generator_fill(A.g, 2, 5, 3, 10, TULLE_F64, rows, 7, 1) == TULLE_OK &&
               tulle__generator_fill(A.g, 2, 5, 3, 10, TULLE_F64, columns, 1, 3) == TULLE_OK &&
               tulle__generator_fill(A.g, 2, 5, 3, 10, TULLE_F32, single, 7, 1) == TULLE_OK;
    for (int r = 0; same && r < 3; r++)
        for (int c = 0; same && c < 7; c++) {
            double x = entry(&A, r + 2, c + 3);
            same = rows[r * 7 + c] == x && columns[c * 3 + r] == x && fabs(x - (double)single[r * 7 + c]) < 0x1p-23;
        }
    ok(same && A.shape.is_dense, "a rectangle of a dense matrix, both orders, both types");
    ok(tulle__generator_fill(A.g, 0, 10, 0, 1, TULLE_F64, rows, 1, 1) == TULLE_ERR_ARG, "%s", tulle_error_message());
    ok(tulle__generator_edges(A.g, 0, 1, NULL, NULL) == TULLE_ERR_ARG, "%s", tulle_error_message());
    matrix_fini(&A);
    ok(matrix_init(&A, "er:n=20", TULLE_F64) == TULLE_OK &&
            tulle__generator_fill(A.g, 0, 1, 0, 1, TULLE_F64, rows, 1, 1) == TULLE_ERR_ARG,
        "%s", tulle_error_message());
    ok(generate_rows(A.g, 3, 2, TULLE_F64, A.rowptr, &A.entries) == TULLE_ERR_ARG, "%s", tulle_error_message());
    ok(generate_rows(A.g, -1, 2, TULLE_F64, A.rowptr, &A.entries) == TULLE_ERR_ARG, "%s", tulle_error_message());
    matrix_fini(&A);
    tulle__generator *g = NULL;
    int64_t *rowptr = NULL, nnz = 0;
    int32_t *colind = NULL;
    void *val = NULL;
    ok(tulle__generator_open("er:n=5000000000,degree=3", &g) == TULLE_OK &&
            tulle__generator_tile(g, 0, 1, 0, 5000000000, TULLE_F64, &rowptr, &colind, &val, &nnz) ==
                TULLE_ERR_OVERFLOW &&
            !rowptr && !colind && !val,
        "%s", tulle_error_message());
    ok(tulle__generator_tile(
           g, 4999999000, 5000000000, 4000000000, 5000000000, TULLE_F64, &rowptr, &colind, &val, &nnz) == TULLE_OK &&
            nnz > 400 && nnz < 800,
        "a tile far out has %" PRId64 " entries of about 600", nnz);
    tulle__free(rowptr);
    tulle__free(colind);
    tulle__free(val);
    tulle__generator_close(g);
}

static void test_specs(void)
{
    static const struct {
        const char *spec, *message;
    } bad[] = {
        {"rmta:scale=3", "did you mean 'rmat'"},
        {"", "no name"},
        {"matrix.mtx", "unknown generator 'matrix.mtx'; there are rmat, "},
        {"rmat", "needs scale"},
        {"rmat:scale=48", "outside"},
        {"rmat:scale=-1", "outside"},
        {"rmat:scale=x", "not a whole number"},
        {"rmat:scale", "needs a value"},
        {"rmat:scael=8", "did you mean 'scale'"},
        {"rmat:scale=8,edgefactor=-1", "outside"},
        {"rmat:scale=8,a=0.6", "is 1.03, not 1"},
        {"rmat:scale=8,noise=0.3", "noise"},
        {"rmat:scale=8,relabel=yes", "on or off"},
        {"rmat:scale=8,seed=0.5", "seed"},
        {"rmat:scale=8,values=spd", "symmetric"},
        {"rmat:scale=8,values=laplace", "stencils"},
        {"rmat:scale=8,values=randon", "did you mean 'random'"},
        {"rmat:scale=8+er:n=4", "one part"},
        {"rmat:scale=8,scale=9", "twice"},
        {"er:degree=4", "needs n"},
        {"er:n=4,degree=5", "over the 4 columns"},
        {"er:n=4,degre=2", "did you mean 'degree'"},
        {"er:n=0,degree=1", "over the 0 columns"},
        {"fem:nodes=0", "outside"},
        {"fem:dof=3", "needs nodes, or nx, ny, nz"},
        {"fem:nodes=4,dof=65", "outside"},
        {"fem:nodes=100000000", "over the limit"},
        {"fem:nodes=4,values=elements", "for cantilevers"},
        {"cantilever:dof=3", "needs nodes, or nx, ny, nz"},
        {"cantilever:nodes=1", "outside"},
        {"cantilever:nodes=4,dof=2", "dof=1, 3 or 6, not 2"},
        {"cantilever:nodes=4,vary=0.5", "outside"},
        {"cantilever:nodes=4,clamp=yes", "on or off"},
        {"cantilever:nodes=100000", "over the limit"},
        {"cantilever-load:nodes=4,dof=5", "dof=1, 3 or 6, not 5"},
        {"stencil2d:n=4,points=7", "points=5 or 9, not 7"},
        {"stencil2d:n=4,nz=4", "no key 'nz'"},
        {"stencil2d:nx=4", "needs n, or nx, ny"},
        {"stencil2d:n=4,points=9,anisotropy=2", "anisotropy"},
        {"stencil3d:n=4,points=9", "points=7, 15 or 27, not 9"},
        {"stencil3d:nx=4,ny=3", "needs n, or nx, ny, nz"},
        {"stencil3d:n=4,points=15,anisotropy=2", "anisotropy"},
        {"stencil2d:n=4,points=15", "points=5 or 9, not 15"},
        {"delaunay:block=3", "needs n, or nx, ny"},
        {"delaunay:nx=3", "needs n, or nx, ny"},
        {"delaunay:n=4,block=0", "outside"},
        {"delaunay:n=4,shuffle=1.1", "outside"},
        {"delaunay:n=4,dof=2", "no key 'dof'"},
        {"delaunay:n=100000000", "over the limit"},
        {"shell:n=4,dof=65", "outside"},
        {"road:n=4,degree=5", "outside"},
        {"road:n=4,pieces=2000", "outside"},
        {"road:n=4,peices=2", "did you mean 'pieces'"},
        {"rode:n=4", "did you mean 'road'"},
        {"web:links=2", "needs n"},
        {"web:n=10,host=0", "outside"},
        {"web:n=10,copy=2", "outside"},
        {"web:n=10,values=spd", "symmetric"},
        {"cliques:size=4", "needs n"},
        {"cliques:n=10,size=48", "no power of two"},
        {"cliques:n=10,size=4,degree=7", "outside"},
        {"cliques:n=10,chain=-1", "outside"},
        {"cliques:n=10,values=laplace", "stencils"},
        {"band:lower=3", "needs n"},
        {"band:n=10,lower=1,upper=2,values=spd", "symmetric"},
        {"band:n=200000000000000,lower=100000000000000", "over the limit"},
        {"circuit:degree=4", "needs n"},
        {"circuit:n=3,dense=4", "outside"},
        {"nlpkkt", "needs n"},
        {"nlpkkt:n=0", "outside"},
        {"nlpkkt:n=40000", "outside"},
        {"nlpkkt:n=3,values=spd", "symmetric"},
        {"water:size=6", "needs n"},
        {"water:n=0", "outside"},
        {"water:n=4,size=4", "outside"},
        {"water:n=4,cutoff=30", "outside"},
        {"water:n=16000,repeat=2", "over the limit"},
        {"water:n=4,matrix=p", "matrix of water"},
        {"water:n=4,values=laplace", "stencils"},
        {"blocks:size=3", "needs n"},
        {"blocks:n=4,pattern=grid", "pattern of blocks"},
        {"blocks:n=4,degree=5", "outside"},
        {"blocks:n=4,values=spd", "symmetric"},
        {"blocks:n=4,values=elements", "molecules"},
        {"tightbinding:hop=1", "needs n, or nx, ny, nz"},
        {"tightbinding:nx=1000000,ny=1000000", "over the limit"},
        {"tightbinding:n=4,periodic=yes", "on or off"},
        {"dense:m=4", "needs n"},
        {"dense:m=200000000000000,n=200000000000000", "over the limit"},
        {"dense:m=3,n=4,values=spd", "symmetric"},
    };
    int64_t blocks = tulle__account_blocks(tulle__account_current());
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tulle__generator *g = NULL;
        tulle_status status = tulle__generator_open(bad[i].spec, &g);
        ok(status == TULLE_ERR_ARG && !g && strstr(tulle_error_message(), bad[i].message), "'%s': %s, %s", bad[i].spec,
            tulle_status_name(status), tulle_error_message());
    }
    ok(tulle__account_blocks(tulle__account_current()) == blocks, "nothing is left behind");
    ok(tulle__generator_known("rmat:scale=3") && tulle__generator_known("dense") &&
            !tulle__generator_known("rmat.mtx") && !tulle__generator_known("") && !tulle__generator_known("er/x:y"),
        "a spec is told from a file's name");
    int kinds = 0, sentences = 1;
    for (const char *sentence = NULL; tulle__generator_name(kinds, &sentence); kinds++)
        sentences = sentences && *sentence;
    ok(kinds == 21 && sentences && !tulle__generator_name(-1, NULL), "%d generators, each with a sentence", kinds);
}

static tulle_status make_tile(const char *spec)
{
    tulle__generator *g = NULL;
    tulle__generator_shape shape;
    int64_t *rowptr = NULL, nnz = 0;
    int32_t *colind = NULL;
    void *val = NULL;
    tulle_status status;
    TULLE_TRY(tulle__generator_open(spec, &g));
    tulle__generator_get_shape(g, &shape);
    TULLE_TRY(tulle__generator_tile(g, 0, shape.m, 0, shape.n, TULLE_F64, &rowptr, &colind, &val, &nnz));
out:
    tulle__free(rowptr);
    tulle__free(colind);
    tulle__free(val);
    tulle__generator_close(g);
    return status;
}

static tulle_status make_rows(const char *spec)
{
    matrix A;
    tulle_status status = matrix_init(&A, spec, TULLE_F64);
    matrix_fini(&A);
    return status;
}

/* Every allocation fails once. */
static void test_memory(void)
{
    tulle__account *account = tulle__account_current();
    int64_t blocks = tulle__account_blocks(account);
    for (int i = 0; i < EVERYTHING; i++)
        for (int rows = 0; rows < 2; rows++) {
            int64_t n = 0, clean = 1;
            tulle_status status = TULLE_ERR_MEMORY;
            for (; n < 1000 && status == TULLE_ERR_MEMORY; n++) {
                tulle__account_fail_after(account, n);
                status = rows ? make_rows(everything[i]) : make_tile(everything[i]);
                tulle__account_fail_after(account, -1);
                clean = clean && tulle__account_blocks(account) == blocks;
            }
            ok(status == TULLE_OK && clean && n > 3, "%s, %s: %" PRId64 " allocations", everything[i],
                rows ? "rows" : "tile", n - 1);
        }
}

/* Seconds are figures for the eye: what is not made row by row does not end with 10^12 rows. */
static void test_speed(void)
{
    static const char *const large[] = {"delaunay:n=512", "shell:n=100", "road:n=512", "road:n=200,pieces=3",
        "web:n=200000", "cliques:n=200000", "powergrid:n=256", "nedelec:nodes=40", "rmat:scale=17,edgefactor=8,seed=1",
        "rmat:scale=17,edgefactor=8,seed=1,relabel=on", "er:n=1000000,degree=8", "fem:nodes=64,dof=1",
        "fem:nodes=40,dof=3", "cantilever:nodes=64", "cantilever:nodes=40,dof=3,vary=2", "cantilever:nodes=32,dof=6",
        "stencil2d:n=1000,points=5", "stencil3d:n=100,points=27", "circuit:n=200000,degree=8,dense=5"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        double start = tulle__clock_seconds();
        tulle_status status = make_tile(large[i]);
        double seconds = tulle__clock_seconds() - start;
        ok(status == TULLE_OK, "%s in %.2f s", large[i], seconds);
    }
    tulle__generator *g = NULL;
    double start = tulle__clock_seconds();
    int fine = tulle__generator_open("er:n=1000000000000,degree=8", &g) == TULLE_OK;
    for (int64_t r = 0; fine && r < 1000; r++) {
        int64_t *rowptr = NULL, nnz = 0;
        int32_t *colind = NULL;
        void *val = NULL;
        fine = tulle__generator_tile(g, r * 1000000, r * 1000000 + 10, r * 1000000, r * 1000000 + INT32_MAX, TULLE_F64,
                   &rowptr, &colind, &val, &nnz) == TULLE_OK;
        tulle__free(rowptr);
        tulle__free(colind);
        tulle__free(val);
    }
    double seconds = tulle__clock_seconds() - start;
    ok(fine, "1000 tiles of 10 rows of a matrix of 10^12 rows in %.4f s", seconds);
    tulle__generator_close(g);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : NULL;
    if (!part || !strcmp(part, "pattern")) {
        test_shapes();
        test_formulas();
        test_corners();
        test_values();
        test_seeds();
        test_fingerprints();
    }
    if (!part || !strcmp(part, "parts")) {
        test_parts();
        test_fill();
    }
    if (!part || !strcmp(part, "specs")) test_specs();
    if (!part || !strcmp(part, "memory")) test_memory();
    if (!part || !strcmp(part, "speed")) test_speed();
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block is left");
    return tap_done();
}
