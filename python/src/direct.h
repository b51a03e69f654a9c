/* SPDX-License-Identifier: Apache-2.0 */
/* Products of scipy's and NumPy's arrays as they lie, without descriptions that are made in Python. */
#ifndef TULLE_PYTHON_DIRECT_H
#define TULLE_PYTHON_DIRECT_H

#include "array.h"

/*
 * alpha A B for a matrix of scipy in CSR, or CSC if by_columns, and an array of NumPy, of one type: the new array.
 * swapped: alpha B A. None: the arrays are not such as can be read where they lie, and nothing was done. The lengths of
 * arrays are checked, their elements by the library.
 */
nb::object sparse_times_dense(Team &team, nb::handle A, nb::handle B, double alpha, bool by_columns, bool swapped);

/* The same of two arrays of NumPy, A of two dimensions. */
nb::object dense_times_dense(Team &team, nb::handle A, nb::handle B, double alpha);

/* The same of two matrices of scipy: what `take` returns. by_columns: both are in CSC, and so is the product, whose
 * transpose is returned in CSR. */
nb::object csr_times_csr(const TeamRef &team, nb::handle A, nb::handle B, double alpha, bool by_columns);

/* The report of this thread's last such product. */
nb::dict direct_report();
nb::dict direct_report_of(const tulle_product_report &report);

#endif
