/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in dense blocks, and sums in ranges of them. */
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "handles.h"

tulle_status in_blocks(tulle_comm *comm, const tulle_mat *A, const Cuts &rows, const Cuts &cols, tulle_mat **V)
{
    tulle_layout *layout = nullptr;
    tulle_layout_spec spec = {};
    spec.m = tulle_mat_rows(A);
    spec.n = tulle_mat_cols(A);
    spec.grid_rows = tulle_comm_size(comm);
    spec.grid_cols = 1;
    spec.row_blocks = {static_cast<tulle_gidx>(rows.size()) - 1, rows.data()};
    spec.col_blocks = {static_cast<tulle_gidx>(cols.size()) - 1, cols.data()};
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, layout, V);
    tulle_layout_free(layout);
    return status;
}

namespace
{

/* *V, which is symmetric, becomes its half. Collective. */
tulle_status halve(tulle_mat **V)
{
    tulle_mat *half = nullptr;
    const tulle_status status = tulle_mat_to_half(*V, TULLE_SYMMETRIC, &half);
    if (status != TULLE_OK) return status;
    tulle_mat_free(*V);
    *V = half;
    return TULLE_OK;
}

/* C of A B; square: with tiles as a half has. Collective. */
tulle_status make_result(const tulle_mat *A, const tulle_mat *B, bool square, bool half, tulle_mat **C)
{
    tulle_comm *comm = tulle_mat_comm(A);
    tulle_layout *layout = nullptr, *tiles = nullptr;
    tulle_status status = tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &layout);
    if (status == TULLE_OK && square) status = tulle_layout_square(layout, &tiles);
    status = tulle_comm_agree(comm, status);
    const tulle_layout *chosen = tiles ? tiles : layout;
    if (status == TULLE_OK)
        status = half ? tulle_mat_new_half(comm, chosen, tulle_mat_type(A), TULLE_SYMMETRIC, C)
                      : tulle_mat_new_vbsr(comm, chosen, tulle_mat_type(A), C);
    tulle_layout_free(layout);
    tulle_layout_free(tiles);
    return status;
}

/* C = alpha A B; B None: A. half: A and B are symmetric and stored as halves, and so is a symmetric C. (C, report) */
nb::tuple block_matmul(const MatRef &A, nb::object second, const Cuts &rows, const Cuts &inner, const Cuts &cols,
    double alpha, double filter, bool symmetric_c, bool half, const std::string &algorithm)
{
    const MatRef B = second.is_none() ? MatRef() : nb::cast<MatRef>(second);
    tulle_mat *out = nullptr;
    tulle_product_report r = {};
    std::string used;
    A->team->call([&](tulle_comm *comm) {
        tulle_mat *a = nullptr, *b = nullptr, *C = nullptr, *whole = nullptr;
        tulle_product *plan = nullptr;
        tulle_product_options options = {};
        options.size = sizeof options;
        options.filter = filter;
        options.symmetric_c = symmetric_c;
        tulle_status status = algorithm.empty() ? TULLE_OK : tulle_product_alg_parse(algorithm.c_str(), &options.alg);
        if (status == TULLE_OK) status = in_blocks(comm, A->mat, rows, inner, &a);
        if (status == TULLE_OK && B) status = in_blocks(comm, B->mat, inner, cols, &b);
        if (status == TULLE_OK && half) status = halve(&a);
        if (status == TULLE_OK && half && b) status = halve(&b);
        if (status == TULLE_OK) status = make_result(a, b ? b : a, half, half && symmetric_c, &C);
        if (status == TULLE_OK) status = tulle_product_new(a, b ? b : a, C, &options, &plan);
        if (status == TULLE_OK) status = tulle_product_execute(plan, alpha, 0, &r);
        if (status == TULLE_OK) used = tulle_product_alg_name(tulle_product_alg_of(plan));
        if (status == TULLE_OK && tulle_mat_symmetry(C) != TULLE_GENERAL) status = tulle_mat_to_full(C, &whole);
        if (status == TULLE_OK) status = tulle_mat_to_csr(whole ? whole : C, false, &out);
        tulle_product_free(plan);
        tulle_mat_free(whole);
        tulle_mat_free(C);
        tulle_mat_free(a);
        tulle_mat_free(b);
        return status;
    });
    nb::dict d;
    d["algorithm"] = used;
    d["seconds"] = r.seconds;
    d["flops"] = r.flops;
    d["nnz_c"] = r.nnz_c;
    d["bytes_moved"] = r.bytes_moved;
    d["skipped_products"] = r.skipped_products;
    d["filtered_blocks"] = r.filtered_blocks;
    return nb::make_tuple(std::make_shared<Mat>(A->team, out, std::vector<nb::object>()), d);
}

/* C whose range at (row, col) is alpha P + beta of what it was. */
MatRef block_range_add(double alpha, const MatRef &P, double beta, const MatRef &C, tulle_gidx row, tulle_gidx col,
    const Cuts &p_rows, const Cuts &p_cols, const Cuts &rows, const Cuts &cols)
{
    tulle_mat *out = nullptr;
    C->team->call([&](tulle_comm *comm) {
        tulle_mat *p = nullptr, *c = nullptr;
        tulle_status status = in_blocks(comm, P->mat, p_rows, p_cols, &p);
        if (status == TULLE_OK) status = in_blocks(comm, C->mat, rows, cols, &c);
        if (status == TULLE_OK) status = tulle_mat_range_add(alpha, p, beta, c, row, col);
        if (status == TULLE_OK) status = tulle_mat_to_csr(c, false, &out);
        tulle_mat_free(p);
        tulle_mat_free(c);
        return status;
    });
    return std::make_shared<Mat>(C->team, out, std::vector<nb::object>());
}

} // namespace

void bind_blocks(nb::module_ &m)
{
    m.def("block_matmul", &block_matmul, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg());
    m.def("block_range_add", &block_range_add);
}
