/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/budget.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arg.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/host/limits.h"
#include "base/memory.h"

void tulle_budget_add(tulle_budget *budget, const char *what, double bytes)
{
    if (TULLE__NULL(budget) || TULLE__NULL(what)) return;
    int n = 0;
    while (n < budget->needs && strcmp(budget->need[n].what, what) != 0) n++;
    if (n == TULLE_NEEDS_MOST) n--; /* the figure stays right, if the name does not */
    if (n == budget->needs) {
        budget->need[n].what = what;
        budget->need[n].bytes = 0;
        budget->needs++;
    }
    budget->need[n].bytes += bytes;
}

double tulle_budget_least(const tulle_budget *budget)
{
    if (TULLE__NULL(budget)) return 0;
    double bytes = 0;
    for (int n = 0; n < budget->needs; n++) bytes += budget->need[n].bytes;
    return bytes;
}

/* In the units of --memory; below a megabyte in bytes. */
static const char *figure(double bytes, char text[32])
{
    tulle__decimal_format(text, 32, "%.0f%s", bytes < 1e6 ? bytes : bytes / 1e6,
        bytes < 1e6 ? tulle__plural((int64_t)bytes, " byte", " bytes") : "M");
    return text;
}

tulle_status tulle_budget_check(const tulle_budget *budget, double memory, const char *who)
{
    if (TULLE__NULL(budget)) return TULLE_ERR_ARG;
    double least = tulle_budget_least(budget);
    char parts[TULLE_MESSAGE_MAX / 2] = "", has[32];
    size_t used = 0;
    if (least <= memory) return TULLE_OK;
    for (int n = 0; n < budget->needs && used < sizeof parts; n++)
        if (budget->need[n].bytes >= 5e4)
            used += (size_t)tulle__decimal_format(parts + used, sizeof parts - used, "%s%s %.1f MB", used ? ", " : ": ",
                budget->need[n].what, budget->need[n].bytes / 1e6);
    return tulle__fail(TULLE_ERR_LIMIT, "%s needs at least %.0fM of memory, not %s%s", who ? who : "this",
        ceil(least / 1e6), figure(memory, has), parts);
}

double tulle_memory_free(void)
{
    return (double)tulle__memory_available();
}

int tulle_cores_free(void)
{
    return tulle__cores_available("");
}
