/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public call that takes a matrix, with a hypersparse one: hypersparse_calls SPEC PES HEADER... Of matrices that
 * CSR can have, the call's results, status and message are those of the same matrix in CSR. Of larger ones it succeeds,
 * or its message says that the matrix is hypersparse, or how much memory it takes. A function of the headers that
 * has a const matrix and is not in the table is a failure.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "built_with.h"
#include "declared.h"
#include "solver_calls.h"
#include "tap.h"

enum { ANY, SMALL }; /* SMALL: the caller has arrays of all rows, or columns */

static const struct {
    const char *names;
    call *of;
    int size;
} calls[] = {
    {"tulle_mat_nnz tulle_mat_type tulle_mat_kind tulle_mat_ordered tulle_mat_symmetry tulle_mat_layout "
     "tulle_mat_bytes tulle_mat_rows tulle_mat_cols tulle_mat_comm",
        sizes, ANY},
    {"tulle_mat_transpose", transpose, ANY},
    {"tulle_mat_redistribute", redistribute, ANY},
    {"tulle_mat_add", algebra, ANY},
    {"tulle_mat_symmetrise tulle_mat_asymmetry", symmetry, ANY},
    {"tulle_mat_triangle", triangle, ANY},
    {"tulle_mat_norm tulle_mat_infinite_rows tulle_mat_trace", numbers, ANY},
    {"tulle_mat_gershgorin", discs, ANY},
    {"tulle_mat_range", range, ANY},
    {"tulle_mat_to_csr", to_csr, ANY},
    {"tulle_mat_to_bsr tulle_mat_to_vbsr", to_blocks, ANY},
    {"tulle_mat_to_array", arrays, ANY},
    {"tulle_mat_save", save_mtx, ANY},
    {"tulle_mat_save_as", save_symmetric, ANY},
    {"tulle_mat_save npz", save_npz, ANY},
    {"tulle_mat_save petsc", save_petsc, ANY},
    {"tulle_mat_save bsp.h5", save_binsparse, ANY},
    {"tulle_mat_save_as bsr", save_blocks, ANY},
    {"tulle_writer_append", save_in_pieces, ANY},
    {"tulle_product_layout tulle_product_new tulle_product_check_matrices", spgemm, ANY},
    {"tulle_product_new csr", with_csr, SMALL},
    {"tulle_product_new dense", spmm, SMALL},
    {"tulle_product_new selection", selection, ANY},
    {"tulle_product_explain", explain, ANY},
    {"tulle_counts_new", counts, ANY},
    {"tulle_product_bound", bound, ANY},
    {"tulle_machine_time_product", time_product, ANY},
    {"tulle_mat_sddmm", sddmm, SMALL},
    {"tulle_mat_row_nnz tulle_mat_row_flops tulle_mat_diagonal tulle_mat_ordering tulle_mat_permute", lines, SMALL},
    {"tulle_mat_range_add", range_add, SMALL},
    {"tulle_krylov_solve tulle_krylov_check", krylov, SMALL},
    {"tulle_operator_of_mat", operator_of, ANY},
    {"tulle_precond_new", preconditioner, ANY},
    {"tulle_trisolve_execute tulle_trisolve_check tulle_trisolve_rhs tulle_trisolve_forward", trisolve, SMALL},
    {"tulle_trisolve_new", trisolve_huge, ANY},
    {"tulle_factor_ilu0", factors, ANY},
    {"tulle_factor_ic0", ic0, ANY},
    {"tulle_direct_lu tulle_direct_cholesky", direct, ANY},
    {"tulle_svd_new", svd, ANY},
    {"tulle_spectrum_of_mat", spectrum, ANY},
    {"tulle_spectrum_of_mat nearest", pencil, ANY},
    {"tulle_lobpcg", lobpcg, ANY},
    {"tulle_least_squares tulle_least_squares_check", fit, SMALL},
    {"tulle_stream_new tulle_stream_multiply tulle_stream_check", stream, ANY},
    {"tulle_matfun_new", functions, ANY},
    {"tulle_density_of_mu tulle_density_of_electrons", density_matrix, ANY},
    {"tulle_mat_to_half tulle_mat_to_full", halves, ANY},
    {"tulle_mat_to_cyclic", to_cyclic, SMALL},
    {"tulle_mat_compress tulle_mat_compressed", compress, ANY},
};

