/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/chain/block_grid.h"

static int smaller(int x, int y)
{
    return x < y ? x : y;
}

/* The host's block that holds the n-th block; *n becomes its number in that, *number the host's block's. 0: none. */
static int host_block_at(
    const tulle_gemm_blocks *s, int rows, int cols, int64_t *n, tulle__grid_block *b, int64_t *number)
{
    int across = tulle__parts_of(cols, s->host_cols), over = tulle__parts_of(cols, s->cols);
    int each = tulle__parts_of(s->host_rows, s->rows); /* blocks down, in all panels but the last */
    int64_t panel = *n / ((int64_t)each * over);
    if (panel >= tulle__parts_of(rows, s->host_rows)) return 0;
    *n -= panel * each * over;
    b->host_row = (int)panel * s->host_rows;
    b->host_rows = smaller(s->host_rows, rows - b->host_row);
    int down = tulle__parts_of(b->host_rows, s->rows), backwards = panel % 2 != 0, at = backwards ? across - 1 : 0;
    for (int q = 0; q < across; q++, at += backwards ? -1 : 1) {
        b->host_col = at * s->host_cols;
        b->host_cols = smaller(s->host_cols, cols - b->host_col);
        int64_t blocks = (int64_t)down * tulle__parts_of(b->host_cols, s->cols);
        if (*n < blocks) {
            b->keeps_rows = q + 1 < across;
            b->keeps_cols = !b->keeps_rows && b->host_row + b->host_rows < rows;
            *number = panel * across + q;
            return 1;
        }
        *n -= blocks;
    }
    return 0;
}

int tulle__block_at(const tulle_gemm_blocks *s, int rows, int cols, int64_t n, tulle__grid_block *b)
{
    int64_t host;
    if (!host_block_at(s, rows, cols, &n, b, &host)) return 0;
    int down = tulle__parts_of(b->host_rows, s->rows), over = tulle__parts_of(b->host_cols, s->cols);
    int by_column = s->resident == TULLE_GEMM_RESIDENT_B, each = by_column ? down : over,
        panels = by_column ? over : down, panel = (int)(n / each), q = (int)(n % each);
    int up = host % 2 != 0, left = b->host_row / s->host_rows % 2; /* where the last block of the host ended */
    int first_back = by_column ? up : left, panels_back = by_column ? left : up;
    int at = (panel % 2) ^ first_back ? each - 1 - q : q, line = panels_back ? panels - 1 - panel : panel;
    int row = by_column ? at : line, col = by_column ? line : at;
    b->row = b->host_row + row * s->rows;
    b->col = b->host_col + col * s->cols;
    b->rows = smaller(s->rows, b->host_row + b->host_rows - b->row);
    b->cols = smaller(s->cols, b->host_col + b->host_cols - b->col);
    b->first_in_host = n == 0;
    b->last_of_rows = by_column ? panel == panels - 1 : q == each - 1;
    b->last_of_cols = by_column ? q == each - 1 : panel == panels - 1;
    return 1;
}
