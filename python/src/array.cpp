/* SPDX-License-Identifier: Apache-2.0 */
#include "array.h"

#include <cstring>

namespace
{

template <class T> tulle_type type_of(const T &values)
{
    if (values.dtype() == nb::dtype<double>()) return TULLE_F64;
    if (values.dtype() == nb::dtype<float>()) return TULLE_F32;
    throw nb::type_error("values must be of float32 or float64");
}

int index_bytes(const Vector &indices)
{
    if (indices.dtype() == nb::dtype<int32_t>()) return 4;
    if (indices.dtype() == nb::dtype<int64_t>()) return 8;
    throw nb::type_error("indices and pointers must be of int32 or int64");
}

void *pointer(const Input &array)
{
    return const_cast<void *>(array.data());
}

void *pointer(const Vector &array)
{
    return const_cast<void *>(array.data());
}

Array compressed(tulle_storage storage, tulle_gidx m, tulle_gidx n, const Vector &ptr, const Vector &ind,
    const Vector &val, tulle_gidx first, nb::args keep)
{
    Array x = {wish(storage, TULLE_ROW_MAJOR), {}};
    x.a.type = type_of(val);
    x.a.m = m;
    x.a.n = n;
    x.a.first = first;
    x.a.count = (tulle_gidx)ptr.size() - 1;
    x.a.nnz = (int64_t)val.size();
    x.a.ptr_bytes = index_bytes(ptr);
    x.a.ind_bytes = index_bytes(ind);
    x.a.ptr = pointer(ptr);
    x.a.ind = pointer(ind);
    x.a.val = pointer(val);
    if (ptr.size() < 1 || ind.size() != val.size()) throw nb::value_error("arrays of a sparse matrix do not fit");
    const int64_t last = x.a.ptr_bytes == 4 ? static_cast<const int32_t *>(x.a.ptr)[x.a.count]
                                            : static_cast<const int64_t *>(x.a.ptr)[x.a.count];
    if (last > x.a.nnz || last < 0) throw nb::value_error("the last row pointer is not the number of entries");
    x.a.nnz = last;
    for (nb::handle object : keep) x.keep.push_back(nb::borrow(object));
    return x;
}

Array entries(tulle_gidx m, tulle_gidx n, const Vector &row, const Vector &col, const Vector &val, nb::args keep)
{
    Array x = {wish(TULLE_STORAGE_COO, TULLE_ROW_MAJOR), {}};
    x.a.type = type_of(val);
    x.a.m = m;
    x.a.n = n;
    x.a.nnz = (int64_t)val.size();
    x.a.ind_bytes = index_bytes(row);
    x.a.ind = pointer(row);
    x.a.col = pointer(col);
    x.a.val = pointer(val);
    if (row.size() != val.size() || col.size() != val.size() || index_bytes(col) != x.a.ind_bytes)
        throw nb::value_error("arrays of a sparse matrix do not fit");
    for (nb::handle object : keep) x.keep.push_back(nb::borrow(object));
    return x;
}

/* Two dimensions, one of them without gaps; strides that do not suit are the caller's to copy away. */
Array dense(const Input &val, tulle_gidx m, tulle_gidx first, nb::args keep)
{
    if (val.ndim() != 2) throw nb::value_error("a dense matrix has two dimensions");
    const int64_t rows = (int64_t)val.shape(0), cols = (int64_t)val.shape(1);
    const bool by_rows = (val.stride(1) == 1 || cols <= 1) && (val.stride(0) >= cols || rows <= 1);
    const bool by_columns = (val.stride(0) == 1 || rows <= 1) && (val.stride(1) >= rows || cols <= 1);
    if (!by_rows && !by_columns) throw nb::value_error("neither rows nor columns of a dense matrix are without gaps");
    Array x = {wish(TULLE_STORAGE_DENSE, by_rows ? TULLE_ROW_MAJOR : TULLE_COL_MAJOR), {}};
    x.a.type = type_of(val);
    x.a.m = m;
    x.a.n = cols;
    x.a.first = first;
    x.a.count = rows;
    x.a.val = pointer(val);
    x.a.ld = by_rows ? (rows > 1 ? val.stride(0) : cols) : (cols > 1 ? val.stride(1) : rows);
    for (nb::handle object : keep) x.keep.push_back(nb::borrow(object));
    return x;
}

/* True if two sparse descriptions have the same pointers and indices. */
bool same_structure(const tulle_array &a, const tulle_array &b)
{
    if (a.nnz != b.nnz || a.count != b.count || a.ptr_bytes != b.ptr_bytes || a.ind_bytes != b.ind_bytes) return false;
    return memcmp(a.ptr, b.ptr, (size_t)(a.count + 1) * (size_t)a.ptr_bytes) == 0 &&
           (a.nnz == 0 || memcmp(a.ind, b.ind, (size_t)a.nnz * (size_t)a.ind_bytes) == 0);
}

template <class T> void copy_dense(const tulle_array &from, const tulle_array &to)
{
    const T *source = static_cast<const T *>(from.val);
    T *target = static_cast<T *>(to.val);
    const bool rows_in = from.order == TULLE_ROW_MAJOR, rows_out = to.order == TULLE_ROW_MAJOR;
    const tulle_gidx lines = rows_out ? to.count : to.n, length = rows_out ? to.n : to.count;
    for (tulle_gidx l = 0; l < lines; l++)
        for (tulle_gidx e = 0; e < length; e++)
            target[l * to.ld + e] = rows_in == rows_out ? source[l * from.ld + e] : source[e * from.ld + l];
}

/* Overwrites the values of a description by another's; false if the structures differ. */
bool copy_values(const Array &to, const Array &from)
{
    if (to.a.storage != from.a.storage || to.a.type != from.a.type || to.a.m != from.a.m || to.a.n != from.a.n)
        return false;
    if (to.a.val == from.a.val) return true;
    if (to.a.storage == TULLE_STORAGE_DENSE) {
        if (to.a.type == TULLE_F64)
            copy_dense<double>(from.a, to.a);
        else
            copy_dense<float>(from.a, to.a);
        return true;
    }
    if (to.a.storage == TULLE_STORAGE_COO || !same_structure(to.a, from.a)) return false;
    if (to.a.nnz) memcpy(to.a.val, from.a.val, (size_t)to.a.nnz * tulle_type_size(to.a.type));
    return true;
}

/* Shared owner of one result's NumPy arrays. */
struct Owner {
    TeamRef team;
    tulle_array array;
};

void drop(void *at) noexcept
{
    Owner *owner = static_cast<Owner *>(at);
    TeamRef team = owner->team;
    tulle_array array = owner->array;
    delete owner;
    team->dispose(0, [array]() mutable { tulle_array_free(&array); });
}

nb::object vector(void *data, int64_t size, nb::dlpack::dtype type, nb::handle owner)
{
    const size_t shape[1] = {(size_t)size};
    return nb::cast(nb::ndarray<nb::numpy>(data, 1, shape, owner, nullptr, type));
}

nb::dlpack::dtype index_type(int bytes)
{
    return bytes == 8 ? nb::dtype<int64_t>() : nb::dtype<int32_t>();
}

} // namespace

