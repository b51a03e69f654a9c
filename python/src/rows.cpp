/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of CSR tensors of torch, for what the library has no product for: entries sorted by rows and by columns, largest
 * products, softmax and sums of each row. One thread, without Python's lock. Values lie row by row without gaps;
 * pointers and indices are of 64 bits, and all are checked before they are followed.
 */
#include <cmath>
#include <numeric>

#include "handles.h"

namespace
{

template <class T> T *data(const Input &array)
{
    if (array.dtype() != nb::dtype<T>()) throw nb::type_error("an array of another type is required");
    return static_cast<T *>(const_cast<void *>(array.data()));
}

void require(bool holds, const char *what)
{
    if (!holds) throw nb::value_error(what);
}

/* Row pointers that ascend from 0 to the number of entries. */
struct Rows {
    const int64_t *crow;
    int64_t count, entries;

    Rows(const Input &array, size_t n)
        : crow(data<int64_t>(array)), count((int64_t)array.size() - 1), entries((int64_t)n)
    {
        bool ascend = count >= 0 && crow[0] == 0 && crow[count] == entries;
        for (int64_t i = 0; i < count && ascend; i++) ascend = crow[i] <= crow[i + 1];
        require(ascend, "row pointers do not ascend from 0 to the number of entries");
    }
};

void check_range(const int64_t *index, int64_t n, int64_t below)
{
    bool holds = true;
    for (int64_t e = 0; e < n; e++) holds = holds && index[e] >= 0 && index[e] < below;
    require(holds, "an index is out of range");
}

/* The order of entries by ascending keys, those of one key as in `from` (NULL: as they are), and where keys begin. */
void sort_by(const int64_t *key, int64_t n, int64_t keys, const int64_t *from, int64_t *begin, int64_t *order)
{
    std::vector<int64_t> next((size_t)keys + 1, 0);
    for (int64_t e = 0; e < n; e++) next[(size_t)key[e] + 1]++;
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::copy(next.begin(), next.end(), begin);
    for (int64_t e = 0; e < n; e++) {
        const int64_t entry = from ? from[e] : e;
        order[next[(size_t)key[entry]]++] = entry;
    }
}

/* Entries (row, col) in CSR: pointers, columns, and the place of each entry before. */
void by_rows(
    const Input &row, const Input &col, int64_t cols, const Input &crow, const Input &sorted, const Input &order)
{
    const int64_t n = (int64_t)row.size(), rows = (int64_t)crow.size() - 1;
    const int64_t *r = data<int64_t>(row), *c = data<int64_t>(col);
    int64_t *begin = data<int64_t>(crow), *to = data<int64_t>(sorted), *place = data<int64_t>(order);
    require(
        rows >= 0 && cols >= 0 && (int64_t)col.size() == n && (int64_t)sorted.size() == n && (int64_t)order.size() == n,
        "arrays of a sparse matrix do not fit");
    nb::gil_scoped_release released;
    check_range(r, n, rows);
    check_range(c, n, cols);
    std::vector<int64_t> by_column((size_t)n), unused((size_t)cols + 1);
    sort_by(c, n, cols, nullptr, unused.data(), by_column.data());
    sort_by(r, n, rows, by_column.data(), begin, place);
    for (int64_t e = 0; e < n; e++) to[e] = c[place[e]];
}

/* The transpose: pointers, columns, and the entry that each of its entries is. */
void transposed(const Input &crow, const Input &col, const Input &t_crow, const Input &t_col, const Input &order)
{
    const Rows rows(crow, col.size());
    const int64_t cols = (int64_t)t_crow.size() - 1, *c = data<int64_t>(col);
    int64_t *begin = data<int64_t>(t_crow), *to = data<int64_t>(t_col), *place = data<int64_t>(order);
    require(
        cols >= 0 && t_col.size() == col.size() && order.size() == col.size(), "arrays of a sparse matrix do not fit");
    nb::gil_scoped_release released;
    check_range(c, rows.entries, cols);
    sort_by(c, rows.entries, cols, nullptr, begin, place);
    std::vector<int64_t> row_of((size_t)rows.entries);
    for (int64_t i = 0; i < rows.count; i++) std::fill(&row_of[0] + rows.crow[i], &row_of[0] + rows.crow[i + 1], i);
    for (int64_t e = 0; e < rows.entries; e++) to[e] = row_of[(size_t)place[e]];
}

/* NaN is larger and smaller than all numbers, and the first of equal products stays. */
template <class T> bool beats(T product, T best, bool smallest)
{
    return (smallest ? product < best : product > best) || (product != product && best == best);
}

/* C[i][h][f] = the largest values[e][h] B[col[e]][h][f] of row i, or the smallest, and its e; 0 and -1 of an empty row
 */
template <class T>
void extreme(const Rows &rows, const int64_t *col, const T *values, int64_t heads, const T *B, int64_t width,
    bool smallest, T *C, int64_t *entry)
{
    const int64_t wide = heads * width;
    for (int64_t i = 0; i < rows.count; i++, C += wide, entry += wide) {
        std::fill(C, C + wide, T(0));
        std::fill(entry, entry + wide, -1);
        for (int64_t e = rows.crow[i]; e < rows.crow[i + 1]; e++)
            for (int64_t h = 0; h < heads; h++) {
                const T value = values[e * heads + h], *b = B + col[e] * wide + h * width;
                T *best = C + h * width;
                int64_t *whose = entry + h * width;
                for (int64_t f = 0; f < width; f++) {
                    const T product = value * b[f];
                    if (whose[f] >= 0 && !beats(product, best[f], smallest)) continue;
                    best[f] = product;
                    whose[f] = e;
                }
            }
    }
}

void extreme_of_rows(const Input &crow, const Input &col, const Input &values, int64_t heads, const Input &B,
    bool smallest, const Input &C, const Input &entry)
{
    const Rows rows(crow, col.size());
    const int64_t *c = data<int64_t>(col), sources = (int64_t)B.shape(0), wide = (int64_t)B.shape(1);
    int64_t *e = data<int64_t>(entry);
    require(heads > 0 && wide > 0 && wide % heads == 0 && values.size() == col.size() * (size_t)heads &&
                (int64_t)C.size() == rows.count * wide && entry.size() == C.size(),
        "arrays of a product do not fit");
    auto run = [&](auto *v, auto *b, auto *result) {
        nb::gil_scoped_release released;
        check_range(c, rows.entries, sources);
        extreme(rows, c, v, heads, b, wide / heads, smallest, result, e);
    };
    if (values.dtype() == nb::dtype<double>())
        run(data<double>(values), data<double>(B), data<double>(C));
    else
        run(data<float>(values), data<float>(B), data<float>(C));
}

/* Exponentials of the differences from each row's largest value, over their sum. */
template <class T> void softmax(const Rows &rows, const T *values, int64_t heads, T *out)
{
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t from = rows.crow[i] * heads + h, to = rows.crow[i + 1] * heads;
            T most = from < to ? values[from] : T(0), sum = 0;
            for (int64_t e = from; e < to; e += heads)
                if (!(values[e] <= most)) most = values[e];
            for (int64_t e = from; e < to; e += heads) sum += out[e] = std::exp(values[e] - most);
            for (int64_t e = from; e < to; e += heads) out[e] /= sum;
        }
}

