/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A good value for each argument of each public function, by its type, and where that does not suffice by its name and
 * the function's. What is needed for it is made when it is asked for; in a body that is collective, so all PEs ask for
 * the same. For arguments.c alone.
 */
#ifndef TULLE_TEST_GOOD_VALUES_H
#define TULLE_TEST_GOOD_VALUES_H

#include <string.h>

#include <tulle/launch.h>
#include <tulle/tulle.h>

#include "body.h"
#include "built_with.h"
#include "result_values.h"
#include "tap.h"
#include "temporary.h"

enum { M = 12, N = 3, ARGUMENTS = 14, WORKSPACE = 8192, TEXT_MOST = TEMPORARY_MOST + 32 };

static char folder[TEMPORARY_MOST];
static const char spd[] = "band:n=12,lower=2,values=spd";

struct fixture {
    tulle_comm *comm;      /* NULL: outside of a body */
    tulle_team *team;      /* outside */
    char makes[ARGUMENTS]; /* what the call may put there that is nobody's but the caller's: l(ayout), c(ensus), ... */
    tulle_status status;
    union {
        char bytes[WORKSPACE];
        int64_t align;
    } workspace[ARGUMENTS]; /* zeros, for what goes in and comes out */
    char path[TEXT_MOST];
    tulle_layout *layout[16];
    int layouts;
    tulle_counts *counts;
    tulle_fetch *fetch;
    tulle_machine machine;
    tulle_operator operator;
    int64_t rowptr[M + 1];
    int32_t colind[M];
    double val[M];
    union {
        tulle_csr_rows csr;
        tulle_bsr_rows bsr;
        tulle_layout_spec layout;
        tulle_counts_spec counts;
        tulle_communicator communicator;
    } in;
    tulle_cyclic cyclic;
    tulle_cyclic_part part[ARGUMENTS];
    tulle_array array[ARGUMENTS];
};

struct outcome {
    tulle_status status;
    const char *text;
    int neutral;
};

/* 0, NULL, zeros; or -1, where 0 would be a rank. */
static int is_nothing(const void *value, size_t bytes)
{
    static const int none = -1;
    if (bytes == sizeof none && memcmp(value, &none, bytes) == 0) return 1;
    for (size_t i = 0; i < bytes; i++)
        if (((const char *)value)[i]) return 0;
    return 1;
}

/* If something could not be made for a fixture: the call is left out, and the test fails. */
#define MADE(f, call)                                                                                                  \
    do {                                                                                                               \
        if ((f)->status == TULLE_OK) (f)->status = (call);                                                             \
    } while (0)

static int is(const char *word, const char *list)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return 1;
    return 0;
}

static tulle_layout *a_layout(struct fixture *f, tulle_gidx n)
{
    tulle_layout_spec spec = {.m = M, .n = n, .tile_cols = 1, .grid_cols = 1};
    tulle_layout *made = NULL;
    MADE(f, tulle_layout_new(&spec, f->comm ? tulle_comm_size(f->comm) : 1, &made));
    if (made) f->layout[f->layouts++] = made;
    return made;
}

static const tulle_block_cuts *block_cuts(void)
{
    static const tulle_gidx cut[] = {0, 3, 4, 10, M};
    static const tulle_block_cuts cuts = {4, cut};
    return &cuts;
}

/* One tile, whatever the number of PEs. */
static tulle_layout *one_tile(struct fixture *f, tulle_gidx n)
{
    tulle_layout_spec spec = {.m = M, .n = n, .tile_rows = 1, .tile_cols = 1};
    tulle_layout *made = NULL;
    MADE(f, tulle_layout_new(&spec, 1, &made));
    if (made) f->layout[f->layouts++] = made;
    return made;
}

/* With block cuts where the function wants them. */
static tulle_layout *layout_for(struct fixture *f, const char *function)
{
    tulle_layout *plain = is(function, "tulle_mat_new_half") ? one_tile(f, M) : a_layout(f, M), *made = NULL;
    if (!is(function, "tulle_mat_new_vbsr tulle_mat_new_half tulle_mat_to_vbsr tulle_matfun_new")) return plain;
    MADE(f, tulle_layout_in_blocks(plain, block_cuts(), block_cuts(), &made));
    if (made) f->layout[f->layouts++] = made;
    return made;
}

