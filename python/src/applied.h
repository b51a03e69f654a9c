/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that calls apply: those of the library, and functions of Python. */
#ifndef TULLE_PYTHON_APPLIED_H
#define TULLE_PYTHON_APPLIED_H

#include <cstring>
#include <new>

#include "handles.h"

/* A copy as NumPy's array; from[i * ld + j] of row i, column j. */
template <class T>
nb::object copy_of(const void *from, int64_t rows, int64_t cols, int64_t ld, double scale, size_t dimensions)
{
    const T *values = static_cast<const T *>(from);
    const size_t count = (size_t)(rows * cols) + 1;
    T *to = new (std::nothrow) T[count];
    if (!to)
        throw Failure(TULLE_ERR_MEMORY,
            "out of memory: a vector for a function of Python needs " + std::to_string(count * sizeof *to) + " bytes");
    nb::capsule owner(to, [](void *array) noexcept { delete[] static_cast<T *>(array); });
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) to[i * cols + j] = static_cast<T>(scale * values[i * ld + j]);
    const size_t shape[2] = {(size_t)rows, (size_t)cols};
    return nb::cast(nb::ndarray<nb::numpy, T>(to, dimensions, shape, owner));
}

/* An operand that a call applies: an operator of the library, or a Python function of n rows and some columns, on one
 * PE. */
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
        return *bound ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory: a product with a function of Python");
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
            staying([&] { bound->self->multiply(from, to); });
            return TULLE_OK;
        } catch (...) {
            bound->self->failure = std::current_exception();
            return TULLE_ERR_ARG;
        }
    }

    /* The function of the columns in one tile, into the other. */
    void multiply(const tulle_tile &from, const tulle_own_tile &to) const
    {
        const nb::object result =
            call((from.type == TULLE_F64 ? copy_of<double> : copy_of<float>)(from.val, from.m, from.n, from.ld, 1, 2));
        const auto y = nb::cast<nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(result);
        const size_t row = (size_t)to.n * tulle_type_size(to.type);
        if (y.nbytes() != (size_t)to.m * row) throw nb::value_error("a result of another shape or type");
        for (tulle_gidx i = 0; i < to.m; i++)
            memcpy(static_cast<char *>(to.val) + (size_t)(i * to.ld) * tulle_type_size(to.type),
                static_cast<const char *>(y.data()) + (size_t)i * row, row);
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

#endif
