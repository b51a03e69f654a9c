/* SPDX-License-Identifier: Apache-2.0 */
#include "report/kernels.h"

#include <stddef.h>

#include <tulle/report.h>

static void words(int refused, FILE *file)
{
    static const struct {
        int bit;
        const char *word;
    } kinds[] = {{TULLE_REFUSED_CSR, "CSR slabs"}, {TULLE_REFUSED_BSR, "BSR slabs"},
        {TULLE_REFUSED_TILE, "tiles times row-major tiles"},
        {TULLE_REFUSED_TRANSPOSED, "tiles times column-major tiles"}};
    const char *before = "own (cuSPARSE does not support ";
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!(refused & kinds[k].bit)) continue;
        fprintf(file, "%s%s", before, kinds[k].word);
        before = ", ";
    }
    fputc(')', file);
}

void kernels_text(const char *before, int refused, FILE *file)
{
    if (!refused) return;
    fprintf(file, "%skernels: ", before);
    words(refused, file);
    fputc('\n', file);
}

void kernels_json(int refused, FILE *file)
{
    fprintf(file, ",\"kernels\":");
    if (!refused) {
        fprintf(file, "null");
        return;
    }
    fputc('"', file);
    words(refused, file);
    fputc('"', file);
}
