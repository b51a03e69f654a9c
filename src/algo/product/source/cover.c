/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/cover.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { EXACT_EDGES = 1000000 }; /* a flow over more takes too long */

static int64_t column_weight(const tulle__row_terms *t, int64_t c)
{
    if (!t->rowptr) return t->width * (int64_t)t->size;
    return (t->rowptr[c + 1] - t->rowptr[c]) * (int64_t)(t->size + sizeof(int32_t));
}

static int64_t result_bytes(const tulle__csr *A, const tulle__row_terms *t, int64_t r)
{
    if (!t->rowptr) return t->width * (int64_t)t->size;
    int64_t entries = 0;
    for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1] && entries < t->width; e++)
        entries += t->rowptr[A->colind[e] + 1] - t->rowptr[A->colind[e]];
    if (entries > t->width) entries = t->width;
    return entries * (int64_t)(t->size + sizeof(int32_t)) + (int64_t)sizeof(int64_t);
}

static int64_t row_weight(const tulle__csr *A, const tulle__row_terms *t, int64_t r)
{
    int64_t entries = A->rowptr[r + 1] - A->rowptr[r];
    return entries ? result_bytes(A, t, r) + entries * (int64_t)t->size : 0;
}

/*
 * Finds the best cover. If none can be below the limit, or the greedy one is not, only the bound is
 * set.
 */
static tulle_status find_cover(const tulle__bipartite *graph, double limit, int quick, tulle__vertex_cover *cover)
{
    int few = graph->first[graph->left] <= EXACT_EDGES;
    if (quick || !few) {
        int64_t bound;
        TULLE_CALL(tulle__vertex_cover_bound(graph, &bound));
        *cover = (tulle__vertex_cover){.weight = INT64_MAX, .bound = bound};
        if ((double)bound >= limit) return TULLE_OK;
        tulle_status status = tulle__vertex_cover_greedy(graph, cover);
        if (status != TULLE_OK || !few || (double)cover->weight >= limit) return status;
        tulle__vertex_cover_fini(cover);
    }
    return tulle__vertex_cover_exact(graph, cover);
}

static tulle_status divide(const tulle__csr *A, const tulle__row_terms *terms, const char *given, tulle__cut **out)
{
    tulle_status status;
    tulle__cut *cut = NULL;
    int64_t rows = 0, nnz = 0;
    for (int64_t r = 0; r < A->m; r++) {
        rows += given[r];
        nnz += given[r] ? 0 : A->rowptr[r + 1] - A->rowptr[r];
    }
    TULLE_TRY(tulle__alloc_zero(1, sizeof *cut, "a cut tile", &cut));
    TULLE_TRY(tulle__alloc((size_t)rows, sizeof *cut->row, "a cut tile", &cut->row));
    TULLE_TRY(tulle__alloc((size_t)A->m + 1, sizeof *cut->rest_rowptr, "a cut tile", &cut->rest_rowptr));
    TULLE_TRY(tulle__alloc((size_t)nnz, sizeof *cut->rest_colind, "a cut tile", &cut->rest_colind));
    TULLE_TRY(tulle__alloc((size_t)nnz, terms->size, "a cut tile", &cut->rest_val));
    cut->size = terms->size;
    int64_t at = 0;
    for (int64_t r = 0; r < A->m; r++) {
        size_t count = (size_t)(A->rowptr[r + 1] - A->rowptr[r]);
        cut->rest_rowptr[r] = at;
        if (given[r]) {
            cut->row[cut->rows++] = r;
            cut->given += (int64_t)count;
            cut->bytes += row_weight(A, terms, r);
            continue;
        }
        memcpy(cut->rest_colind + at, A->colind + A->rowptr[r], count * sizeof *cut->rest_colind);
        at += (int64_t)count;
    }
    cut->rest_rowptr[A->m] = at;
    cut->rest = (tulle__csr){
        .m = A->m, .n = A->n, .rowptr = cut->rest_rowptr, .colind = cut->rest_colind, .val = cut->rest_val};
    *out = cut;
    return TULLE_OK;
out:
    tulle__cut_free(cut);
    return status;
}

tulle_status tulle__cut_new(const tulle__csr *A, const tulle__row_terms *terms, double limit, int quick,
    tulle__cut **cut, tulle__cover_weight *weight)
{
    TULLE__SCOPED int64_t *weights = NULL;
    int64_t rows = 0;
    TULLE__SCOPED_BY(tulle__vertex_cover_fini) tulle__vertex_cover cover = {.weight = 0};
    *cut = NULL;
    *weight = (tulle__cover_weight){.exact = 1};
    if (!A->m) return TULLE_OK; /* no entries */
    TULLE_CALL(tulle__alloc((size_t)(A->m + A->n), sizeof *weights, "weights of rows", &weights));
    for (int64_t r = 0; r < A->m; r++) weights[r] = row_weight(A, terms, r);
    for (int64_t c = 0; c < A->n; c++) weights[A->m + c] = column_weight(terms, c);
    tulle__bipartite graph = {A->m, A->n, A->rowptr, A->colind, weights, weights + A->m};
    TULLE_CALL(find_cover(&graph, limit, quick, &cover));
    *weight = (tulle__cover_weight){cover.weight, cover.bound, cover.exact};
    for (int64_t r = 0; cover.left && r < A->m; r++) rows += cover.left[r];
    if (rows && (double)cover.weight < limit) TULLE_CALL(divide(A, terms, cover.left, cut));
    return TULLE_OK;
}

void tulle__cut_free(tulle__cut *cut)
{
    if (!cut) return;
    tulle__free(cut->row);
    tulle__free(cut->rest_rowptr);
    tulle__free(cut->rest_colind);
    tulle__free(cut->rest_val);
    tulle__free(cut);
}

void tulle__cut_fill(tulle__cut *cut, const tulle__csr *A)
{
    size_t size = cut->size;
    const char *from = A->val;
    int64_t row = 0;
    /* the rows between two delegated ones lie together */
    for (int64_t g = 0; g <= cut->rows; g++) {
        int64_t end = g < cut->rows ? cut->row[g] : A->m;
        memcpy(cut->rest_val + (size_t)cut->rest_rowptr[row] * size, from + (size_t)A->rowptr[row] * size,
            (size_t)(A->rowptr[end] - A->rowptr[row]) * size);
        row = end + 1;
    }
}

size_t tulle__cut_held(const tulle__cut *cut)
{
    if (!cut) return 0;
    size_t nnz = (size_t)cut->rest_rowptr[cut->rest.m];
    return sizeof *cut + (size_t)(cut->rows + cut->rest.m + 1) * sizeof *cut->row + nnz * (sizeof(int32_t) + cut->size);
}
