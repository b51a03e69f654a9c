/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/setting.h"

#include <stdint.h>

#include "base/error.h"
#include "base/host/blas.h"
#include "base/host/limits.h"
#include "base/memory.h"

enum { PANELS_LEAST = 2 };
static const size_t beside = (size_t)64 << 20; /* of a segment, for fragmentation */

tulle_status tulle__setting_refuse(const tulle_team_options *options)
{
    if (options->threads < 0 || options->threads > 1024)
        return tulle__fail(TULLE_ERR_ARG, "%d threads a PE", options->threads);
    if (options->panels && options->panels < PANELS_LEAST)
        return tulle__fail(
            TULLE_ERR_ARG, "an arena of %d panels; at least %d are needed", options->panels, PANELS_LEAST);
    return TULLE_OK;
}

/*
 * Bytes that segments and memory beside them may map together, where that is limited: each thread has a stack and an
 * arena of the C library, a PE in virtual time a stack. Each thread gets a buffer of the BLAS too if half of what is
 * left suffices; else what wants the BLAS does without, or is refused.
 */
static size_t to_share(const tulle__setting *setting, int in_threads)
{
    static const size_t thread = (size_t)80 << 20, stack = (size_t)10 << 20, least = (size_t)64 << 20;
    const size_t left = tulle__mapping_headroom("").bytes, pes = (size_t)setting->npes;
    const size_t threads = in_threads ? pes * (size_t)setting->threads : 1;
    const size_t others = least + (in_threads ? threads * thread : pes * stack);
    const size_t blas = tulle__blas_threads() ? threads * TULLE__BLAS_BUFFER : 0;
    if (left == SIZE_MAX) return left;
    if (left <= others) return 0;
    return left - others - (blas <= (left - others) / 2 ? blas : 0);
}

void tulle__setting_alone(tulle__setting *setting)
{
    const int cores = tulle__cores_available("");
    if (!setting->npes) setting->npes = cores;
    if (!setting->threads) setting->threads = cores > setting->npes ? cores / setting->npes : 1;
    if (setting->memory) return;
    const size_t least = (size_t)setting->npes * TULLE__PE_LEAST;
    /* idle pages count against no limit: leave room for them; segments are mapped, and so is what lies beside them */
    const size_t capacity = tulle__memory_available() / 5 * 4, mapped = to_share(setting, 1) / 3;
    setting->memory = capacity < mapped ? capacity : mapped > least ? mapped : least;
}

/* Segments are reserved in full, and get pages as they fill: accounts limit them. */
tulle_status tulle__setting_segment(tulle__setting *setting, int in_threads, size_t least, size_t most)
{
    size_t *bytes = &setting->segment_bytes[TULLE__DATA];
    *bytes = (most + beside + 4095) / 4096 * 4096;
    if (setting->processes) return TULLE_OK; /* engines of processes have seen to it */
    const size_t share = to_share(setting, in_threads) / 3 * 2 / (size_t)setting->npes;
    if (share < *bytes) *bytes = share / 4096 * 4096;
    if (share >= least + least / 8) return TULLE_OK;
    const tulle__headroom left = tulle__mapping_headroom("");
    /* the next run may find less: threads of libraries begin with as much */
    static const double beginning = 128 << 20;
    const double fits = ((double)share * setting->npes - beginning / 3 * 2) / 9 * 8 / 1e6;
    if (fits < 2 * setting->npes)
        return tulle__fail(TULLE_ERR_LIMIT, "%d PE%s must map more memory than %s leaves, %.0f MB", setting->npes,
            setting->npes == 1 ? "" : "s", left.by, (double)left.bytes / 1e6);
    return tulle__fail(TULLE_ERR_LIMIT,
        "%d PE%s with %.0f MB of memory must map more than %s leaves, %.0f MB: %.0f MB of memory fit", setting->npes,
        setting->npes == 1 ? "" : "s", (double)setting->memory / 1e6, left.by, (double)left.bytes / 1e6, fits);
}
