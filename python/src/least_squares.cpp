/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares of a matrix in memory or in a file. */
#include <algorithm>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "applied.h"

namespace
{

/* Calls a Python function after each iteration, with its figures. An exception ends the solve, and is thrown then. */
struct Watch {
    nb::object callback;
    Team *team;
    tulle_comm *comm;
    std::exception_ptr failure;
};

void watch(void *arg, const tulle_krylov_step *step)
{
    Watch *w = static_cast<Watch *>(arg);
    if (w->failure) return;
    WithPython held;
    try {
        staying([&] {
            Meanwhile meanwhile(*w->team, Meanwhile::own_thread);
            w->callback(step->column, step->iteration, step->residual, step->norm);
        });
    } catch (...) {
        w->failure = std::current_exception();
        tulle_comm_interrupt(w->comm, true);
    }
}

nb::dict describe(const tulle_least_squares_report &r)
{
    nb::dict d;
    d["stop"] = tulle_stop_name(r.stop);
    d["converged"] = r.stop == TULLE_STOP_CONVERGED || r.stop == TULLE_STOP_LEAST_SQUARES;
    d["iterations"] = r.iterations;
    d["passes"] = r.passes;
    d["norm"] = r.norm;
    d["residual"] = r.residual;
    d["true_residual"] = r.true_residual;
    d["plain_residual"] = r.plain_residual;
    d["gradient"] = r.gradient;
    d["operator_norm"] = r.operator_norm;
    d["condition"] = r.condition;
    d["solution"] = r.solution;
    d["seconds"] = r.seconds;
    d["product_seconds"] = imbalance(r.product);
    d["dots_seconds"] = imbalance(r.dots);
    d["width"] = r.width;
    return d;
}

/* Damping, and limits of the gradient, the residual and the condition. */
using Limits = std::tuple<double, double, double, double>;

tulle_least_squares_options options_of(const std::string &method, const Limits &limits, int64_t maxiter, bool guess)
{
    tulle_least_squares_options options = {};
    options.size = sizeof options;
    const auto [damp, gradient, tolerance, condition] = limits;
    options.damp = damp;
    options.gradient = gradient < 0 ? (double)TULLE_NONE : gradient; /* 0: the default */
    options.tolerance = tolerance > 0 ? tolerance : (double)TULLE_NONE;
    options.max_condition = condition;
    options.max_iterations = maxiter;
    options.guess = guess;
    const tulle_status status = tulle_least_squares_method_parse(method.c_str(), &options.method);
    if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
    return options;
}

/*
 * The reports of all columns, the first one with the residuals of its iterations; X receives the solutions whether or
 * not all columns converge, and variance, unless it is NULL, that of the method's directions. A: NULL for a file.
 */
nb::list least_squares(const TeamRef &team, const std::string &path, const MatRef &A, const Array &B, const Array &X,
    Array *variance, const std::string &method, const Limits &limits, int64_t maxiter, bool guess, nb::object callback)
{
    constexpr int64_t usual = 10000, most = 100000;
    tulle_least_squares_options options = options_of(method, limits, maxiter, guess);
    std::vector<double> history((size_t)(maxiter ? std::min(maxiter, most) : usual) + 1);
    std::vector<tulle_least_squares_report> reports((size_t)B.a.n);
    Watch watched = {callback, team.get(), nullptr, nullptr};
    options.history = history.data();
    options.history_capacity = (int64_t)history.size();
    if (!callback.is_none()) {
        options.watch = watch;
        options.arg = &watched;
    }
    const MatRef b = mat_from_array(team, B), x = mat_from_array(team, X),
                 v = variance ? mat_from_array(team, *variance) : nullptr;
    options.variance = v ? v->mat : nullptr;
    std::exception_ptr failure;
    char warnings[TULLE_WARNINGS_MAX] = "";
    try {
        team->call(
            [&](tulle_comm *comm) {
                watched.comm = comm;
                if (A) return tulle_least_squares(A->mat, b->mat, x->mat, &options, reports.data());
                tulle_rows *file = nullptr;
                tulle_status status = tulle_rows_open(comm, path.c_str(), &file);
                if (status == TULLE_OK) status = tulle_rows_set_type(file, TULLE_F64);
                if (status == TULLE_OK)
                    status = tulle_least_squares_of_rows(file, b->mat, x->mat, &options, reports.data());
                if (status == TULLE_OK) status = tulle_rows_warnings(file, warnings);
                tulle_rows_free(file);
                return status;
            },
            TULLE_ERR_CONVERGENCE);
        x->write_back(X);
        if (v) v->write_back(*variance);
    } catch (const Failure &) {
        failure = std::current_exception();
    }
    for (const std::exception_ptr &cause : {watched.failure, failure})
        if (cause) std::rethrow_exception(cause);
    nb::list all;
    for (const tulle_least_squares_report &r : reports) {
        nb::dict d = describe(r);
        nb::list residuals;
        for (int64_t i = 0; all.size() == 0 && i <= r.iterations && i < options.history_capacity; i++)
            residuals.append(history[(size_t)i]);
        if (all.size() == 0) d["history"] = residuals;
        d["warnings"] = static_cast<const char *>(warnings);
        all.append(d);
    }
    return all;
}

/* (rows, columns) of the matrix in a file. */
std::tuple<int64_t, int64_t> shape_of_file(const TeamRef &team, const std::string &path)
{
    std::tuple<int64_t, int64_t> shape;
    team->call([&](tulle_comm *comm) {
        tulle_rows *file = nullptr;
        const tulle_status status = tulle_rows_open(comm, path.c_str(), &file);
        if (status == TULLE_OK) shape = {tulle_rows_count(file), tulle_rows_cols(file)};
        tulle_rows_free(file);
        return status;
    });
    return shape;
}

} // namespace

void bind_least_squares(nb::module_ &m)
{
    m.def("least_squares", &least_squares, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    m.def("shape_of_file", &shape_of_file);
}
