/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of Tulle's side, and what its results must be. */
#include "ours.h"

#include <chrono>

void ask(tulle_status status, const char *what)
{
    if (status == TULLE_OK) return;
    const char *message = tulle_error_message();
    throw refusal{std::string(what) + ": " + tulle_status_name(status) + ": " + (message ? message : "")};
}

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> of)
{
    if (of.empty()) return 0;
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

tulle_tile tile_of(const tulle_mat *A, int i, int j)
{
    tulle_tile tile;
    ask(tulle_mat_tile(A, i, j, &tile), "a tile");
    return tile;
}

matrix matrix_of(const tulle_tile &tile)
{
    matrix A;
    A.m = tile.m, A.n = tile.n;
    const size_t rows = static_cast<size_t>(tile.m), entries = static_cast<size_t>(tile.nnz);
    if (entries > INT32_MAX) throw refusal{"more entries than indices of 32 bits"};
    A.rowptr.resize(rows + 1);
    for (size_t r = 0; r <= rows; r++) A.rowptr[r] = static_cast<int>(tile.rowptr[r]);
    A.colind.assign(tile.colind, tile.colind + entries);
    A.val.resize(entries);
    for (size_t e = 0; e < entries; e++)
        A.val[e] = tile.type == TULLE_F64 ? static_cast<const double *>(tile.val)[e]
                                          : static_cast<double>(static_cast<const float *>(tile.val)[e]);
    return A;
}

tulle_mat *empty(tulle_comm *comm, int64_t rows, int64_t cols, tulle_type type)
{
    tulle_layout_spec spec = {};
    tulle_layout *layout = nullptr;
    tulle_mat *A = nullptr;
    spec.m = rows, spec.n = cols;
    ask(tulle_layout_new(&spec, 1, &layout), "a layout");
    const guard free_layout{[&] { tulle_layout_free(layout); }};
    ask(tulle_mat_new_dense(comm, layout, type, TULLE_ROW_MAJOR, &A), "a dense matrix");
    return A;
}

tulle_mat *columns(tulle_comm *comm, int64_t rows, int64_t cols, tulle_type type)
{
    tulle_mat *A = empty(comm, rows, cols, type);
    tulle_own_tile tile;
    ask(tulle_mat_own_tile(A, 0, 0, &tile), "a dense matrix");
    for (size_t r = 0; r < static_cast<size_t>(rows); r++)
        for (size_t c = 0; c < static_cast<size_t>(cols); c++) {
            const size_t at = r * static_cast<size_t>(tile.ld) + c;
            if (type == TULLE_F64)
                static_cast<double *>(tile.val)[at] = column_value<double>(r, c);
            else
                static_cast<float *>(tile.val)[at] = column_value<float>(r, c);
        }
    return A;
}

tulle_mat *in_even_blocks(const operand &x, int size)
{
    std::vector<tulle_gidx> cut;
    for (tulle_gidx row = 0; row <= x.host.m; row += size) cut.push_back(row);
    if (cut.back() != x.host.m) throw refusal{"the size of blocks does not divide the matrix"};
    tulle_layout_spec spec = {};
    tulle_layout *layout = nullptr;
    tulle_mat *V = nullptr;
    spec.m = x.host.m, spec.n = x.host.n;
    spec.row_blocks = spec.col_blocks = {static_cast<tulle_gidx>(cut.size()) - 1, cut.data()};
    ask(tulle_layout_new(&spec, 1, &layout), "a layout of blocks");
    const guard free_layout{[&] { tulle_layout_free(layout); }};
    ask(tulle_mat_to_vbsr(x.A, layout, &V), "blocks");
    return V;
}

values column_of(const tulle_mat *A, int c)
{
    const tulle_tile tile = tile_of(A);
    values column(static_cast<size_t>(tile.m));
    for (size_t r = 0; r < column.size(); r++) {
        const size_t at = r * static_cast<size_t>(tile.ld) + static_cast<size_t>(c);
        column[r] = tile.type == TULLE_F64 ? static_cast<const double *>(tile.val)[at]
                                           : static_cast<double>(static_cast<const float *>(tile.val)[at]);
    }
    return column;
}

double difference_of_columns(const job &of, const matrix &A, const tulle_mat *Y, int cols)
{
    double most = 0;
    for (int c : {0, cols - 1}) {
        values from(static_cast<size_t>(A.n));
        for (size_t r = 0; r < from.size(); r++) from[r] = column_value<double>(r, static_cast<size_t>(c));
        most = std::max(most, compare(multiply(A, {from, from}), longest(A), column_of(Y, c), of.type == "f64"));
    }
    sums from = ones(A.n); /* and of all columns together */
    values all(static_cast<size_t>(A.m));
    for (size_t r = 0; r < from.is.size(); r++) {
        from.is[r] = 0;
        for (int c = 0; c < cols; c++) from.is[r] += column_value<double>(r, static_cast<size_t>(c));
        from.size[r] = from.is[r];
    }
    for (int c = 0; c < cols; c++) {
        const values column = column_of(Y, c);
        for (size_t r = 0; r < all.size(); r++) all[r] += column[r];
    }
    (void)compare(multiply(A, from), longest(A) + cols, all, of.type == "f64");
    return most;
}

double bytes_of(const matrix &A, const job &of, int cols)
{
    const double size = of.type == "f64" ? 8 : 4, entries = static_cast<double>(A.entries());
    return entries * (size + 4) + static_cast<double>(A.m) * 4 + static_cast<double>(A.m + A.n) * size * cols;
}
