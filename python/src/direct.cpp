/* SPDX-License-Identifier: Apache-2.0 */
#include "direct.h"

#include <utility>

#include "handles.h"

namespace
{

thread_local tulle_product_report last;

/* An attribute, or nothing. */
nb::object attribute(nb::handle of, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(of.ptr(), name);
    if (!found) PyErr_Clear();
    return nb::steal(found);
}

/* NumPy's elements by the protocol of buffers, which costs a tenth of an ndarray of nanobind. */
class Elements
{
  public:
    explicit Elements(nb::handle array)
    {
        if (!array.ptr() || PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
            PyErr_Clear();
            return;
        }
        held = true;
        if (!buffer.format || !buffer.format[0] || buffer.format[1]) return; /* other byte orders have two characters */
        const bool aligned = buffer.itemsize && reinterpret_cast<uintptr_t>(buffer.buf) % (size_t)buffer.itemsize == 0;
        switch (buffer.format[0]) {
        case 'f':
        case 'd':
            real = aligned;
            break;
        case 'i':
        case 'l':
        case 'q':
            integer = aligned && (buffer.itemsize == 4 || buffer.itemsize == 8);
            break;
        default:
            break;
        }
    }
    ~Elements()
    {
        if (held) PyBuffer_Release(&buffer);
    }
    Elements(const Elements &) = delete;
    Elements &operator=(const Elements &) = delete;

    int dimensions() const
    {
        return buffer.ndim;
    }
    int bytes() const
    {
        return (int)buffer.itemsize;
    }
    int64_t extent(int d) const
    {
        return buffer.shape[d];
    }
    /* Elements from one to the next; 0: not a number of them. */
    int64_t step(int d) const
    {
        return buffer.strides[d] > 0 && buffer.strides[d] % buffer.itemsize == 0 ? buffer.strides[d] / buffer.itemsize
                                                                                 : 0;
    }
    bool is_flat() const
    {
        return buffer.ndim == 1 && (step(0) == 1 || buffer.shape[0] <= 1);
    }
    void *data() const
    {
        return buffer.buf;
    }

    bool real = false, integer = false;

  private:
    Py_buffer buffer = {};
    bool held = false;
};

/* Names that are looked up in every call; they live as long as the program. */
struct Names {
    PyObject *shape = PyUnicode_InternFromString("shape"), *indptr = PyUnicode_InternFromString("indptr"),
             *indices = PyUnicode_InternFromString("indices"), *data = PyUnicode_InternFromString("data"),
             *dtype = PyUnicode_InternFromString("dtype"), *transpose = PyUnicode_InternFromString("T");
    PyObject *empty = nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
};

const Names &names()
{
    static const Names *const all = new Names;
    return *all;
}

/* m and n; false: they are not two numbers. */
bool shape_of(nb::handle A, int64_t (&shape)[2])
{
    const nb::object given = attribute(A, names().shape);
    if (!given.ptr() || !PyTuple_Check(given.ptr()) || PyTuple_Size(given.ptr()) != 2) return false;
    for (int d = 0; d < 2; d++) {
        shape[d] = PyLong_AsLongLong(PyTuple_GetItem(given.ptr(), d));
        if (shape[d] == -1 && PyErr_Occurred()) PyErr_Clear();
    }
    return shape[0] > 0 && shape[1] > 0;
}

/* A dense matrix of one or two dimensions, one of them without gaps; false: it is another. */
bool describe_dense(const Elements &values, tulle_array &a)
{
    const int64_t rows = values.extent(0);
    if (values.dimensions() == 1) {
        a = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR);
        a.n = 1;
        a.ld = rows > 1 ? values.step(0) : 1;
        if (!a.ld) return false;
    } else {
        const int64_t cols = values.extent(1), by_row = values.step(0), by_col = values.step(1);
        if (cols < 1) return false;
        if (by_col == 1 && by_row >= cols)
            a = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR), a.ld = by_row;
        else if (by_row == 1 && by_col >= rows)
            a = wish(TULLE_STORAGE_DENSE, TULLE_COL_MAJOR), a.ld = by_col;
        else
            return false;
        a.n = cols;
    }
    a.m = a.count = rows;
    a.val = values.data();
    return true;
}

/* The transpose: a dense matrix is its own in the other order. */
void transpose(tulle_array &a)
{
    std::swap(a.m, a.n);
    a.count = a.m;
    a.order = a.order == TULLE_ROW_MAJOR ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR;
}

/* A new array of NumPy of that many rows, in the type of `like`. */
nb::object new_array(int64_t rows, int64_t cols, bool vector, nb::handle like)
{
    const nb::object dtype = nb::steal(PyObject_GetAttr(like.ptr(), names().dtype));
    const nb::object shape = vector ? nb::steal(PyLong_FromLongLong(rows))
                                    : nb::steal(Py_BuildValue("(LL)", (long long)rows, (long long)cols));
    nb::object made = dtype.ptr() && shape.ptr()
                          ? nb::steal(PyObject_CallFunctionObjArgs(names().empty, shape.ptr(), dtype.ptr(), nullptr))
                          : nb::object();
    if (!made.ptr()) throw nb::python_error();
    return made;
}