/* ---- matrices, and what is made of them; freed with the team ---- */

static tulle_mat *sparse(struct fixture *f)
{
    tulle_mat *A = NULL;
    tulle_layout *layout = a_layout(f, M);
    MADE(f, tulle_mat_load(f->comm, spd, layout, TULLE_CSR, NULL, NULL, &A));
    return A;
}

static tulle_mat *dense_in(struct fixture *f, const tulle_layout *layout)
{
    tulle_mat *X = NULL;
    MADE(f, tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X));
    return X;
}

static tulle_mat *dense(struct fixture *f)
{
    return dense_in(f, a_layout(f, N));
}

static tulle_mat *by_columns(struct fixture *f)
{
    tulle_mat *X = NULL;
    tulle_layout *square = a_layout(f, M);
    MADE(f, tulle_mat_new_dense(f->comm, square, TULLE_F64, TULLE_COL_MAJOR, &X));
    return X;
}

static tulle_mat *triangle(struct fixture *f)
{
    tulle_mat *A = sparse(f), *T = NULL;
    MADE(f, tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_STORED, &T));
    return T;
}

static tulle_product *a_plan(struct fixture *f)
{
    tulle_product *plan = NULL;
    tulle_mat *A = sparse(f), *B = dense(f), *C = dense(f);
    MADE(f, tulle_product_new(A, B, C, NULL, &plan));
    MADE(f, tulle_product_execute(plan, 1, 0, NULL));
    return plan;
}

static tulle_mat *in_blocks(struct fixture *f)
{
    tulle_mat *A = sparse(f), *V = NULL;
    tulle_layout *layout = layout_for(f, "tulle_mat_to_vbsr");
    MADE(f, tulle_mat_to_vbsr(A, layout, &V));
    return V;
}

static const tulle_function *a_function(struct fixture *f)
{
    static const tulle_function step = {.kind = TULLE_FUNCTION_SIGN};
    (void)f;
    return &step;
}

static tulle_matfun *a_matfun(struct fixture *f)
{
    tulle_matfun *plan = NULL;
    tulle_mat *A = in_blocks(f);
    MADE(f, tulle_matfun_new(A, NULL, &plan));
    return plan;
}

/* Makes a result; of another plan, as each argument is made for itself. */
static tulle_mat *a_result(struct fixture *f)
{
    tulle_mat *F = NULL;
    tulle_matfun *plan = a_matfun(f);
    MADE(f, tulle_matfun_execute(plan, a_function(f), &F, NULL));
    return F;
}

static tulle_trisolve *a_solver(struct fixture *f)
{
    tulle_trisolve *solver = NULL;
    tulle_mat *T = triangle(f);
    MADE(f, tulle_trisolve_new(T, NULL, &solver));
    return solver;
}

static tulle_stream *a_stream(struct fixture *f)
{
    tulle_stream *stream = NULL;
    tulle_stream_options options = {0};
    tulle_mat *A = sparse(f);
    options.cols = N;
    MADE(f, tulle_stream_new(A, &options, &stream));
    return stream;
}

static const char *in_folder(struct fixture *f, const char *name)
{
    snprintf(f->path, sizeof f->path, "%s/%s", folder, name);
    return f->path;
}

static const char *rows_path(struct fixture *f)
{
    tulle_mat *A = sparse(f);
    MADE(f, tulle_mat_save(A, in_folder(f, "rows.bsp.h5")));
    return f->path;
}

static tulle_rows *some_rows(struct fixture *f)
{
    tulle_rows *rows = NULL;
    MADE(f, tulle_rows_open(f->comm, rows_path(f), &rows));
    return rows;
}

static tulle_writer *a_writer(struct fixture *f)
{
    tulle_writer *writer = NULL;
    MADE(f, tulle_writer_open(f->comm, in_folder(f, "written.mtx"), M, M, TULLE_F64, &writer));
    return writer;
}

static tulle_counts *a_census(struct fixture *f)
{
    tulle_mat *A = sparse(f);
    tulle_layout *square = one_tile(f, M), *thin = one_tile(f, N);
    tulle_counts_spec spec = {.a = square, .b = thin, .c = thin, .pes = 1, .type = TULLE_F64};
    if (f->comm) spec.pes = tulle_comm_size(f->comm);
    MADE(f, tulle_counts_new(A, NULL, &spec, &f->counts));
    return f->counts;
}

