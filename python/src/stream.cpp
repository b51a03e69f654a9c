/* SPDX-License-Identifier: Apache-2.0 */
/* Products with matrices that stay in a file, or pass through a small device. */
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "handles.h"

namespace
{

class Stream : public Handle
{
  public:
    /* columns: the most of a product. memory: bytes of the device, 0 for all. */
    Stream(const TeamRef &t, const std::string &path, MatRef a, const std::string &device, const std::string &format,
        size_t memory, int64_t cols)
        : Handle(t), A(std::move(a))
    {
        tulle_stream_options options = {};
        options.size = sizeof options;
        options.device = device.empty() ? nullptr : device.c_str();
        options.format = format.empty() ? nullptr : format.c_str();
        options.memory = memory;
        options.cols = cols;
        team->call([&](tulle_comm *comm) {
            if (A) return tulle_stream_new(A->mat, &options, &stream);
            tulle_status status = tulle_rows_open(comm, path.c_str(), &rows);
            if (status == TULLE_OK) status = tulle_stream_of_rows(rows, &options, &stream);
            if (status != TULLE_OK) tulle_rows_free(rows);
            return status;
        });
    }
    ~Stream()
    {
        tulle_stream *gone = stream;
        tulle_rows *file = rows;
        dispose([gone, file] {
            tulle_stream_free(gone);
            tulle_rows_free(file);
        });
    }

    tulle_gidx m() const
    {
        return A ? tulle_mat_rows(A->mat) : tulle_rows_count(rows);
    }
    tulle_gidx n() const
    {
        return A ? tulle_mat_cols(A->mat) : tulle_rows_cols(rows);
    }
    tulle_type type() const
    {
        return A ? tulle_mat_type(A->mat) : tulle_rows_type(rows);
    }

    /* (Y as arrays, report) */
    nb::tuple multiply(const Array &X)
    {
        const MatRef x = mat_from_array(team, X);
        tulle_array out = wish(TULLE_STORAGE_DENSE, TULLE_ROW_MAJOR);
        tulle_stream_report r = {};
        char warnings[TULLE_WARNINGS_MAX] = ""; /* of the first product, which reads each value once */
        team->call([&](tulle_comm *comm) {
            tulle_layout *layout = nullptr;
            tulle_mat *y = nullptr;
            tulle_status status = result_layout(X.a.n, &layout);
            if (status == TULLE_OK) status = tulle_mat_new_dense_undefined(comm, layout, type(), TULLE_ROW_MAJOR, &y);
            tulle_layout_free(layout);
            if (status == TULLE_OK) status = tulle_stream_multiply(stream, x->mat, y, &r);
            if (status == TULLE_OK) status = tulle_mat_to_array(y, TULLE_AUTO, &out);
            tulle_mat_free(y);
            if (status == TULLE_OK && rows && !warned) status = tulle_rows_warnings(rows, warnings);
            return status;
        });
        nb::dict d;
        d["seconds"] = r.seconds;
        d["flops"] = r.flops;
        d["slabs"] = r.slabs;
        d["bytes"] = r.bytes;
        d["read"] = r.read;
        d["overlap"] = r.overlap;
        d["transfer"] = imbalance(r.transfer);
        d["compute"] = imbalance(r.compute);
        d["warnings"] = static_cast<const char *>(warnings);
        warned = true;
        return nb::make_tuple(take(team, out), d);
    }
    std::string describe() const
    {
        char text[512];
        return tulle_stream_describe(tulle_stream_planned(stream), text, sizeof text);
    }

  private:
    /* The rows of the stream, cols wide. */
    tulle_status result_layout(tulle_gidx cols, tulle_layout **layout) const
    {
        const tulle_layout *l = tulle_stream_layout(stream);
        std::vector<int> owner;
        for (int i = 0; i < tulle_layout_tile_rows(l); i++) owner.push_back(tulle_layout_owner(l, i, 0));
        const tulle_gidx col_cut[2] = {0, cols};
        tulle_layout_spec spec = {};
        spec.m = tulle_layout_rows(l);
        spec.n = cols;
        spec.tile_rows = tulle_layout_tile_rows(l);
        spec.tile_cols = 1;
        spec.row_cut = tulle_layout_row_cut(l);
        spec.col_cut = col_cut;
        spec.owner = owner.data();
        return tulle_layout_new(&spec, team->size(), layout);
    }

    friend OperatorRef operator_of_stream(const std::shared_ptr<Stream> &of);

    const MatRef A;
    tulle_rows *rows = nullptr;
    tulle_stream *stream = nullptr;
    bool warned = false;
};

OperatorRef operator_of_stream(const std::shared_ptr<Stream> &of)
{
    auto made = std::make_shared<Operator>(of->team, of);
    of->team->call([&](tulle_comm *) { return tulle_operator_of_stream(of->stream, &made->op); });
    return made;
}

} // namespace

void bind_stream(nb::module_ &m)
{
    nb::class_<Stream>(m, "Stream")
        .def(nb::init<const TeamRef &, const std::string &, MatRef, const std::string &, const std::string &, size_t,
                 int64_t>(),
            nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
        .def_prop_ro("shape", [](const Stream &s) { return nb::make_tuple(s.m(), s.n()); })
        .def_prop_ro("single", [](const Stream &s) { return s.type() == TULLE_F32; })
        .def("multiply", &Stream::multiply)
        .def("describe", &Stream::describe);
    m.def("operator_of_stream", &operator_of_stream);
}
