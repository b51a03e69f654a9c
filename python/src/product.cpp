/* SPDX-License-Identifier: Apache-2.0 */
/* Products: in one call, and by a plan whose operands keep their structure. */
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "direct.h"
#include "handles.h"

namespace
{

nb::dict report_of(const tulle_product_report &r, const char *algorithm)
{
    nb::dict d;
    d["algorithm"] = algorithm;
    d["seconds"] = r.seconds;
    d["flops"] = r.flops;
    d["nnz_c"] = r.nnz_c;
    d["bytes_moved"] = r.bytes_moved;
    d["messages"] = r.messages;
    d["reused"] = (bool)r.reused;
    d["load_imbalance"] = r.load_imbalance;
    d["compute"] = imbalance(r.compute);
    d["communicate"] = imbalance(r.communicate);
    d["accumulate"] = imbalance(r.accumulate);
    d["wait"] = imbalance(r.wait);
    return d;
}

tulle_op op(bool transposed)
{
    return transposed ? TULLE_OP_T : TULLE_OP_N;
}

/* Parsed options. Throws for names of no algorithm. */
tulle_product_options options_of(
    const std::string &algorithm, const std::string &device, bool ta = false, bool tb = false)
{
    tulle_product_options o = {};
    o.size = sizeof o;
    if (!algorithm.empty()) {
        const tulle_status status = tulle_product_alg_parse(algorithm.c_str(), &o.alg);
        if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
    }
    o.device = device.empty() ? nullptr : device.c_str();
    o.op_a = op(ta);
    o.op_b = op(tb);
    return o;
}

/* C = alpha op(A) op(B) + beta C; C: a description to fill, or whose arrays receive the result. (arrays or None,
 * report) */
nb::tuple multiply(const TeamRef &team, bool ta, bool tb, double alpha, const Array &A, const Array &B, double beta,
    Array &C, const std::string &algorithm, const std::string &device)
{
    tulle_product_options options = options_of(algorithm, device);
    tulle_array result = C.a;
    const bool given = result.val != nullptr;
    tulle_product_report report = {};
    team->call([&](tulle_comm *comm) {
        return tulle_multiply(comm, op(ta), op(tb), alpha, &A.a, &B.a, beta, &result, &options, &report);
    });
    return nb::make_tuple(given ? nb::object(nb::none()) : nb::object(take(team, result)),
        report_of(report, algorithm.empty() ? "auto" : algorithm.c_str()));
}

/* The entries of alpha A B that are kept: the first `top` of each row, those above a number, or both. */
nb::tuple multiply_selected(const TeamRef &team, double alpha, const Array &A, const Array &B, const Array &C,
    const std::string &algorithm, std::optional<int64_t> top, std::optional<double> above, bool cosine)
{
    tulle_product_options options = options_of(algorithm, "");
    tulle_selection selection = {};
    selection.size = sizeof selection;
    selection.by_rank = top.has_value();
    selection.top = top.value_or(0);
    selection.by_value = above.has_value();
    selection.above = above.value_or(0);
    selection.cosine = cosine;
    options.selection = &selection;
    tulle_array result = C.a;
    tulle_product_report report = {};
    team->call([&](tulle_comm *comm) {
        return tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, alpha, &A.a, &B.a, 0, &result, &options, &report);
    });
    return nb::make_tuple(take(team, result), report_of(report, algorithm.empty() ? "auto" : algorithm.c_str()));
}

/* The values of S, which are written over, are alpha X Y^T at its entries. False: the matrix of S is a copy, as columns
 * do not ascend or entries occur twice, and nothing is written. */
bool sddmm(const TeamRef &team, double alpha, const Array &X, const Array &Y, const Array &S)
{
    const MatRef x = mat_from_array(team, X), y = mat_from_array(team, Y), s = mat_from_array(team, S);
    if (!shares(s, S)) return false;
    team->call([&](tulle_comm *) { return tulle_mat_sddmm(alpha, x->mat, y->mat, s->mat); });
    return true;
}

