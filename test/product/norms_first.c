/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under a filter, only blocks with a surviving partner are fetched: their number and bytes against a sweep over all
 * pairs of blocks, and C against that of whole tiles. norms_first SPEC PES.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "body.h"
#include "spec_pes.h"
#include "tap.h"

enum { TILES_MOST = 64 };

struct pictured {
    tulle_fetch *fetch[TILES_MOST];
    tulle_tile tile[TILES_MOST];
};

static tulle_status look(const tulle_mat *A, struct pictured *p)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    const int mt = tulle_layout_tile_rows(l), nt = tulle_layout_tile_cols(l);
    *p = (struct pictured){.fetch = {NULL}};
    for (int t = 0; t < mt * nt; t++) {
        TULLE_TRY(tulle_mat_get_tile(A, t / nt, t % nt, &p->fetch[t]));
        TULLE_TRY(tulle_fetch_wait(p->fetch[t], &p->tile[t]));
    }
out:
    return status;
}

static void look_away(struct pictured *p)
{
    for (int t = 0; t < TILES_MOST; t++) tulle_fetch_free(p->fetch[t]);
}

/* The square of eps / n of a block row, n its blocks of all tiles. */
static double least_of(const struct pictured *p, int nt, int i, int64_t r, double eps, double alpha)
{
    int64_t blocks = 0;
    for (int k = 0; k < nt; k++) {
        const tulle_tile *t = &p->tile[i * nt + k];
        if (t->blocks) blocks += t->rowptr[r + 1] - t->rowptr[r];
    }
    const double share = eps / ((double)(blocks ? blocks : 1) * fabs(alpha));
    return share * share;
}

struct counts {
    int64_t blocks, bytes;
};

/* Blocks of both tiles of a pair, of which `away` says which is remote, without a partner. */
static void count_pair(const struct pictured *p, int nt, int i, int k, int j, const bool away[2], double eps,
    double alpha, struct counts *counts)
{
    const tulle_tile *A = &p->tile[i * nt + k], *B = &p->tile[k * nt + j];
    if (!A->blocks || !B->blocks) return;
    char *of_b = calloc((size_t)B->blocks, 1);
    const int64_t size = (int64_t)tulle_type_size(A->type);
    for (int64_t r = 0; r < A->block_rows; r++) {
        const double least = least_of(p, nt, i, r, eps, alpha);
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
            bool survives = false;
            for (int64_t f = B->rowptr[A->colind[e]]; f < B->rowptr[A->colind[e] + 1]; f++) {
                if (A->norm[e] * B->norm[f] < least) continue;
                survives = true;
                of_b[f] = 1;
            }
            if (survives || !away[0]) continue;
            counts->blocks++;
            counts->bytes += (A->offset[e + 1] - A->offset[e]) * size;
        }
    }
    for (int64_t f = 0; f < B->blocks && away[1]; f++) {
        counts->blocks += !of_b[f];
        counts->bytes += of_b[f] ? 0 : (B->offset[f + 1] - B->offset[f]) * size;
    }
    free(of_b);
}

/* Blocks that stationary C leaves where they are on this PE. */
static void count_all(const tulle_mat *A, const struct pictured *p, double eps, double alpha, struct counts *counts)
{
    const tulle_layout *l = tulle_mat_layout(A);
    const int nt = tulle_layout_tile_cols(l), here = tulle_comm_rank(tulle_mat_comm(A));
    for (int i = 0; i < nt; i++)
        for (int j = 0; j < nt; j++)
            for (int k = 0; k < nt; k++) {
                const bool away[2] = {tulle_layout_owner(l, i, k) != here, tulle_layout_owner(l, k, j) != here};
                if (tulle_layout_owner(l, i, j) == here) count_pair(p, nt, i, k, j, away, eps, alpha, counts);
            }
}

