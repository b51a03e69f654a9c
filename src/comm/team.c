/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/launch.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/host/blas.h"
#include "base/options.h"
#include "base/spec.h"
#include "comm/comm.h"
#include "comm/launcher.h"
#include "comm/registry.h"
#include "comm/setting.h"

enum { PANELS = 8, PES_MOST = 1 << 15 };
static const size_t arena_most = (size_t)64 << 20;
static const size_t control_capacity = (size_t)4 << 20; /* for queues and the words of operations */

struct tulle_team {
    atomic_int references; /* the owner's, and one for each result that remains in its memory */
    char spec_text[TULLE__SPEC_TEXT];
    tulle__spec spec;
    const tulle__engine *engine;
    const tulle__wrapper *wrapper[TULLE__SPEC_PARTS];
    tulle__engine_team *engine_team;
    int npes;
    tulle_team_options options;
    const tulle_communicator *communicator; /* while the team opens */
    size_t memory_per_pe;
    tulle__account *memory; /* of all PEs if they are threads of this process; NULL: each has a limit of its own */
    tulle__pe **pe;         /* NULL: a PE of another process */
    tulle__account **account;
    tulle__timeline **timeline;
    uint64_t *words; /* [npes] hash of the message that the PE failed with in the last run; 0: it did not fail */
    tulle_progress_call watch;
    void *watch_arg;
    int dirty; /* the last run failed: words and epochs need a reset */
    int alone; /* an earlier run wanted one thread of the BLAS, and so may what it left */
};

int tulle_team_size(const tulle_team *team)
{
    if (TULLE__NULL(team)) return 0;
    return team->npes;
}

int tulle_team_threads(const tulle_team *team)
{
    if (TULLE__NULL(team)) return 0;
    return team->options.threads;
}

bool tulle_team_leads(const tulle_team *team)
{
    if (TULLE__NULL(team)) return 0;
    return team->pe[0] != NULL;
}

bool tulle_engine_usable(const char *name)
{
    if (TULLE__NULL(name)) return 0;
    const tulle__engine *engine;
    const tulle__wrapper *wrapper;
    return tulle__registry_find(name, NULL, &engine, &wrapper) == TULLE_OK;
}

const tulle_comm *tulle__team_comm(const tulle_team *team)
{
    int rank = 0;
    while (!team->pe[rank]) rank++;
    return &team->pe[rank]->comm;
}

bool tulle_team_virtual(const tulle_team *team)
{
    if (TULLE__NULL(team)) return 0;
    return tulle__is_virtual(tulle__team_comm(team));
}

bool tulle_team_sizes_only(const tulle_team *team)
{
    if (TULLE__NULL(team)) return 0;
    return tulle__is_shape_only(tulle__team_comm(team));
}

const char *tulle_team_spec(const tulle_team *team)
{
    if (TULLE__NULL(team)) return "";
    return team->spec_text;
}