/* A plan for three matrices that it keeps. */
class Plan : public Handle
{
  public:
    Plan(const MatRef &a, bool ta, const MatRef &b, bool tb, const Array *result, tulle_order order,
        const std::string &algorithm, const std::string &device)
        : Plan(a, b, options_of(algorithm, device, ta, tb), result, order)
    {
    }
    ~Plan()
    {
        /* the matrices go after it, as disposals run in order */
        tulle_product *gone = product;
        dispose([gone] { tulle_product_free(gone); });
    }

    nb::dict execute(double alpha, double beta)
    {
        tulle_product_report report = {};
        team->call([&](tulle_comm *) { return tulle_product_execute(product, alpha, beta, &report); });
        return report_of(report, tulle_product_alg_name(tulle_product_alg_of(product)));
    }
    double check()
    {
        double error = 0;
        team->call([&](tulle_comm *) { return tulle_product_check(product, &error); });
        return error;
    }
    std::string describe() const
    {
        return tulle_product_describe(product);
    }
    MatRef result() const
    {
        return C;
    }

  private:
    Plan(const MatRef &a, const MatRef &b, const tulle_product_options &options, const Array *result, tulle_order order)
        : Plan(a, b, result ? mat_from_array(a->team, *result) : result_of(a, b, options, order), options)
    {
    }
    Plan(const MatRef &a, const MatRef &b, const MatRef &c, const tulle_product_options &options)
        : Handle(a->team), A(a), B(b), C(c)
    {
        team->call([&](tulle_comm *) { return tulle_product_new(A->mat, B->mat, C->mat, &options, &product); });
    }
    static MatRef result_of(const MatRef &A, const MatRef &B, const tulle_product_options &options, tulle_order order)
    {
        tulle_mat *c = nullptr;
        A->team->call([&](tulle_comm *comm) {
            tulle_layout *layout = nullptr;
            tulle_status status = tulle_product_layout(A->mat, options.op_a, B->mat, options.op_b, &layout);
            if (status == TULLE_OK)
                status = tulle_mat_kind(B->mat) == TULLE_DENSE
                             ? tulle_mat_new_dense_undefined(comm, layout, tulle_mat_type(A->mat), order, &c)
                             : tulle_mat_new_csr(comm, layout, tulle_mat_type(A->mat), &c);
            tulle_layout_free(layout);
            return status;
        });
        return std::make_shared<Mat>(A->team, c, std::vector<nb::object>());
    }

    const MatRef A, B, C;
    tulle_product *product = nullptr;
};

} // namespace

nb::dict direct_report_of(const tulle_product_report &r)
{
    return report_of(r, "auto");
}

nb::dict imbalance(const tulle_imbalance &both)
{
    nb::dict d;
    d["max"] = both.max;
    d["mean"] = both.mean;
    return d;
}

void bind_product(nb::module_ &m)
{
    m.def("multiply", &multiply);
    m.def("sparse_times_dense", &sparse_times_dense);
    m.def("dense_times_dense", &dense_times_dense);
    m.def("csr_times_csr", &csr_times_csr);
    m.def("direct_report", &direct_report);
    m.def("multiply_selected", &multiply_selected, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg().none(), nb::arg());
    m.def("sddmm", &sddmm);
    m.def("wish", [](tulle_storage storage, bool by_columns, int index_bytes, tulle_gidx first, tulle_gidx count) {
        return Array{wish(storage, by_columns ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR, index_bytes, first, count), {}};
    });
    nb::class_<Plan>(m, "Plan")
        .def(
            "__init__",
            [](Plan *self, MatRef A, bool ta, MatRef B, bool tb, const Array *C, bool by_columns,
                const std::string &algorithm, const std::string &device) {
                new (self) Plan(std::move(A), ta, std::move(B), tb, C, by_columns ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR,
                    algorithm, device);
            },
            nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
        .def("execute", &Plan::execute)
        .def("check", &Plan::check)
        .def("describe", &Plan::describe)
        .def_prop_ro("result", &Plan::result);
}
