/* SPDX-License-Identifier: Apache-2.0 */
/* Eigenpairs, singular values and principal components. */
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "applied.h"

namespace
{

/* m x count, whose rows all processes share. */
tulle_status new_side(tulle_comm *comm, tulle_gidx m, int count, tulle_type type, tulle_mat **X)
{
    tulle_layout_spec spec = {};
    spec.m = m;
    spec.n = count;
    spec.tile_rows = tulle_comm_size(comm);
    spec.tile_cols = 1;
    tulle_layout *layout = nullptr;
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, type, TULLE_ROW_MAJOR, X);
    tulle_layout_free(layout);
    return status;
}

/* Rows first .. first + count - 1 of X as an array; X is freed. */
tulle_status give(tulle_mat *X, tulle_array *out)
{
    tulle_status status = X ? tulle_mat_to_array(X, TULLE_AUTO, out) : TULLE_OK;
    tulle_mat_free(X);
    return status;
}

void describe(nb::dict &d, const tulle_spectrum_report &r)
{
    d["columns"] = r.columns;
    d["restarts"] = r.restarts;
    d["probes"] = r.probes;
    d["missed"] = r.missed;
    d["converged"] = r.converged;
    d["block"] = r.block;
    d["basis"] = r.basis;
    d["degree"] = r.degree;
    d["norm"] = r.norm;
    d["residual"] = r.residual;
    d["seconds"] = r.seconds;
    d["product_seconds"] = imbalance(r.product);
    d["dots_seconds"] = imbalance(r.dots);
    d["vectors_seconds"] = imbalance(r.vectors);
}

/* Figures of all methods, in the order of Python's calls. */
using Figures = std::tuple<int, double, int, int, int, int64_t, uint64_t>;

template <class Options> Options options_of(const Figures &f)
{
    Options o = {};
    o.size = sizeof o;
    std::tie(o.count, o.tolerance, o.passes, o.block, o.basis, o.max_passes, o.seed) = f;
    return o;
}

/* True for a method by a Chebyshev filter: asked for, or faster for a matrix of so many entries; 0: unknown. */
bool filtered(const std::string &method, const tulle_spectrum_options &options, int64_t n, double entries)
{
    return method == "chebyshev" ||
           (method == "auto" && entries > 0 && tulle_spectrum_filter_pays(&options, n, entries));
}

/* (values, residuals, vectors or None, report); rows: those of this process. */
nb::tuple eigenpairs(const TeamRef &team, nb::handle given, int64_t n, bool single, const std::string &end,
    const Figures &figures, const std::string &method, double entries, bool vectors, int64_t first, int64_t rows)
{
    const tulle_type type = single ? TULLE_F32 : TULLE_F64;
    Applied A(*team, given, n, type);
    auto options = options_of<tulle_spectrum_options>(figures);
    tulle_status status = tulle_spectrum_end_parse(end.c_str(), &options.end);
    if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
    options.chebyshev = filtered(method, options, n, entries);
    std::vector<double> value((size_t)options.count), residual((size_t)options.count);
    tulle_spectrum_report report = {};
    tulle_array out = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR, 0, first, rows);
    try {
        team->call([&](tulle_comm *comm) {
            tulle_spectrum *plan = nullptr;
            tulle_mat *X = nullptr;
            tulle_status made = tulle_spectrum_new(A.on(comm), &options, &plan);
            if (made == TULLE_OK && vectors) made = new_side(comm, n, options.count, A.on(comm)->type, &X);
            if (made == TULLE_OK) made = tulle_spectrum_execute(plan, value.data(), residual.data(), X, &report);
            if (made == TULLE_OK)
                made = give(X, &out);
            else
                tulle_mat_free(X);
            tulle_spectrum_free(plan);
            return made;
        });
    } catch (const Failure &) {
        if (A.failure) std::rethrow_exception(A.failure);
        throw;
    }
    nb::dict d;
    describe(d, report);
    d["passes"] = report.passes;
    d["orthogonality"] = report.orthogonality;
    return nb::make_tuple(value, residual, vectors ? nb::object(take(team, out)) : nb::none(), d);
}

/* The same for H x = theta S x, S may be nullptr; nearest: the values nearest to sigma. */
nb::tuple pencil_pairs(const TeamRef &team, const MatRef &H, const MatRef &S, const std::string &end,
    const Figures &figures, const std::string &method, bool nearest, double sigma, bool vectors, int64_t first,
    int64_t rows)
{
    auto options = options_of<tulle_spectrum_options>(figures);
    options.chebyshev = method == "chebyshev";
    options.nearest = nearest;
    options.sigma = sigma;
    tulle_status status = tulle_spectrum_end_parse(end.c_str(), &options.end);
    if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
    std::vector<double> value((size_t)options.count), residual((size_t)options.count);
    tulle_spectrum_report report = {};
    tulle_array out = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR, 0, first, rows);
    team->call([&](tulle_comm *comm) {
        tulle_spectrum *plan = nullptr;
        tulle_mat *X = nullptr;
        tulle_status made = tulle_spectrum_of_mat(H->mat, S ? S->mat : nullptr, &options, &plan);
        if (made == TULLE_OK && vectors)
            made = new_side(comm, tulle_mat_rows(H->mat), options.count, tulle_mat_type(H->mat), &X);
        if (made == TULLE_OK) made = tulle_spectrum_execute(plan, value.data(), residual.data(), X, &report);
        if (made == TULLE_OK)
            made = give(X, &out);
        else
            tulle_mat_free(X);
        tulle_spectrum_free(plan);
        return made;
    });
    nb::dict d;
    describe(d, report);
    d["passes"] = report.passes;
    d["orthogonality"] = report.orthogonality;
    return nb::make_tuple(value, residual, vectors ? nb::object(take(team, out)) : nb::none(), d);
}

