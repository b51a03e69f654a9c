/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of functions of matrices and of density matrices, from their reports. */
#include <tulle/density.h>

#include <inttypes.h>
#include <math.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "base/warning.h"

static void warn_of_inserted(int64_t inserted, char *text)
{
    if (inserted)
        tulle__warn(text, TULLE_WARNINGS_MAX, "%" PRId64 " diagonal %s missing; zeros take the place", inserted,
            tulle__plural(inserted, "block is", "blocks are"));
}

tulle_status tulle_matfun_warnings(const tulle_matfun_report *report, char *warnings)
{
    if (TULLE__NULL(report) || TULLE__NULL(warnings)) return TULLE_ERR_ARG;
    warnings[0] = '\0';
    warn_of_inserted(report->inserted, warnings);
    if (report->abandoned_seconds > 0)
        tulle__warn(warnings, TULLE_WARNINGS_MAX,
            "auto gave an iteration up after %d %s (%.3g s), and changed over to submatrices", report->abandoned,
            tulle__plural(report->abandoned, "step", "steps"), report->abandoned_seconds);
    return TULLE_OK;
}

/* ---- density matrices ---- */

static void warn_of_electrons(const tulle_density_report *r, double filter, char *text)
{
    if (fabs(r->stored - r->electrons) > fmax(1e-6, 10 * filter) * fmax(1, r->electrons))
        tulle__warn(text, TULLE_WARNINGS_MAX,
            "the stored D holds %.9g electrons of %.9g: its pattern or the filter cuts it", r->stored, r->electrons);
}

static void warn_of_gap(const tulle_density_report *r, double kT, char *text)
{
    static const double small = .1; /* blocks of D then decay over some ten neighbours */
    const tulle_matfun_report *f = &r->function;
    if (f->columns > 0 && f->blocks == f->columns * f->columns) return; /* submatrices are all of the matrix */
    if (kT <= 0 && isfinite(r->gap) && r->gap < small * r->coupling)
        tulle__warn(text, TULLE_WARNINGS_MAX,
            "the gap at mu is %.3g, and blocks couple by %.3g: they decay slowly, and submatrices count electrons "
            "wrongly; expect errors far above those of a matrix with a gap (doc/matfun.md)",
            r->gap, r->coupling);
}

tulle_status tulle_density_warnings(
    const tulle_density_report *report, const tulle_density_options *options, char *warnings)
{
    tulle_density_options copy;
    if (TULLE__NULL(report) || TULLE__NULL(warnings) || TULLE__OPTIONS(options, &copy, device)) return TULLE_ERR_ARG;
    warnings[0] = '\0';
    warn_of_inserted(report->function.inserted + report->overlap.inserted, warnings);
    warn_of_electrons(report, options->filter, warnings);
    warn_of_gap(report, options->kT, warnings);
    return TULLE_OK;
}