static tulle_status multiply(const tulle_mat *A, tulle_transfers transfers, tulle_product_alg alg, double eps,
    double alpha, tulle_product_report *report, tulle_mat **C)
{
    tulle_product *plan = NULL;
    const bool fetches = alg != TULLE_PRODUCT_SUMMA && alg != TULLE_PRODUCT_CANNON;
    const tulle_product_options options = {
        .alg = alg, .filter = eps, .transfers = fetches ? transfers : TULLE_TRANSFERS_AUTO};
    tulle_status status = tulle_mat_new_vbsr(tulle_mat_comm(A), tulle_mat_layout(A), tulle_mat_type(A), C);
    if (status == TULLE_OK) status = tulle_product_new(A, A, *C, &options, &plan);
    for (int n = 0; n < 2 && status == TULLE_OK; n++) status = tulle_product_execute(plan, alpha, 0, report);
    tulle_product_free(plan);
    return status;
}

/* owner: NULL, or of each tile. */
static tulle_status load(
    tulle_comm *comm, const char *spec, int tiles, const int *owner, tulle_type type, tulle_mat **V)
{
    tulle_operand_shape shape;
    tulle_gidx cut[1024];
    tulle_layout *l = NULL;
    tulle_mat *A = NULL;
    const tulle_read_options reading = {.type = type};
    tulle_status status = tulle_operand_inspect(spec, NULL, &shape);
    if (status != TULLE_OK) return status;
    for (tulle_gidx b = 0; b <= shape.m / shape.block; b++) cut[b] = b * shape.block;
    const tulle_block_cuts cuts = {shape.m / shape.block, cut};
    const tulle_layout_spec of = {.m = shape.m,
        .n = shape.n,
        .tile_rows = tiles,
        .tile_cols = tiles,
        .map = TULLE_CYCLIC,
        .owner = owner,
        .row_blocks = cuts,
        .col_blocks = cuts};
    status = tulle_layout_new(&of, tulle_comm_size(comm), &l);
    if (status == TULLE_OK) status = tulle_mat_load(comm, spec, l, TULLE_CSR, &reading, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, l, V);
    tulle_mat_free(A);
    tulle_layout_free(l);
    return status;
}

static tulle_status one(tulle_comm *comm, const char *spec, int tiles, tulle_type type, double eps, double alpha)
{
    tulle_mat *A = NULL, *C = NULL, *W = NULL, *D = NULL;
    struct pictured p = {.fetch = {NULL}};
    struct counts counts = {0, 0};
    tulle_product_report report, whole;
    double difference;
    tulle_status status = load(comm, spec, tiles, NULL, type, &A);
    if (status == TULLE_OK)
        status = multiply(A, TULLE_TRANSFERS_COVER, TULLE_PRODUCT_STATIONARY_C, eps, alpha, &report, &C);
    if (status == TULLE_OK)
        status = multiply(A, TULLE_TRANSFERS_WHOLE, TULLE_PRODUCT_STATIONARY_C, eps, alpha, &whole, &W);
    if (status == TULLE_OK) status = look(A, &p);
    if (status != TULLE_OK) goto out;
    count_all(A, &p, eps, alpha, &counts);
    int64_t all[2] = {counts.blocks, counts.bytes};
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 2, all));
    EXPECT(report.unfetched_blocks == all[0] && report.unfetched_bytes == all[1]);
    EXPECT(spec[0] != 'w' || eps < 1e-3 || tulle_comm_size(comm) == 1 || all[0] > 0);
    EXPECT(report.skipped_products == whole.skipped_products && report.filtered_blocks == whole.filtered_blocks);
    EXPECT(!whole.unfetched_blocks);
    /* where a tile is read once, its head comes once in either way */
    if (tiles * tiles == tulle_comm_size(comm))
        EXPECT(whole.bytes_moved - report.bytes_moved == report.unfetched_bytes);
    TULLE_TRY(tulle_mat_add(1, C, -1, W, &D));
    TULLE_TRY(tulle_mat_norm(D, TULLE_NORM_MAX, &difference));
    EXPECT(difference == 0 && tulle_mat_nnz(C) == tulle_mat_nnz(W));
    for (int alg = 0; alg < TULLE_PRODUCT_ALG_COUNT; alg++) {
        if (alg == TULLE_PRODUCT_CANNON || alg == TULLE_PRODUCT_AUTO) continue;
        tulle_mat_free(C);
        tulle_mat_free(D);
        C = D = NULL;
        TULLE_TRY(multiply(A, TULLE_TRANSFERS_COVER, (tulle_product_alg)alg, eps, alpha, &report, &C));
        TULLE_TRY(tulle_mat_add(1, C, -1, W, &D));
        TULLE_TRY(tulle_mat_norm(D, TULLE_NORM_MAX, &difference));
        EXPECT(difference < (type == TULLE_F32 ? 1e-5 : 1e-13) + eps);
        /* its own jobs are those of stationary C; steps bring whole tiles */
        EXPECT(alg != TULLE_PRODUCT_STEAL_LOCAL_C || (report.unfetched_blocks > 0) == (all[0] > 0));
        EXPECT(alg != TULLE_PRODUCT_SUMMA || !report.unfetched_blocks);
    }
