/* SPDX-License-Identifier: Apache-2.0 */
#include "report/mechanism_lines.h"

#include <math.h>

#include <tulle/words.h>

#include "report/json_write.h"

static void line(FILE *out, const tulle_product_mechanism *x)
{
    fprintf(out, "%-10s%s", x->name, x->chosen ? "*" : " ");
    if (isnan(x->estimate))
        fprintf(out, "%12s", "-");
    else
        fprintf(out, "%12.6f", x->estimate);
    if (x->fresh > 0)
        fprintf(out, "%12.6f%12.6f\n", x->fresh, x->kept);
    else
        fprintf(out, "%12s%12s\n", "-", "-");
}

static void json(FILE *out, const tulle_product_mechanism *x)
{
    fprintf(out, "{\"mechanism\":\"%s\",\"chosen\":%s", x->name, x->chosen ? "true" : "false");
    if (!isnan(x->estimate)) json_printf(out, ",\"estimate_s\":%.9f", x->estimate);
    if (x->fresh > 0) json_printf(out, ",\"fresh_s\":%.9f,\"kept_s\":%.9f", x->fresh, x->kept);
    fprintf(out, "}\n");
}

tulle_status explain_product(FILE *out, bool as_json, const tulle_mat *A, const tulle_mat *B, int reps)
{
    tulle_product_mechanism mechanism[TULLE_PRODUCT_MECHANISMS];
    if (tulle_comm_size(tulle_mat_comm(A)) > 1) return tulle_fail(TULLE_ERR_ARG, "--explain is of one PE: --pes 1");
    const tulle_status status = tulle_product_explain(A, B, reps, mechanism);
    if (status != TULLE_OK) return status;
    if (!as_json) fprintf(out, "%-11s%12s%12s%12s\n", "mechanism", "estimate_s", "fresh_s", "kept_s");
    for (int w = 0; w < TULLE_PRODUCT_MECHANISMS; w++) (as_json ? json : line)(out, &mechanism[w]);
    return TULLE_OK;
}
