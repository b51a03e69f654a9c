/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products at entries: every instruction set gives the bits of the reference, and writes nothing else. */
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "kernel/pool.h"
#include "tap.h"

enum { ROWS = 37, COLS = 29, WIDE = 70, PAD = 3, MOST = ROWS * COLS };

static void fill(void *to, tulle_type type, int64_t count, uint64_t stream)
{
    for (int64_t e = 0; e < count; e++) {
        const double x = 2 * tulle__random_unit(tulle__random_at(3, stream, (uint64_t)e)) - 1;
        if (type == TULLE_F32)
            ((float *)to)[e] = (float)x;
        else
            ((double *)to)[e] = x;
    }
}

/* Entries of odd rows are left out by their cursors, and so are the first of all others. */
static int64_t make_pattern(int64_t *from, int64_t *to, tulle_lidx *colind)
{
    int64_t nnz = 0;
    for (int r = 0; r < ROWS; r++) {
        from[r] = nnz;
        for (tulle_lidx c = 0; c < COLS; c++)
            if (tulle__random_at(5, (uint64_t)r, (uint64_t)c) % 3 == 0) colind[nnz++] = c + 11;
        to[r] = r % 2 ? from[r] : nnz;
        if (from[r] < to[r]) from[r]++;
    }
    return nnz;
}

static int differs(const tulle__kernels *kernels, tulle__pool *pool, tulle_type type, int64_t k)
{
    static double x[ROWS * (WIDE + PAD)], y[COLS * (WIDE + PAD)], mine[MOST], want[MOST];
    static tulle_lidx colind[MOST];
    int64_t from[ROWS], to[ROWS];
    fill(x, type, ROWS * (k + PAD), 1);
    fill(y, type, COLS * (k + PAD), 2);
    (void)make_pattern(from, to, colind);
    tulle__sddmm_task task = {.type = type,
        .m = ROWS,
        .k = k,
        .from = from,
        .to = to,
        .colind = colind,
        .first = 11,
        .X = x,
        .ldx = k + PAD,
        .Y = y,
        .ldy = k + PAD,
        .alpha = 1.5,
        .val = mine};
    memset(mine, 0x5a, sizeof mine);
    memset(want, 0x5a, sizeof want);
    tulle_status status = kernels->sddmm(pool, &task);
    task.val = want;
    (void)tulle__kernels_ref()->sddmm(NULL, &task);
    return status != TULLE_OK || memcmp(mine, want, sizeof mine) != 0;
}

int main(void)
{
    tulle__pool *pool = NULL;
    if (!ok(tulle__pool_new(3, &pool) == TULLE_OK, "a pool")) return tap_done();
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
        int bad = 0;
        if (!kernels) {
            skip("this processor has no %s", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        for (int64_t k = 0; k <= WIDE; k++) {
            bad += differs(kernels, k % 2 ? pool : NULL, TULLE_F32, k);
            bad += differs(kernels, k % 2 ? pool : NULL, TULLE_F64, k);
        }
        ok(!bad, "%s: %d of %d differ from the reference", tulle__isa_name((tulle__isa)isa), bad, 2 * (WIDE + 1));
    }
    tulle__pool_free(pool);
    return tap_done();
}
