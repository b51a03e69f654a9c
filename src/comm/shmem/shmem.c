/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `shmem`: each process of an OpenSHMEM job is a PE. Every function here is collective,
 * so each step that one process may fail in ends in an agreement. README.md: settings,
 * measurements, known faults.
 */
#include "comm/shmem/shmem.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <tulle/launch.h>

#include "base/error.h"
#include "base/host/limits.h"
#include "base/memory.h"
#include "base/spec.h"
#include "comm/shmem/shmem_team.h"

/* Agrees on the team's size and memory, once OpenSHMEM runs. */
static tulle_status negotiate_with_others(tulle__setting *setting)
{
    int npes = shmem_n_pes(), node_pes = tulle__shmem_node_pes(npes);
    setting->processes = npes;
    if (setting->npes && setting->npes != npes)
        return tulle__fail(TULLE_ERR_ARG,
            "a team of %d PEs is wanted, but %d process%s of OpenSHMEM started; a PE is a process: oshrun -n %d ...",
            setting->npes, npes, npes == 1 ? "" : "es", setting->npes);
    uint64_t least[] = {~(uint64_t)tulle__shmem_heap_left(),
        ~(uint64_t)tulle__cores_each(node_pes)}; /* minimum over processes: the complement's maximum */
    tulle__shmem_allreduce_max(2, least);
    size_t capacity = (size_t)~least[0], want = setting->memory ? setting->memory / (size_t)npes : capacity;
    if (want > capacity || !want)
        return tulle__fail(TULLE_ERR_LIMIT,
            "a PE wants %.0f MB, but the symmetric heap, which cannot grow, has %.0f MB left: set SHMEM_SYMMETRIC_SIZE",
            (double)want / 1e6, (double)capacity / 1e6);
    setting->npes = npes;
    setting->memory = want * (size_t)npes;
    if (!setting->threads) setting->threads = (int)~least[1];
    return TULLE_OK;
}

static tulle_status negotiate(tulle__spec_part *part, tulle__setting *setting)
{
    (void)part;
    const tulle_launcher *by = tulle_launched_by();
    int npes = tulle_launched_size() > 1 ? tulle_launched_size() : 1;
    if (setting->communicator)
        return tulle__fail(TULLE_ERR_ARG, "a communicator was handed in, but the engine 'shmem' uses none");
    if (by && strcmp(by->family, "mpich") == 0)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the engine 'shmem' is started by oshrun, not by %s", by->command);
    int node_pes = tulle__shmem_node_pes(npes);
    tulle_status before = TULLE_OK, status = TULLE_OK;
    if (!tulle__shmem_runs()) {
        status = tulle__shmem_heap_refuse(node_pes);
        if (status == TULLE_OK) before = tulle__shmem_heap_announce(npes, node_pes, setting->memory);
    }
    if (status == TULLE_OK) status = tulle__shmem_start();
    if (status == TULLE_OK) status = tulle__shmem_agree(before);
    if (status == TULLE_OK) status = negotiate_with_others(setting);
    /* from here on other processes wait for this one, even if it never opens the team */
    if (status == TULLE_OK) tulle__shmem_team_opened(1);
    return status;
}

/* A lost process ends the others: calls of OpenSHMEM that wait for it never return. */
static tulle_status watch_others(tulle__engine_team *team)
{
    tulle__presence mine, *all = NULL, *copy = NULL;
    const size_t bytes = ((size_t)team->npes * sizeof *all + 4095) / 4096 * 4096;
    tulle_status status = tulle__lifeline_new(&mine, &team->lifeline);
    if (status == TULLE_OK) status = tulle__alloc((size_t)team->npes, sizeof *copy, "processes of the job", &copy);
    status = tulle__shmem_agree(status);
    if (status == TULLE_OK && !(all = tulle__shmem_heap_take(bytes)))
        status =
            tulle__fail(TULLE_ERR_MEMORY, "the symmetric heap has no %zu kB for a list of processes", bytes / 1000);
    for (int rank = 0; all && rank < team->npes; rank++) shmem_putmem(&all[team->rank], &mine, sizeof mine, rank);
    if (all) shmem_quiet();
    tulle__shmem_allreduce_max(0, NULL);
    if (all) memcpy(copy, all, (size_t)team->npes * sizeof *all);
    if (status == TULLE_OK) status = tulle__lifeline_watch(team->lifeline, team->rank, team->npes, copy);
    status = tulle__shmem_agree(status);
    if (all) tulle__shmem_heap_give(all, bytes);
    tulle__free(copy);
    return status;
}

static void close_team(tulle__engine_team *team)
{
    tulle__shmem_allreduce_max(0, NULL); /* no PE accesses the segments any more */
    tulle__lifeline_stop(team->lifeline);
    tulle__shmem_allreduce_max(0, NULL); /* no process leaves before all have stopped to watch it */
    tulle__lifeline_free(team->lifeline);
    tulle__shmem_gather_free(team->link.gather);
    for (int s = 0; s < TULLE__SEGMENTS; s++) {
        tulle__shmem_heap_give(team->link.symmetric[s], team->segment_bytes[s]);
        tulle__free(team->base[s]);
    }
    tulle__free(team);
    tulle__shmem_team_opened(-1);
}

