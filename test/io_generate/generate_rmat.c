/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R-MAT: relabelling is a bijection, the quadrants have their shares, edges are the same in any
 * pieces.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "generated.h"
#include "tap.h"

static void test_rmat(void)
{
    matrix A, B;
    tulle_status status = matrix_init(&A, "rmat:scale=10,edgefactor=8,values=ones", TULLE_F64);
    static const char *const relabelled = "rmat:scale=10,edgefactor=8,values=ones,relabel=on";
    ok(status == TULLE_OK && matrix_init(&B, relabelled, TULLE_F64) == TULLE_OK && A.entries.nnz == B.entries.nnz,
        "relabelling keeps the number of entries, %" PRId64 " of %" PRId64 " edges", A.entries.nnz, A.shape.edges);
    /* pairing the edges' ends gives the map of labels; it must be one, and one to one */
    static int64_t row[2][8192], col[2][8192], map[1024], inverse[1024];
    for (int i = 0; i < 1024; i++) map[i] = inverse[i] = -1;
    int one = tulle__generator_edges(A.g, 0, 8192, row[0], col[0]) == TULLE_OK &&
              tulle__generator_edges(B.g, 0, 8192, row[1], col[1]) == TULLE_OK,
        moved = 0;
    for (int i = 0; one && i < 2 * 8192; i++) {
        int64_t from = i % 2 ? row[0][i / 2] : col[0][i / 2], to = i % 2 ? row[1][i / 2] : col[1][i / 2];
        if (map[from] < 0) map[from] = to;
        if (inverse[to] < 0) inverse[to] = from;
        one = map[from] == to && inverse[to] == from;
        moved += from != to;
    }
    ok(one && moved > 16000, "relabelling is one to one");
    int64_t top = A.rowptr[512], top_relabelled = B.rowptr[512];
    ok(top > A.entries.nnz * 13 / 20 && llabs(2 * top_relabelled - B.entries.nnz) < B.entries.nnz / 2,
        "relabelling spreads the weight: %" PRId64 ", then %" PRId64 " in the upper half", top, top_relabelled);
    matrix_fini(&A);
    matrix_fini(&B);

    /* every label is met: dense edges over small graphs */
    for (int scale = 0; scale <= 8; scale++) {
        char spec[100];
        tulle__generator *g = NULL, *h = NULL;
        snprintf(spec, sizeof spec, "rmat:scale=%d,edgefactor=64,a=0.25,b=0.25,c=0.25,d=0.25", scale);
        status = tulle__generator_open(spec, &g);
        strcat(spec, ",relabel=on");
        if (status == TULLE_OK) status = tulle__generator_open(spec, &h);
        int64_t count = (int64_t)64 << scale, *r = malloc(4 * (size_t)count * sizeof *r), hit[256] = {0}, from[256];
        one = r && status == TULLE_OK && tulle__generator_edges(g, 0, count, r, r + count) == TULLE_OK &&
              tulle__generator_edges(h, 0, count, r + 2 * count, r + 3 * count) == TULLE_OK;
        for (int64_t i = 0; one && i < 2 * count; i++) {
            int64_t to = r[2 * count + i];
            if (hit[to]++ == 0) from[to] = r[i];
            one = from[to] == r[i];
        }
        for (int64_t i = 0; one && i < (int64_t)1 << scale; i++) one = hit[i] > 0;
        ok(one, "relabelling of 2^%d is a bijection", scale);
        free(r);
        tulle__generator_close(g);
        tulle__generator_close(h);
    }
    /* shares of the quadrants at the first level */
    ok(matrix_init(&A, "rmat:scale=12", TULLE_F64) == TULLE_OK, "rmat");
    static int64_t er[32768], ec[32768];
    int64_t quadrant[4] = {0};
    static const double share[] = {.57, .19, .19, .05};
    ok(tulle__generator_edges(A.g, 0, 32768, er, ec) == TULLE_OK, "edges");
    for (int i = 0; i < 32768; i++) quadrant[2 * (er[i] >> 11) + (ec[i] >> 11)]++;
    for (int q = 0; q < 4; q++)
        ok(fabs((double)quadrant[q] / 32768 - share[q]) < 0.02, "quadrant %d has %.3f", q, (double)quadrant[q] / 32768);
    static int64_t pr[32768], pc[32768];
    int same = 1;
    for (int64_t e = 0; e < 32768; e += 4099) {
        int64_t end = e + 4099 < 32768 ? e + 4099 : 32768;
        same = same && tulle__generator_edges(A.g, e, end, pr + e, pc + e) == TULLE_OK;
    }
    ok(same && !memcmp(pr, er, sizeof pr) && !memcmp(pc, ec, sizeof pc), "edges in pieces");
    matrix_fini(&A);
}

int main(void)
{
    test_rmat();
    return tap_done();
}
