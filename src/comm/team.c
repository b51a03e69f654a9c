/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "comm/comm.h"
#include "comm/registry.h"

enum { PANELS = 8, PANELS_LEAST = 2, PES_MOST = 1 << 15 };
static const size_t arena_most = (size_t)64 << 20;
static const size_t control_room = (size_t)4 << 20; /* for queues and the words of operations */

struct tulle_team {
    char spec_text[TULLE__SPEC_TEXT];
    tulle__spec spec;
    const tulle__engine *engine;
    const tulle__wrapper *wrapper[TULLE__SPEC_PARTS];
    tulle__engine_team *engine_team;
    int npes;
    tulle_team_options options;
    size_t memory_per_pe;
    tulle__pe **pe; /* those of this process; NULL: another's */
    tulle__account **account;
    tulle__timeline **timeline;
    tulle_progress_call watch;
    void *watch_arg;
    int dirty; /* the last run failed: words and epochs are to be put back */
};

int tulle_team_size(const tulle_team *team)
{
    return team->npes;
}

int tulle_team_threads(const tulle_team *team)
{
    return team->options.threads;
}

const char *tulle_team_spec(const tulle_team *team)
{
    return team->spec_text;
}

static tulle_status resolve(tulle_team *team)
{
    for (int i = 0; i < team->spec.nparts; i++) {
        const tulle__engine *engine;
        const tulle__wrapper *wrapper;
        const char *name = team->spec.part[i].name;
        tulle_status status = tulle__registry_find(name, &engine, &wrapper);
        if (status != TULLE_OK) return status;
        int last = i == team->spec.nparts - 1;
        if (engine && !last)
            return tulle__fail(TULLE_ERR_ARG, "the engine '%s' must be the last part of '%s'", name, team->spec_text);
        if (wrapper && last)
            return tulle__fail(TULLE_ERR_ARG, "'%s' ends in the wrapper '%s'; it needs an engine, as in '%s+threads'",
                team->spec_text, name, team->spec_text);
        team->wrapper[i] = wrapper;
        if (engine) team->engine = engine;
    }
    return TULLE_OK;
}

static int wants_timeline(const tulle_team *team)
{
    for (int i = 0; i < team->spec.nparts; i++)
        if (team->wrapper[i] && team->wrapper[i]->timeline) return 1;
    return 0;
}

/* On each PE: its account, its wrappers from the inside out, its state. */
static tulle_status open_pe(void *arg, int rank, tulle__link *link)
{
    tulle_team *team = arg;
    tulle_status status;
    tulle__account *account = tulle__account_new(team->memory_per_pe);
    if (!account) return TULLE_ERR_MEMORY;
    team->account[rank] = account;
    tulle__account *before = tulle__account_enter(account);
    if (wants_timeline(team)) TULLE_TRY(tulle__timeline_new(&team->timeline[rank]));
    for (int i = team->spec.nparts - 2; i >= 0; i--) {
        /* the part marks which keys were read: each PE reads a copy */
        tulle__spec_part part = team->spec.part[i];
        TULLE_TRY(team->wrapper[i]->open(&part, link, team->timeline[rank], &link));
    }
    TULLE_TRY(tulle__pe_new(link, team->timeline[rank], &team->options, account, &team->pe[rank]));
    link = NULL;
out:
    if (status != TULLE_OK && link) link->ops->fini(link);
    tulle__account_enter(before);
    return status;
}

static tulle_status close_pe(void *arg, int rank, tulle__link *link)
{
    (void)link;
    tulle_team *team = arg;
    tulle__account *before = tulle__account_enter(team->account[rank]);
    if (team->pe[rank]) {
        tulle__link *outer = team->pe[rank]->link;
        tulle__pe_free(team->pe[rank]);
        outer->ops->fini(outer);
    }
    tulle__timeline_free(team->timeline[rank]);
    tulle__account_enter(before);
    tulle__account_free(team->account[rank]);
    return TULLE_OK;
}

void tulle_team_free(tulle_team *team)
{
    if (!team) return;
    if (team->engine_team) {
        char message[TULLE_MESSAGE_MAX]; /* freeing after a failure must not lose its message */
        snprintf(message, sizeof message, "%s", tulle_error_message());
        if (team->engine->run(team->engine_team, close_pe, team) != TULLE_OK)
            for (int rank = 0; rank < team->npes; rank++)
                if (team->account[rank]) close_pe(team, rank, NULL);
        team->engine->close(team->engine_team);
        tulle__error_set(message);
    }
    tulle__free(team->pe);
    tulle__free(team->account);
    tulle__free(team->timeline);
    tulle__free(team);
}

static tulle_status choose_options(const tulle_team_options *options, int npes, tulle_team_options *chosen)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *chosen = options ? *options : (tulle_team_options){0};
    if (chosen->threads < 0 || chosen->threads > 1024)
        return tulle__fail(TULLE_ERR_ARG, "%d threads a PE", chosen->threads);
    if (chosen->panels && chosen->panels < PANELS_LEAST)
        return tulle__fail(
            TULLE_ERR_ARG, "an arena of %d panels; at least %d are needed", chosen->panels, PANELS_LEAST);
    if (!chosen->threads) chosen->threads = cores > npes ? (int)(cores / npes) : 1;
    /* pages kept warm count against nobody's limit: leave room for them */
    if (!chosen->memory) chosen->memory = tulle__memory_available() / 5 * 4;
    if (!chosen->panels) chosen->panels = PANELS;
    size_t share = chosen->memory / (size_t)npes;
    if (!chosen->arena) chosen->arena = share / 16 < arena_most ? share / 16 : arena_most;
    return TULLE_OK;
}

