/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the library that live as long as Python's: matrices, operators. */
#ifndef TULLE_PYTHON_HANDLES_H
#define TULLE_PYTHON_HANDLES_H

#include "array.h"

/* A matrix over the caller's arrays, which it keeps, or over its own. */
class Mat : public Handle
{
  public:
    Mat(TeamRef t, tulle_mat *m, std::vector<nb::object> k) : Handle(std::move(t)), mat(m), keep(std::move(k)) {}
    ~Mat();

    /* Copies results of a call back into the arrays that it was made from, where it has a copy. Collective. */
    void write_back(const Array &to) const;

    tulle_mat *const mat;

  private:
    std::vector<nb::object> keep;
};

using MatRef = std::shared_ptr<Mat>;

MatRef mat_from_array(const TeamRef &team, const Array &array);
/* True: values that change in the arrays it was made from are the matrix's. */
bool shares(const MatRef &A, const Array &from);

/* An operator of Krylov methods: a matrix, a stream or a preconditioner; `of` outlives it. */
class Operator : public Handle
{
  public:
    Operator(TeamRef t, std::shared_ptr<void> o) : Handle(std::move(t)), of(std::move(o)), op() {}
    ~Operator();

    const std::shared_ptr<void> of;
    tulle_operator op;
};

using OperatorRef = std::shared_ptr<Operator>;

using Cuts = std::vector<tulle_gidx>;

/* A in blocks, in tiles of rows. Collective. */
tulle_status in_blocks(tulle_comm *comm, const tulle_mat *A, const Cuts &rows, const Cuts &cols, tulle_mat **V);

void bind_mat(nb::module_ &m);
void bind_product(nb::module_ &m);
void bind_krylov(nb::module_ &m);
void bind_spectrum(nb::module_ &m);
void bind_least_squares(nb::module_ &m);
void bind_trisolve(nb::module_ &m);
void bind_stream(nb::module_ &m);
void bind_blocks(nb::module_ &m);
void bind_matfun(nb::module_ &m);
void bind_rows(nb::module_ &m);

/* {"max": ..., "mean": ...} */
nb::dict imbalance(const tulle_imbalance &both);

#endif
