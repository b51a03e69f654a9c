/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/selection.h"

#include <math.h>

tulle_status selection_read(const struct options *options, tulle_selection *selection, bool *asked)
{
    *selection = (tulle_selection){.size = sizeof *selection};
    *asked = false;
    if (!options_has(options, "top")) return TULLE_OK;
    const int64_t top = options_int(options, "top", -1);
    const char *above = options_word(options, "above", NULL);
    selection->by_rank = top >= 0;
    selection->top = top < 0 ? 0 : top;
    selection->by_value = above;
    selection->cosine = options_flag(options, "cosine");
    *asked = selection->by_rank || selection->by_value || selection->cosine;
    return above ? tulle_parse_real(above, "--above", -INFINITY, INFINITY, &selection->above) : TULLE_OK;
}
