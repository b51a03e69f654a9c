/* SPDX-License-Identifier: Apache-2.0 */
#include "calibration.h"

/*
 * Above these limits the machine counts as busy: relative deviation of repetitions, ready threads
 * per processor.
 */
static const double deviation_quiet = 0.1, load_quiet = 0.5;

tulle_status measurement_keep(struct measurement *m, int force)
{
    tulle_machine old;
    m->kept = m->now;
    m->earlier = 0;
    tulle_status status = *m->path ? TULLE_OK : tulle_machine_path(m->now.threads, m->path, sizeof m->path);
    if (status != TULLE_OK) return status;
    if (!force && tulle_machine_load(m->path, 0, &old) == TULLE_OK) m->earlier = tulle_machine_merge(&old, &m->kept);
    return tulle_machine_save(m->path, &m->kept);
}

double measurement_deviation(const tulle_machine_noise *noise)
{
    const double of[] = {noise->stream, noise->cache, noise->fma[TULLE_F32], noise->fma[TULLE_F64], noise->spmm,
        noise->spgemm, noise->blocks};
    double most = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i] > most) most = of[i];
    return most;
}

void measurement_show(const struct measurement *m, const char *prefix, FILE *file)
{
    double deviation = measurement_deviation(&m->noise);
    int busy = deviation > deviation_quiet || m->noise.load > load_quiet;
    fprintf(file, "%srepetitions differ by up to %.0f %%", prefix, 100 * deviation);
    if (m->noise.load >= 0) fprintf(file, ", load %.2f threads a processor", m->noise.load);
    if (busy) fprintf(file, ": the machine is busy; run `tulle calibrate` again when it is quiet");
    fputc('\n', file);
    if (m->earlier)
        fprintf(file, "%s%d earlier figure%s better and %s kept; `tulle calibrate --force` replaces %s\n", prefix,
            m->earlier, m->earlier == 1 ? " is" : "s are", m->earlier == 1 ? "is" : "are",
            m->earlier == 1 ? "it" : "them");
}