static tulle_fetch *a_fetch(struct fixture *f)
{
    tulle_mat *A = sparse(f);
    MADE(f, tulle_mat_get_tile(A, 0, 0, &f->fetch));
    return f->fetch;
}

static tulle_direct *direct_factors(struct fixture *f)
{
    tulle_direct *factors = NULL;
    tulle_mat *A = sparse(f);
    MADE(f, tulle_direct_lu(A, NULL, &factors));
    return factors;
}

static const tulle_machine *summit(struct fixture *f)
{
    MADE(f, tulle_machine_find("summit", 1, &f->machine));
    return &f->machine;
}

static const tulle_operator *an_operator(struct fixture *f, const char *name)
{
    if (strcmp(name, "M") == 0) return NULL;
    tulle_mat *A = sparse(f);
    MADE(f, tulle_operator_of_mat(A, NULL, &f->operator));
    return &f->operator;
}

static tulle_spectrum *a_spectrum(struct fixture *f)
{
    tulle_spectrum *plan = NULL;
    MADE(f, tulle_operator_of_mat(sparse(f), NULL, &f->operator));
    MADE(f, tulle_spectrum_new(&f->operator, &(tulle_spectrum_options){.count = N}, &plan));
    return plan;
}

static tulle_svd *an_svd(struct fixture *f)
{
    tulle_svd *plan = NULL;
    MADE(f, tulle_svd_new(sparse(f), &(tulle_svd_options){.count = N}, &plan));
    return plan;
}

static tulle_mat *a_mat(struct fixture *f, const char *function, const char *name)
{
    if (strcmp(name, "T") == 0) return triangle(f);
    if (is(function, "tulle_matfun_check tulle_matfun_truncation")) return a_result(f);
    if (is(function, "tulle_matfun_new tulle_density_of_mu tulle_density_of_electrons tulle_mat_replace_blocks "
                     "tulle_mat_range_add tulle_mat_to_half"))
        return in_blocks(f);
    if (strcmp(function, "tulle_mat_to_cyclic") == 0) return by_columns(f);
    if (strcmp(name, "S") == 0 || is(function, "tulle_spectrum_of_mat tulle_product_explain")) return sparse(f);
    if (strcmp(name, "A") == 0) return strcmp(function, "tulle_mat_fill_random") == 0 ? dense(f) : sparse(f);
    if (strcmp(name, "B") == 0 && is(function, "tulle_mat_row_flops tulle_mat_add tulle_counts_new")) return sparse(f);
    return dense(f);
}

static tulle_comm *a_comm(struct fixture *f, const char *name)
{
    tulle_comm *part = NULL;
    if (strcmp(name, "part") != 0) return f->comm;
    MADE(f, tulle_comm_split(f->comm, 0, 0, &part));
    return part;
}

/* ---- what is handed in ---- */

/* This PE's rows of the identity. */
static void identity(struct fixture *f)
{
    int rank = tulle_comm_rank(f->comm), size = tulle_comm_size(f->comm);
    int64_t first = (int64_t)M * rank / size, count = (int64_t)M * (rank + 1) / size - first;
    for (int64_t r = 0; r <= count; r++) f->rowptr[r] = r;
    for (int64_t r = 0; r < count; r++) f->colind[r] = (int32_t)(first + r), f->val[r] = 1;
    f->in.csr = (tulle_csr_rows){
        .first = first, .count = count, .rowptr = f->rowptr, .colind = f->colind, .colind_bytes = 4, .val = f->val};
}

static const tulle_csr_rows *csr_rows(struct fixture *f)
{
    identity(f);
    return &f->in.csr;
}

static const tulle_bsr_rows *bsr_rows(struct fixture *f)
{
    identity(f);
    tulle_csr_rows csr = f->in.csr;
    f->in.bsr = (tulle_bsr_rows){.rows = 1,
        .cols = 1,
        .first = csr.first,
        .count = csr.count,
        .rowptr = csr.rowptr,
        .colind = csr.colind,
        .colind_bytes = 4,
        .val = csr.val};
    return &f->in.bsr;
}

