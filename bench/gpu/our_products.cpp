/* SPDX-License-Identifier: Apache-2.0 */
/* Tulle's products on the GPU: SpMM, SpGEMM, blocks and GEMM. */
#include "measure.h"
#include "ours.h"

namespace
{

/* Seconds of the first call, with its plan, of a later one, and of the kernels in one of them. */
struct times {
    double first = 0, later = 0, kernels = 0;
    int64_t flops = 0;
};

struct product {
    tulle_mat *A, *B, *C;
    tulle_product_options options;
    bool structure; /* times of kernels are of first executions, which find the structure of C too */
};

/* Executes a new plan twice or more. */
times run_once(const product &p, int executions)
{
    times t;
    std::vector<double> later, kernels;
    tulle_product *plan = nullptr;
    tulle_product_report report;
    double begin = now();
    ask(tulle_product_new(p.A, p.B, p.C, &p.options, &plan), "the plan");
    const guard free_plan{[&] { tulle_product_free(plan); }};
    for (int e = 0; e < executions; e++) {
        ask(tulle_product_execute(plan, 1, 0, &report), "the product");
        const double end = now();
        e ? later.push_back(end - begin) : void(t.first = end - begin);
        if (p.structure ? e == 0 : e > 0) kernels.push_back(report.device.kernel_seconds);
        begin = now();
    }
    t.later = median(later), t.kernels = median(kernels), t.flops = report.flops;
    return t;
}

times run(const product &p)
{
    if (!p.structure) return run_once(p, 6);
    std::vector<double> first, later, kernels;
    times t;
    for (int turn = 0; turn < 3; turn++) {
        t = run_once(p, 2);
        first.push_back(t.first), later.push_back(t.later), kernels.push_back(t.kernels);
    }
    t.first = median(first), t.later = median(later), t.kernels = median(kernels);
    return t;
}

void print(const job &of, const char *op, int64_t cols, const times &t, double off, double bytes)
{
    line to(of);
    to.add("op", op).add("cols", cols).add("seconds", t.first).add("seconds_reused_plan", t.later);
    to.add("kernel_seconds", t.kernels).add("flops", t.flops).add("max_difference", off);
    if (bytes > 0) to.add("bytes", bytes).add("bound_seconds", bytes / copy_rate(of));
    to.print();
}

tulle_product_options on_gpu(const char *device)
{
    tulle_product_options options = {};
    options.size = sizeof options;
    options.device = device;
    return options;
}

void spmm(tulle_comm *comm, const job &of, const operand &x)
{
    const int cols = of.number();
    const handle<tulle_mat, tulle_mat_free> B(columns(comm, x.host.n, cols, type_of(of)));
    const handle<tulle_mat, tulle_mat_free> C(empty(comm, x.host.m, cols, type_of(of)));
    const times t = run({x.A, B.get(), C.get(), on_gpu("cuda:kernels=own"), false});
    const double off = difference_of_columns(of, x.host, C.get(), cols);
    print(of, "spmm", cols, t, off, bytes_of(x.host, of, cols));
}

/* A A, or A A^T if A is not square; C's rows are compared by weighted sums. */
void spgemm(const job &of, const operand &x, tulle_mat *A)
{
    const bool square = x.host.m == x.host.n;
    tulle_product_options options = on_gpu("cuda");
    tulle_layout *layout = nullptr;
    tulle_mat *C = nullptr;
    options.op_b = square ? TULLE_OP_N : TULLE_OP_T;
    ask(tulle_product_layout(A, TULLE_OP_N, A, options.op_b, &layout), "C's layout");
    const guard free_layout{[&] { tulle_layout_free(layout); }};
    tulle_comm *comm = tulle_mat_comm(A);
    const bool blocks = tulle_mat_kind(A) == TULLE_VBSR;
    ask(blocks ? tulle_mat_new_vbsr(comm, layout, type_of(of), &C) : tulle_mat_new_csr(comm, layout, type_of(of), &C),
        "C");
    const guard free_c{[&] { tulle_mat_free(C); }};
    const times t = run({A, A, C, options, true});
    tulle_mat *rows = nullptr;
    if (blocks) ask(tulle_mat_to_csr(C, false, &rows), "C in rows");
    const guard free_rows{[&] { tulle_mat_free(rows); }};
    const matrix B = square ? matrix() : transposed(x.host), made = matrix_of(tile_of(blocks ? rows : C));
    const sums inner = multiply(square ? x.host : B, weights(x.host.m));
    const int terms = longest(x.host) + longest(made);
    const double off = compare(multiply(x.host, inner), terms, multiply(made, weights(made.n)).is, of.type == "f64");
    print(of, "spgemm", 0, t, off, 0);
}

void blocks(const job &of, const operand &x)
{
    const handle<tulle_mat, tulle_mat_free> V(in_even_blocks(x, of.number()));
    spgemm(of, x, V.get());
}

template <typename T> void fill(tulle_mat *A, size_t tiles, int (*element)(size_t, size_t))
{
    const tulle_layout *layout = tulle_mat_layout(A);
    for (size_t i = 0; i < tiles; i++)
        for (size_t j = 0; j < tiles; j++) {
            tulle_own_tile tile;
            ask(tulle_mat_own_tile(A, static_cast<int>(i), static_cast<int>(j), &tile), "a factor");
            const size_t row = static_cast<size_t>(tulle_layout_row_cut(layout)[i]),
                         column = static_cast<size_t>(tulle_layout_col_cut(layout)[j]);
            for (size_t r = 0; r < static_cast<size_t>(tile.m); r++)
                for (size_t c = 0; c < static_cast<size_t>(tile.n); c++)
                    static_cast<T *>(tile.val)[r * static_cast<size_t>(tile.ld) + c] =
                        static_cast<T>(element(row + r, column + c));
        }
}

/* Some rows of the first and of the last column must be right to the bit. */
template <typename T> void verify(const tulle_mat *C, size_t n, size_t tiles)
{
    const tulle_layout *layout = tulle_mat_layout(C);
    for (size_t i = 0; i < tiles; i++)
        for (size_t j : {size_t(0), tiles - 1}) {
            const tulle_tile tile = tile_of(C, static_cast<int>(i), static_cast<int>(j));
            const size_t row = static_cast<size_t>(tulle_layout_row_cut(layout)[i]), column = j ? n - 1 : 0;
            const size_t at = j ? static_cast<size_t>(tile.n) - 1 : 0;
            for (size_t r = 0; r < static_cast<size_t>(tile.m); r += 1 + n / 64)
                if (static_cast<double>(static_cast<const T *>(tile.val)[r * static_cast<size_t>(tile.ld) + at]) !=
                    dense_product(n, row + r, column))
                    throw refusal{"the result is wrong in row " + std::to_string(row + r)};
        }
}

} // namespace

