/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bands of a chain are cut by all its tiles of A. Chains of one tile row that begin with the same k and go on with
 * another, as where B has empty tiles, have bands of their own: PEs that share such a chain must cut it alike, whatever
 * they have cut before.
 */
#include <string.h>

#include "algo/chain/band.h"
#include "base/memory.h"
#include "tap.h"

enum { ROWS = 40 };

/* Row r has one entry, or `many` if it lies in [from, to). */
static tulle_tile make(int64_t *rowptr, int from, int to, int many)
{
    rowptr[0] = 0;
    for (int r = 0; r < ROWS; r++) rowptr[r + 1] = rowptr[r] + (r >= from && r < to ? many : 1);
    return (tulle_tile){.kind = TULLE_CSR, .m = ROWS, .n = ROWS, .rowptr = rowptr};
}

int main(void)
{
    int64_t rowptr[3][ROWS + 1], alone[6];
    const tulle_tile even = make(rowptr[0], 0, 0, 1), top = make(rowptr[1], 0, 8, 50),
                     bottom = make(rowptr[2], 32, ROWS, 50);
    const tulle_tile with_top[2] = {even, top}, with_bottom[2] = {even, bottom};
    const int k_top[2] = {4, 5}, k_bottom[2] = {4, 0};
    tulle__band_cut cut = {.row = NULL};
    ok(tulle__band_cut_for(&cut, 1, 2, k_top, 5, false, with_top) == TULLE_OK && cut.row[0] == 0 && cut.row[5] == ROWS,
        "five bands of two tiles");
    tulle__band_rows(with_top, 2, 5, false, alone);
    ok(memcmp(cut.row, alone, sizeof alone) == 0, "... as they are cut alone");
    const int64_t *before = cut.row;
    ok(tulle__band_cut_for(&cut, 1, 2, k_top, 5, false, with_top) == TULLE_OK && cut.row == before,
        "the same tiles: kept");
    ok(tulle__band_cut_for(&cut, 1, 2, k_bottom, 5, false, with_bottom) == TULLE_OK,
        "the same first k, another second one");
    tulle__band_rows(with_bottom, 2, 5, false, alone);
    ok(memcmp(cut.row, alone, sizeof alone) == 0, "... are cut by their own tiles");
    ok(tulle__band_cut_for(&cut, 1, 1, k_bottom, 5, false, with_bottom) == TULLE_OK && cut.nk == 1,
        "the first tile alone");
    tulle__band_rows(with_bottom, 1, 5, false, alone);
    ok(memcmp(cut.row, alone, sizeof alone) == 0, "... is cut by its own rows");
    ok(tulle__band_cut_for(&cut, 1, 1, k_bottom, 3, false, with_bottom) == TULLE_OK && cut.row[3] == ROWS,
        "fewer bands");
    ok(tulle__band_cut_for(&cut, 2, 1, k_bottom, 3, false, with_top) == TULLE_OK && cut.i == 2, "another tile row");
    tulle__band_cut_fini(&cut);
    ok(!cut.row && !cut.k, "nothing is left");
    return tap_done();
}