/* This PE's rows of the identity, or of a dense array, in the room of argument n; a result is allocated. */
static tulle_array *an_array(struct fixture *f, int n, const char *function, const char *name)
{
    tulle_array *a = &f->array[n];
    int sparse = is(name, "A T array") || (strcmp(name, "C") == 0 && strcmp(function, "tulle_multiply") != 0);
    identity(f);
    tulle_csr_rows csr = f->in.csr;
    *a = (tulle_array){.storage = sparse ? TULLE_STORAGE_CSR : TULLE_STORAGE_DENSE,
        .m = M,
        .n = sparse ? M : N,
        .first = csr.first,
        .count = csr.count,
        .ld = N,
        .val = f->workspace[n].bytes};
    if (is(name, "C X out")) a->val = NULL;
    if (!sparse) return a;
    *a = (tulle_array){.storage = TULLE_STORAGE_CSR,
        .m = M,
        .n = M,
        .first = csr.first,
        .count = csr.count,
        .nnz = csr.count,
        .ptr_bytes = 8,
        .ind_bytes = 4,
        .ptr = f->rowptr,
        .ind = f->colind,
        .val = f->val};
    return a;
}

static const tulle_layout_spec *layout_spec(struct fixture *f)
{
    f->in.layout = (tulle_layout_spec){.m = M, .n = N};
    return &f->in.layout;
}

static const tulle_counts_spec *census_spec(struct fixture *f)
{
    tulle_layout *square = one_tile(f, M);
    f->in.counts =
        (tulle_counts_spec){.a = square, .b = square, .c = square, .pes = tulle_comm_size(f->comm), .type = TULLE_F64};
    return &f->in.counts;
}

static const tulle_communicator *communicator(struct fixture *f)
{
    f->in.communicator = (tulle_communicator){.family = "none", .size = 1, .comm = ""};
    return &f->in.communicator;
}

/* M x M in blocks, in one column of PEs. */
static tulle_cyclic *distribution(struct fixture *f)
{
    int pes = f->comm ? tulle_comm_size(f->comm) : 1;
    f->cyclic = (tulle_cyclic){.m = M, .n = M, .row_block = 2, .col_block = 3, .grid_rows = pes, .grid_cols = 1};
    return &f->cyclic;
}

static const tulle_cyclic_part *a_part(struct fixture *f, int n)
{
    f->part[n] = (tulle_cyclic_part){.cyclic = distribution(f), .m = M, .n = M, .ld = M};
    return &f->part[n];
}

static const int descriptor[TULLE_DESCRIPTOR_LENGTH] = {1, 0, M, M, 2, 2, 0, 0, M};

static tulle_status a_body(tulle_comm *comm, void *arg)
{
    (void)comm, (void)arg;
    return TULLE_OK;
}

static bool an_attend_call(void *arg)
{
    (void)arg;
    return false;
}

static void a_call(void *arg, const tulle_progress *progress)
{
    (void)arg, (void)progress;
}

static tulle_team *a_team(struct fixture *f)
{
    if (!f->team) MADE(f, tulle_team_new("trace+threads", 1, &(tulle_team_options){.memory = 1 << 26}, &f->team));
    return f->team;
}

static const char *a_text(struct fixture *f, const char *function, const char *name)
{
    static const struct {
        const char *function, *name, *text;
    } texts[] = {{"tulle_product_alg_parse", "name", "summa"}, {"tulle_transfers_parse", "name", "rows"},
        {"tulle_trisolve_method_parse", "name", "levels"}, {"tulle_krylov_method_parse", "name", "cg"},
        {"tulle_least_squares_method_parse", "name", "lsmr"}, {"tulle_precond_kind_parse", "name", "ic0"},
        {"tulle_spectrum_end_parse", "name", "LA"}, {"tulle_precond_parse_spec", "spec", "ic0:shift=auto"},
        {"tulle_elimination_parse", "name", "amd"}, {"tulle_ordering_parse", "name", "rcm"},
        {"tulle_parse_type", "text", "f32"}, {"tulle_engine_usable", "name", "threads"},
        {"tulle_machine_find", "name", "summit"}, {"tulle_team_new", "spec", "threads"},
        {"tulle_team_new_over", "spec", "mpi"}, {"tulle_device_probe", "spec", "cpu"},
        {"tulle_operator_of_elements", "operand", "cantilever:nodes=2,dof=3"},
        {"tulle_operand_save", "operand", "cantilever:nodes=2,dof=3"}, {"tulle_mat_save_as", "format", "csr"},
        {"tulle_function_parse", "text", "sign"}, {"tulle_density_method_parse", "name", "tc2"},
        {"tulle_matfun_method_parse", "name", "newton-schulz"}, {"tulle_fail", "format", "a failure"}};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        if (strcmp(texts[t].function, function) == 0 && strcmp(texts[t].name, name) == 0) return texts[t].text;
    if (strcmp(name, "operand") == 0) return spd;
    if (strcmp(function, "tulle_rows_open") == 0) return rows_path(f);
    if (strcmp(name, "path") == 0)
        return in_folder(f, strncmp(function, "tulle_machine", 13) == 0 ? "machine" : "out.mtx");
    return is(name, "text what") ? "1" : NULL;
}

