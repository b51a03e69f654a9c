/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/chain/band.h"

#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

enum { PARTS = 32, BANDS_MOST = 32, CHAIN_BANDS_MOST = 1024, GRAIN_LEAST = 64 };

double tulle__operands_work(const tulle__operands *o, int i, int k, int j)
{
    double nnz_a = (double)o->A->directory[tulle__tile_index(o->A, i, k)].nnz;
    if (o->B->kind == TULLE_DENSE) return nnz_a * (double)tulle__tile_cols(o->B, j);
    return nnz_a * (double)o->B->directory[tulle__tile_index(o->B, k, j)].nnz / (double)(tulle__tile_rows(o->B, k) + 1);
}

void tulle__operands_set_grain(tulle__operands *o, int pes)
{
    double sum = 0;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++)
                if (tulle__operands_meet(o, i, k, j)) sum += tulle__operands_work(o, i, k, j);
    o->grain = pes > 1 ? sum / pes / PARTS : 0;
    if (pes > 1 && o->grain < GRAIN_LEAST) o->grain = GRAIN_LEAST;
}

static int bands_of(const tulle__operands *o, int i, double work, int64_t most)
{
    if (o->grain <= 0) return 1;
    double bands = work / o->grain;
    int64_t rows = tulle__tile_csr_rows(o->C, i);
    if (rows < most) most = rows;
    return bands <= 1 || most < 2 ? 1 : bands >= (double)most ? (int)most : (int)(bands + 0.999);
}

int tulle__operands_bands(const tulle__operands *o, int i, int k, int j)
{
    return bands_of(o, i, tulle__operands_work(o, i, k, j), BANDS_MOST);
}

int tulle__chain_bands(const tulle__operands *o, int i, int j, int nk, const int *k)
{
    double work = 0;
    for (int n = 0; n < nk; n++) work += tulle__operands_work(o, i, k[n], j);
    return bands_of(o, i, work, CHAIN_BANDS_MOST);
}

/* Blocks, not values: a PE may have fetched some of these only (product/source/norm_source.h). */
static int64_t entries_before(const tulle_tile *A, int nk, bool in_blocks, int64_t row)
{
    int64_t entries = 0;
    for (int n = 0; n < nk; n++)
        entries += !in_blocks    ? tulle__tile_format_of(A[n].kind)->entries_before(&A[n], row)
                   : A[n].rowptr ? A[n].rowptr[row]
                                 : 0;
    return entries;
}

void tulle__band_rows(const tulle_tile *A, int nk, int bands, bool in_blocks, int64_t *row)
{
    int64_t m = in_blocks ? A->block_rows : A->m, total = entries_before(A, nk, in_blocks, m);
    row[0] = 0;
    row[bands] = m;
    for (int b = 1; b < bands; b++) {
        int64_t before = (int64_t)((double)total * b / bands), low = row[b - 1] + 1, high = m - (bands - b);
        TULLE__PARTITION_POINT(low, high, middle, entries_before(A, nk, in_blocks, middle) < before);
        row[b] = low;
    }
}

tulle_status tulle__band_cut_for(
    tulle__band_cut *cut, int i, int nk, const int *k, int of, bool in_blocks, const tulle_tile *A)
{
    tulle_status status;
    size_t bytes = (size_t)nk * sizeof *k;
    if (cut->row && cut->i == i && cut->nk == nk && cut->of == of && memcmp(cut->k, k, bytes) == 0) return TULLE_OK;
    int64_t *row = NULL;
    int *those = NULL;
    TULLE_TRY(tulle__alloc((size_t)of + 1, sizeof *row, "bands", &row));
    TULLE_TRY(tulle__alloc((size_t)nk, sizeof *those, "bands", &those));
    memcpy(those, k, bytes);
    tulle__band_rows(A, nk, of, in_blocks, row);
    tulle__band_cut_fini(cut);
    *cut = (tulle__band_cut){.i = i, .nk = nk, .of = of, .k = those, .row = row};
    return TULLE_OK;
out:
    tulle__free(row);
    tulle__free(those);
    return status;
}

void tulle__band_cut_fini(tulle__band_cut *cut)
{
    tulle__free(cut->k);
    tulle__free(cut->row);
    *cut = (tulle__band_cut){.row = NULL};
}
