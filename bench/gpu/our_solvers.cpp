/* SPDX-License-Identifier: Apache-2.0 */
/* Tulle's streams, triangular solves, linear systems and functions of matrices on the GPU. */
#include "ours.h"

namespace
{

typedef handle<tulle_mat, tulle_mat_free> mat;

/* ---- triangular solves ---- */

void solve_by(tulle_comm *comm, const job &of, const tulle_mat *T, const matrix &L, tulle_trisolve_method method)
{
    const int cols = of.number();
    const bool wide = of.type == "f64";
    tulle_trisolve_options options = {};
    tulle_trisolve *solver = nullptr;
    tulle_trisolve_report report = {};
    options.size = sizeof options, options.method = method, options.device = "cuda";
    ask(tulle_trisolve_new(T, &options, &solver), "the analysis");
    const guard free_solver{[&] { tulle_trisolve_free(solver); }};
    const values b = multiply(L, ones(L.n)).is;
    const mat B(empty(comm, L.m, cols, type_of(of))), X(empty(comm, L.m, cols, type_of(of)));
    tulle_own_tile tile;
    ask(tulle_mat_own_tile(B.get(), 0, 0, &tile), "B");
    for (size_t r = 0; r < b.size(); r++)
        for (size_t at = r * size_t(tile.ld); at < r * size_t(tile.ld) + size_t(cols); at++)
            wide ? void(static_cast<double *>(tile.val)[at] = b[r])
                 : void(static_cast<float *>(tile.val)[at] = static_cast<float>(b[r]));
    std::vector<double> seconds, kernels;
    for (int turn = 0; turn < 6; turn++) {
        ask(tulle_trisolve_execute(solver, B.get(), X.get(), &report), "the solve");
        if (turn) seconds.push_back(report.seconds), kernels.push_back(report.kernel_seconds);
    }
    double off = 0;
    for (int c : {0, cols - 1}) off = std::max(off, residual(L, column_of(X.get(), c), column_of(B.get(), c), wide));
    line to(of);
    to.add("op", "trisolve").add("cols", static_cast<int64_t>(cols)).add("method", tulle_trisolve_method_name(method));
    to.add("analysis_seconds", report.analysis_seconds).add("seconds", median(seconds));
    to.add("kernel_seconds", median(kernels));
    to.add("flops", report.flops).add("levels", report.levels).add("max_difference", off);
    to.add("bound_seconds", bytes_of(L, of, cols) / copy_rate(of)).print();
}

/* ---- streams ---- */

struct slab_kind {
    const char *device, *format;
};

/* slabs: 0, all stays on the GPU. */
void stream_by(tulle_comm *comm, const job &of, const operand &x, const slab_kind &kind, int slabs)
{
    const int cols = of.number();
    tulle_stream_options options = {};
    tulle_stream *stream = nullptr;
    tulle_stream_report report = {};
    options.size = sizeof options, options.device = kind.device, options.format = kind.format;
    options.cols = cols, options.slabs = slabs;
    ask(tulle_stream_new(x.A, &options, &stream), "the stream");
    const guard free_stream{[&] { tulle_stream_free(stream); }};
    const mat X(columns(comm, x.host.n, cols, type_of(of))), Y(empty(comm, x.host.m, cols, type_of(of)));
    const tulle_stream_plan *plan = tulle_stream_planned(stream);
    std::vector<double> call, kernels, link;
    for (int turn = 0; turn < 6; turn++) {
        ask(tulle_stream_multiply(stream, X.get(), Y.get(), &report), "the product");
        if (!turn) continue; /* a resident matrix is uploaded then */
        call.push_back(report.seconds), kernels.push_back(report.compute.mean), link.push_back(report.transfer.mean);
    }
    const double off = difference_of_columns(of, x.host, Y.get(), cols);
    const double bytes = static_cast<double>(plan->matrix) + static_cast<double>(plan->vectors);
    line to(of);
    /* a slab's op is the rival's that it stands beside */
    const char *op = of.part == "stream" ? "stream" : kind.format[0] == 'b' ? "bsr" : "spmm";
    to.add("op", op).add("cols", static_cast<int64_t>(cols)).add("device", kind.device);
    to.add("format", plan->format).add("resident", static_cast<int64_t>(plan->resident)).add("seconds", median(call));
    to.add("kernel_seconds", median(kernels)).add("link_seconds", median(link)).add("link_bytes", report.bytes);
    to.add("bytes", bytes).add("flops", report.flops).add("max_difference", off);
    to.add("bound_seconds", bytes / copy_rate(of)).print();
}

/* ---- linear systems ---- */

/* METHOD[+PRECONDITIONER][:COLUMNS] */
struct system_kind {
    tulle_krylov_method method;
    tulle_precond_kind precond = TULLE_PRECOND_NONE;
    int cols = 1;
    explicit system_kind(const std::string &text)
    {
        const size_t colon = text.find(':'), plus = text.find('+');
        const size_t end = std::min(colon, text.size());
        ask(tulle_krylov_method_parse(text.substr(0, std::min(plus, end)).c_str(), &method), "a method");
        if (plus < end)
            ask(tulle_precond_kind_parse(text.substr(plus + 1, end - plus - 1).c_str(), &precond), "a preconditioner");
        if (colon < text.size()) cols = std::atoi(text.c_str() + colon + 1);
    }
};

} // namespace

