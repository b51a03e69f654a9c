/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of functions and of density matrices, from reports: each kind, its bound, and its words. */
#include <math.h>
#include <string.h>

#include <tulle/density.h>

#include "tap.h"

static void function(const char *what, const tulle_matfun_report *report, const char *expected)
{
    char text[TULLE_WARNINGS_MAX];
    const tulle_status status = tulle_matfun_warnings(report, text);
    ok(status == TULLE_OK && strcmp(text, expected) == 0, "a function, %s: %s", what, text);
}

static void density(
    const char *what, const tulle_density_report *report, const tulle_density_options *options, const char *expected)
{
    char text[TULLE_WARNINGS_MAX];
    const tulle_status status = tulle_density_warnings(report, options, text);
    ok(status == TULLE_OK && strcmp(text, expected) == 0, "a density matrix, %s: %s", what, text);
}

#define GAP(gap, coupling)                                                                                             \
    "the gap at mu is " gap ", and blocks couple by " coupling                                                         \
    ": they decay slowly, and submatrices count electrons wrongly; expect errors far above those of a matrix with a "  \
    "gap (doc/matfun.md)\n"

int main(void)
{
    const tulle_density_options warm = {.kT = .1}, filtered = {.filter = 1e-3};
    const tulle_density_report plain = {.electrons = 10, .stored = 10, .gap = 1, .coupling = 2};
    tulle_density_report r = plain;
    function("nothing odd", &(tulle_matfun_report){.columns = 3}, "");
    function("one block", &(tulle_matfun_report){.inserted = 1}, "1 diagonal block is missing; zeros take the place\n");
    function("both kinds", &(tulle_matfun_report){.inserted = 2, .abandoned = 1, .abandoned_seconds = .5},
        "2 diagonal blocks are missing; zeros take the place\n"
        "auto gave an iteration up after 1 step (0.5 s), and changed over to submatrices\n");
    density("nothing odd", &plain, NULL, "");
    r.overlap.inserted = 1, r.function.inserted = 2;
    density("blocks of H and S", &r, NULL, "3 diagonal blocks are missing; zeros take the place\n");
    r = plain, r.stored = 9.99;
    density("electrons that are cut", &r, NULL,
        "the stored D holds 9.99 electrons of 10: its pattern or the filter cuts it\n");
    density("as many as the filter explains", &r, &filtered, "");
    r = plain, r.gap = .19;
    density("a small gap", &r, NULL, GAP("0.19", "2"));
    density("a small gap with a temperature", &r, &warm, "");
    r.function.columns = 5, r.function.blocks = 24;
    density("a small gap, a block short of a full matrix", &r, NULL, GAP("0.19", "2"));
    r.function.blocks = 25;
    density("a small gap, a full matrix", &r, NULL, "");
    r.function.blocks = 0, r.function.columns = 0;
    r.function.least = -1, r.function.most = 1e6, r.gap = .21;
    density("a level far away", &r, NULL, "");
    r.gap = NAN;
    density("no gap is known", &r, NULL, "");
    r.gap = INFINITY;
    density("no level above", &r, NULL, "");
    ok(tulle_matfun_warnings(NULL, (char[TULLE_WARNINGS_MAX]){""}) == TULLE_ERR_ARG, "no report");
    return tap_done();
}