void our_products(tulle_comm *comm, const job &of, const operand &x)
{
    if (of.part == "spmm")
        spmm(comm, of, x);
    else if (of.part == "blocks")
        blocks(of, x);
    else
        spgemm(of, x, x.A);
}

void our_gemm(tulle_comm *comm, const job &of, const operand &)
{
    const int n = std::atoi(of.spec.c_str()), tiles = of.number();
    const bool wide = of.type == "f64";
    std::vector<std::unique_ptr<handle<tulle_mat, tulle_mat_free>>> M;
    tulle_layout_spec spec = {};
    tulle_layout *layout = nullptr;
    spec.m = spec.n = n;
    spec.tile_rows = spec.tile_cols = tiles;
    ask(tulle_layout_new(&spec, 1, &layout), "a layout");
    const guard free_layout{[&] { tulle_layout_free(layout); }};
    for (int i = 0; i < 3; i++) {
        tulle_mat *made = nullptr;
        ask(tulle_mat_new_dense_undefined(comm, layout, type_of(of), TULLE_ROW_MAJOR, &made), "a matrix");
        M.push_back(std::make_unique<handle<tulle_mat, tulle_mat_free>>(made));
        int (*const element)(size_t, size_t) = i ? dense_b : dense_a;
        if (i < 2) wide ? fill<double>(made, size_t(tiles), element) : fill<float>(made, size_t(tiles), element);
    }
    const times t = run({M[0]->get(), M[1]->get(), M[2]->get(), on_gpu("cuda"), false});
    wide ? verify<double>(M[2]->get(), size_t(n), size_t(tiles)) : verify<float>(M[2]->get(), size_t(n), size_t(tiles));
    print(of, "gemm", n, t, 0, 0);
}
