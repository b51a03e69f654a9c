/* SPDX-License-Identifier: Apache-2.0 */
/* Values for arguments that come out of a call, or are plain numbers: zeros. For good_values.h alone. */
#ifndef TULLE_TEST_RESULT_VALUES_H
#define TULLE_TEST_RESULT_VALUES_H

/* numbers that go in or come out, and all else that comes out */
#define GOOD_char_p(n, name) ZEROS(n)
#define GOOD_void_p(n, name) ZEROS(n)
#define GOOD_c_void_p(n, name) ZEROS(n)
#define GOOD_int_p(n, name) ZEROS(n)
#define GOOD_tulle_lent_p(n, name) ZEROS(n)
#define GOOD_c_tulle_lent_p(n, name) ZEROS(n)
#define GOOD_int64_t_p(n, name) ZEROS(n)
#define GOOD_c_int64_t_p(n, name) ZEROS(n)
#define GOOD_tulle_ordering_p(n, name) ZEROS(n)
#define GOOD_tulle_gidx_p(n, name) ZEROS(n)
#define GOOD_c_tulle_lidx_p(n, name) ZEROS(n)
#define GOOD_double_p(n, name) ZEROS(n)
#define GOOD_c_double_p(n, name) ZEROS(n)
#define GOOD_c_char_pp(n, name) ZEROS(n)
#define GOOD_tulle_product_alg_p(n, name) ZEROS(n)
#define GOOD_tulle_counts_pp(n, name) (f->makes[n] = 'c', ZEROS(n))
#define GOOD_tulle_comm_pp(n, name) (f->makes[n] = strcmp(function, "tulle_open") == 0 ? 'o' : 0, ZEROS(n))
#define GOOD_tulle_device_facts_p(n, name) ZEROS(n)
#define GOOD_tulle_direct_pp(n, name) ZEROS(n)
#define GOOD_tulle_elimination_p(n, name) ZEROS(n)
#define GOOD_tulle_factor_report_p(n, name) ZEROS(n)
#define GOOD_tulle_fetch_pp(n, name) (f->makes[n] = 'f', ZEROS(n))
#define GOOD_tulle_forward_p(n, name) ZEROS(n)
#define GOOD_tulle_krylov_method_p(n, name) ZEROS(n)
#define GOOD_tulle_krylov_report_p(n, name) ZEROS(n)
#define GOOD_tulle_least_squares_method_p(n, name) ZEROS(n)
#define GOOD_tulle_least_squares_report_p(n, name) ZEROS(n)
#define GOOD_tulle_spectrum_end_p(n, name) ZEROS(n)
#define GOOD_tulle_spectrum_pp(n, name) ZEROS(n)
#define GOOD_tulle_spectrum_report_p(n, name) ZEROS(n)
#define GOOD_tulle_spectrum_sizes_p(n, name) ZEROS(n)
#define GOOD_tulle_svd_pp(n, name) ZEROS(n)
#define GOOD_tulle_svd_report_p(n, name) ZEROS(n)
#define GOOD_tulle_layout_pp(n, name) (f->makes[n] = 'l', ZEROS(n))
#define GOOD_tulle_machine_p(n, name) ZEROS(n)
#define GOOD_tulle_mat_pp(n, name) ZEROS(n)
#define GOOD_tulle_function_p(n, name) ZEROS(n)
#define GOOD_tulle_density_method_p(n, name) ZEROS(n)
#define GOOD_tulle_matfun_method_p(n, name) ZEROS(n)
#define GOOD_tulle_matfun_pp(n, name) ZEROS(n)
#define GOOD_tulle_matfun_report_p(n, name) ZEROS(n)
#define GOOD_c_tulle_matfun_report_p(n, name) ZEROS(n)
#define GOOD_tulle_density_report_p(n, name) ZEROS(n)
#define GOOD_c_tulle_density_report_p(n, name) ZEROS(n)
#define GOOD_tulle_trisolve_method_p(n, name) ZEROS(n)
#define GOOD_tulle_operand_shape_p(n, name) ZEROS(n)
#define GOOD_tulle_operator_p(n, name) ZEROS(n)
#define GOOD_tulle_compressed_p(n, name) ZEROS(n)
#define GOOD_tulle_product_pp(n, name) ZEROS(n)
#define GOOD_tulle_precond_kind_p(n, name) ZEROS(n)
#define GOOD_tulle_precond_options_p(n, name) ZEROS(n)
#define GOOD_tulle_prediction_p(n, name) ZEROS(n)
#define GOOD_tulle_device_prediction_p(n, name) ZEROS(n)
#define GOOD_tulle_gemm_grid_p(n, name) ZEROS(n)
#define GOOD_c_tulle_gemm_grid_p(n, name) (&(const tulle_gemm_grid){.rows = 1, .cols = 1, .layers = 1})
#define GOOD_tulle_product_report_p(n, name) ZEROS(n)
#define GOOD_tulle_product_mechanism_p(n, name) ZEROS(n)
#define GOOD_c_tulle_product_report_p(n, name) ZEROS(n)
#define GOOD_tulle_machine_noise_p(n, name) ZEROS(n)
#define GOOD_tulle_columns_p(n, name) ZEROS(n)
#define GOOD_tulle_budget_p(n, name) ZEROS(n)
#define GOOD_c_tulle_budget_p(n, name) ZEROS(n)
#define GOOD_tulle_rows_pp(n, name) ZEROS(n)
#define GOOD_tulle_stream_pp(n, name) ZEROS(n)
#define GOOD_tulle_stream_report_p(n, name) ZEROS(n)
#define GOOD_tulle_team_pp(n, name) (f->makes[n] = 't', ZEROS(n))
#define GOOD_tulle_tile_p(n, name) ZEROS(n)
#define GOOD_tulle_own_tile_p(n, name) ZEROS(n)
#define GOOD_tulle_transfers_p(n, name) ZEROS(n)
#define GOOD_tulle_trisolve_pp(n, name) ZEROS(n)
#define GOOD_tulle_trisolve_report_p(n, name) ZEROS(n)
#define GOOD_tulle_type_p(n, name) ZEROS(n)
#define GOOD_tulle_writer_pp(n, name) ZEROS(n)
#define GOOD_c_tulle_gemm_tiles_p(n, name) (&(const tulle_gemm_tiles){.devices = 1})
#define GOOD_tulle_gemm_blocks_p(n, name) ZEROS(n)
#define GOOD_tulle_gemm_case(n, name) TULLE_GEMM_CASE_A

/* options: the defaults */
#define GOOD_c_tulle_team_options_p(n, name) NULL
#define GOOD_c_tulle_open_options_p(n, name) NULL
#define GOOD_c_tulle_solve_options_p(n, name) NULL
#define GOOD_c_tulle_read_options_p(n, name) NULL
#define GOOD_c_tulle_product_options_p(n, name) NULL
#define GOOD_c_tulle_model_options_p(n, name) NULL
#define GOOD_c_tulle_trisolve_options_p(n, name) NULL
#define GOOD_c_tulle_krylov_options_p(n, name) NULL
#define GOOD_c_tulle_least_squares_options_p(n, name) NULL
#define GOOD_c_tulle_spectrum_options_p(n, name) NULL
#define GOOD_c_tulle_svd_options_p(n, name) NULL
#define GOOD_c_tulle_precond_options_p(n, name) NULL
#define GOOD_c_tulle_factor_options_p(n, name) NULL
#define GOOD_c_tulle_matfun_options_p(n, name) NULL
#define GOOD_c_tulle_density_options_p(n, name) NULL
#define GOOD_c_tulle_direct_options_p(n, name) NULL
#define GOOD_c_tulle_stream_options_p(n, name) NULL

#endif
