/* SPDX-License-Identifier: Apache-2.0 */
#include "solves/eig_method.h"

#include <string.h>

void choose_filter(const struct options *o, const tulle_operand_shape *shape, int apart, tulle_spectrum_options *s)
{
    const char *method = options_word(o, "method", "auto");
    const double stored = (double)shape->stored * (shape->symmetric ? 2 : 1);
    const int chosen = strcmp(method, "auto") == 0 && !apart && shape->stored >= 0 && !options_flag(o, "basis");
    s->size = sizeof *s;
    s->degree = (int)options_int(o, "degree", 0);
    s->chebyshev = strcmp(method, "chebyshev") == 0 || (chosen && tulle_spectrum_filter_pays(s, shape->m, stored));
}

double eig_memory(const tulle_spectrum_options *s, tulle_gidx n, tulle_type type, int pes)
{
    enum { MOST = 64 };
    const double columns = s->count < MOST ? s->count : MOST, vector = (double)n * (double)tulle_type_size(type),
                 plan = (double)tulle_spectrum_memory(s, n, n / pes + 1, type, pes);
    return plan > 0 ? plan + (2. / pes + 1) * columns * vector : 0;
}