tulle_array wish(tulle_storage storage, tulle_order order, int index_bytes, tulle_gidx first, tulle_gidx count)
{
    tulle_array a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.storage = storage;
    a.order = order;
    a.ptr_bytes = a.ind_bytes = index_bytes;
    a.first = first;
    a.count = count;
    return a;
}

nb::tuple take(const TeamRef &team, tulle_array r)
{
    nb::capsule owner(new Owner{team, r}, drop);
    const nb::dlpack::dtype type = r.type == TULLE_F64 ? nb::dtype<double>() : nb::dtype<float>();
    const bool by_columns = r.storage == TULLE_STORAGE_CSC;
    const nb::tuple shape = nb::make_tuple(by_columns ? r.m : r.count, by_columns ? r.count : r.n);
    auto kept = [&](nb::object x) { return team->closes() ? nb::object(x.attr("copy")()) : x; };
    if (r.storage == TULLE_STORAGE_DENSE) {
        const size_t extent[2] = {(size_t)r.count, (size_t)r.n};
        const int64_t rows[2] = {r.ld, 1}, columns[2] = {1, r.ld};
        return nb::make_tuple("dense", shape,
            kept(nb::cast(
                nb::ndarray<nb::numpy>(r.val, 2, extent, owner, r.order == TULLE_ROW_MAJOR ? rows : columns, type))));
    }
    const nb::object values = kept(vector(r.val, r.nnz, type, owner)),
                     indices = kept(vector(r.ind, r.nnz, index_type(r.ind_bytes), owner));
    if (r.storage == TULLE_STORAGE_COO)
        return nb::make_tuple(
            "coo", shape, values, indices, kept(vector(r.col, r.nnz, index_type(r.ind_bytes), owner)));
    return nb::make_tuple(by_columns ? "csc" : "csr", shape, values, indices,
        kept(vector(r.ptr, r.count + 1, index_type(r.ptr_bytes), owner)));
}

void bind_array(nb::module_ &m)
{
    nb::enum_<tulle_storage>(m, "Storage")
        .value("dense", TULLE_STORAGE_DENSE)
        .value("csr", TULLE_STORAGE_CSR)
        .value("csc", TULLE_STORAGE_CSC)
        .value("coo", TULLE_STORAGE_COO);
    nb::class_<Array>(m, "Array")
        .def_static("compressed", &compressed)
        .def_static("entries", &entries)
        .def_static("dense", &dense)
        .def("copy_values", &copy_values);
}
