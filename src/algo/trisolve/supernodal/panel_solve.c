/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "algo/trisolve/supernodal/panels.h"

enum { LARGE = 1024 }; /* multiplications of a block from which gathering pays */

static void copy_lines(const tulle__supernodal_panels *p, int64_t count, int64_t cols, const char *from, int64_t ldf,
    char *to, int64_t ldt)
{
    size_t size = tulle_type_size(p->type);
    if (from == to) return;
    for (int64_t r = 0; r < count; r++)
        memcpy(to + (size_t)(r * ldt) * size, from + (size_t)(r * ldf) * size, (size_t)cols * size);
}

static void add_to(tulle_type type, int64_t cols, const void *from, void *to)
{
    for (int64_t c = 0; c < cols; c++)
        if (type == TULLE_F32)
            ((float *)to)[c] += ((const float *)from)[c];
        else
            ((double *)to)[c] += ((const double *)from)[c];
}

/*
 * At most TULLE__PANEL_COLUMNS columns. Large operands are gathered contiguously, as the BLAS needs
 * them.
 */
static void subtract_block(const tulle__supernodal_panels *p, const tulle__kernels *kernels,
    const tulle__panel_block *block, char *x, int64_t ldx, int64_t cols)
{
    size_t size = tulle_type_size(p->type), line = (size_t)cols * size;
    int small = (int64_t)block->m * block->k * cols < LARGE;
    char *sources = p->space, *results = sources + (size_t)p->most * TULLE__PANEL_COLUMNS * size;
    const int32_t *from = block->cols < 0 ? NULL : p->line + block->cols;
    const int32_t *to = block->rows < 0 ? NULL : p->line + block->rows;
    tulle__dense_task task = {.type = p->type,
        .m = block->m,
        .k = block->k,
        .cols = cols,
        .A = (const char *)p->val + (size_t)block->val * size,
        .lda = block->k,
        .X = from ? x : x + (size_t)(block->col * ldx) * size,
        .ldx = ldx,
        .x_line = from,
        .Y = to ? x : x + (size_t)(block->row * ldx) * size,
        .ldy = ldx,
        .y_line = to};
    if (from && !small) {
        for (int32_t k = 0; k < block->k; k++)
            memcpy(sources + (size_t)k * line, x + (size_t)(from[k] * ldx) * size, line);
        task.X = sources;
        task.ldx = cols;
        task.x_line = NULL;
    }
    if (to && !small) {
        memset(results, 0, (size_t)block->m * line);
        task.Y = results;
        task.ldy = cols;
        task.y_line = NULL;
    }
    kernels->subtract(&task);
    for (int32_t r = 0; r < block->m && to && !small; r++)
        add_to(p->type, cols, results + (size_t)r * line, x + (size_t)(to[r] * ldx) * size);
}

void tulle__panels_solve(
    const tulle__supernodal_panels *p, const tulle__kernels *kernels, int64_t g, const tulle__sweep_lines *lines)
{
    const tulle__panel_part *part = &p->part[g];
    size_t size = tulle_type_size(p->type);
    char *own = lines->x + (size_t)(part->line * lines->ldx) * size;
    if (part->begins)
        copy_lines(p, part->width, lines->cols, lines->b + (size_t)(part->line * lines->ldb) * size, lines->ldb, own,
            lines->ldx);
    for (int64_t k = part->first; k < part->last; k++)
        for (int64_t c = 0; c < lines->cols; c += TULLE__PANEL_COLUMNS)
            subtract_block(p, kernels, &p->block[k], lines->x + (size_t)c * size, lines->ldx,
                lines->cols - c < TULLE__PANEL_COLUMNS ? lines->cols - c : TULLE__PANEL_COLUMNS);
    if (part->triangle < 0) return;
    tulle__dense_task task = {.type = p->type,
        .m = part->width,
        .k = part->width,
        .cols = lines->cols,
        .A = (const char *)p->val + (size_t)part->triangle * size,
        .lda = part->width,
        .Y = own,
        .ldy = lines->ldx,
        .ldx = lines->ldx};
    kernels->substitute(&task, p->upper, p->unit);
}

int64_t tulle__panels_values(const tulle__supernodal_panels *p, int64_t g)
{
    const tulle__panel_part *part = &p->part[g];
    int64_t values = part->triangle < 0 ? 0 : (int64_t)part->width * (part->width + 1) / 2;
    for (int64_t k = part->first; k < part->last; k++) values += (int64_t)p->block[k].m * p->block[k].k;
    return values;
}
