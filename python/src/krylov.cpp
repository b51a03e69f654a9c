/* SPDX-License-Identifier: Apache-2.0 */
/* Krylov methods and their preconditioners. */
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "handles.h"

Operator::~Operator()
{
    tulle_operator gone = op;
    std::shared_ptr<void> last = of;
    team->dispose(number, [gone, last]() mutable { tulle_operator_free(&gone); });
}

namespace
{

OperatorRef precond(const MatRef &A, const std::string &spec)
{
    auto made = std::make_shared<Operator>(A->team, A);
    tulle_precond_options options = {};
    options.size = sizeof options;
    tulle_precond_kind kind = TULLE_PRECOND_NONE;
    A->team->call([&](tulle_comm *) {
        tulle_status status = tulle_precond_parse_spec(spec.c_str(), &kind, &options);
        return status == TULLE_OK ? tulle_precond_new(A->mat, kind, &options, &made->op) : status;
    });
    return made;
}

OperatorRef operator_of(const MatRef &A)
{
    auto made = std::make_shared<Operator>(A->team, A);
    A->team->call([&](tulle_comm *) { return tulle_operator_of_mat(A->mat, nullptr, &made->op); });
    return made;
}

/* Calls a Python function after each iteration; its exception is thrown when the solve has ended. */
struct Watch {
    nb::object callback;
    std::exception_ptr failure;
};

void watch(void *arg, const tulle_krylov_step *step)
{
    Watch *w = static_cast<Watch *>(arg);
    nb::gil_scoped_acquire held;
    if (w->failure) return;
    try {
        w->callback(step->column, step->iteration, step->residual, step->norm);
    } catch (...) {
        w->failure = std::current_exception();
    }
}

/* The reports of all columns; X receives the solutions whether or not all columns converge. */
nb::list solve(const OperatorRef &A, nb::handle M, const Array &B, const Array &X, const std::string &method,
    double rtol, double atol, int64_t maxiter, int restart, bool guess, nb::object callback)
{
    const OperatorRef preconditioner = M.is_none() ? nullptr : nb::cast<OperatorRef>(M);
    const MatRef b = mat_from_array(A->team, B), x = mat_from_array(A->team, X);
    Watch watched = {callback, nullptr};
    tulle_krylov_options options = {};
    options.size = sizeof options;
    options.tolerance = rtol > 0 ? rtol : (double)TULLE_NONE;
    options.absolute = atol;
    options.max_iterations = maxiter;
    options.restart = restart;
    options.guess = guess;
    if (!callback.is_none()) {
        options.watch = watch;
        options.arg = &watched;
    }
    tulle_status status = tulle_krylov_method_parse(method.c_str(), &options.method);
    if (status != TULLE_OK) throw Failure(status, tulle_error_message());
    std::vector<tulle_krylov_report> reports((size_t)B.a.n);
    A->team->call(
        [&](tulle_comm *) {
            return tulle_krylov_solve(&A->op, preconditioner && preconditioner->op.comm ? &preconditioner->op : nullptr,
                b->mat, x->mat, &options, reports.data());
        },
        TULLE_ERR_CONVERGENCE);
    x->write_back(X);
    if (watched.failure) std::rethrow_exception(watched.failure);
    nb::list all;
    for (const tulle_krylov_report &r : reports) {
        nb::dict d;
        d["method"] = method;
        d["stop"] = tulle_stop_name(r.stop);
        d["converged"] = r.stop == TULLE_STOP_CONVERGED;
        d["iterations"] = r.iterations;
        d["products"] = r.products;
        d["norm"] = r.norm;
        d["residual"] = r.residual;
        d["true_residual"] = r.true_residual;
        d["seconds"] = r.seconds;
        d["product_seconds"] = imbalance(r.product);
        d["precond_seconds"] = imbalance(r.precond);
        d["dots_seconds"] = imbalance(r.dots);
        all.append(d);
    }
    return all;
}

} // namespace

void bind_krylov(nb::module_ &m)
{
    nb::class_<Operator>(m, "Operator").def_prop_ro("size", [](const Operator &o) { return o.op.n; });
    m.def("precond", &precond);
    m.def("operator", &operator_of);
    m.def("krylov", &solve, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}
