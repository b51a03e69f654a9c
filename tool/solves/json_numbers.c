/* SPDX-License-Identifier: Apache-2.0 */
#include "solves/json_numbers.h"

#include <math.h>

void json_number(double x, FILE *out)
{
    if (isfinite(x))
        fprintf(out, "%.17g", x);
    else
        fprintf(out, "null");
}

void json_numbers(const char *name, const double *x, int count, FILE *out)
{
    fprintf(out, "\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        if (i) fputc(',', out);
        json_number(x[i], out);
    }
    fputc(']', out);
}
