/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: needs add up, by name; the refusal has the figure, which works, and what it consists of. */
#include <stdlib.h>
#include <string.h>

#include <tulle/budget.h>
#include <tulle/status.h>

#include "tap.h"

int main(void)
{
    tulle_budget budget = {.needs = 0};
    ok(tulle_budget_least(&budget) == 0 && tulle_budget_check(&budget, 0, "nothing") == TULLE_OK,
        "nothing needs nothing");
    tulle_budget_add(&budget, "matrices", 40e6);
    tulle_budget_add(&budget, "work", 2e6);
    tulle_budget_add(&budget, "matrices", 0.3e6);
    ok(budget.needs == 2 && tulle_budget_least(&budget) == 42.3e6, "needs of one name are one");
    ok(tulle_budget_check(&budget, 42.2e6, "the verb") == TULLE_ERR_LIMIT, "less is refused");
    const char *at = strstr(tulle_error_message(), "the verb needs at least ");
    ok(at && strstr(at, "matrices 40.3 MB, work 2.0 MB"), "%s", tulle_error_message());
    double figure = at ? strtod(at + strlen("the verb needs at least "), NULL) * 1e6 : 0;
    ok(figure == 43e6 && tulle_budget_check(&budget, figure, "the verb") == TULLE_OK, "what is said works");
    static char names[2 * TULLE_NEEDS_MOST][8];
    for (int n = 0; n < 2 * TULLE_NEEDS_MOST; n++) {
        snprintf(names[n], sizeof names[n], "n%d", n);
        tulle_budget_add(&budget, names[n], 1e6);
    }
    ok(budget.needs == TULLE_NEEDS_MOST && tulle_budget_least(&budget) == 42.3e6 + 2e6 * TULLE_NEEDS_MOST,
        "more names than there is room for lose no byte");
    ok(tulle_memory_free() > 0, "memory is free");
    return tap_done();
}
