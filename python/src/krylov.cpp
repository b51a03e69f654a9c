/* SPDX-License-Identifier: Apache-2.0 */
/* Krylov methods and their preconditioners. */
#include <algorithm>
#include <cstring>
#include <new>

#include <cxxabi.h>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "handles.h"

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

/* A copy as NumPy's array; from[i * ld + j] of row i, column j. */
template <class T>
nb::object copy_of(const void *from, int64_t rows, int64_t cols, int64_t ld, double scale, size_t dimensions)
{
    const T *values = static_cast<const T *>(from);
    T *to = new T[(size_t)(rows * cols) + 1];
    nb::capsule owner(to, [](void *array) noexcept { delete[] static_cast<T *>(array); });
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) to[i * cols + j] = static_cast<T>(scale * values[i * ld + j]);
    const size_t shape[2] = {(size_t)rows, (size_t)cols};
    return nb::cast(nb::ndarray<nb::numpy, T>(to, dimensions, shape, owner));
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
        Meanwhile meanwhile(*w->team, Meanwhile::own_thread);
        if (!w->iterates)
            w->callback(step->column, step->iteration, step->residual, step->norm);
        else
            w->callback((w->type == TULLE_F64 ? copy_of<double> : copy_of<float>)(step->x, w->n, 1, step->stride,
                step->scale, 1));
    } catch (abi::__forced_unwind &) {
        stay();
    } catch (...) {
        w->failure = std::current_exception();
        tulle_comm_interrupt(w->comm, true);
    }
}

/* What a solve applies: an operator of the library, or a Python function of n rows and some columns, on one PE. */
class Applied
{
  public:
    Applied(Team &on_team, nb::handle given, tulle_gidx n, tulle_type type) : team(on_team)
    {
        if (nb::isinstance<Operator>(given))
            made = nb::cast<OperatorRef>(given);
        else if (!given.is_none())
            function = nb::borrow(given);
        if (!function) return;
        tulle_layout_spec spec = {};
        spec.m = n;
        spec.n = 1;
        const tulle_status status = tulle_layout_new(&spec, 1, &layout);
        if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
        op.n = n;
        op.type = type;
        op.layout = layout;
        op.context = this;
        op.bind = bind;
        op.apply = apply;
        op.unbind = [](void *bound) { delete static_cast<Bound *>(bound); };
    }
    ~Applied()
    {
        tulle_layout_free(layout);
    }
    Applied(const Applied &) = delete;
    Applied &operator=(const Applied &) = delete;

    /* NULL: there is none. */
    const tulle_operator *on(tulle_comm *comm)
    {
        if (made) return made->op.comm ? &made->op : nullptr;
        op.comm = comm;
        return function ? &op : nullptr;
    }

    OperatorRef made; /* or nullptr */
    std::exception_ptr failure;

  private:
    struct Bound {
        Applied *self;
        const tulle_mat *x;
        tulle_mat *y;
    };
    static tulle_status bind(void *context, tulle_mat *x, tulle_mat *y, void **bound)
    {
        *bound = new (std::nothrow) Bound{static_cast<Applied *>(context), x, y};
        return *bound ? TULLE_OK : TULLE_ERR_MEMORY;
    }
    static tulle_status apply(void *arg)
    {
        Bound *bound = static_cast<Bound *>(arg);
        tulle_tile from;
        tulle_own_tile to;
        tulle_status status = tulle_mat_tile(bound->x, 0, 0, &from);
        if (status == TULLE_OK) status = tulle_mat_own_tile(bound->y, 0, 0, &to);
        if (status != TULLE_OK) return status;
        WithPython held;
        try {
            const nb::object result = bound->self->call(
                (from.type == TULLE_F64 ? copy_of<double> : copy_of<float>)(from.val, from.m, from.n, from.ld, 1, 2));
            const auto y = nb::cast<nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(result);
            const size_t row = (size_t)to.n * tulle_type_size(to.type);
            if (y.nbytes() != (size_t)to.m * row) throw nb::value_error("a result of another shape or type");
            for (tulle_gidx i = 0; i < to.m; i++)
                memcpy(static_cast<char *>(to.val) + (size_t)(i * to.ld) * tulle_type_size(to.type),
                    static_cast<const char *>(y.data()) + (size_t)i * row, row);
            return TULLE_OK;
        } catch (abi::__forced_unwind &) {
            stay();
        } catch (...) {
            bound->self->failure = std::current_exception();
            return TULLE_ERR_ARG;
        }
    }

    nb::object call(const nb::object &x) const
    {
        Meanwhile meanwhile(team, Meanwhile::own_thread);
        return function(x);
    }

    Team &team;
    nb::object function;
    tulle_layout *layout = nullptr;
    tulle_operator op = {};
};

/*
 * The reports of all columns, and the residuals of the first; X receives the solutions whether or
 * not all columns converge.
 */
nb::list solve(const TeamRef &team, nb::handle given, nb::handle M, const Array &B, const Array &X,
    const std::string &method, double rtol, double atol, int64_t maxiter, int restart, bool guess, bool iterates,
    nb::object callback)
{
    Applied A(*team, given, B.a.m, B.a.type), preconditioner(*team, M, B.a.m, B.a.type);
    if (iterates && A.made && A.made->op.resident)
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
    options.history_room = (int64_t)history.size();
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
        for (int64_t i = 0; all.size() == 0 && i <= r.iterations && i < options.history_room; i++)
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
    m.def("krylov", &solve, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}
