/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/cyclic/cyclic_window.h"

tulle__window tulle__window_of(const tulle_cyclic_part *part, const void *val, size_t size, int rank)
{
    int p, q;
    const tulle__cyclic_axis rows = tulle__axis_rows(part->cyclic), cols = tulle__axis_cols(part->cyclic);
    if (!val || !tulle__cyclic_position(part->cyclic, rank, &p, &q)) return (tulle__window){.first = NULL};
    int64_t r = tulle__axis_below(&rows, p, part->row), c = tulle__axis_below(&cols, q, part->col);
    tulle__window w = {.rows = tulle__axis_below(&rows, p, part->row + part->m) - r,
        .cols = tulle__axis_below(&cols, q, part->col + part->n) - c,
        .size = size,
        .step = (size_t)part->ld * size};
    if (w.rows && w.cols) w.first = (const char *)val + (size_t)r * size + (size_t)c * w.step;
    return w;
}
