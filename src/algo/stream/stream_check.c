/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies what a stream has made, by plain loops in double precision over the matrix where it is:
 * a file is read once more, piece by piece. Values are those that the stream holds: in f32 where
 * its format rounds them.
 */
#include "algo/krylov/krylov.h"
#include "algo/product/verify.h"
#include "algo/stream/stream.h"
#include "base/arg.h"
#include "base/options.h"

static tulle__operand factor_of(const tulle_stream *s)
{
    return (tulle__operand){
        .mat = s->A, .rows = s->rows, .narrow = s->A && s->A->type == TULLE_F64 && s->format.values == TULLE_F32};
}

tulle_status tulle_stream_check(tulle_stream *stream, const tulle_mat *X, const tulle_mat *Y, double *error)
{
    if (TULLE__NULL(stream) || TULLE__NULL(X) || TULLE__NULL(Y) || TULLE__NULL(error))
        return tulle__refuse(stream ? stream->comm : X ? X->comm : Y ? Y->comm : NULL);
    if (X->layout->m != stream->n || Y->layout->m != stream->m || X->layout->n != Y->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "X and Y are not those of a product of the stream");
    const tulle__operand A = factor_of(stream);
    return tulle__check_stream(&A, X, Y, error);
}

tulle_status tulle_stream_check_solve(
    tulle_stream *stream, const tulle_mat *B, const tulle_mat *X, const tulle_krylov_options *options, double *error)
{
    tulle_krylov_options chosen;
    if (TULLE__NULL(stream) || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__OPTIONS(options, &chosen, history_capacity) ||
        TULLE__NULL(error))
        return tulle__refuse(stream ? stream->comm : B ? B->comm : X ? X->comm : NULL);
    const tulle__operand A = factor_of(stream);
    return tulle__krylov_check_factor(&A, B, X, &chosen, error);
}
