/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cantilevers on teams, and in files. Arguments: teams and the spec of a team, or large, which
 * generates the matrices of the paper on hidden communication, in at most 11 GB of memory.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <tulle/io.h>
#include <tulle/krylov.h>

#include "body.h"
#include "generated.h"
#include "mat/blocks/blocks.h"
#include "tap.h"
#include "temporary.h"

struct outcome {
    const char *spec, *operand; /* operand: what is loaded */
    const matrix *whole;
    double worst;
};

/*
 * The tiles of this PE equal parts of the whole matrix bit by bit; matrix-free products equal those
 * with the matrix.
 */
static tulle_status compare_tiles(tulle_comm *comm, void *arg)
{
    struct outcome *outcome = arg;
    const matrix *whole = outcome->whole;
    tulle_mat *A = NULL, *x = NULL, *y = NULL, *z = NULL;
    tulle_operator without = {.comm = NULL};
    tulle_product *plan = NULL;
    void *bound = NULL;
    tulle_status status;
    TULLE_TRY(tulle_mat_load(comm, outcome->operand, NULL, TULLE_CSR, NULL, NULL, &A));
    const tulle_layout *l = A->layout;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_tile t;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            TULLE_TRY(tulle_mat_tile(A, i, j, &t));
            EXPECT(l->nt == 1 && t.nnz == whole->rowptr[l->row_cut[i + 1]] - whole->rowptr[l->row_cut[i]]);
            int64_t first = whole->rowptr[l->row_cut[i]];
            EXPECT(
                !t.nnz || !memcmp(t.val, (const double *)whole->entries.val + first, (size_t)t.nnz * sizeof(double)));
            for (int64_t e = 0; e < t.nnz; e++) EXPECT(t.colind[e] == whole->entries.colind[first + e]);
        }
    TULLE_TRY(tulle_operator_of_elements(comm, outcome->spec, TULLE_F64, &without));
    tulle_layout_spec two = {.m = A->layout->m,
        .n = 2,
        .tile_rows = without.layout->mt,
        .tile_cols = 1,
        .row_cut = without.layout->row_cut,
        .owner = without.layout->owner};
    tulle_layout *wide = NULL;
    TULLE_TRY(tulle_layout_new(&two, comm->size, &wide));
    status = tulle_mat_new_dense(comm, wide, TULLE_F64, TULLE_ROW_MAJOR, &x);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, wide, TULLE_F64, TULLE_ROW_MAJOR, &y);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, wide, TULLE_F64, TULLE_ROW_MAJOR, &z);
    tulle_layout_free(wide);
    TULLE_TRY(status);
    TULLE_TRY(tulle_mat_fill_random(x, 5));
    TULLE_TRY(tulle_product_new(A, x, y, NULL, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    TULLE_TRY(without.bind(without.context, x, z, &bound));
    TULLE_TRY(without.apply(bound));
    double worst = 0;
    for (int i = 0; i < y->layout->mt; i++) {
        tulle_tile s, t;
        if (!tulle__tile_is_mine(y, i, 0)) continue;
        TULLE_TRY(tulle_mat_tile(y, i, 0, &s));
        TULLE_TRY(tulle_mat_tile(z, i, 0, &t));
        for (int64_t e = 0; e < s.m * 2; e++) {
            double off =
                fabs(((const double *)s.val)[e / 2 * s.ld + e % 2] - ((const double *)t.val)[e / 2 * t.ld + e % 2]);
            if (!(off <= worst)) worst = off;
        }
    }
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, 1, &worst));
    if (tulle_comm_rank(comm) == 0) outcome->worst = worst;
    without.unbind(bound);
    tulle_operator_free(&without);
    tulle_product_free(plan);
    tulle_mat_free(x);
    tulle_mat_free(y);
    tulle_mat_free(z);
    tulle_mat_free(A);
out:
    return status;
}