static tulle_status resolve(tulle_team *team)
{
    for (int i = 0; i < team->spec.nparts; i++) {
        const tulle__engine *engine;
        const tulle__wrapper *wrapper;
        const char *family = team->communicator ? team->communicator->family : NULL;
        const char *name = team->spec.part[i].name;
        TULLE_CALL(tulle__registry_find(name, family, &engine, &wrapper));
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

/* Runs on each PE: opens its account, its wrappers from the inside out, its state. */
static tulle_status open_pe(void *arg, int rank, tulle__link *link)
{
    tulle_team *team = arg;
    tulle_status status;
    tulle__account *account = tulle__account_new(team->memory_per_pe);
    if (!account) return TULLE_ERR_MEMORY;
    team->account[rank] = account;
    if (team->memory) tulle__account_join(account, team->memory);
    tulle__account *before = tulle__account_enter(account);
    if (wants_timeline(team)) TULLE_TRY(tulle__timeline_new(&team->timeline[rank]));
    for (int i = team->spec.nparts - 2; i >= 0; i--) {
        /* reading marks keys in the part: each PE reads a copy */
        tulle__spec_part part = team->spec.part[i];
        TULLE_TRY(team->wrapper[i]->open(&part, link, team->timeline[rank], &link));
    }
    TULLE_TRY(tulle__pe_new(link, team->timeline[rank], &team->options, account, &team->pe[rank]));
    team->pe[rank]->alone = team->npes == 1 || team->engine->negotiate;
    if (!team->engine->negotiate) team->pe[rank]->team = team;
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

void tulle__team_hold(tulle__pe *pe)
{
    atomic_fetch_add_explicit(&pe->team->references, 1, memory_order_relaxed);
}

void tulle_team_free(tulle_team *team)
{
    if (!team || atomic_fetch_sub_explicit(&team->references, 1, memory_order_acq_rel) > 1) return;
    if (team->engine_team) {
        char message[TULLE_MESSAGE_MAX]; /* freeing must not lose the failure's message */
        snprintf(message, sizeof message, "%s", tulle__error_marked());
        if (team->engine->run(team->engine_team, close_pe, team) != TULLE_OK)
            for (int rank = 0; rank < team->npes; rank++)
                if (team->account[rank]) close_pe(team, rank, NULL);
        team->engine->close(team->engine_team);
        tulle__error_set(message);
    }
    tulle__account_free(team->memory);
    tulle__free(team->pe);
    tulle__free(team->account);
    tulle__free(team->timeline);
    tulle__free(team->words);
    tulle__free(team);
}

/* Completes the options, and the setting to open the engine with. */
static tulle_status negotiate(tulle_team *team, int npes, tulle__setting *setting)
{
    tulle_team_options *options = &team->options;
    *setting = (tulle__setting){team->communicator, npes, 0, options->threads, options->memory, {0}};
    if (team->engine->negotiate)
        TULLE_CALL(team->engine->negotiate(&team->spec.part[team->spec.nparts - 1], setting));
    else
        tulle__setting_alone(setting);
    if (setting->npes > PES_MOST)
        return tulle__fail(TULLE_ERR_ARG, "a team of %d PEs; 1 to %d are possible", setting->npes, PES_MOST);
    team->npes = setting->npes;
    if (setting->memory < (size_t)setting->npes * TULLE__PE_LEAST)
        return tulle__fail(TULLE_ERR_LIMIT, "%d PEs need at least %.1f MB of memory, not %.6g MB", setting->npes,
            (double)setting->npes * (double)TULLE__PE_LEAST / 1e6, (double)setting->memory / 1e6);
    team->memory_per_pe = setting->memory / (size_t)setting->npes;
    options->threads = setting->threads;
    options->memory = setting->memory;
    if (!options->panels) options->panels = PANELS;
    if (!options->arena) options->arena = team->memory_per_pe / 16 < arena_most ? team->memory_per_pe / 16 : arena_most;
    setting->segment_bytes[TULLE__CONTROL] = (tulle__control_fixed(team->npes) + control_capacity + 4095) / 4096 * 4096;
    const size_t most = team->engine->negotiate ? team->memory_per_pe : setting->memory;
    TULLE_CALL(tulle__setting_segment(setting, !team->engine->negotiate, team->memory_per_pe, most));
    if (!team->engine->negotiate && !(team->memory = tulle__account_new(setting->memory))) return TULLE_ERR_MEMORY;
    return TULLE_OK;
}

static tulle_status open_team(const char *spec, int npes, const tulle_communicator *communicator,
    const tulle_team_options *options, tulle_team **out)
{
    tulle_status status;
    tulle_team *team = NULL;
    tulle__setting setting;
    if (npes < 0 || npes > PES_MOST)
        return tulle__fail(TULLE_ERR_ARG, "a team of %d PEs; 1 to %d are possible", npes, PES_MOST);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *team, "team", &team));
    atomic_init(&team->references, 1);
    team->communicator = communicator;
    team->options = *options;
    TULLE_TRY(tulle__spec_parse(spec, &team->spec));
    snprintf(team->spec_text, sizeof team->spec_text, "%s", spec);
    TULLE_TRY(tulle__setting_refuse(&team->options));
    TULLE_TRY(resolve(team));
    if (!tulle_launched_by()) TULLE_TRY(tulle__launcher_check(spec, 1)); /* it starts no MPI's processes */
    status = negotiate(team, npes, &setting);
    if (status != TULLE_OK && setting.processes) (void)tulle__launcher_check(spec, setting.processes); /* the cause? */
    if (status != TULLE_OK) goto out;
    TULLE_TRY(tulle__alloc_zero((size_t)team->npes, sizeof *team->pe, "PEs", &team->pe));
    TULLE_TRY(tulle__alloc_zero((size_t)team->npes, sizeof *team->account, "PEs", &team->account));
    TULLE_TRY(tulle__alloc_zero((size_t)team->npes, sizeof *team->timeline, "PEs", &team->timeline));
    TULLE_TRY(tulle__alloc_zero((size_t)team->npes, sizeof *team->words, "PEs", &team->words));
    TULLE_TRY(team->engine->open(&team->spec.part[team->spec.nparts - 1], &setting, &team->engine_team));
    TULLE_TRY(team->engine->run(team->engine_team, open_pe, team));
    TULLE_TRY(tulle__launcher_check(spec, setting.processes ? setting.processes : 1));
    team->communicator = NULL;
    *out = team;
    return TULLE_OK;
out:
    tulle_team_free(team);
    return status;
}

tulle_status tulle_team_new(const char *spec, int npes, const tulle_team_options *options, tulle_team **team)
{
    tulle_team_options own;
    if (TULLE__NULL(spec) || TULLE__OPTIONS(options, &own, panels) || TULLE__NULL(team)) return TULLE_ERR_ARG;
    return open_team(spec, npes, NULL, options, team);
}

tulle_status tulle_team_new_over(
    const char *spec, const tulle_communicator *communicator, const tulle_team_options *options, tulle_team **team)
{
    tulle_team_options own;
    if (TULLE__NULL(spec) || TULLE__NULL(communicator) || TULLE__NULL(communicator->family) ||
        TULLE__NULL(communicator->comm) || TULLE__OPTIONS(options, &own, panels) || TULLE__NULL(team))
        return TULLE_ERR_ARG;
    return open_team(spec, 0, communicator, options, team);
}

static tulle_status reset_pe(void *arg, int rank, tulle__link *link)
{
    (void)link;
    tulle__pe_reset(((tulle_team *)arg)->pe[rank]);
    return TULLE_OK;
}

void tulle_team_watch(tulle_team *team, tulle_progress_call call, void *arg)
{
    if (TULLE__NULL(team)) return;
    team->watch = call;
    team->watch_arg = arg;
}

struct run {
    tulle_team *team;
    tulle_body body;
    void *arg;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash | 1;
}

/* Begins a run of the PE: this thread's memory is the PE's. Returns the thread's account before. */
static tulle__account *enter(const tulle_team *team, tulle__pe *pe)
{
    tulle__account *before = tulle__account_enter(pe->account);
    tulle__error_clear();
    pe->meter = (tulle__progress_meter){.call = team->watch, .arg = team->watch_arg};
    pe->run++;
    return before;
}

static tulle_status run_pe(void *arg, int rank, tulle__link *link)
{
    (void)link;
    const struct run *run = arg;
    tulle__pe *pe = run->team->pe[rank];
    tulle__account *before = enter(run->team, pe);
    tulle_status status = run->body(&pe->comm, run->arg);
    if (status == TULLE_OK) {
        if (pe->link->ops->run_end) status = pe->link->ops->run_end(pe->link);
    } else if (pe->link->ops->run_end) {
        char message[TULLE_MESSAGE_MAX]; /* a message of the wrappers would be a consequence */
        snprintf(message, sizeof message, "%s", tulle__error_marked());
        pe->link->ops->run_end(pe->link);
        tulle__error_set(message);
    }
    if (status != TULLE_OK) {
        if (!*tulle__error_marked()) tulle__fail(status, "%s", tulle_status_text(status));
        run->team->words[rank] = hash_text(tulle__error_marked());
        if (strncmp(tulle__error_marked(), "PE ", 3) && pe->npes > 1)
            tulle__fail(status, "PE %d: %s", rank, tulle__error_marked());
        tulle__comm_leave(pe, status);
    } else {
        tulle__comm_return(pe, 0);
    }
    tulle__account_enter(before);
    return status;
}

/* Maximum of value[i] over all processes; with one process unchanged. */
static tulle_status allreduce_max(tulle_team *team, int n, uint64_t *value)
{
    return team->engine->allreduce_max ? team->engine->allreduce_max(team->engine_team, n, value) : TULLE_OK;
}

/* True if all PEs failed with the same message, each by itself. */
static int all_say_the_same(tulle_team *team)
{
    uint64_t most[2] = {0, 0}; /* of the hashes and of their complements */
    for (int rank = 0; rank < team->npes; rank++) {
        if (!team->pe[rank]) continue;
        if (team->words[rank] > most[0]) most[0] = team->words[rank];
        if (~team->words[rank] > most[1]) most[1] = ~team->words[rank];
    }
    return allreduce_max(team, 2, most) == TULLE_OK && most[0] == ~most[1];
}

/*
 * True if the message names the PE. The rank matters where PEs differ: in memory, host, arguments.
 * It does not if all PEs say the same, for a fault of the data, or for PE 0, which reads and writes
 * for all.
 */
static int rank_matters(tulle_status status, const char *message)
{
    static const unsigned of_data = 1u << TULLE_ERR_FORMAT | 1u << TULLE_ERR_CHECK | 1u << TULLE_ERR_CONVERGENCE,
                          of_input = 1u << TULLE_ERR_ARG | 1u << TULLE_ERR_UNSUPPORTED | 1u << TULLE_ERR_OVERFLOW |
                                     1u << TULLE_ERR_IO;
    static const char zero[] = "PE 0: ";
    if (of_data >> status & 1) return 0;
    return strncmp(message, zero, sizeof zero - 1) != 0 || !(of_input >> status & 1);
}

/* Removes "PE n: " from the message if the rank does not matter. */
static void trim_message(tulle_team *team, tulle_status status)
{
    char text[TULLE_MESSAGE_MAX];
    snprintf(text, sizeof text, "%s", tulle__error_marked());
    size_t digits = strncmp(text, "PE ", 3) == 0 ? strspn(text + 3, "0123456789") : 0;
    if (!digits || strncmp(text + 3 + digits, ": ", 2) != 0) return;
    if (!rank_matters(status, text) || all_say_the_same(team)) tulle__error_set(text + 3 + digits + 2);
}

tulle_status tulle_team_run(tulle_team *team, tulle_body body, void *arg)
{
    if (TULLE__NULL(team) || TULLE__NULL(body)) return TULLE_ERR_ARG;
    struct run run = {team, body, arg};
    tulle_status status = TULLE_OK;
    if (team->dirty) status = team->engine->run(team->engine_team, reset_pe, team);
    if (status != TULLE_OK) return status;
    memset(team->words, 0, (size_t)team->npes * sizeof *team->words);
    int blas = tulle__blas_threads();
    if (team->alone && blas > 1) tulle__blas_set_threads(1);
    status = team->engine->run(team->engine_team, run_pe, &run);
    team->alone |= tulle__blas_threads() < blas;
    if (team->alone && blas > 1) tulle__blas_set_threads(blas);
    team->dirty = status != TULLE_OK;
    if (status != TULLE_OK) trim_message(team, status);
    return status;
}

/* A team that the process has entered, an object of its PE. */
struct entered {
    tulle__owned owned;
    tulle_team *team;
    tulle__pe *pe;
    char device[]; /* its spec, or empty */
};

static void free_entered(tulle__owned *object)
{
    tulle__free((struct entered *)object);
}

static tulle_status enter_pe(void *arg, int rank, tulle__link *link)
{
    (void)link;
    struct entered *entered = arg;
    entered->pe = entered->team->pe[rank];
    enter(entered->team, entered->pe);
    return TULLE_OK;
}

tulle_status tulle_open(const tulle_open_options *options, tulle_comm **comm)
{
    tulle_open_options own;
    tulle_status status;
    tulle_team *team = NULL;
    struct entered *entered = NULL;
    if (TULLE__OPTIONS(options, &own, device) || TULLE__NULL(comm)) return TULLE_ERR_ARG;
    const char *spec = own.spec ? own.spec : "threads";
    if (!own.spec && !own.communicator) TULLE_TRY(tulle_launched_check(1));
    if (own.communicator)
        TULLE_TRY(tulle_team_new_over(spec, own.communicator, own.team, &team));
    else
        TULLE_TRY(tulle_team_new(spec, tulle__is_threads(spec), own.team, &team));
    if (tulle_team_virtual(team) || (team->npes > 1 && !team->engine->negotiate))
        TULLE_TRY(tulle__fail(
            TULLE_ERR_UNSUPPORTED, "'%s' runs the PEs itself, each with a body: open it by tulle_team_new", spec));
    const size_t device = own.device ? strlen(own.device) : 0;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *entered + device + 1, "a team", &entered));
    memcpy(entered->device, own.device ? own.device : "", device);
    entered->team = team;
    TULLE_TRY(team->engine->run(team->engine_team, enter_pe, entered));
    tulle__blas_users(1);
    tulle__pe_own(entered->pe, &entered->owned, free_entered);
    entered->pe->device = device ? entered->device : NULL;
    *comm = &entered->pe->comm;
    return TULLE_OK;