tulle_status tulle_team_new(const char *spec, int npes, const tulle_team_options *options, tulle_team **out)
{
    tulle_status status;
    tulle_team *team = NULL;
    if (!npes) npes = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (npes < 1 || npes > PES_MOST)
        return tulle__fail(TULLE_ERR_ARG, "a team of %d PEs; 1 to %d are possible", npes, PES_MOST);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *team, "team", &team));
    team->npes = npes;
    TULLE_TRY(tulle__spec_parse(spec, &team->spec));
    snprintf(team->spec_text, sizeof team->spec_text, "%s", spec);
    TULLE_TRY(choose_options(options, npes, &team->options));
    TULLE_TRY(resolve(team));
    team->memory_per_pe = team->options.memory / (size_t)npes;
    TULLE_TRY(tulle__alloc_zero((size_t)npes, sizeof *team->pe, "PEs", &team->pe));
    TULLE_TRY(tulle__alloc_zero((size_t)npes, sizeof *team->account, "PEs", &team->account));
    TULLE_TRY(tulle__alloc_zero((size_t)npes, sizeof *team->timeline, "PEs", &team->timeline));
    /* data segments are reserved in full and filled as needed: the account is what limits them */
    size_t bytes[TULLE__SEGMENTS] = {
        [TULLE__CONTROL] = (tulle__control_fixed(npes) + control_room + 4095) / 4096 * 4096,
        [TULLE__DATA] = (team->memory_per_pe + (64u << 20) + 4095) / 4096 * 4096,
    };
    TULLE_TRY(team->engine->open(&team->spec.part[team->spec.nparts - 1], npes, bytes, &team->engine_team));
    TULLE_TRY(team->engine->run(team->engine_team, open_pe, team));
    *out = team;
    return TULLE_OK;
out:
    tulle_team_free(team);
    return status;
}

static tulle_status reset_pe(void *arg, int rank, tulle__link *link)
{
    (void)link;
    tulle__pe_reset(((tulle_team *)arg)->pe[rank]);
    return TULLE_OK;
}

void tulle_team_watch(tulle_team *team, tulle_progress_call call, void *arg)
{
    team->watch = call;
    team->watch_arg = arg;
}

struct run {
    tulle_team *team;
    tulle_body body;
    void *arg;
};

static tulle_status run_pe(void *arg, int rank, tulle__link *link)
{
    (void)link;
    const struct run *run = arg;
    tulle__pe *pe = run->team->pe[rank];
    tulle__account *before = tulle__account_enter(pe->account);
    tulle__error_clear();
    pe->meter = (tulle__meter){.call = run->team->watch, .arg = run->team->watch_arg};
    tulle_status status = run->body(&pe->comm, run->arg);
    if (status == TULLE_OK) {
        if (pe->link->ops->run_end) status = pe->link->ops->run_end(pe->link);
    } else if (pe->link->ops->run_end) {
        char message[TULLE_MESSAGE_MAX]; /* what the wrappers may add is a consequence */
        snprintf(message, sizeof message, "%s", tulle_error_message());
        pe->link->ops->run_end(pe->link);
        tulle__error_set(message);
    }
    if (status != TULLE_OK) {
        if (!*tulle_error_message()) tulle__fail(status, "%s", tulle_status_text(status));
        if (strncmp(tulle_error_message(), "PE ", 3) && pe->npes > 1)
            tulle__fail(status, "PE %d: %s", rank, tulle_error_message());
        tulle__comm_leave(pe, status);
    }
    tulle__account_enter(before);
    return status;
}

tulle_status tulle_team_run(tulle_team *team, tulle_body body, void *arg)
{
    struct run run = {team, body, arg};
    tulle_status status = TULLE_OK;
    if (team->dirty) status = team->engine->run(team->engine_team, reset_pe, team);
    if (status != TULLE_OK) return status;
    status = team->engine->run(team->engine_team, run_pe, &run);
    team->dirty = status != TULLE_OK;
    return status;
}

size_t tulle_team_memory_peak(tulle_team *team, int reset)
{
    size_t most = 0;
    for (int rank = 0; rank < team->npes; rank++) {
        if (!team->account[rank]) continue;
        size_t peak = tulle__account_peak(team->account[rank]);
        if (peak > most) most = peak;
        if (reset) tulle__account_reset_peak(team->account[rank]);
    }
    return most;
}

tulle_status tulle_team_trace_write(tulle_team *team, const char *path)
{
    int64_t origin = INT64_MAX;
    int first = 1;
    if (!wants_timeline(team))
        return tulle__fail(
            TULLE_ERR_STATE, "the team '%s' records no timeline; open 'trace+%s'", team->spec_text, team->spec_text);
    FILE *file = fopen(path, "w");
    if (!file) return tulle__fail(TULLE_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    for (int rank = 0; rank < team->npes; rank++) {
        int64_t start = tulle__timeline_origin(team->timeline[rank]);
        if (start < origin) origin = start;
    }
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
    for (int rank = 0; rank < team->npes; rank++)
        tulle__timeline_write(team->timeline[rank], file, rank, origin, &first);
    fputs("\n]}\n", file);
    int bad = ferror(file);
    if (fclose(file) || bad) return tulle__fail(TULLE_ERR_IO, "%s: writing failed: %s", path, strerror(errno));
    return TULLE_OK;
}