static void test_teams(const char *comm)
{
    static const char *const specs[] = {"cantilever:nx=4,ny=3,nz=5,dof=3,vary=4", "cantilever:nodes=3,dof=6,vary=2",
        "cantilever:nodes=6,clamp=off", "cantilever:nx=2,ny=2,nz=2,dof=6"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        matrix whole;
        if (!ok(matrix_init(&whole, specs[i], TULLE_F64) == TULLE_OK, "%s", specs[i])) return;
        /*
         * rows of 27 blocks of 6 at most, values below 4 * 8, |x| below 1, and the elements' own 8
         * * 8 * 6 products
         */
        double bound = 0x1p-53 * (27 * 6 + 8 * 8 * 6) * 27 * 6 * 32;
        for (int npes = 1; npes <= 7; npes++) {
            tulle_team *team = NULL;
            struct outcome outcome = {.spec = specs[i], .operand = specs[i], .whole = &whole, .worst = 1};
            tulle_team_options options = {.memory = (size_t)npes << 26, .threads = npes == 2 ? 3 : 1};
            tulle_status status = tulle_team_new(comm, npes, &options, &team);
            if (status == TULLE_OK) status = tulle_team_run(team, compare_tiles, &outcome);
            ok(status == TULLE_OK && outcome.worst < bound && outcome.worst < 1e-10,
                "%s, %d PEs: the bits of the whole; products by elements are off by %.2g%s%s", specs[i], npes,
                outcome.worst, status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
            tulle_team_free(team);
        }
        matrix_fini(&whole);
    }
}

/* Written some rows at a time, and read back. */
static tulle_status save_and_compare(tulle_comm *comm, void *arg)
{
    struct outcome *outcome = arg;
    tulle_status status = tulle_operand_save(comm, outcome->spec, TULLE_F64, outcome->operand, NULL);
    return status == TULLE_OK ? compare_tiles(comm, arg) : status;
}

static void test_file(const char *comm)
{
    static const char spec[] = "cantilever:nodes=13,dof=3,vary=2", *const names[] = {"k.mtx", "k.bsp.h5"};
    char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 32];
    matrix whole;
    if (!ok(temporary_folder(folder) && matrix_init(&whole, spec, TULLE_F64) == TULLE_OK, "%s", spec)) return;
    for (int i = 0; i < 2; i++) {
        tulle_team *team = NULL;
        struct outcome outcome = {.spec = spec, .operand = path, .whole = &whole, .worst = 1};
        tulle_team_options options = {.memory = (size_t)1 << 28, .threads = 3};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        tulle_status status = tulle_team_new(comm, 2, &options, &team);
        if (status == TULLE_OK) status = tulle_team_run(team, save_and_compare, &outcome);
        if (i == 1 && status == TULLE_ERR_UNSUPPORTED)
            skip("%s", tulle_error_message());
        else
            ok(status == TULLE_OK && outcome.worst < 1e-10, "%s from %s is the whole matrix%s%s", names[i], spec,
                status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
        tulle_team_free(team);
        remove(path);
    }
    rmdir(folder);
    matrix_fini(&whole);
}

/* ---- as large as the paper's ---- */

struct built {
    const char *spec;
    int64_t nnz;
    int symmetric, block;
    double seconds;
};

static tulle_status build(tulle_comm *comm, void *arg)
{
    struct built *built = arg;
    tulle_mat *A = NULL;
    tulle__blocks_facts facts, *all = NULL;
    tulle_status status;
    TULLE_TRY(tulle_comm_barrier(comm));
    double start = tulle_comm_seconds(comm);
    TULLE_TRY(tulle_mat_load(comm, built->spec, NULL, TULLE_CSR, NULL, NULL, &A));
    double seconds = tulle_comm_seconds(comm) - start;
    int i = 0;
    while (!tulle__tile_is_mine(A, i, 0)) i++;
    tulle_tile tile = tulle__tile_in_place(A, i, 0);
    tulle__csr csr = tulle__tile_csr(&tile);
    tulle_gidx col = 0;
    tulle__tile_row rows = {.type = A->type,
        .first = A->layout->row_cut[i],
        .m = tile.m,
        .n = A->layout->n,
        .ntiles = 1,
        .tile = &csr,
        .col = &col};
    tulle__blocks_inspect(&rows, &facts);
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *all, "facts", &all));
    TULLE_TRY(tulle_comm_allgather(comm, &facts, sizeof facts, all));
    for (int r = 1; r < comm->size; r++) tulle__blocks_join(&all[0], &all[r]);
    if (tulle_comm_rank(comm) == 0) {
        built->seconds = seconds;
        built->nnz = all[0].nnz;
        built->symmetric = tulle__blocks_symmetric(&all[0]);
        built->block = tulle__blocks_size(&all[0], A->type);
    }
out:
    tulle__free(all);
    tulle_mat_free(A);
    return status;
}

static void test_large(void)
{
    static const struct {
        int dof, nodes;
        int64_t blocks;
    } table[] = {{1, 128, 55742968}, {3, 128, 55742968}, {6, 96, 23393656}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char spec[100];
        tulle_team *team = NULL;
        int64_t nnz = table[i].blocks * table[i].dof * table[i].dof, need = 13 * nnz + (1 << 28);
        struct built built = {.spec = spec};
        snprintf(spec, sizeof spec, "cantilever:nodes=%d,dof=%d,vary=10", table[i].nodes, table[i].dof);
        if ((int64_t)tulle__memory_available() < need + need / 8) {
            skip("%s needs %" PRId64 " MiB of memory", spec, need >> 20);
            continue;
        }
        tulle_team_options options = {.memory = (size_t)need, .threads = 1};
        tulle_status status = tulle_team_new("threads", 2, &options, &team);
        if (status == TULLE_OK) status = tulle_team_run(team, build, &built);
        ok(status == TULLE_OK && built.nnz == nnz && built.symmetric && built.block == table[i].dof,
            "%s: %" PRId64 " entries in %.2f s, %.0f million a second, symmetric, blocks of %d%s%s", spec, built.nnz,
            built.seconds, (double)built.nnz / built.seconds * 1e-6, built.block, status == TULLE_OK ? "" : ": ",
            status == TULLE_OK ? "" : tulle_error_message());
        tulle_team_free(team);
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "teams", *comm = argc > 2 ? argv[2] : "threads";
    if (!strcmp(part, "large")) {
        test_large();
    } else {
        test_teams(comm);
        test_file(comm);
    }
    return tap_done();
}
