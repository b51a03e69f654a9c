/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/array/array_result.h"

#include "base/error.h"
#include "mat/array/array_parts.h"
#include "mat/overlap.h"

static tulle_gidx at_least_none(int64_t count)
{
    return count > 0 ? count : 0;
}

int tulle__array_windows(const tulle_array *a, tulle__window window[TULLE__WINDOWS])
{
    const size_t size = tulle_type_size(a->type);
    const int64_t count = at_least_none(a->count), nnz = tulle__array_entries_here(a);
    if (tulle__array_check(a) != TULLE_OK) return 0; /* the call is refused where it reads it; sizes may overflow */
    if (a->storage == TULLE_STORAGE_DENSE) {
        window[0] = tulle__window_dense(a->val, a->order, count, at_least_none(a->n), at_least_none(a->ld), size);
        return 1;
    }
    window[0] = tulle__window_flat(a->val, a->val ? nnz : 0, size);
    window[1] = tulle__window_flat(a->ind, a->ind ? nnz : 0, (size_t)a->ind_bytes);
    if (a->storage == TULLE_STORAGE_COO) /* which has no pointers, as the others have no second index */
        window[2] = tulle__window_flat(a->col, a->col ? nnz : 0, (size_t)a->ind_bytes);
    else
        window[2] = tulle__window_flat(a->ptr, a->ptr ? count + 1 : 0, (size_t)a->ptr_bytes);
    return 3;
}

static int is_in_place(const tulle_array *x, const tulle_array *b)
{
    return x->val == b->val && x->type == b->type && x->order == b->order && x->ld == b->ld && x->m == b->m &&
           x->n == b->n && x->first == b->first && x->count == b->count;
}

static tulle_status check_apart(const tulle__array_result *result, const tulle__array_input *input)
{
    tulle__window x[TULLE__WINDOWS], y[TULLE__WINDOWS];
    if (!tulle__window_lists_overlap(
            x, tulle__array_windows(result->given, x), y, tulle__array_windows(input->array, y)))
        return TULLE_OK;
    if (result->given == input->array && result->replaced.owned) return TULLE_OK;
    if (input->in_place && is_in_place(result->given, input->array)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s and %s have memory in common: a result needs arrays of its own%s",
        result->name, input->name, input->in_place ? ", or exactly those of the right-hand sides" : "");
}

tulle_status tulle__array_result_begin(
    tulle__array_result *result, int reads, const tulle__array_input *input, int ninputs)
{
    tulle_array *a = &result->array;
    tulle_status status = TULLE_OK;
    result->replaced = (tulle_array){.owned = false};
    if (a->owned && !reads) {
        result->replaced = *a;
    } else if (a->storage != TULLE_STORAGE_DENSE && (a->ptr || a->ind || a->col || a->val)) {
        return tulle__fail(TULLE_ERR_ARG,
            "%s is sparse, and its arrays are the caller's: a sparse result is allocated, pass NULL for ptr, ind, col "
            "and val",
            result->name);
    }
    for (int i = 0; i < ninputs && status == TULLE_OK; i++) status = check_apart(result, &input[i]);
    if (result->replaced.owned) {
        a->ptr = a->ind = a->col = a->val = NULL;
        a->owned = false;
        a->held = NULL;
    }
    return status;
}

void tulle__array_result_end(tulle__array_result *result)
{
    if (result->replaced.owned) tulle_array_free(&result->replaced);
    TULLE__OPTIONS_WRITE(result->given, &result->array, uplo);
}
