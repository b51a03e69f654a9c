/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/permutation.h"

#include <stdlib.h>

/* Replaces *X. */
static tulle_status replace(tulle_mat **X, const tulle_gidx *rows, const tulle_gidx *cols)
{
    tulle_mat *moved = NULL;
    const tulle_status status = tulle_mat_permute(*X, rows, cols, &moved);
    if (status != TULLE_OK) return status;
    tulle_mat_free(*X);
    *X = moved;
    return TULLE_OK;
}

tulle_status permute_operand(const struct options *options, tulle_mat **A, struct permutation *p)
{
    const char *word = options_word(options, "permute", NULL);
    tulle_ordering ordering = TULLE_ORDERING_RANDOM;
    *p = (struct permutation){.order = NULL};
    if (!word) return TULLE_OK;
    const tulle_gidx m = tulle_mat_rows(*A);
    const double start = tulle_comm_seconds(tulle_mat_comm(*A));
    p->square = m == tulle_mat_cols(*A);
    p->order = malloc((size_t)m * sizeof *p->order + 1);
    p->inverse = malloc((size_t)m * sizeof *p->inverse + 1);
    tulle_status status = tulle_ordering_parse(word, &ordering);
    if (!p->order || !p->inverse) status = tulle_fail(TULLE_ERR_MEMORY, "out of memory for a permutation");
    status = tulle_comm_agree(tulle_mat_comm(*A), status);
    if (status == TULLE_OK)
        status = tulle_mat_ordering(*A, ordering, (uint64_t)options_int(options, "seed", 1), p->order);
    for (tulle_gidx k = 0; k < m && status == TULLE_OK; k++) p->inverse[p->order[k]] = k;
    if (status == TULLE_OK) status = replace(A, p->order, p->square ? p->order : NULL);
    p->ordered = (struct ordered){tulle_ordering_name(ordering), tulle_comm_seconds(tulle_mat_comm(*A)) - start};
    return status;
}

tulle_status permute_rows(const struct permutation *p, tulle_mat **X)
{
    return p->order ? replace(X, p->order, NULL) : TULLE_OK;
}

tulle_status permute_back(const struct permutation *p, int cols, tulle_mat **C)
{
    return p->order ? replace(C, p->inverse, cols ? p->inverse : NULL) : TULLE_OK;
}

void permutation_free(struct permutation *p)
{
    free(p->order);
    free(p->inverse);
    *p = (struct permutation){.order = NULL};
}
