/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/product_machine.h"

#include <math.h>

#include "calibration.h"
#include "report/plural.h"

static const double MEASURING = 500e6, MEASURING_SECONDS = 4; /* bytes of memory; seconds with two threads */

double product_work(const struct product *p, const tulle_operand_shape shape[2])
{
    /* products an entry of C: few are slow, so that the middle rate fits most matrices */
    enum { EXPECTED = 1, UNEQUAL = 10 };
    const struct options *o = p->options;
    tulle_machine m;
    if (tulle_machine_guess(1, &m) != TULLE_OK) return HUGE_VAL;
    if (p->kind == GEMM) {
        tulle_gidx size[3];
        product_sizes(o, shape, size);
        return 2.0 * (double)size[0] * (double)size[1] * (double)size[2] / m.fma[p->reading.type];
    }
    const tulle_operand_shape *B = o->noperands > 1 ? &shape[1] : &shape[0];
    if (shape[0].stored < 0 || (p->sparse && B->stored < 0)) return HUGE_VAL;
    const double halves = shape[0].symmetric || shape[0].skew ? 2 : 1, entries = halves * (double)shape[0].stored;
    if (!p->sparse) {
        const double cols = o->noperands > 1 ? (double)B->n : (double)options_int(o, "cols", DEFAULT_COLS);
        return 2 * entries * cols / m.spmm[0];
    }
    return B->m ? 2 * UNEQUAL * entries * halves * (double)B->stored / (double)B->m / m.spgemm[EXPECTED] : 0;
}

/* Reason why this machine cannot, or need not, be measured now; NULL: measure it. */
static const char *spared(const struct product *p, double work, int threads)
{
    const struct options *o = p->options;
    if (options_size(o, "memory", MEASURING) < MEASURING) return "measuring it takes more than --memory";
    if (!options_word(o, "machine", NULL) && work < MEASURING_SECONDS) return "";
    if (tulle_machine_try(NULL, threads) != TULLE_OK) return tulle_error_message();
    return NULL;
}

static tulle_status know_threads(struct product *p, double work, int threads)
{
    if (!p->is_here) return tulle_machine_find(options_word(p->options, "machine", "here"), threads, &p->machine);
    /* a file without kernel rates is from before the model */
    if (tulle_machine_load(NULL, threads, &p->machine) == TULLE_OK && p->machine.spmm[0] > 0) return TULLE_OK;
    const int quiet = options_flag(p->options, "quiet");
    const char *reason = spared(p, work, threads);
    if (reason) {
        if (*reason && !quiet) fprintf(stderr, "tulle: this machine is not measured: %s\n", reason);
        return tulle_machine_guess(threads, &p->machine);
    }
    if (!quiet)
        fprintf(
            stderr, "tulle: measuring this machine with %d %s, once\n", threads, plural(threads, "thread", "threads"));
    struct measurement m = {.earlier = 0};
    tulle_status status = tulle_machine_measure(threads, &m.now, &m.noise);
    if (status != TULLE_OK) return status;
    /* the figures are used even if they cannot be saved */
    if (measurement_keep(&m, 0) != TULLE_OK && !quiet) fprintf(stderr, "tulle: %s\n", tulle_error_message());
    if (!quiet) measurement_show(&m, "tulle: ", stderr);
    p->machine = m.kept;
    return TULLE_OK;
}

tulle_status product_machine(struct product *p, double work, int all)
{
    int cores = tulle_cores_free(), threads = all < cores ? all : cores;
    tulle_status status = know_threads(p, work, threads < 64 ? threads : 64);
    if (status == TULLE_OK && p->is_here && all > threads) {
        p->machine.threads = all;
        p->machine.crowd = (double)all / threads;
    }
    return status;
}
