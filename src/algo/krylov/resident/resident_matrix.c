/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/resident/resident_matrix.h"

#include "base/error.h"
#include "base/memory.h"

struct tulle__resident_matrix {
    tulle__device *device;
    tulle__device_queue *queue;
    tulle__device_buffer *rowptr, *colind, *val, *workspace;
    tulle__slab slab;
    int64_t cols;
};

static tulle_status send(
    const tulle__resident_matrix *m, size_t bytes, const void *from, const char *what, tulle__device_buffer **buffer)
{
    TULLE_CALL(tulle__device_buffer_new(m->device, bytes, what, buffer));
    if (bytes) m->device->ops->upload(m->queue, &(tulle__device_place){*buffer, 0}, from, bytes);
    return TULLE_OK;
}

static tulle__slab_task task_of(
    const tulle__resident_matrix *m, const tulle__device_place *x, const tulle__device_place *y)
{
    return (tulle__slab_task){.A = m->slab,
        .vectors = m->slab.type,
        .X = {.place = *x, .ld = m->cols},
        .Y = {.place = *y, .ld = m->cols},
        .cols = m->cols,
        .workspace = {m->workspace, 0}};
}

static tulle_status make_workspace(tulle__resident_matrix *m)
{
    const tulle__device_place somewhere = {m->val, 0};
    const tulle__slab_task task = task_of(m, &somewhere, &somewhere);
    size_t bytes = 0;
    if (!m->device->ops->workspace || !m->slab.m) return TULLE_OK;
    TULLE_CALL(m->device->ops->workspace(m->device, &task, &bytes));
    if (!bytes) return TULLE_OK;
    return tulle__device_buffer_new(m->device, bytes, "room for a preconditioner", &m->workspace);
}

tulle_status tulle__resident_matrix_new(tulle__device *device, tulle__device_queue *queue, tulle_type type, int64_t n,
    int64_t cols, const int64_t *rowptr, const int32_t *colind, const void *val, tulle__resident_matrix **out)
{
    tulle__resident_matrix *m = NULL;
    tulle_status status, read;
    int64_t entries = rowptr[n];
    int32_t *narrow = NULL;
    size_t width = (size_t)device->rowptr_bytes, lines = (size_t)n + 1;
    if (width == 4 && entries > INT32_MAX)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a preconditioner of %lld entries on the device '%s'",
            (long long)entries, device->name);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *m, "a preconditioner on a device", &m));
    m->device = device;
    m->queue = queue;
    m->cols = cols;
    if (width == 4) TULLE_TRY(tulle__alloc(lines, sizeof *narrow, "row pointers of a device", &narrow));
    for (size_t r = 0; narrow && r < lines; r++) narrow[r] = (int32_t)rowptr[r];
    TULLE_TRY(send(m, lines * width, narrow ? (const void *)narrow : rowptr, "rows of a preconditioner", &m->rowptr));
    TULLE_TRY(send(m, (size_t)entries * sizeof *colind, colind, "columns of a preconditioner", &m->colind));
    TULLE_TRY(send(m, (size_t)entries * tulle_type_size(type), val, "a preconditioner", &m->val));
    m->slab = (tulle__slab){.type = type,
        .block = 1,
        .index_bytes = 4,
        .m = n,
        .n = n,
        .blocks = entries,
        .rowptr = {m->rowptr, 0},
        .colind = {m->colind, 0},
        .val = {m->val, 0}};
    TULLE_TRY(make_workspace(m));
out:
    read = device->ops->queue_wait(queue); /* also after a failure: the arrays are the caller's */
    if (status == TULLE_OK) status = read;
    tulle__free(narrow);
    if (status == TULLE_OK)
        *out = m;
    else
        tulle__resident_matrix_free(m);
    return status;
}

void tulle__resident_matrix_free(tulle__resident_matrix *m)
{
    if (!m) return;
    tulle__device_buffer_free(m->device, m->rowptr);
    tulle__device_buffer_free(m->device, m->colind);
    tulle__device_buffer_free(m->device, m->val);
    tulle__device_buffer_free(m->device, m->workspace);
    tulle__free(m);
}

void tulle__resident_matrix_apply(
    const tulle__resident_matrix *m, const tulle__device_place *x, const tulle__device_place *y)
{
    const tulle__slab_task task = task_of(m, x, y);
    if (m->slab.m) tulle__start_multiply(m->device, m->queue, &task);
}
