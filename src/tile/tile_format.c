/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_format.h"

#include "tile/element.h"

#ifdef TULLE__ADDED_FORMAT
extern const tulle__tile_format TULLE__ADDED_FORMAT;
#endif

static const tulle__tile_format *const formats[] = {
    &tulle__tile_dense,
    &tulle__tile_csr_format,
    &tulle__tile_bsr_format,
    &tulle__tile_vbsr_format,
#ifdef TULLE__ADDED_FORMAT /* test/tile/ */
    &TULLE__ADDED_FORMAT,
#endif
};

const tulle__tile_format *tulle__tile_format_of(tulle_kind kind)
{
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (formats[f]->kind == kind) return formats[f];
    return NULL;
}

const char *tulle_kind_name(tulle_kind kind)
{
    const tulle__tile_format *format = tulle__tile_format_of(kind);
    return format ? format->name : "unknown";
}

int64_t tulle__chain_multiplications(const tulle__chain_task *task)
{
    int64_t entries = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle_tile *A = &task->A[p];
        const tulle__tile_format *format = tulle__tile_format_of(A->kind);
        entries += format->entries_before(A, task->row + task->m) - format->entries_before(A, task->row);
    }
    return entries * task->n;
}

/* Element (r, c) of the product of one pair. */
static double sum_of(const tulle_tile *A, const tulle_tile *B, int64_t r, int64_t c)
{
    const tulle__tile_format *format = tulle__tile_format_of(A->kind);
    int64_t b_row = B->order == TULLE_ROW_MAJOR ? B->ld : 1, b_col = B->order == TULLE_ROW_MAJOR ? 1 : B->ld;
    double sum = 0;
    for (tulle__entry_run run = {.row = r}; format->next(A, &run);)
        for (int64_t e = 0; e < run.count; e++)
            sum += tulle__tile_element(A, run.value + e * run.step) *
                   tulle__tile_element(B, (run.column + e) * b_row + c * b_col);
    return sum;
}

tulle_status tulle__chain_by_entries(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task)
{
    (void)kernels, (void)pool;
    for (int64_t r = 0; r < task->m; r++)
        for (int64_t c = 0; c < task->n; c++) {
            int64_t at = r * task->c_row + c * task->c_col;
            double sum = 0;
            for (int p = 0; p < task->npairs; p++) sum += sum_of(&task->A[p], &task->B[p], task->row + r, c);
            sum *= task->alpha;
            if (task->beta != 0) sum += task->beta * tulle__element(task->type, task->C, at);
            tulle__element_set(task->type, task->C, at, sum);
        }
    return TULLE_OK;
}