/* Matrices of these functions are dense, in blocks, or seen by single tiles, which hypersparse.c tries. */
static const char without[] =
    "tulle_mat_tile tulle_mat_get_tile tulle_least_squares_check_rows tulle_least_squares_of_rows "
    "tulle_matfun_check tulle_matfun_truncation tulle_stream_check_solve";

/* ---- matrices ---- */

struct shape {
    const char *name;
    tulle_gidx m, n;
    char kind; /* b(and), s(cattered), f(ull row), l(ast place and the first), e(mpty) */
};

static const tulle_gidx HUGE_LINES = (tulle_gidx)1 << 33;

static int64_t draw(const struct shape *s, tulle_gidx *row, tulle_gidx *col, double *val)
{
    int64_t count = 0;
    for (int e = 0; e < ENTRIES / 4 && s->kind != 'e'; e++) {
        const tulle_gidx r = s->kind == 'b'   ? e
                             : e == 0         ? s->m - 1
                             : s->kind == 'f' ? 3
                                              : (7 * e * e) % s->m,
                         c = s->kind == 'f' ? e
                             : e == 0       ? s->n - 1
                                            : (5 * e + 1) % s->n;
        if (s->kind == 'l' && e > 3) break;
        if (s->kind == 's' && e > 9) break;
        if (r >= s->m || c >= s->n) break;
        for (int side = s->kind == 'b' ? -1 : 0; side <= (s->kind == 'b'); side++) { /* diagonally dominant */
            if (s->kind == 'b' && (r + side < 0 || r + side >= s->n)) continue;
            row[count] = r;
            col[count] = s->kind == 'b' ? r + side : c;
            val[count++] = s->kind == 'b' ? (side ? -1 : 4) : e - 2.5;
        }
    }
    return count;
}

static tulle_status matrix_of(tulle_comm *comm, const struct shape *s, tulle_mat **A)
{
    tulle_gidx row[ENTRIES], col[ENTRIES];
    double val[ENTRIES];
    const int64_t count = tulle_comm_rank(comm) == 0 ? draw(s, row, col, val) : 0;
    const tulle_layout_spec spec = {.m = s->m, .n = s->n, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_layout *layout = NULL;
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_SUM, A);
    tulle_layout_free(layout);
    return status;
}

struct trial {
    const struct shape *shape;
    int call;
};

/* The call, whose status is the same on all PEs, and its message. */
static tulle_status try(tulle_comm *comm, const struct trial *t, tulle_mat *A, struct facts *f, char *message)
{
    *f = (struct facts){.comm = comm};
    message[0] = '\0';
    const tulle_status status = calls[t->call].of(A, f);
    if (status != TULLE_OK) snprintf(message, 512, "%s", tulle_error_message());
    const tulle_status same = same_everywhere(comm, status);
    for (int x = 0; x < SLOTS; x++) tulle_mat_free(f->mat[x]);
    tulle_mat_free(A);
    return same == TULLE_OK ? status : same;
}

static tulle_status body_alike(tulle_comm *comm, void *arg)
{
    const struct trial *t = arg;
    tulle_mat *A = NULL, *H = NULL;
    struct facts as_csr, as_stored;
    char message[2][512];
    tulle_status status;
    TULLE_TRY(matrix_of(comm, t->shape, &A));
    TULLE_TRY(tulle_mat_compress(A, &H));
    const tulle_status wanted = try(comm, t, A, &as_csr, message[0]);
    const tulle_status found = try(comm, t, H, &as_stored, message[1]);
    if (found != wanted || strcmp(message[0], message[1]) != 0) {
        status = tulle_fail(TULLE_ERR_CHECK, "%s '%.200s', in CSR %s '%.200s'", tulle_status_name(found), message[1],
            tulle_status_name(wanted), message[0]);
        goto out;
    }
    EXPECT(as_csr.count == as_stored.count);
    for (int x = 0; x < as_csr.count && wanted == TULLE_OK; x++) {
        if (fabs(as_csr.at[x] - as_stored.at[x]) <= 1e-6 * (1 + fabs(as_csr.at[x]))) continue;
        status = tulle_fail(TULLE_ERR_CHECK, "fact %d is %.17g, in CSR %.17g", x, as_stored.at[x], as_csr.at[x]);
        goto out;
    }
out:
    return status;
}

