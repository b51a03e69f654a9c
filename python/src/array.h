/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's arrays as the library's descriptions, without copies, and results as NumPy's arrays. */
#ifndef TULLE_PYTHON_ARRAY_H
#define TULLE_PYTHON_ARRAY_H

#include <nanobind/ndarray.h>

#include "team.h"

using Input = nb::ndarray<nb::ro, nb::device::cpu>;
using Vector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/* A description, and what keeps its arrays alive. */
struct Array {
    tulle_array a;
    std::vector<nb::object> keep;
};

/*
 * An empty description that asks for a result. index_bytes: 0, 4 if the numbers fit, else 8. first,
 * count: the rows that this process receives; on all of them 0: about equally many.
 */
tulle_array wish(
    tulle_storage storage, tulle_order order, int index_bytes = 0, tulle_gidx first = 0, tulle_gidx count = 0);

/* (storage, shape, arrays): a result's arrays as NumPy's, which own them; of this process's part. */
nb::tuple take(const TeamRef &team, tulle_array result);

void bind_array(nb::module_ &m);

#endif
