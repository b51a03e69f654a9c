/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one rule for results in arrays of the caller's, for every call that has one:
 *
 * - arrays that the library allocated (owned) are freed and replaced when the call succeeds; they
 *   may be an input's, if that is the same description. The call reads none of them unless it
 *   updates a dense result;
 * - a dense array of the caller's is written in place, between its leading dimension;
 * - sparse arrays of the caller's are refused: the result may have more entries;
 * - a result that shares an element with an input is refused, but for solves in place;
 * - the description changes on success only.
 */
#ifndef TULLE_MAT_ARRAY_ARRAY_RESULT_H
#define TULLE_MAT_ARRAY_ARRAY_RESULT_H

#include <tulle/array.h>

#include "mat/overlap.h"

typedef struct tulle__array_result {
    tulle_array *given;   /* the caller's description */
    const char *name;     /* its name in the call */
    tulle_array array;    /* a copy, which the call fills in */
    tulle_array replaced; /* owned: freed at the end */
} tulle__array_result;

typedef struct tulle__array_input {
    const tulle_array *array;
    const char *name;
    bool in_place; /* the result may be in exactly this array */
} tulle__array_input;

/*
 * Local, before anything is made. result: given, name and array are set. reads: the call reads the
 * result's values.
 */
tulle_status tulle__array_result_begin(
    tulle__array_result *result, int reads, const tulle__array_input *input, int ninputs);
/* Local, on success: the caller's description becomes result->array. */
void tulle__array_result_end(tulle__array_result *result);

/* Local: the memory that a description names, none if it is not valid; returns the number of windows. */
int tulle__array_windows(const tulle_array *a, tulle__window window[TULLE__WINDOWS]);

#endif
