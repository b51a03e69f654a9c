/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of nearly full matrices of large blocks, whose rows share blocks of B: values are small integers, so that
 * the product of the same entries is exactly the same; the bits do not depend on threads.
 */
#include <inttypes.h>
#include <string.h>

#include <tulle/tulle.h>

#include "body.h"
#include "tap.h"

enum { BLOCKS = 21 };

struct setting {
    const char *spec;
    tulle_gidx size; /* of blocks; 0: 16 to 20 in turn, and the rest */
    tulle_type type;
    double alpha, beta;
    int tiles;
};

static tulle_status cut_blocks(const struct setting *s, tulle_gidx n, tulle_gidx *cut, tulle_block_cuts *cuts)
{
    *cuts = (tulle_block_cuts){0, cut};
    cut[0] = 0;
    while (cut[cuts->count] < n) {
        const tulle_gidx next = cut[cuts->count] + (s->size ? s->size : 16 + cuts->count % 5);
        cut[++cuts->count] = next < n ? next : n;
    }
    return TULLE_OK;
}

/* C = alpha A A + beta A in blocks, and in entries. */
static tulle_status products(tulle_comm *comm, const struct setting *s, tulle_mat **C, tulle_mat **D)
{
    tulle_operand_shape shape;
    tulle_gidx cut[64 * BLOCKS];
    tulle_block_cuts cuts;
    tulle_layout *l = NULL;
    tulle_mat *S = NULL, *V = NULL;
    tulle_product *plan = NULL;
    const tulle_read_options reading = {.type = s->type};
    tulle_status status;
    TULLE_TRY(tulle_operand_inspect(s->spec, NULL, &shape));
    TULLE_TRY(cut_blocks(s, shape.m, cut, &cuts));
    const tulle_layout_spec of = {.m = shape.m,
        .n = shape.n,
        .tile_rows = s->tiles,
        .tile_cols = s->tiles,
        .row_blocks = cuts,
        .col_blocks = cuts};
    TULLE_TRY(tulle_layout_new(&of, tulle_comm_size(comm), &l));
    TULLE_TRY(tulle_mat_load(comm, s->spec, l, TULLE_CSR, &reading, NULL, &S));
    TULLE_TRY(tulle_mat_to_vbsr(S, l, &V));
    TULLE_TRY(tulle_mat_add(1, V, 0, V, C));
    TULLE_TRY(tulle_product_new(V, V, *C, NULL, &plan));
    TULLE_TRY(tulle_product_execute(plan, s->alpha, s->beta, NULL));
    tulle_product_free(plan);
    plan = NULL;
    TULLE_TRY(tulle_mat_to_csr(V, false, D));
    tulle_mat_free(S);
    S = *D;
    *D = NULL;
    TULLE_TRY(tulle_mat_add(1, S, 0, S, D));
    TULLE_TRY(tulle_product_new(S, S, *D, NULL, &plan));
    TULLE_TRY(tulle_product_execute(plan, s->alpha, s->beta, NULL));
out:
    tulle_product_free(plan);
    tulle_mat_free(V);
    tulle_mat_free(S);
    tulle_layout_free(l);
    return status;
}

static tulle_status exact(tulle_comm *comm, void *arg)
{
    static const struct setting settings[] = {{"blocks:n=17,size=16,degree=17,values=integer", 16, TULLE_F64, 1, 0, 1},
        {"blocks:n=18,size=17,degree=7,values=integer", 17, TULLE_F64, -2, 3, 1},
        {"blocks:n=18,size=17,degree=7,values=integer", 0, TULLE_F64, 1, 1, 1},
        {"blocks:n=32,size=16,degree=9,values=integer,seed=3", 16, TULLE_F32, 1, 0, 2},
        {"blocks:n=17,size=18,pattern=band,width=3,values=integer", 18, TULLE_F32, 1, 0, 1}};
    (void)arg;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        tulle_mat *C = NULL, *D = NULL, *E = NULL;
        double difference = -1;
        tulle_status status = products(comm, &settings[i], &C, &D);
        if (status == TULLE_OK) status = tulle_mat_add(1, C, -1, D, &E);
        if (status == TULLE_OK) status = tulle_mat_norm(E, TULLE_NORM_MAX, &difference);
        tulle_mat_free(E);
        tulle_mat_free(D);
        tulle_mat_free(C);
        if (status == TULLE_OK && difference != 0)
            status = tulle_fail(TULLE_ERR_CHECK, "%s differs by %g", settings[i].spec, difference);
        status = tulle_comm_agree(comm, status);
        if (status != TULLE_OK) return status;
    }
    return TULLE_OK;
}

/* An order-independent sum of the values' bits. */
static tulle_status hash_bits(tulle_comm *comm, void *arg)
{
    static const struct setting s = {"blocks:n=18,size=16,degree=9", 16, TULLE_F64, 1, 0, 1};
    tulle_mat *C = NULL, *D = NULL;
    tulle_tile t;
    tulle_status status = products(comm, &s, &C, &D);
    if (status == TULLE_OK) status = tulle_mat_tile(C, 0, 0, &t);
    for (int64_t e = 0; status == TULLE_OK && e < t.nnz; e++) {
        uint64_t bits;
        memcpy(&bits, (const double *)t.val + e, sizeof bits);
        *(uint64_t *)arg = (*(uint64_t *)arg ^ bits) * 0x9e3779b97f4a7c15u;
    }
    tulle_mat_free(C);
    tulle_mat_free(D);
    return status;
}

static tulle_status run(int npes, int threads, tulle_status (*body)(tulle_comm *comm, void *arg), void *arg)
{
    tulle_team *team = NULL;
    const tulle_team_options options = {.memory = (size_t)1 << 28, .threads = threads};
    tulle_status status = tulle_team_new("threads", npes, &options, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, arg);
    tulle_team_free(team);
    return status;
}

int main(void)
{
    uint64_t hash[4] = {0};
    static const int threads[4] = {1, 2, 3, 5};
    for (int n = 1; n <= 3; n++) {
        const tulle_status status = run(n, 3, exact, NULL);
        ok(status == TULLE_OK, "%d PEs: exactly the product of entries: %s", n,
            status == TULLE_OK ? "right" : tulle_error_message());
    }
    for (int i = 0; i < 4; i++) {
        const tulle_status status = run(1, threads[i], hash_bits, &hash[i]);
        ok(status == TULLE_OK && hash[i] == hash[0], "%d threads: the same bits, %016" PRIx64, threads[i], hash[i]);
    }
    return tap_done();
}
