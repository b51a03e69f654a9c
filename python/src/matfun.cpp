/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of sparse symmetric matrices in blocks, and density matrices. */
#include <cmath>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "handles.h"

namespace
{

constexpr int history_most = 200;
constexpr int check_samples = 8;

using History = std::vector<tulle_matfun_iteration>;

/* A Python function of a float, called by the threads of the library; its exception ends the call, and is thrown. */
struct Caller {
    nb::object function;
    Team *team;
    std::exception_ptr failure;
    tulle_comm *comm;
};

double call_back(double x, void *context)
{
    Caller *caller = static_cast<Caller *>(context);
    WithPython held;
    double value = NAN;
    if (caller->failure) return value; /* the call ends after this submatrix */
    try {
        staying([&] {
            Meanwhile meanwhile(*caller->team, Meanwhile::library_thread);
            value = nb::cast<double>(caller->function(x));
        });
    } catch (...) {
        if (!caller->failure) caller->failure = std::current_exception();
        tulle_comm_interrupt(caller->comm, true);
    }
    return value;
}

nb::list list_of(const History &history, int iterations)
{
    nb::list steps;
    for (int k = 0; k < iterations && k < history_most; k++) {
        nb::dict step;
        step["residual"] = history[k].residual;
        step["occupation"] = history[k].occupation;
        step["trace"] = history[k].trace;
        step["mu"] = history[k].mu;
        step["flops"] = history[k].flops;
        step["seconds"] = history[k].seconds;
        steps.append(step);
    }
    return steps;
}

void describe(const tulle_matfun_report &r, nb::dict &d)
{
    d["block_columns"] = r.columns;
    d["blocks"] = r.blocks;
    d["submatrices"] = r.submatrices;
    d["mean"] = r.mean;
    d["largest"] = r.largest;
    d["imbalance"] = r.imbalance;
    d["plan_seconds"] = r.plan_seconds;
    d["seconds"] = r.seconds;
    d["outside"] = r.outside;
    d["rounding"] = r.rounding;
    d["asymmetry"] = r.asymmetry;
    d["on_device"] = r.on_device;
    d["off_device"] = r.off_device;
}

struct Check {
    double error, tolerance, amplification, truncation;
};

/* The command's --check. */
tulle_status check_function(const tulle_matfun *plan, const tulle_function &f, const tulle_mat *F, Check &c)
{
    tulle_status status = tulle_matfun_check(plan, &f, F, check_samples, &c.error);
    if (status == TULLE_OK) status = tulle_matfun_checked(plan, &c.tolerance, &c.amplification);
    return status == TULLE_OK ? tulle_matfun_truncation(plan, &f, F, &c.truncation) : status;
}

void describe(const Check &c, nb::dict &d)
{
    d["error"] = c.error;
    d["tolerance"] = c.tolerance;
    d["amplification"] = c.amplification;
    d["truncation"] = c.truncation;
}

nb::tuple matfun(const MatRef &A, const Cuts &cuts, nb::object function, double filter, const std::string &method,
    int order, int combine, bool symmetric, bool mixed, const std::string &device, bool check)
{
    Caller caller = {function, A->team.get(), nullptr, nullptr};
    tulle_function f = {};
    const bool named = nb::isinstance<nb::str>(function);
    const std::string text = named ? nb::cast<std::string>(function) : "";
    f.kind = TULLE_FUNCTION_USER;
    f.value = call_back;
    f.context = &caller;
    tulle_mat *out = nullptr;
    tulle_matfun_report r = {};
    Check checked = {};
    History history(history_most);
    auto body = [&](tulle_comm *comm) {
        caller.comm = comm;
        tulle_mat *V = nullptr, *F = nullptr;
        tulle_matfun *plan = nullptr;
        tulle_matfun_options options = {};
        options.size = sizeof options;
        options.filter = filter;
        options.order = order;
        options.combine = combine;
        options.symmetric = symmetric;
        options.mixed = mixed;
        options.device = device.empty() ? nullptr : device.c_str();
        options.history = history.data();
        options.history_capacity = history_most;
        tulle_status status = named ? tulle_function_parse(text.c_str(), &f) : TULLE_OK;
        if (status == TULLE_OK) status = tulle_matfun_method_parse(method.c_str(), &options.method);
        if (status == TULLE_OK) status = in_blocks(comm, A->mat, cuts, cuts, &V);
        if (status == TULLE_OK) status = tulle_matfun_new(V, &options, &plan);
        if (status == TULLE_OK) status = tulle_matfun_execute(plan, &f, &F, &r);
        if (status == TULLE_OK && check) status = check_function(plan, f, F, checked);
        if (status == TULLE_OK) status = tulle_mat_to_csr(F, false, &out);
        tulle_matfun_free(plan);
        tulle_mat_free(F);
        tulle_mat_free(V);
        return status;
    };
    std::exception_ptr failure;
    try {
        A->team->call(body);
    } catch (const Failure &) {
        failure = std::current_exception();
    }
    const MatRef result = out ? std::make_shared<Mat>(A->team, out, std::vector<nb::object>()) : MatRef();
    for (const std::exception_ptr &cause : {caller.failure, failure})
        if (cause) std::rethrow_exception(cause);
    nb::dict d;
    char warnings[TULLE_WARNINGS_MAX] = "";
    (void)tulle_matfun_warnings(&r, warnings); /* neither is NULL */
    d["warnings"] = static_cast<const char *>(warnings);
    d["method"] = tulle_matfun_method_name(r.method);
    describe(r, d);
    d["least"] = r.least;
    d["most"] = r.most;
    d["iterations"] = r.iterations;
    if (r.iterations) {
        d["residual"] = r.residual;
        d["flops"] = r.flops;
        d["history"] = list_of(history, r.iterations);
    }
    if (check) describe(checked, d);
    return nb::make_tuple(result, d);
}

nb::tuple density(const MatRef &H, MatRef *S, const Cuts &cuts, bool counted, double value, double filter, double kT,
    double degeneracy, const std::string &method, int order, int combine, bool nonorthogonal, bool mixed,
    const std::string &device, bool check)
{
    tulle_mat *out = nullptr;
    tulle_density_report r = {};
    History history(history_most);
    tulle_density_options options = {};
    options.size = sizeof options;
    options.filter = filter;
    options.kT = kT;
    options.degeneracy = degeneracy;
    options.nonorthogonal = nonorthogonal;
    options.mixed = mixed;
    options.device = device.empty() ? nullptr : device.c_str();
    options.combine = combine;
    options.order = order;
    options.history = history.data();
    options.history_capacity = history_most;
    options.check = check ? check_samples : 0;
    H->team->call([&](tulle_comm *comm) {
        tulle_mat *h = nullptr, *s = nullptr, *D = nullptr;
        tulle_status status = tulle_density_method_parse(method.c_str(), &options.method);
        if (status == TULLE_OK) status = in_blocks(comm, H->mat, cuts, cuts, &h);
        if (status == TULLE_OK && S) status = in_blocks(comm, (*S)->mat, cuts, cuts, &s);
        if (status == TULLE_OK)
            status = counted ? tulle_density_of_electrons(h, s, value, &options, &D, &r)
                             : tulle_density_of_mu(h, s, value, &options, &D, &r);
        if (status == TULLE_OK) status = tulle_mat_to_csr(D, false, &out);
        tulle_mat_free(D);
        tulle_mat_free(s);
        tulle_mat_free(h);
        return status;
    });
    const MatRef result = std::make_shared<Mat>(H->team, out, std::vector<nb::object>());
    nb::dict d;
    char warnings[TULLE_WARNINGS_MAX] = "";
    (void)tulle_density_warnings(&r, &options, warnings); /* none is NULL */
    d["warnings"] = static_cast<const char *>(warnings);
    d["method"] = tulle_density_method_name(r.method);
    d["mu"] = r.mu;
    d["electrons"] = r.electrons;
    d["stored_electrons"] = r.stored;
    d["energy"] = r.energy;
    d["stored_energy"] = r.stored_energy;
    d["grand_potential"] = r.energy - r.mu * r.electrons;
    d["below"] = r.below;
    d["above"] = r.above;
    d["gap"] = r.gap;
    d["filled"] = r.filled;
    d["nonorthogonal"] = r.nonorthogonal;
    d["overlap_error"] = r.overlap_error;
    d["repeated"] = r.repeated;
    d["iterations"] = r.iterations;
    if (r.iterations) {
        d["residual"] = r.residual;
        d["flops"] = r.flops;
        d["history"] = list_of(history, r.iterations);
    }
    nb::dict function, overlap;
    describe(r.function, function);
    d["function"] = function;
    if (r.overlap.columns) describe(r.overlap, overlap);
    if (r.overlap.columns) d["overlap"] = overlap;
    d["seconds"] = r.seconds[0] + r.seconds[1] + r.seconds[2];
    if (check) {
        d["error"] = r.error;
        d["truncation"] = r.truncation;
    }
    return nb::make_tuple(result, d);
}

} // namespace

void bind_matfun(nb::module_ &m)
{
    m.attr("NONE") = static_cast<int>(TULLE_NONE);
    m.def("matfun", &matfun);
    m.def(
        "density",
        [](const MatRef &H, nb::object S, const Cuts &cuts, bool counted, double value, double filter, double kT,
            double degeneracy, const std::string &method, int order, int combine, bool nonorthogonal, bool mixed,
            const std::string &device, bool check) {
            MatRef overlap = S.is_none() ? MatRef() : nb::cast<MatRef>(S);
            return density(H, overlap ? &overlap : nullptr, cuts, counted, value, filter, kT, degeneracy, method, order,
                combine, nonorthogonal, mixed, device, check);
        },
        nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
}
