/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the public functions whose calls fail in turn. For public.c alone. */
#ifndef TULLE_TEST_PUBLIC_CALLS_H
#define TULLE_TEST_PUBLIC_CALLS_H

#include "matrix_calls.h"
#include "solver_calls.h"
#include "spectrum_calls.h"

typedef tulle_status (*call)(struct fixture *f, const char *text);

/* Names of the functions that a call tries, and with what. */
enum { TEXTS = 9 };
static const struct subject {
    const char *names;
    call call;
    const char *text[TEXTS + 1]; /* for it, one after the other */
    const char *needs;           /* a fact of the build, NULL: nothing */
    int alone;                   /* a PE may fail alone: the status is agreed on here */
} subjects[] = {
    {"tulle_comm_broadcast", broadcast, {""}, NULL, 1},
    {"tulle_comm_reduce_int tulle_comm_reduce_real", reduce, {""}, NULL, 1},
    {"tulle_comm_split tulle_comm_free", split, {""}, NULL, 0},
    {"tulle_layout_new tulle_layout_copy tulle_layout_transpose tulle_layout_free", layouts, {""}, NULL, 1},
    {"tulle_mat_new_dense tulle_mat_new_dense_undefined tulle_mat_new_csr tulle_mat_free", new_mats, {""}, NULL, 0},
    {"tulle_mat_from_csr", from_csr, {"r"}, NULL, 0},
    {"tulle_mat_from_csc", from_csr, {"c"}, NULL, 0},
    {"tulle_mat_from_bsr", from_csr, {"b"}, NULL, 0},
    {"tulle_mat_from_entries", from_entries, {""}, NULL, 0},
    {"tulle_mat_get_tile tulle_fetch_wait tulle_fetch_free", get_tiles, {""}, NULL, 1},
    {"tulle_mat_replace tulle_mat_renew", replace, {""}, NULL, 0},
    {"tulle_mat_redistribute tulle_mat_transpose tulle_mat_fill_random", reshape, {""}, NULL, 0},
    {"tulle_layout_in_blocks tulle_mat_to_vbsr tulle_mat_to_bsr tulle_mat_to_csr", blocks, {"v.mtx"}, NULL, 0},
    {"tulle_mat_new_vbsr", new_blocks, {""}, NULL, 0},
    {"tulle_mat_add tulle_mat_redistribute tulle_mat_replace_blocks", sum_of_blocks, {""}, NULL, 0},
    {"tulle_mat_order", order, {""}, NULL, 0},
    {"tulle_mat_compress tulle_mat_expand", hypersparse, {""}, NULL, 0},
    {"tulle_mat_add tulle_mat_scale tulle_mat_drop tulle_mat_range tulle_mat_diagonal tulle_mat_norm "
     "tulle_mat_sddmm tulle_mat_trace tulle_mat_infinite_rows tulle_mat_gershgorin tulle_mat_asymmetry "
     "tulle_mat_symmetrise tulle_mat_ordering tulle_mat_permute",
        algebra, {""}, NULL, 0},
    {"tulle_mat_from_array tulle_mat_to_array tulle_array_free", into_arrays, {"0", "1", "2", "3"}, NULL, 0},
    {"tulle_multiply", with_arrays, {"s", "d"}, NULL, 0},
    {"tulle_solve tulle_solve_triangular", with_arrays, {"c", "t"}, NULL, 0},
    {"tulle_mat_row_nnz tulle_mat_row_flops", weigh, {""}, NULL, 0},
    {"tulle_mat_save", save_sparse, {"a.mtx", "a.mtx.gz", "a.npz", "a.bsp.h5"}, NULL, 0},
    {"tulle_mat_save_as", save_as, {"b.bsp.h5", "auto.bsp.h5"}, NULL, 0},
    {"tulle_mat_save", save_dense, {"d.mtx", "d.npy", "d.bsp.h5"}, NULL, 0},
    {"tulle_writer_open tulle_writer_append tulle_writer_close", write_pieces,
        {"p.mtx", "p.mtx.gz", "p.npz", "p.bsp.h5"}, NULL, 0},
    {"tulle_operand_save", write_slabs, {"s.mtx", "s.mtx.gz", "s.npz", "s.bsp.h5"}, NULL, 0},
    {"tulle_operand_inspect", inspect, {"a.mtx", "a.mtx.gz", "a.npz", "d.npy", "a.bsp.h5", "rmat:scale=4"}, NULL, 1},
    {"tulle_mat_load", load_sparse,
        {"a.mtx", "a.mtx.gz", "a.npz", "a.bsp.h5", "d.mtx", "d.npy", "rmat:scale=4", "er:n=20,degree=3",
            "cantilever:nodes=2,dof=3"},
        NULL, 0},
    {"tulle_mat_load", load_dense, {"a.mtx", "d.npy", "d.bsp.h5", "dense:m=6,n=5"}, NULL, 0},
    {"tulle_mat_from_cyclic tulle_mat_to_cyclic", cyclic, {"c"}, NULL, 0},
    {"tulle_gemm_cyclic", cyclic, {"p"}, NULL, 0},
    {"tulle_cyclic_redistribute", cyclic, {"r"}, NULL, 0},
    {"tulle_product_layout", product_layout, {""}, NULL, 1},
    {"tulle_product_new tulle_product_execute tulle_product_sync tulle_product_free tulle_product_check_matrices",
        product, {"d1 stationary-c", "d1 stationary-a", "s1 stationary-b", "s1 steal-local-c", "d1 summa", "s1 auto"},
        NULL, 0},
    {"tulle_product_next tulle_product_check", product, {"s2 stationary-a"}, NULL, 0},
    {"tulle_product_explain", explain, {""}, NULL, 0},
    {"tulle_factor_ilu0", incomplete, {"i"}, NULL, 0},
    {"tulle_factor_ic0", incomplete, {"c"}, NULL, 0},
    {"tulle_function_parse tulle_matfun_new tulle_matfun_execute tulle_matfun_update tulle_matfun_check "
     "tulle_matfun_checked tulle_matfun_truncation tulle_matfun_free",
        matrix_function, {"sign:mu=0.1", "invsqrt", "root:p=-1"}, "LAPACK: yes", 0},
    {"tulle_spectrum_new tulle_spectrum_filter_degree tulle_spectrum_execute tulle_spectrum_free", eigenpairs,
        {"LM", "SA", "LA"}, NULL, 0},
    {"tulle_lobpcg", preconditioned_pairs, {"jacobi", "none"}, NULL, 0},
    {"tulle_spectrum_of_mat", pencil_pairs, {"nearest", "ends"}, "SuiteSparse: yes", 0},
    {"tulle_svd_new tulle_svd_of_rows tulle_svd_execute tulle_svd_free", triplets, {"memory", "r.bsp.h5"}, NULL, 0},
    {"tulle_least_squares tulle_least_squares_check", fit, {"lsqr", "lsmr"}, NULL, 0},
    {"tulle_least_squares_of_rows tulle_least_squares_check_rows", fit, {"l.bsp.h5"}, NULL, 0},
    {"tulle_density_of_mu", density_matrix, {"mu", "newton"}, "LAPACK: yes", 0},
    {"tulle_density_of_electrons", density_matrix, {"electrons", "tc2"}, "LAPACK: yes", 0},
    {"tulle_direct_lu tulle_direct_free", direct, {"l"}, "SuiteSparse: yes", 0},
    {"tulle_direct_cholesky tulle_direct_free", direct, {"c"}, "SuiteSparse: yes", 0},
    {"tulle_mat_triangle tulle_trisolve_new tulle_trisolve_execute tulle_trisolve_free tulle_trisolve_check",
        solve_triangle, {"chunked"}, NULL, 0},
    {"tulle_trisolve_new tulle_trisolve_layout tulle_trisolve_update", solve_triangle, {"p2p", "growlocal"}, NULL, 0},
    {"tulle_trisolve_new tulle_trisolve_execute tulle_trisolve_update", solve_triangle,
        {"push", "supernodal", "unified-tasks", "zerocopy", "on limit+cpu"}, NULL, 0},
    {"tulle_trisolve_rhs tulle_trisolve_forward", foreknow, {""}, NULL, 0},
    {"tulle_operator_of_elements tulle_operator_free", multiply_elements, {""}, NULL, 0},
    {"tulle_operator_of_mat tulle_operator_free tulle_krylov_solve tulle_krylov_check", solve_iteratively, {"c none"},
        NULL, 0},
    {"tulle_precond_new tulle_krylov_solve", solve_iteratively,
        {"c ic0", "g ilu0", "g jacobi", "b jacobi", "c block-jacobi", "m none", "m jacobi"}, NULL, 0},
    {"tulle_device_probe", probe, {"limit+cpu"}, NULL, 1},
    {"tulle_stream_new tulle_stream_multiply tulle_stream_check tulle_stream_check_solve tulle_stream_free "
     "tulle_operator_of_stream",
        stream, {"limit+cpu"}, NULL, 0},
    {"tulle_stream_new tulle_stream_multiply", stream, {"limit+cpu bsr:b=2,half"}, NULL, 0},
    {"tulle_rows_open tulle_rows_free tulle_rows_warnings tulle_rows_diagonal tulle_stream_of_rows", stream,
        {"s.bsp.h5"}, NULL, 0},
    {"tulle_output_try tulle_output_try_matrix tulle_file_write tulle_machine_try tulle_machine_save", put_files, {""},
        NULL, 1},
    {"tulle_machine_measure_tiers", look_around, {""}, NULL, 0},
    {"tulle_machine_time_product", time_product, {"s", "d"}, NULL, 0},
    {"tulle_product_new tulle_product_execute tulle_counts_new tulle_mat_range tulle_mat_range_add", product_of_blocks,
        {"algorithm", "layers", "stealing", "cuts"}, NULL, 0},
    {"tulle_layout_square tulle_mat_to_half tulle_mat_new_half tulle_mat_to_full tulle_product_execute tulle_mat_save",
        halves, {"plain", "filter", "stealing", "h.mtx"}, NULL, 0},
    {"tulle_counts_new tulle_counts_free tulle_predict tulle_predict_best tulle_predict_loads tulle_predict_devices",
        foresee, {"s", "d"}, NULL, 0},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* Facts that the build must have for a text with this in it. */
static const struct {
    const char *part, *fact;
} wants[] = {{".gz", "zlib: yes"}, {".npz", "zlib: yes"}, {".h5", "HDF5: yes"}, {"block-jacobi", "LAPACK: yes"}};

/* Calls of the program outside a body, charged to the process. */
static tulle_status open_and_run(void);
static tulle_status open_alone(void);
static tulle_status measure(void);
static const struct host_subject {
    const char *names;
    tulle_status (*call)(void);
    int step; /* over 1: beyond the first STEPWISE allocations only every so many fail, as each try takes long */
} host_subjects[] = {
    /* tulle_team_new_over is tulle_team_new with a communicator for the engine; only an MPI program can call it */
    {"tulle_team_new tulle_team_new_over tulle_team_run tulle_team_trace_write tulle_team_free", open_and_run, 1},
    {"tulle_open tulle_close", open_alone, 1},
    /* the rest are the kernels', which test/device makes fail one by one */
    {"tulle_machine_measure", measure, 13},
};
enum { HOST_SUBJECTS = sizeof host_subjects / sizeof *host_subjects };

/* Functions that take no memory from an account. */
static const char without[] =
    " tulle_spectrum_end_name tulle_spectrum_end_parse tulle_spectrum_memory tulle_spectrum_count "
    "tulle_spectrum_filter_pays tulle_spectrum_filter_passes tulle_spectrum_choose tulle_lobpcg_choose "
    "tulle_svd_choose "
    "tulle_least_squares_method_name tulle_least_squares_method_parse tulle_least_squares_memory "
    "tulle_svd_memory tulle_svd_count tulle_svd_means tulle_svd_deviations "
    "tulle_krylov_method_name tulle_krylov_method_parse tulle_precond_kind_name tulle_precond_kind_parse "
    "tulle_precond_parse_spec "
    "tulle_stop_name tulle_operator_on_device "
    "tulle_product_alg_name tulle_product_alg_parse tulle_trisolve_method_name tulle_trisolve_method_parse "
    "tulle_trisolve_method_of tulle_function_name tulle_density_method_name "
    "tulle_density_method_parse tulle_matfun_method_name tulle_matfun_method_parse "
    "tulle_direct_usable tulle_elimination_parse tulle_ordering_parse tulle_ordering_name "
    "tulle_transfers_name tulle_transfers_parse tulle_launched_by tulle_launched_rank "
    "tulle_launched_size tulle_launched_name tulle_launched_check tulle_launcher_list "
    "tulle_launcher_program "
    "tulle_launcher_usable tulle_team_leads tulle_build_fact tulle_comm_agree tulle_comm_allgather tulle_comm_barrier "
    "tulle_comm_attend tulle_comm_hold tulle_comm_lend tulle_comm_release tulle_comm_resume "
    "tulle_comm_interrupt tulle_comm_rank tulle_comm_seconds tulle_comm_size tulle_cuts_even tulle_cuts_weighted "
    "tulle_engine_usable "
    "tulle_error_message tulle_error_message_from tulle_fail tulle_matfun_warnings tulle_density_warnings "
    "tulle_cyclic_from_descriptor "
    "tulle_cyclic_to_descriptor "
    "tulle_cyclic_local_rows tulle_cyclic_local_cols tulle_gemm_grid_of tulle_gemm_grid_best "
    "tulle_gemm_grid_layouts tulle_gemm_blocks_best tulle_gemm_case_name "
    "tulle_grid_square tulle_layout_col_cut tulle_layout_cols tulle_layout_owner tulle_layout_row_cut "
    "tulle_layout_col_blocks tulle_layout_row_blocks tulle_kind_name "
    "tulle_layout_rows tulle_layout_tile_cols tulle_layout_tile_rows tulle_machine_load tulle_machine_path "
    "tulle_machine_system_path tulle_machine_guess tulle_machine_of_team "
    "tulle_machine_find tulle_counts_flops tulle_counts_entries tulle_counts_block_flops tulle_roofline_spmm "
    "tulle_roofline_spgemm "
    "tulle_roofline_gemm "
    "tulle_roofline_network "
    "tulle_budget_add tulle_budget_least tulle_budget_check tulle_memory_free tulle_cores_free tulle_krylov_memory "
    "tulle_mat_compressed tulle_mat_compresses "
    "tulle_output_distinct tulle_mat_bytes tulle_mat_cols tulle_mat_comm tulle_mat_kind tulle_mat_layout tulle_mat_nnz "
    "tulle_half_stores tulle_mat_ordered tulle_mat_own_tile tulle_mat_rows tulle_mat_symmetry tulle_mat_tile "
    "tulle_mat_type tulle_nearest_word "
    "tulle_operand_generator "
    "tulle_parse_bytes "
    "tulle_parse_int tulle_parse_real tulle_parse_type tulle_parse_word tulle_product_alg_of tulle_product_bytes "
    "tulle_product_describe "
    "tulle_product_replication tulle_product_report_add tulle_machine_merge "
    "tulle_product_phases tulle_product_bound tulle_status_name tulle_status_text tulle_team_memory_peak "
    "tulle_team_size tulle_team_sizes_only tulle_team_spec tulle_team_threads tulle_team_virtual tulle_team_watch "
    "tulle_type_name "
    "tulle_type_size "
    "tulle_device_list tulle_rows_count tulle_rows_cols tulle_rows_nnz tulle_rows_type tulle_rows_set_type "
    "tulle_rows_set_finite "
    "tulle_rows_mode "
    "tulle_stream_planned tulle_stream_layout tulle_stream_describe "
    "tulle_version ";

#endif