out:
    tulle__free(entered);
    tulle_team_free(team);
    return status;
}

void tulle_close(tulle_comm *comm)
{
    if (!comm) return;
    tulle__owned *all = &comm->pe->owned, *object = all->next;
    while (object != all && object->free != free_entered) object = object->next;
    if (object == all) return; /* a body's */
    struct entered entered = *(struct entered *)object;
    if (entered.pe->link->ops->run_end) (void)entered.pe->link->ops->run_end(entered.pe->link);
    tulle__comm_return(entered.pe, 0);
    if (tulle__account_current() == entered.pe->account) tulle__account_enter(NULL);
    tulle__blas_users(-1);
    tulle_team_free(entered.team);
}

size_t tulle_team_memory_peak(tulle_team *team, bool reset)
{
    if (TULLE__NULL(team)) return 0;
    uint64_t most = 0;
    for (int rank = 0; rank < team->npes; rank++) {
        if (!team->account[rank]) continue;
        size_t peak = tulle__account_peak(team->account[rank]);
        if (peak > most) most = peak;
        if (reset) tulle__account_reset_peak(team->account[rank]);
    }
    (void)allreduce_max(team, 1, &most); /* if it fails, the next run reports it */
    return (size_t)most;
}

/*
 * A timeline file, which the processes write one after another, under a temporary name equal on all
 * until it is complete. A path that is no regular file is written directly.
 */