struct choices {
    int direct;
    int pack; /* targets pack vector gets; -1: if gets need their help anyway */
};

static tulle_status read_options(tulle__spec_part *part, struct choices *choices)
{
    static const char *const keys[] = {"direct", "pack"};
    TULLE_CALL(tulle__spec_flag(part, "direct", &choices->direct));
    TULLE_CALL(tulle__spec_flag(part, "pack", &choices->pack));
    return tulle__spec_done(part, keys, 2);
}

/* Opens one segment of every PE. The caller agrees on the status. */
static tulle_status open_segment(tulle__engine_team *team, int segment, size_t bytes, int direct)
{
    tulle__shmem_link *link = &team->link;
    link->symmetric[segment] = tulle__shmem_heap_take(bytes);
    if (!link->symmetric[segment])
        return tulle__fail(
            TULLE_ERR_MEMORY, "a segment of %.1f MB does not fit in the symmetric heap", (double)bytes / 1e6);
    team->segment_bytes[segment] = bytes;
    char ***base = &team->base[segment];
    TULLE_CALL(tulle__alloc_zero((size_t)team->npes, sizeof **base, "segment addresses", base));
    for (int rank = 0; direct && rank < team->npes; rank++) (*base)[rank] = shmem_ptr(link->symmetric[segment], rank);
    (*base)[team->rank] = link->symmetric[segment];
    link->shared.base[segment] = *base;
    return TULLE_OK;
}

/* True if loads and stores reach all segments of all PEs, from every PE. */
static int reaches_all(const tulle__engine_team *team)
{
    uint64_t missing = 0;
    for (int s = 0; s < TULLE__SEGMENTS; s++)
        for (int rank = 0; rank < team->npes; rank++) missing |= !team->base[s][rank];
    tulle__shmem_allreduce_max(1, &missing);
    return !missing;
}

static tulle_status open_in(
    tulle__engine_team *team, const struct choices *choices, const size_t segment_bytes[TULLE__SEGMENTS])
{
    if (team->npes > 1) TULLE_CALL(watch_others(team));
    for (int s = 0; s < TULLE__SEGMENTS; s++)
        TULLE_CALL(tulle__shmem_agree(open_segment(team, s, segment_bytes[s], choices->direct)));
    int shared = reaches_all(team);
    team->link.shared.link = (tulle__link){.ops = shared ? &tulle__shared_ops : &tulle__shmem_rma_ops,
        .rank = team->rank,
        .npes = team->npes,
        .segment_bytes = {segment_bytes[0], segment_bytes[1]},
        .pinned = !shared};
    memset(team->link.symmetric[TULLE__CONTROL], 0, segment_bytes[TULLE__CONTROL]); /* words begin at 0 */
    tulle__memory_huge(team->link.symmetric[TULLE__DATA], segment_bytes[TULLE__DATA]);
    tulle__shmem_allreduce_max(0, NULL);
    if (shared || team->npes == 1) return TULLE_OK;
    if (choices->pack < 0 ? tulle__shmem_needs_help(team) : choices->pack)
        TULLE_CALL(tulle__shmem_agree(tulle__shmem_gather_new(&team->link, &team->link.gather)));
    return TULLE_OK;
}

static tulle_status open_team(tulle__spec_part *part, const tulle__setting *setting, tulle__engine_team **out)
{
    tulle__engine_team *team = NULL;
    struct choices choices = {.direct = 1, .pack = -1};
    tulle_status status = read_options(part, &choices);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *team, "OpenSHMEM team", &team);
    status = tulle__shmem_agree(status);
    if (status != TULLE_OK) {
        tulle__free(team);
        tulle__shmem_team_opened(-1);
        return status;
    }
    team->rank = shmem_my_pe();
    team->npes = setting->npes;
    status = open_in(team, &choices, setting->segment_bytes);
    if (status == TULLE_OK)
        *out = team;
    else
        close_team(team);
    return status;
}

static tulle_status run_team(tulle__engine_team *team, tulle__engine_body body, void *arg)
{
    return tulle__shmem_agree(body(arg, team->rank, &team->link.shared.link));
}

static tulle_status allreduce_max(tulle__engine_team *team, int n, uint64_t *value)
{
    (void)team;
    int done = 0;
    do {
        int piece = n - done < 8 ? n - done : 8;
        tulle__shmem_allreduce_max(piece, value + done);
        done += piece;
    } while (done < n);
    return TULLE_OK;
}

const tulle__engine tulle__engine_shmem = {
    .name = "shmem",
    .summary = "PEs are the processes of an OpenSHMEM job (direct=on|off, pack=on|off)",
    .negotiate = negotiate,
    .open = open_team,
    .run = run_team,
    .allreduce_max = allreduce_max,
    .close = close_team,
};
