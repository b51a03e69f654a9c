/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solves: analysed once, solved any number of times. */
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "handles.h"

namespace
{

class Triangle : public Handle
{
  public:
    Triangle(const MatRef &A, bool lower, bool transposed, bool unit, const std::string &method)
        : Triangle(make(A, lower, transposed, unit, method))
    {
    }
    ~Triangle()
    {
        tulle_trisolve *gone = solver;
        dispose([gone] { tulle_trisolve_free(gone); });
    }

    nb::dict solve(const Array &B, const Array &X)
    {
        const MatRef b = mat_from_array(team, B), x = mat_from_array(team, X);
        tulle_trisolve_report r = {};
        team->call([&](tulle_comm *) { return tulle_trisolve_execute(solver, b->mat, x->mat, &r); });
        x->write_back(X);
        nb::dict d;
        d["method"] = tulle_trisolve_method_name(r.method);
        d["seconds"] = r.seconds;
        d["flops"] = r.flops;
        d["levels"] = r.levels;
        d["workers"] = r.workers;
        d["analysis_seconds"] = r.analysis_seconds;
        d["kernel_seconds"] = r.kernel_seconds;
        d["reproducible"] = (bool)r.reproducible;
        d["compute"] = imbalance(r.compute);
        d["wait"] = imbalance(r.wait);
        return d;
    }

  private:
    using Made = std::pair<MatRef, tulle_trisolve *>;
    explicit Triangle(const Made &made) : Handle(made.first->team), T(made.first), solver(made.second) {}
    static Made make(const MatRef &A, bool lower, bool transposed, bool unit, const std::string &method)
    {
        tulle_trisolve_options options = {};
        options.size = sizeof options;
        options.uplo = lower ? TULLE_LOWER : TULLE_UPPER;
        options.op = transposed ? TULLE_OP_T : TULLE_OP_N;
        options.diag = unit ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED;
        tulle_mat *t = nullptr;
        tulle_trisolve *solver = nullptr;
        A->team->call([&](tulle_comm *) {
            tulle_status status = tulle_trisolve_method_parse(method.c_str(), &options.method);
            if (status == TULLE_OK) status = tulle_mat_triangle(A->mat, options.uplo, options.diag, &t);
            if (status == TULLE_OK) status = tulle_trisolve_new(t, &options, &solver);
            if (status != TULLE_OK) tulle_mat_free(t);
            return status;
        });
        return {std::make_shared<Mat>(A->team, t, std::vector<nb::object>()), solver};
    }

    const MatRef T;
    tulle_trisolve *const solver;
};

} // namespace

void bind_trisolve(nb::module_ &m)
{
    nb::class_<Triangle>(m, "Triangle")
        .def(nb::init<const MatRef &, bool, bool, bool, const std::string &>())
        .def("solve", &Triangle::solve);
}