struct trace {
    const char *path;         /* its final name */
    char *real;               /* the resolved name, from malloc; NULL: there is no such file */
    char temporary[PATH_MAX]; /* "": written directly */
};

/* maker: id of the process of PE 0. */
static tulle_status name_trace(const char *path, uint64_t maker, struct trace *trace)
{
    struct stat info;
    *trace = (struct trace){.path = path};
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return TULLE_OK;
    trace->real = realpath(path, NULL);
    if (trace->real) trace->path = trace->real;
    int n = snprintf(trace->temporary, sizeof trace->temporary, "%s.part-%" PRIu64, trace->path, maker);
    if (n < 0 || (size_t)n >= sizeof trace->temporary)
        return tulle__fail(TULLE_ERR_ARG, "%s: the name is too long", path);
    return TULLE_OK;
}

/* Gives the file its final name, or removes it. */
static tulle_status end_trace(const struct trace *trace, int complete)
{
    if (!*trace->temporary) return TULLE_OK;
    if (complete && rename(trace->temporary, trace->path) == 0) return TULLE_OK;
    int error = errno;
    (void)unlink(trace->temporary);
    if (!complete) return TULLE_OK;
    return tulle__fail(TULLE_ERR_IO, "%s: naming the finished file failed: %s", trace->path, strerror(error));
}