static int an_int(const char *function, const char *name)
{
    if (strcmp(name, "count") == 0) return 1;
    if (is(name, "npes threads n parts nwords block pes rows cols layers grid_rows grid_cols ld") ||
        strcmp(function, "tulle_parse_int") == 0)
        return strcmp(name, "low") == 0 ? 0 : 1;
    return 0;
}

/* Zeros, or an order of M rows or columns. */
static const tulle_gidx *indices(const char *function, const void *zeros)
{
    static const tulle_gidx order[M] = {3, 0, 1, 2, 4, 5, 6, 7, 11, 10, 9, 8};
    return strcmp(function, "tulle_mat_permute") == 0 ? order : zeros;
}

static tulle_gidx a_size(const char *name)
{
    return is(name, "row col") ? 0 : strcmp(name, "cols") == 0 ? N : M;
}

/* ---- by type ---- */

#define ZEROS(n) ((void *)f->workspace[n].bytes)
#define GOOD_int(n, name) an_int(function, name)
#define GOOD_int64_t(n, name) an_int(function, name)
#define GOOD_bool(n, name) 1
#define GOOD_uint64_t(n, name) 1
#define GOOD_tulle_gidx(n, name) a_size(name)
#define GOOD_c_tulle_gidx_p(n, name) indices(function, ZEROS(n))
#define GOOD_double(n, name) (strcmp(function, "tulle_multiply") == 0 && strcmp(name, "beta") == 0 ? 0.0 : 1.0)
#define GOOD_size_t(n, name) (strcmp(name, "bytes") == 0 ? 8 : WORKSPACE)
#define GOOD_tulle_type(n, name) TULLE_F64
#define GOOD_tulle_order(n, name) TULLE_ROW_MAJOR
#define GOOD_tulle_op(n, name) TULLE_OP_N
#define GOOD_tulle_uplo(n, name) TULLE_LOWER
#define GOOD_tulle_diag(n, name) TULLE_DIAG_STORED
#define GOOD_tulle_kind(n, name) TULLE_CSR
#define GOOD_tulle_norm(n, name) TULLE_NORM_ONE
#define GOOD_tulle_ordering(n, name) TULLE_ORDERING_RANDOM
#define GOOD_tulle_symmetry(n, name) TULLE_SYMMETRIC
#define GOOD_tulle_duplicates(n, name) TULLE_DUPLICATES_SUM
#define GOOD_tulle_reduction(n, name) TULLE_SUM
#define GOOD_tulle_status(n, name) TULLE_OK
#define GOOD_tulle_product_alg(n, name) TULLE_PRODUCT_STATIONARY_C
#define GOOD_tulle_transfers(n, name) TULLE_TRANSFERS_ROWS
#define GOOD_tulle_trisolve_method(n, name) TULLE_TRISOLVE_LEVELS
#define GOOD_tulle_function_kind(n, name) TULLE_FUNCTION_EXP
#define GOOD_tulle_density_method(n, name) TULLE_DENSITY_TC2
#define GOOD_tulle_matfun_method(n, name) TULLE_MATFUN_NEWTON_SCHULZ
#define GOOD_tulle_krylov_method(n, name) TULLE_KRYLOV_CG
#define GOOD_tulle_precond_kind(n, name) TULLE_PRECOND_IC0
#define GOOD_tulle_stop(n, name) TULLE_STOP_CONVERGED
#define GOOD_tulle_least_squares_method(n, name) TULLE_LEAST_SQUARES_LSMR
#define GOOD_tulle_spectrum_end(n, name) TULLE_SPECTRUM_LARGEST
#define GOOD_tulle_body(n, name) a_body
#define GOOD_tulle_progress_call(n, name) a_call
#define GOOD_tulle_attend_call(n, name) an_attend_call

