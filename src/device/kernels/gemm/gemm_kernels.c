/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products by tiles, for one instruction set. */
#include "device/kernels/gemm/gemm_kernel.h"

#include "device/kernels/lanes.h"

#if TULLE__REGISTER > 16
enum {
    LINE = 64,
    TILE_ROWS = TULLE__REGISTER / 8, /* with the vectors of a row, what registers hold */
    TILE_PARTS = 3,
    PACKED_INNER = 192,  /* of a panel that stays in the nearest cache */
    UNPACKED_INNER = 32, /* rows of B that are read side by side */
    PACKED_ROWS = 48,    /* rows from which on a panel is packed */
    BLOCK = 1 << 16,     /* elements of A, or of B, that stay in the next cache */
};

enum { STREAMED_INNER = 8 }; /* at most, and bytes of C, where it is stored past the caches */
static const double streamed_bytes = 16e6;

/* k x cols of B with rows of A: a tile of C. */
struct tile {
    int64_t k;
    const void *A;
    int64_t a_row, a_col;
    const void *B;
    int64_t b_row;
    void *C;
    int64_t ldc, cols, ahead; /* ahead: elements of C to the tile that is fetched meanwhile */
    double alpha, beta;
    bool streams; /* C is stored past the caches, whole lines at a time */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows, or vectors, of the next part of so many: `most`, but the last two share what is left. */
static int64_t part_of(int64_t left, int64_t most)
{
    return left <= most ? left : left < 2 * most ? (left + 1) / 2 : most;
}

static bool packs_panels(const tulle__gemm_task *t)
{
    return t->pair->b_col != 1 || (t->m >= PACKED_ROWS && t->pair->k > UNPACKED_INNER);
}

static bool streams(const tulle__gemm_task *t)
{
    const int64_t size = (int64_t)tulle_type_size(t->type);
    return t->beta == 0 && t->pair->k <= STREAMED_INNER && (uintptr_t)t->C % LINE == 0 && t->c_row * size % LINE == 0 &&
           t->n * size % LINE == 0 && (double)t->m * (double)t->n * (double)size > streamed_bytes;
}

/* Inner indices at a time: rows of B that lie far apart are few. */
static int64_t inner_of(const tulle__gemm_task *t, bool packs, int64_t panel)
{
    return packs || t->n <= panel ? PACKED_INNER : UNPACKED_INNER;
}

#define T float
#include "device/kernels/gemm/gemm_tile.h"
#define T double
#include "device/kernels/gemm/gemm_tile.h"

bool TULLE__OF_ISA(tulle__gemm_tiles)(const tulle__gemm_task *task)
{
    task->type == TULLE_F32 ? multiply_float(task) : multiply_double(task);
    return true;
}
#else
bool TULLE__OF_ISA(tulle__gemm_tiles)(const tulle__gemm_task *task)
{
    (void)task;
    return false;
}
#endif
