/* SPDX-License-Identifier: Apache-2.0 */
/* Krylov methods and their preconditioners. */
#include <algorithm>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "applied.h"

Operator::~Operator()
{
    tulle_operator gone = op;
    std::shared_ptr<void> last = of;
    dispose([gone, last]() mutable { tulle_operator_free(&gone); });
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

/* Y = A X for an operator, of vectors, on a team of one PE. */
void apply(const OperatorRef &A, const Array &X, const Array &Y)
{
    const MatRef x = mat_from_array(A->team, X), y = mat_from_array(A->team, Y);
    A->team->call([&](tulle_comm *) {
        void *bound = nullptr;
        tulle_status status = A->op.bind(A->op.context, x->mat, y->mat, &bound);
        if (status != TULLE_OK) return status;
        status = A->op.apply(bound);
        A->op.unbind(bound);
        return status;
    });
}

/*
 * Calls a Python function after each iteration: with its figures, or with the iterate. An exception
 * ends the solve, and is thrown then.
 */
struct Watch {
    nb::object callback;
    bool iterates;
    tulle_gidx n;
    tulle_type type;
    Team *team;
    tulle_comm *comm;
    std::exception_ptr failure;
};

void watch(void *arg, const tulle_krylov_step *step)
{
    Watch *w = static_cast<Watch *>(arg);
    if (w->failure || (w->iterates && (!step->x || !step->iteration))) return;
    WithPython held;
    try {
        staying([&] {
            Meanwhile meanwhile(*w->team, Meanwhile::own_thread);
            if (!w->iterates)
                w->callback(step->column, step->iteration, step->residual, step->norm);
            else
                w->callback((w->type == TULLE_F64 ? copy_of<double> : copy_of<float>)(step->x, w->n, 1, step->stride,
                    step->scale, 1));
        });
    } catch (...) {
        w->failure = std::current_exception();
        tulle_comm_interrupt(w->comm, true);
    }
}

/*
 * The reports of all columns, and the residuals of the first; X receives the solutions whether or
 * not all columns converge.
 */
nb::list solve(const TeamRef &team, nb::handle given, nb::handle M, const Array &B, const Array &X,
    const std::string &method, double rtol, double atol, int64_t maxiter, int restart, bool guess, bool iterates,
    nb::object callback)
{
    Applied A(*team, given, B.a.m, B.a.type), preconditioner(*team, M, B.a.m, B.a.type);
    if (iterates && A.made && tulle_operator_on_device(&A.made->op))
        throw nb::value_error("the iterates lie on a device: callback_type=\"step\" needs none");
    const MatRef b = mat_from_array(team, B), x = mat_from_array(team, X);
    constexpr int64_t usual = 10000, most = 100000;
    std::vector<double> history((size_t)(maxiter ? std::min(maxiter, most) : usual) + 1);
    Watch watched = {callback, iterates, B.a.m, B.a.type, team.get(), nullptr, nullptr};
    tulle_krylov_options options = {};
    options.size = sizeof options;
    options.tolerance = rtol > 0 ? rtol : (double)TULLE_NONE;
    options.absolute = atol;
    options.max_iterations = maxiter;
    options.restart = restart;
    options.guess = guess;
    options.history = history.data();
    options.history_capacity = (int64_t)history.size();
    if (!callback.is_none()) {
        options.watch = watch;
        options.arg = &watched;
    }
    tulle_status status = tulle_krylov_method_parse(method.c_str(), &options.method);
    if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
    std::vector<tulle_krylov_report> reports((size_t)B.a.n);
    std::exception_ptr failure;
    try {
        team->call(
            [&](tulle_comm *comm) {
                watched.comm = comm;
                return tulle_krylov_solve(
                    A.on(comm), preconditioner.on(comm), b->mat, x->mat, &options, reports.data());
            },
            TULLE_ERR_CONVERGENCE);
        x->write_back(X);
    } catch (const Failure &) {
        failure = std::current_exception();
    }
    for (const std::exception_ptr &cause : {watched.failure, A.failure, preconditioner.failure, failure})
        if (cause) std::rethrow_exception(cause);
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
        nb::list residuals;
        for (int64_t i = 0; all.size() == 0 && i <= r.iterations && i < options.history_capacity; i++)
            residuals.append(history[(size_t)i]);
        if (all.size() == 0) d["history"] = residuals;
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
    m.def("apply", &apply);
    m.def("krylov", &solve, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}