#define GOOD_c_char_p(n, name) a_text(f, function, name)
#define GOOD_c_char_p_c_p(n, name)                                                                                     \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        "1"                                                                                                            \
    }
#define GOOD_c_tulle_block_cuts_p(n, name) block_cuts()
#define GOOD_c_tulle_layout_p(n, name) layout_for(f, function)
#define GOOD_tulle_layout_p(n, name) a_layout(f, M)
#define GOOD_tulle_comm_p(n, name) a_comm(f, name)
#define GOOD_c_tulle_comm_p(n, name) f->comm
#define GOOD_tulle_team_p(n, name) (strcmp(function, "tulle_team_free") == 0 ? NULL : a_team(f))
#define GOOD_c_tulle_team_p(n, name) a_team(f)
#define GOOD_tulle_mat_p(n, name) a_mat(f, function, name)
#define GOOD_c_tulle_mat_p(n, name) a_mat(f, function, name)
#define GOOD_tulle_product_p(n, name) a_plan(f)
#define GOOD_c_tulle_product_p(n, name) a_plan(f)
#define GOOD_tulle_matfun_p(n, name) a_matfun(f)
#define GOOD_c_tulle_matfun_p(n, name) a_matfun(f)
#define GOOD_c_tulle_function_p(n, name) a_function(f)
#define GOOD_tulle_spectrum_p(n, name) (strcmp(function, "tulle_spectrum_free") == 0 ? NULL : a_spectrum(f))
#define GOOD_c_tulle_spectrum_p(n, name) NULL /* it has no plan */
#define GOOD_tulle_svd_p(n, name) (strcmp(function, "tulle_svd_free") == 0 ? NULL : an_svd(f))
#define GOOD_c_tulle_svd_p(n, name) NULL /* it has no plan */
#define GOOD_tulle_trisolve_p(n, name) a_solver(f)
#define GOOD_c_tulle_trisolve_p(n, name) a_solver(f)
#define GOOD_tulle_stream_p(n, name) a_stream(f)
#define GOOD_c_tulle_stream_p(n, name) a_stream(f)
#define GOOD_c_tulle_stream_plan_p(n, name) (tulle_stream_plan *)ZEROS(n)
#define GOOD_tulle_rows_p(n, name) some_rows(f)
#define GOOD_c_tulle_rows_p(n, name) some_rows(f)
#define GOOD_tulle_writer_p(n, name) a_writer(f)
#define GOOD_tulle_counts_p(n, name) a_census(f)
#define GOOD_c_tulle_counts_p(n, name) a_census(f)
#define GOOD_tulle_fetch_p(n, name) a_fetch(f)
#define GOOD_tulle_direct_p(n, name) direct_factors(f)
#define GOOD_c_tulle_machine_p(n, name) summit(f)
#define GOOD_c_tulle_operator_p(n, name) an_operator(f, name)
#define GOOD_c_tulle_launcher_p(n, name) tulle_launcher_list(0)

#define GOOD_c_int_p(n, name) descriptor
#define GOOD_tulle_cyclic_p(n, name) distribution(f)
#define GOOD_c_tulle_cyclic_p(n, name) distribution(f)
#define GOOD_c_tulle_cyclic_part_p(n, name) a_part(f, n)
#define GOOD_c_tulle_csr_rows_p(n, name) csr_rows(f)
#define GOOD_c_tulle_bsr_rows_p(n, name) bsr_rows(f)
#define GOOD_c_tulle_array_p(n, name) an_array(f, n, function, name)
#define GOOD_tulle_array_p(n, name)                                                                                    \
    (strcmp(function, "tulle_array_free") == 0 ? (tulle_array *)ZEROS(n) : an_array(f, n, function, name))
#define GOOD_c_tulle_layout_spec_p(n, name) layout_spec(f)
#define GOOD_c_tulle_counts_spec_p(n, name) census_spec(f)
#define GOOD_c_tulle_communicator_p(n, name) communicator(f)

#define GOOD_c_tulle_device_model_p(n, name) (&(const tulle_device_model){.memory = 1e9})
#define GOOD_c_tulle_prediction_p(n, name) ZEROS(n)

#endif