void our_solves(tulle_comm *comm, const job &of, const operand &x)
{
    tulle_mat *T = nullptr;
    ask(tulle_mat_triangle(x.A, TULLE_LOWER, TULLE_DIAG_STORED, &T), "the triangle");
    const mat owner(T);
    const matrix L = lower(x.host);
    for (tulle_trisolve_method method : {TULLE_TRISOLVE_SERIAL, TULLE_TRISOLVE_LEVELS})
        solve_by(comm, of, T, L, method);
}

void our_slabs(tulle_comm *comm, const job &of, const operand &x)
{
    if (of.part == "stream") {
        for (const char *format : {"csr", "bsr:b=3", "bsr:b=3,half"})
            stream_by(comm, of, x, {"cuda", format}, of.small ? 5 : 24);
        return;
    }
    for (const slab_kind &kind :
        {slab_kind{"cuda:kernels=own", "bsr:b=3"}, slab_kind{"cuda:kernels=own", "bsr:b=3,half"},
            slab_kind{"cuda:kernels=own", "csr"}, slab_kind{"cuda:kernels=library", "bsr:b=3"},
            slab_kind{"cuda:kernels=library", "csr"}}) /* ours first: a cut leaves them */
        stream_by(comm, of, x, kind, 0);
}

void our_systems(tulle_comm *comm, const job &of, const operand &x)
{
    const system_kind kind(of.variant);
    tulle_stream_options streaming = {};
    tulle_stream *stream = nullptr;
    tulle_operator A = {}, M = {};
    streaming.size = sizeof streaming, streaming.device = "cuda", streaming.cols = kind.cols;
    ask(tulle_precond_new(x.A, kind.precond, nullptr, &M), "the preconditioner");
    const guard free_m{[&] { tulle_operator_free(&M); }};
    ask(tulle_stream_new(x.A, &streaming, &stream), "the stream");
    const guard free_stream{[&] { tulle_stream_free(stream); }};
    ask(tulle_operator_of_stream(stream, &A), "the operator");
    const guard free_a{[&] { tulle_operator_free(&A); }};
    const mat B(empty(comm, x.host.m, kind.cols, type_of(of))), X(empty(comm, x.host.m, kind.cols, type_of(of)));
    ask(tulle_mat_fill_random(B.get(), 1), "B");
    tulle_krylov_options options = {};
    std::vector<tulle_krylov_report> report(static_cast<size_t>(kind.cols));
    options.size = sizeof options, options.method = kind.method;
    const double begin = now();
    ask(tulle_krylov_solve(&A, &M, B.get(), X.get(), &options, report.data()), "the solve");
    const double seconds = now() - begin;
    double error = 0;
    ask(tulle_krylov_check(x.A, B.get(), X.get(), &options, &error), "the residual");
    line to(of);
    to.add("op", "solve").add("cols", static_cast<int64_t>(kind.cols)).add("seconds", seconds);
    to.add("iterations", report[0].iterations).add("product_seconds", report[0].product.mean);
    to.add("residual", report[0].true_residual / report[0].norm).add("residual_of_bound", error).print();
}

/*
 * The sign by submatrices, decomposed on the GPU and by threads; both have the same blocks. The GPU comes first, and
 * its line is written when the threads' result has confirmed it.
 */
void our_functions(tulle_comm *, const job &of, const operand &x)
{
    tulle_operand_shape shape = {};
    ask(tulle_operand_inspect(of.spec.c_str(), nullptr, &shape), "the matrix");
    const mat V(in_even_blocks(x, shape.block));
    tulle_function sign = {};
    ask(tulle_function_parse("sign", &sign), "the function");
    values first;
    std::vector<line> lines;
    for (const char *device : {"cuda", static_cast<const char *>(nullptr)}) {
        tulle_matfun_options options = {};
        tulle_matfun_report report = {};
        tulle_matfun *plan = nullptr;
        options.size = sizeof options, options.filter = std::atof(of.variant.c_str()), options.device = device;
        ask(tulle_matfun_new(V.get(), &options, &plan), "the plan");
        const guard free_plan{[&] { tulle_matfun_free(plan); }};
        std::vector<double> seconds;
        double off = 0;
        for (int turn = 0; turn < 2; turn++) {
            tulle_mat *F = nullptr;
            ask(tulle_matfun_execute(plan, &sign, &F, &report), "the function");
            const mat owner(F);
            const tulle_tile tile = tile_of(F);
            values made(static_cast<size_t>(tile.nnz));
            for (size_t e = 0; e < made.size(); e++) made[e] = static_cast<const double *>(tile.val)[e];
            seconds.push_back(report.seconds);
            if (first.empty()) first = made;
            if (made.size() != first.size()) throw refusal{"results of the GPU and of threads differ in size"};
            for (size_t e = 0; e < made.size(); e++)
                if (const double d = std::fabs(made[e] - first[e]); !(d <= off)) off = d; /* or is not a number */
            if (!(off < 1e-8)) break;
        }
        if (!(off < 1e-8)) throw refusal{"results of the GPU and of threads differ by " + std::to_string(off)};
        lines.emplace_back(of);
        line &to = lines.back();
        to.add("op", "sign")
            .add("device", device ? device : "threads")
            .add("seconds", std::min(seconds[0], seconds[1]));
        to.add("largest", static_cast<int64_t>(report.largest)).add("submatrices", report.submatrices);
        to.add("on_device", report.on_device).add("kernel_seconds", report.device.kernel_seconds);
        to.add("max_difference", off);
    }
    for (const line &to : lines) to.print();
}
