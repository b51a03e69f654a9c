/* SPDX-License-Identifier: Apache-2.0 */
/* tulle calibrate: measures the machine and keeps the figures. */
#include <unistd.h>

#include "verb.h"

static tulle_status run(const struct options *options)
{
    char path[4096];
    tulle_machine m;
    int threads = (int)options_int(options, "threads", sysconf(_SC_NPROCESSORS_ONLN));
    tulle_status status = tulle_machine_measure(threads, &m);
    if (status == TULLE_OK) status = tulle_machine_path(threads, path, sizeof path);
    if (status == TULLE_OK) status = tulle_machine_save(path, &m);
    if (status != TULLE_OK) return status;
    if (options_flag(options, "json"))
        printf("{\"host\":\"%s\",\"threads\":%d,\"stream\":%.6g,\"cache\":%.6g,\"fma_f32\":%.6g,\"fma_f64\":%.6g}\n",
            m.host, m.threads, m.stream, m.cache, m.fma[TULLE_F32], m.fma[TULLE_F64]);
    else
        printf("%d threads on %s\n"
               "  memory (triad)          %8.1f GB/s\n"
               "  second-level cache      %8.1f GB/s\n"
               "  multiply-add, f64       %8.1f GF/s\n"
               "  multiply-add, f32       %8.1f GF/s\n"
               "kept in %s\n",
            m.threads, m.host, m.stream / 1e9, m.cache / 1e9, m.fma[TULLE_F64] / 1e9, m.fma[TULLE_F32] / 1e9, path);
    return TULLE_OK;
}

static const struct option options[] = {
    {.name = "threads",
        .letter = 't',
        .kind = KIND_INT,
        .argument = "T",
        .fallback = "the cores",
        .low = 1,
        .high = 64,
        .text = "threads that work at the same time"},
    {.name = "json", .kind = KIND_FLAG, .text = "print one JSON object"},
    OPTION_HELP,
    {.name = NULL},
};

const struct verb verb_calibrate = {
    .name = "calibrate",
    .operands = "",
    .summary = "Measure memory and cache bandwidth and the rate of multiply-adds, and keep them",
    .description =
        "The figures are the best of several repetitions with all threads at work. They are kept per host and\n"
        "number of threads, and give the bound that every product is compared with.",
    .examples = "tulle calibrate\ntulle calibrate --threads 1 --json",
    .options = options,
    .run = run,
};