/* Writes the spans of this process's PEs; PE 0 begins the file, the last PE ends it. */
static tulle_status append_trace(tulle_team *team, const struct trace *trace, int64_t origin)
{
    int first = team->pe[0] != NULL;
    const char *path = trace->path;
    FILE *file = fopen(*trace->temporary ? trace->temporary : path, first ? "w" : "a");
    if (!file) return tulle__fail(TULLE_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    if (first) fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
    for (int rank = 0; rank < team->npes; rank++)
        if (team->timeline[rank]) tulle__timeline_write(team->timeline[rank], file, rank, origin, &first);
    if (team->pe[team->npes - 1]) fputs("\n]}\n", file);
    int bad = fflush(file) || ferror(file), error = errno;
    if (fclose(file) && !bad) bad = 1, error = errno;
    if (!bad) return TULLE_OK;
    return tulle__fail(TULLE_ERR_IO, "%s: writing failed: %s; nothing of it is left behind", path, strerror(error));
}

/* True if all processes succeeded. PE 0's process names the file, or removes it. */
static tulle_status complete_trace(tulle_team *team, const struct trace *trace, tulle_status status)
{
    uint64_t failed = status != TULLE_OK;
    tulle_status met = allreduce_max(team, 1, &failed), named = TULLE_OK;
    if (team->pe[0]) named = end_trace(trace, !failed && met == TULLE_OK);
    if (status == TULLE_OK) status = met;
    if (status == TULLE_OK) status = named;
    met = allreduce_max(team, 0, NULL); /* the file has its name when any process returns */
    return status == TULLE_OK ? met : status;
}

tulle_status tulle_team_trace_write(tulle_team *team, const char *path)
{
    if (TULLE__NULL(team) || TULLE__NULL(path)) return TULLE_ERR_ARG;
    tulle_status status = TULLE_OK;
    int64_t origin = INT64_MAX;
    struct trace trace = {.real = NULL};
    if (!wants_timeline(team))
        return tulle__fail(
            TULLE_ERR_STATE, "the team '%s' records no timeline; open 'trace+%s'", team->spec_text, team->spec_text);
    for (int rank = 0; rank < team->npes; rank++) {
        int64_t start = team->timeline[rank] ? tulle__timeline_origin(team->timeline[rank]) : INT64_MAX;
        if (start < origin) origin = start;
    }
    /* minimum over processes: the complement's maximum */
    uint64_t shared[2] = {~(uint64_t)origin, team->pe[0] ? (uint64_t)getpid() : 0};
    TULLE_TRY(allreduce_max(team, 2, shared));
    origin = (int64_t)~shared[0];
    status = name_trace(path, shared[1], &trace);
    /* one process after another, in rank order */
    for (int rank = 0; rank < team->npes; rank++) {
        if (team->pe[rank] && (rank == 0 || !team->pe[rank - 1]) && status == TULLE_OK)
            status = append_trace(team, &trace, origin);
        tulle_status met = allreduce_max(team, 0, NULL);
        if (status == TULLE_OK) status = met;
    }
    status = complete_trace(team, &trace, status);
out:
    free(trace.real);
    return status;
}
