/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices: from arrays, files and generators, and back. */
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "handles.h"

Mat::~Mat()
{
    tulle_mat *gone = mat;
    dispose([gone] { tulle_mat_free(gone); });
}

MatRef mat_from_array(const TeamRef &team, const Array &array)
{
    tulle_mat *mat = nullptr;
    team->call([&](tulle_comm *comm) { return tulle_mat_from_array(comm, &array.a, &mat); });
    return std::make_shared<Mat>(team, mat, array.keep);
}

void Mat::write_back(const Array &to) const
{
    if (team->size() == 1) return;
    tulle_array out = to.a;
    team->call([&](tulle_comm *) { return tulle_mat_to_array(mat, TULLE_AUTO, &out); });
}

bool shares(const MatRef &A, const Array &from)
{
    tulle_tile tile = {};
    if (A->team->size() > 1) return false;
    A->team->call([&](tulle_comm *) { return tulle_mat_tile(A->mat, 0, 0, &tile); });
    return tile.val == from.a.val || !tile.nnz;
}

namespace
{

/* Options of reading files: lenient, zero_based, finite, drop_zeros, assume, duplicates. */
struct Reading {
    bool lenient, zero_based, finite, drop_zeros;
    std::string assume, duplicates;
};

tulle_read_options reading_options(const Reading &reading, bool single)
{
    tulle_read_options options = {};
    options.size = sizeof options;
    options.type = single ? TULLE_F32 : TULLE_F64;
    options.lenient = reading.lenient;
    options.zero_based = reading.zero_based;
    options.finite_only = reading.finite;
    options.drop_zeros = reading.drop_zeros;
    options.assume = reading.assume.empty() ? nullptr : reading.assume.c_str();
    options.duplicates = reading.duplicates == "error"  ? TULLE_DUPLICATES_ERROR
                         : reading.duplicates == "last" ? TULLE_DUPLICATES_LAST
                                                        : TULLE_DUPLICATES_SUM;
    return options;
}

nb::tuple load(const TeamRef &team, const std::string &operand, bool dense, bool single, const Reading &reading)
{
    const tulle_read_options options = reading_options(reading, single);
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_mat *mat = nullptr;
    team->call([&](tulle_comm *comm) {
        return tulle_mat_load(
            comm, operand.c_str(), nullptr, dense ? TULLE_DENSE : TULLE_CSR, &options, warnings, &mat);
    });
    return nb::make_tuple(std::make_shared<Mat>(team, mat, std::vector<nb::object>()), std::string(warnings));
}

/* The shape of a file's or a generator's matrix: (m, n, dense). */
nb::tuple inspect(const std::string &operand, const Reading &reading)
{
    tulle_operand_shape shape = {};
    const tulle_read_options options = reading_options(reading, false);
    const tulle_status status = tulle_operand_inspect(operand.c_str(), &options, &shape);
    if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
    return nb::make_tuple(shape.m, shape.n, (bool)shape.dense);
}

void save(const MatRef &A, const std::string &path, nb::handle format)
{
    const std::string name = format.is_none() ? "" : nb::cast<std::string>(format);
    A->team->call([&](tulle_comm *) {
        return name.empty() ? tulle_mat_save(A->mat, path.c_str())
                            : tulle_mat_save_as(A->mat, path.c_str(), name.c_str());
    });
}

nb::tuple arrays(
    const MatRef &A, tulle_storage storage, bool by_columns, int index_bytes, tulle_gidx first, tulle_gidx count)
{
    tulle_array out = wish(storage, by_columns ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR, index_bytes, first, count);
    A->team->call([&](tulle_comm *) { return tulle_mat_to_array(A->mat, TULLE_AUTO, &out); });
    return take(A->team, out);
}

} // namespace

void bind_mat(nb::module_ &m)
{
    nb::class_<Mat>(m, "Mat")
        .def_prop_ro("shape", [](const Mat &A) { return nb::make_tuple(tulle_mat_rows(A.mat), tulle_mat_cols(A.mat)); })
        .def_prop_ro("nnz", [](const Mat &A) { return tulle_mat_nnz(A.mat); })
        .def_prop_ro("dense", [](const Mat &A) { return tulle_mat_kind(A.mat) == TULLE_DENSE; });
    nb::class_<Reading>(m, "Reading")
        .def(
            "__init__",
            [](Reading *place, bool lenient, bool zero_based, bool finite, bool drop_zeros, const std::string &assume,
                const std::string &duplicates) {
                new (place) Reading{lenient, zero_based, finite, drop_zeros, assume, duplicates};
            },
            nb::arg("lenient"), nb::arg("zero_based"), nb::arg("finite"), nb::arg("drop_zeros"), nb::arg("assume"),
            nb::arg("duplicates"));
    m.def("mat", &mat_from_array);
    m.def("shares", &shares);
    m.def("arrays", &arrays);
    m.def("load", &load);
    m.def("inspect", &inspect);
    m.def("save", &save, nb::arg(), nb::arg(), nb::arg().none());
}