static tulle_status body_huge(tulle_comm *comm, void *arg)
{
    /* its size, or another condition that CSR would have to fulfil too */
    static const char *const words[] = {
        "hypersparse", " MB", "8589934592", "2147483653", "square", "vbsr", "not symmetric"};
    const struct trial *t = arg;
    tulle_mat *H = NULL;
    tulle_compressed view;
    struct facts facts;
    char message[512];
    tulle_status status;
    TULLE_TRY(matrix_of(comm, t->shape, &H));
    TULLE_TRY(tulle_mat_compressed(H, &view));
    EXPECT(view.inner != NULL);
    status = try(comm, t, H, &facts, message);
    if (status == TULLE_OK || status == TULLE_ERR_CHECK) return status;
    bool names = false;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) names |= strstr(message, words[w]) != NULL;
    status = names ? TULLE_OK : tulle_fail(TULLE_ERR_CHECK, "it says '%.300s'", message);
out:
    return status;
}

/* ---- nothing is forgotten ---- */

static int named(const char *name)
{
    int found = has_word(without, name);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) found |= has_word(calls[c].names, name);
    return found;
}

/* The fact that the build must have for the calls of these names; NULL: none. */
static const char *needs(const char *names)
{
    return strstr(names, "bsr") || strstr(names, "bsp.h5")         ? "HDF5: yes"
           : strstr(names, "_direct_") || strstr(names, "nearest") ? "SuiteSparse: yes"
                                                                   : NULL;
}

static void try_all(tulle_team *team, const struct shape *shape, bool huge)
{
    for (int c = 0; c < (int)(sizeof calls / sizeof *calls); c++) {
        struct trial t = {shape, c};
        const char *fact = needs(calls[c].names);
        if (huge && (calls[c].size == SMALL || (fact && !built_with(fact)))) continue;
        const tulle_status status = tulle_team_run(team, huge ? body_huge : body_alike, &t);
        ok(status == TULLE_OK, "%.40s, %s%s%s", calls[c].names, shape->name, status == TULLE_OK ? "" : ": ",
            status == TULLE_OK ? "" : tulle_error_message());
    }
}

int main(int argc, char **argv)
{
    static const struct shape small[] = {{"band of 24", 24, 24, 'b'}, {"scattered 24 x 24", 24, 24, 's'},
        {"a full row of 18 x 12", 18, 12, 'f'}, {"8 x 30", 8, 30, 's'}, {"no entries, 24 x 24", 24, 24, 'e'}};
    const struct shape huge[] = {{"2^33 x 2", HUGE_LINES, 2, 'l'}, {"2 x 2^33", 2, HUGE_LINES, 'l'},
        {"2^33 x 2^33", HUGE_LINES, HUGE_LINES, 's'}, {"2^31 + 5", HUGE_LINES / 4 + 5, HUGE_LINES / 4 + 5, 'l'},
        {"no entries, 2^33 x 2^33", HUGE_LINES, HUGE_LINES, 'e'}};
    int functions = 0;
    tulle_team *team;
    const int npes = argc > 2 ? atoi(argv[2]) : 0;
    if (npes < 1 || !temporary_folder(folder)) {
        fprintf(stderr, "usage: hypersparse_calls SPEC PES HEADER...\n");
        return 2;
    }
    for (int h = 3; h < argc; h++) functions += check_declared(argv[h], "const tulle_mat *", named);
    ok(argc < 4 || functions > 30, "%d public functions take matrices", functions);
    const tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (size_t s = 0; s < sizeof small / sizeof *small; s++) try_all(team, &small[s], false);
    for (size_t s = 0; s < sizeof huge / sizeof *huge; s++) try_all(team, &huge[s], true);
    tulle_team_free(team);
    (void)remove(folder);
    return tap_done();
}