/* A matrix of scipy in CSR, or the transpose of one in CSC, whose arrays stay where they are meanwhile. */
struct Rows {
    explicit Rows(nb::handle A, bool transposed = false)
        : ptr(attribute(A, names().indptr)), ind(attribute(A, names().indices)), val(attribute(A, names().data)),
          a(wish(TULLE_STORAGE_CSR, TULLE_ROW_MAJOR))
    {
        int64_t shape[2];
        if (!ptr.integer || !ind.integer || !val.real || !shape_of(A, shape)) return;
        if (transposed) std::swap(shape[0], shape[1]);
        if (!ptr.is_flat() || !ind.is_flat() || !val.is_flat() || ptr.extent(0) != shape[0] + 1) return;
        a.type = val.bytes() == 4 ? TULLE_F32 : TULLE_F64;
        a.m = a.count = shape[0];
        a.n = shape[1];
        a.ptr_bytes = ptr.bytes();
        a.ind_bytes = ind.bytes();
        a.nnz = a.ptr_bytes == 4 ? static_cast<const int32_t *>(ptr.data())[shape[0]]
                                 : static_cast<const int64_t *>(ptr.data())[shape[0]];
        a.ptr = ptr.data();
        a.ind = ind.data();
        a.val = val.data();
        suits = a.nnz > 0 && a.nnz <= ind.extent(0) && a.nnz <= val.extent(0);
    }

    const Elements ptr, ind, val;
    tulle_array a;
    bool suits = false;
};

} // namespace

nb::object sparse_times_dense(Team &team, nb::handle A, nb::handle B, double alpha, bool by_columns, bool swapped)
{
    const Rows rows(A, by_columns);
    const Elements x(B);
    const bool transposed = by_columns != swapped;
    tulle_array b, c = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR);
    if (team.size() > 1 || !rows.suits || !x.real || rows.val.bytes() != x.bytes() || x.dimensions() < 1 ||
        x.dimensions() > 2 || !describe_dense(x, b))
        return nb::none();
    const bool vector = x.dimensions() == 1;
    if (swapped && !vector) transpose(b);
    if (b.m != (transposed ? rows.a.m : rows.a.n)) return nb::none();
    b.type = c.type = rows.a.type;
    c.m = c.count = transposed ? rows.a.n : rows.a.m;
    c.n = c.ld = b.n;
    nb::object result = new_array(c.m, c.n, vector, B);
    const Elements y(result);
    c.val = y.data();
    team.call([&](tulle_comm *comm) {
        return tulle_multiply(comm, transposed ? TULLE_OP_T : TULLE_OP_N, TULLE_OP_N, alpha, &rows.a, &b, 0, &c,
            nullptr, &last);
    });
    return swapped && !vector ? attribute(result, names().transpose) : result;
}

nb::object dense_times_dense(Team &team, nb::handle A, nb::handle B, double alpha)
{
    const Elements left(A), right(B);
    tulle_array a, b, c = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR);
    if (team.size() > 1 || !left.real || !right.real || left.bytes() != right.bytes() || left.dimensions() != 2 ||
        right.dimensions() < 1 || right.dimensions() > 2 || !describe_dense(left, a) || !describe_dense(right, b) ||
        a.n != b.m || a.m < 1 || b.m < 1)
        return nb::none();
    a.type = b.type = c.type = left.bytes() == 4 ? TULLE_F32 : TULLE_F64;
    c.m = c.count = a.m;
    c.n = c.ld = b.n;
    nb::object result = new_array(c.m, c.n, right.dimensions() == 1, B);
    const Elements y(result);
    c.val = y.data();
    team.call([&](tulle_comm *comm) {
        return tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, alpha, &a, &b, 0, &c, nullptr, &last);
    });
    return result;
}

nb::object csr_times_csr(const TeamRef &team, nb::handle A, nb::handle B, double alpha, bool by_columns)
{
    const Rows left(by_columns ? B : A, by_columns), right(by_columns ? A : B, by_columns);
    if (team->size() > 1 || !left.suits || !right.suits || left.a.type != right.a.type || left.a.n != right.a.m)
        return nb::none();
    tulle_array c = wish(TULLE_STORAGE_CSR, TULLE_ROW_MAJOR, left.a.ind_bytes == 8 || right.a.ind_bytes == 8 ? 8 : 0);
    const tulle_array *b = A.ptr() == B.ptr() ? &left.a : &right.a;
    team->call([&](tulle_comm *comm) {
        return tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, alpha, &left.a, b, 0, &c, nullptr, &last);
    });
    return take(team, c);
}

nb::dict direct_report()
{
    return direct_report_of(last);
}