out:
    look_away(&p);
    tulle_mat_free(D);
    tulle_mat_free(W);
    tulle_mat_free(C);
    tulle_mat_free(A);
    return status;
}

/* All tiles are on PE 0: what others multiply they have stolen, and fetch the blocks that survive. */
static tulle_status stolen(tulle_comm *comm, tulle_product_alg alg, double eps)
{
    enum { TILES = 2, TRIES = 200 };
    static const int owner[TILES * TILES] = {0};
    tulle_mat *A = NULL, *C = NULL, *W = NULL, *D = NULL;
    tulle_product_report report = {.stolen = 0};
    double difference;
    tulle_status status = load(comm, "water:n=4,cutoff=9", TILES, owner, TULLE_F64, &A);
    if (status == TULLE_OK)
        status = multiply(A, TULLE_TRANSFERS_WHOLE, TULLE_PRODUCT_STATIONARY_C, eps, 1, &report, &W);
    for (int n = 0; n < TRIES && status == TULLE_OK && !report.stolen && tulle_comm_size(comm) > 1; n++) {
        tulle_mat_free(C);
        tulle_mat_free(D);
        C = D = NULL;
        TULLE_TRY(multiply(A, TULLE_TRANSFERS_COVER, alg, eps, 1, &report, &C));
        TULLE_TRY(tulle_mat_add(1, C, -1, W, &D));
        TULLE_TRY(tulle_mat_norm(D, TULLE_NORM_MAX, &difference));
        EXPECT(difference < 1e-13 + eps);
        EXPECT(!report.stolen || (report.unfetched_blocks > 0 && report.unfetched_bytes > 0));
    }
    EXPECT(report.stolen > 0 || tulle_comm_size(comm) == 1);
out:
    tulle_mat_free(D);
    tulle_mat_free(W);
    tulle_mat_free(C);
    tulle_mat_free(A);
    return status;
}

static tulle_status all(tulle_comm *comm, void *arg)
{
    tulle_status status;
    (void)arg;
    TULLE_TRY(one(comm, "water:n=3,cutoff=8", 2, TULLE_F64, 3.3e-3, 1));
    TULLE_TRY(one(comm, "water:n=3,cutoff=8", 3, TULLE_F32, 1.7e-2, -2));
    TULLE_TRY(one(comm, "water:n=2,repeat=2,cutoff=5,size=5", 2, TULLE_F64, 1e-9, .5));
    TULLE_TRY(one(comm, "blocks:n=40,size=3,degree=6", 4, TULLE_F64, 9.1, 1));
    TULLE_TRY(one(comm, "blocks:n=40,size=3,pattern=diagonal", 4, TULLE_F64, 1e9, 1));
    TULLE_TRY(one(comm, "blocks:n=3,size=2,degree=0", 2, TULLE_F64, 1, 1));
    TULLE_TRY(stolen(comm, TULLE_PRODUCT_STEAL_RANDOM_A, 1e-3));
    TULLE_TRY(stolen(comm, TULLE_PRODUCT_STEAL_LOCAL_C, 1e-3));
out:
    return status;
}

int main(int argc, char **argv)
{
    static const struct named_body tests[] = {{"blocks without a partner stay", all}};
    return RUN_BODIES(argc, argv, tests, NULL);
}