void softmax_of_rows(const Input &crow, const Input &values, const Input &out)
{
    const Rows rows(crow, values.shape(0));
    const int64_t heads = (int64_t)values.shape(1);
    require(out.size() == values.size(), "arrays of a softmax do not fit");
    auto run = [&](auto *v, auto *result) {
        nb::gil_scoped_release released;
        softmax(rows, v, heads, result);
    };
    if (values.dtype() == nb::dtype<double>())
        run(data<double>(values), data<double>(out));
    else
        run(data<float>(values), data<float>(out));
}

/* out[i] = the sum of values[order[e]] over row i */
template <class T> void sum(const Rows &rows, const int64_t *order, const T *values, int64_t width, T *out)
{
    for (int64_t i = 0; i < rows.count; i++, out += width) {
        std::fill(out, out + width, T(0));
        for (int64_t e = rows.crow[i]; e < rows.crow[i + 1]; e++)
            for (int64_t j = 0; j < width; j++) out[j] += values[(order ? order[e] : e) * width + j];
    }
}

void sum_of_rows(const Input &crow, const Input &order, const Input &values, const Input &out)
{
    const Rows rows(crow, values.shape(0));
    const int64_t width = (int64_t)values.shape(1), *places = order.size() ? data<int64_t>(order) : nullptr;
    require((int64_t)out.size() == rows.count * width && (!places || order.size() == values.shape(0)),
        "arrays of a sum do not fit");
    auto run = [&](auto *v, auto *result) {
        nb::gil_scoped_release released;
        if (places) check_range(places, rows.entries, rows.entries);
        sum(rows, places, v, width, result);
    };
    if (values.dtype() == nb::dtype<double>())
        run(data<double>(values), data<double>(out));
    else
        run(data<float>(values), data<float>(out));
}

} // namespace

void bind_rows(nb::module_ &m)
{
    m.def("by_rows", &by_rows);
    m.def("transposed", &transposed);
    m.def("extreme_of_rows", &extreme_of_rows);
    m.def("softmax_of_rows", &softmax_of_rows);
    m.def("sum_of_rows", &sum_of_rows);
}
