/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/band.h"

enum { PARTS = 32, BANDS_MOST = 32, GRAIN_LEAST = 64 };

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

int tulle__operands_bands(const tulle__operands *o, int i, int k, int j)
{
    if (o->grain <= 0) return 1;
    double bands = tulle__operands_work(o, i, k, j) / o->grain;
    int64_t rows = tulle__tile_rows(o->C, i), most = rows < BANDS_MOST ? rows : BANDS_MOST;
    return bands <= 1 || most < 2 ? 1 : bands >= (double)most ? (int)most : (int)(bands + 0.999);
}

int64_t tulle__band_row(const tulle__csr *A, int band, int bands)
{
    if (band == bands) return A->m;
    int64_t row = 0, nnz = A->rowptr[A->m] - A->rowptr[0];
    for (int b = 1; b <= band; b++) {
        int64_t before = (int64_t)((double)nnz * b / bands), low = row + 1, high = A->m - (bands - b);
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (A->rowptr[middle] - A->rowptr[0] < before)
                low = middle + 1;
            else
                high = middle;
        }
        row = low;
    }
    return row;
}