/* (values, residuals, report) of LOBPCG; X, whose columns are the first vectors, receives the vectors. */
nb::tuple lobpcg(const TeamRef &team, nb::handle given, const MatRef &S, nb::handle M, const Array &X,
    const Figures &figures, bool largest)
{
    Applied A(*team, given, X.a.m, X.a.type), preconditioner(*team, M, X.a.m, X.a.type);
    const MatRef x = mat_from_array(team, X);
    auto options = options_of<tulle_spectrum_options>(figures);
    options.end = largest ? TULLE_SPECTRUM_LARGEST : TULLE_SPECTRUM_SMALLEST;
    options.guess = true;
    std::vector<double> value((size_t)options.count), residual((size_t)options.count);
    tulle_spectrum_report report = {};
    std::exception_ptr failure;
    try {
        team->call([&](tulle_comm *comm) {
            return tulle_lobpcg(A.on(comm), S ? S->mat : nullptr, preconditioner.on(comm), &options, value.data(),
                residual.data(), x->mat, &report);
        });
        x->write_back(X);
    } catch (const Failure &) {
        failure = std::current_exception();
    }
    for (const std::exception_ptr &cause : {A.failure, preconditioner.failure, failure})
        if (cause) std::rethrow_exception(cause);
    nb::dict d;
    describe(d, report);
    d["passes"] = report.passes;
    d["orthogonality"] = report.orthogonality;
    return nb::make_tuple(value, residual, d);
}

/* (sigma, residuals, U, V, means, deviations, report) of a matrix, or of a file; sides that are not wanted: None. */
nb::tuple triplets(const TeamRef &team, const std::string &path, const MatRef &A, const Figures &figures, bool centre,
    bool scale, bool scores, bool left, bool right, int64_t first, int64_t rows)
{
    auto options = options_of<tulle_svd_options>(figures);
    options.centre = centre;
    options.scale = scale;
    options.scores = scores;
    std::vector<double> sigma((size_t)options.count), residual((size_t)options.count), means, deviations;
    tulle_gidx samples = 0;
    tulle_svd_report report = {};
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_array u = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR, 0, first, rows),
                v = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR);
    team->call([&](tulle_comm *comm) {
        tulle_rows *file = nullptr;
        tulle_svd *plan = nullptr;
        tulle_mat *U = nullptr, *V = nullptr;
        tulle_gidx m = 0, n = 0;
        tulle_type type = TULLE_F64;
        tulle_status status = TULLE_OK;
        if (A) {
            m = tulle_mat_rows(A->mat), n = tulle_mat_cols(A->mat), type = tulle_mat_type(A->mat);
            status = tulle_svd_new(A->mat, &options, &plan);
        } else {
            status = tulle_rows_open(comm, path.c_str(), &file);
            if (status == TULLE_OK) status = tulle_rows_set_type(file, TULLE_F64);
            if (status == TULLE_OK) m = tulle_rows_count(file), n = tulle_rows_cols(file);
            if (status == TULLE_OK) status = tulle_svd_of_rows(file, &options, &plan);
        }
        samples = m;
        if (status == TULLE_OK && left) status = new_side(comm, m, options.count, type, &U);
        if (status == TULLE_OK && right) status = new_side(comm, n, options.count, type, &V);
        if (status == TULLE_OK) status = tulle_svd_execute(plan, sigma.data(), residual.data(), U, V, &report);
        if (status == TULLE_OK && (centre || scale)) {
            means.assign(tulle_svd_means(plan), tulle_svd_means(plan) + n);
            deviations.assign(tulle_svd_deviations(plan), tulle_svd_deviations(plan) + n);
        }
        if (status == TULLE_OK) {
            status = give(U, &u), U = nullptr;
            if (status == TULLE_OK) status = give(V, &v), V = nullptr;
        }
        if (status == TULLE_OK && file) status = tulle_rows_warnings(file, warnings);
        tulle_mat_free(V);
        tulle_mat_free(U);
        tulle_svd_free(plan);
        tulle_rows_free(file);
        return status;
    });
    nb::dict d;
    describe(d, report.spectrum);
    d["passes"] = report.passes;
    d["orthogonality"] = report.orthogonality;
    d["variance"] = report.variance;
    d["rows"] = samples;
    d["warnings"] = static_cast<const char *>(warnings);
    return nb::make_tuple(sigma, residual, left ? nb::object(take(team, u)) : nb::none(),
        right ? nb::object(take(team, v)) : nb::none(), means, deviations, d);
}

} // namespace

void bind_spectrum(nb::module_ &m)
{
    m.def("eigenpairs", &eigenpairs);
    m.def("pencil_pairs", &pencil_pairs, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
    m.def("lobpcg", &lobpcg, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("triplets", &triplets, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg());
}
