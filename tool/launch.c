/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tulle --comm mpi --pes N` or `--comm shmem` outside a launcher: starts the library's own
 * launcher with this command and supervises it. It relays the output, reports a lost PE in one
 * line, and returns the job's exit status, which the processes deliver through a roster.
 */
#include "launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tulle/budget.h>
#include <tulle/launch.h>

#include "process/notice.h"
#include "roster.h"
#include "verb.h"

const char *chosen_comm(const struct options *options)
{
    const tulle_launcher *by = tulle_launched_by();
    return options_word(options, "comm",
        tulle_launched_size() == 1 ? "threads"
        : by && by->program        ? by->module
                                   : "mpi");
}

/* True if a spec's engine, after the last +, has this name. */
static int engine_is(const char *spec, const char *name)
{
    const char *last = strrchr(spec, '+');
    const char *engine = last ? last + 1 : spec;
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(engine, ":"), engine);
    return same_word(word, name);
}

/* The launcher of the named engine, or the first one with an installed engine. */
static const tulle_launcher *choose_launcher(const char *spec)
{
    const tulle_launcher *launcher;
    for (int i = 0; (launcher = tulle_launcher_list(i)); i++)
        if (engine_is(spec, launcher->module) ||
            (!launcher->program && engine_is(spec, "mpi") && tulle_launcher_usable(launcher)))
            return launcher;
    return NULL;
}

tulle_status become_program(const struct options *options, char **argv)
{
    char path[4096];
    const tulle_launcher *launcher = choose_launcher(chosen_comm(options));
    if (!tulle_launched_by() || !launcher || !launcher->program) return TULLE_OK;
    tulle_status status = tulle_launcher_program(launcher, path, sizeof path);
    if (status != TULLE_OK) {
        snprintf(path, sizeof path, "%s", tulle_error_message());
        return tulle_fail(status, "%.400s; --comm mpi needs no other program", path);
    }
    if (!*path) return TULLE_OK;
    execv(path, argv);
    return tulle_fail(TULLE_ERR_UNSUPPORTED, "cannot become %s: %s", path, strerror(errno));
}

int wants_launch(const struct options *options)
{
    return !tulle_launched_by() && tulle_launched_size() == 1 && choose_launcher(chosen_comm(options));
}

static void tell_loss(const struct roster *roster, const struct notice *notice)
{
    int rank = roster->lost >= 0 ? roster->lost : notice->rank;
    if (rank >= 0 && rank < ROSTER_PES)
        fprintf(
            stderr, "tulle: PE %d was lost (process %ld on %s)", rank, roster->pe[rank].process, roster->pe[rank].host);
    else
        fputs("tulle: a PE was lost", stderr);
    int number = roster->signal ? roster->signal : notice->signal;
    if (number) fprintf(stderr, ": signal %d, %s", number, strsignal(number));
    fputs("; the job was ended\n", stderr);
}

/* Signals to the launcher are relayed to the job, and its end is awaited. */
static volatile sig_atomic_t caught;
static volatile pid_t child;

/*
 * Relays once: launchers leave processes behind after a second signal. A terminal signals them
 * itself. A launcher that quits leaves everything behind: it does not get that one, but ends.
 */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (!caught && child > 0 && (info->si_code <= 0 || number == SIGQUIT))
        kill(child, number == SIGQUIT ? SIGTERM : number);
    caught = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction before, action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

enum { ARGUMENTS_MAX = 512 };

/* Open MPI has no library of MPI 5's binary interface yet: what starts such processes is of MPICH, too. */
static int starts_by_hydra(const tulle_launcher *launcher)
{
    return strcmp(launcher->family, "mpich") == 0 || strcmp(launcher->family, "abi") == 0;
}

/*
 * The command line: processes share the node's cores with thread pools, so they are not bound to
 * one core each.
 */
static tulle_status command_line(const tulle_launcher *launcher, char **argv, const char *pes, char **line)
{
    static char self[4096];
    int n = 0, openmpi = !starts_by_hydra(launcher);
    tulle_status status = tulle_launcher_program(launcher, self, sizeof self);
    if (status != TULLE_OK) return status;
    ssize_t length = *self ? 1 : readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return tulle_fail(TULLE_ERR_STATE, "cannot tell which program this is: %s", strerror(errno));
    line[n++] = (char *)(uintptr_t)launcher->command;
    if (openmpi) {
        static const char *const more[] = {"--oversubscribe", "--bind-to", "none", "--allow-run-as-root"};
        for (int i = 0; i < (geteuid() == 0 ? 4 : 3); i++) line[n++] = (char *)(uintptr_t)more[i];
    } else { /* it would kill the others too early to find the first lost process */
        line[n++] = (char *)(uintptr_t) "-disable-auto-cleanup";
    }
    line[n++] = (char *)(uintptr_t) "-n";
    line[n++] = (char *)(uintptr_t)pes;
    line[n++] = self;
    for (argv++; *argv && n < ARGUMENTS_MAX - 1; argv++) line[n++] = *argv;
    line[n] = NULL;
    return *argv ? tulle_fail(TULLE_ERR_ARG, "more than %d arguments", ARGUMENTS_MAX) : TULLE_OK;
}

/* In the child. If this process dies, the launcher gets a signal, and so does the job. */
static void become(char **line, const int out[2], const int err[2])
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGQUIT, SIG_IGN); /* a terminal's */
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (int i = 0; i < 2; i++) close(out[i]), close(err[i]);
    execvp(line[0], line);
    fprintf(stderr, "tulle: cannot start %s: %s\n", line[0], strerror(errno));
    _exit(127);
}

/* Relays a piece of the job's output; 0 at its end. */
static int relay_piece(int fd, struct notice_filter *filter)
{
    char piece[8192];
    ssize_t n = read(fd, piece, sizeof piece);
    if (n > 0) notice_feed(filter, piece, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

/*
 * Relays the job's output and follows its roster until both outputs are closed. `ends`: the
 * launcher leaves ending the job after a loss to this process; Open MPI's ends it itself, and
 * leaves things behind if disturbed.
 */
static void follow(int out, int err, int ends, struct roster *roster, struct notice *notice)
{
    enum { OUT, ERR, LINES, DEATHS, ENDS };
    struct notice_filter filter[2] = {{.to = stdout, .notice = notice}, {.to = stderr, .notice = notice}};
    struct pollfd end[ENDS] = {
        {out, POLLIN, 0}, {err, POLLIN, 0}, {roster->socket, POLLIN, 0}, {roster->deaths, POLLIN, 0}};
    while (end[OUT].fd >= 0 || end[ERR].fd >= 0) {
        if (poll(end, ENDS, -1) < 0) {
            if (errno != EINTR) break;
            continue; /* interrupted by a signal, which was relayed */
        }
        roster_update(roster);
        if (ends && roster->lost >= 0) roster_kill(roster); /* also processes that have just started */
        for (int i = OUT; i <= ERR; i++)
            if (end[i].fd >= 0 && end[i].revents && !relay_piece(end[i].fd, &filter[i])) end[i].fd = -1;
    }
    for (int i = OUT; i <= ERR; i++) notice_end(&filter[i]);
    roster_update(roster);
}

static int run_job(char **line, int ends, struct roster *roster, struct notice *notice, int *ended)
{
    int out[2], err[2];
    if (pipe(out)) return -1;
    if (pipe(err)) {
        close(out[0]), close(out[1]);
        return -1;
    }
    catch_signals();
    pid_t started = fork();
    if (started == 0) become(line, out, err);
    child = started;
    if (caught && started > 0)
        kill(started, caught == SIGQUIT ? SIGTERM : caught); /* the signal came before there was a job */
    close(out[1]), close(err[1]);
    if (started > 0) follow(out[0], err[0], ends, roster, notice);
    close(out[0]), close(err[0]);
    if (started < 0) return -1;
    while (waitpid(started, ended, 0) < 0)
        if (errno != EINTR) return -1;
    child = 0;
    return 0;
}

/* The job's outcome as an exit status. */
static int judge(const struct roster *roster, const struct notice *notice, int ended, const char *command)
{
    if (caught) return 128 + caught;
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0 && roster->done) return roster->worst;
    if (!roster->started) {
        fprintf(stderr, "tulle: %s could not start the job\n", command);
        return EXIT_RESOURCES;
    }
    tell_loss(roster, notice);
    return EXIT_LOST;
}

/* With an open roster: the exit status. */
static int launch_line(char **line, int ends, struct roster *roster)
{
    struct notice notice = {.rank = -1};
    int ended = 0;
    if (run_job(line, ends, roster, &notice, &ended) == 0) return judge(roster, &notice, ended, line[0]);
    fprintf(stderr, "tulle: cannot start a process: %s\n", strerror(errno));
    return EXIT_RESOURCES;
}

int launch_size(const struct options *options)
{
    return (int)options_int(options, "pes", tulle_cores_free());
}

/* Open MPI writes past the end of a full file system, and waits for ever. It takes 8 MB for two processes. */
static bool has_scratch(const tulle_launcher *launcher)
{
    static const char *const names[] = {"TMPDIR", "TEMP", "TMP"};
    const double least = 16e6;
    struct statvfs system;
    const char *folder = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !folder; i++) folder = secure_getenv(names[i]);
    if (!folder) folder = "/tmp";
    if (starts_by_hydra(launcher) || statvfs(folder, &system) != 0) return true;
    const double available = (double)system.f_bavail * (double)system.f_frsize;
    if (available >= least) return true;
    fprintf(stderr, "tulle: %s has %.1f MB left, and Open MPI needs %.0f MB there: set TMPDIR to another folder\n", folder,
        available * 1e-6, least * 1e-6);
    return false;
}

int launch(const struct options *options, char **argv)
{
    char pes[24], *line[ARGUMENTS_MAX];
    static struct roster roster;
    const tulle_launcher *launcher = choose_launcher(chosen_comm(options));
    snprintf(pes, sizeof pes, "%d", launch_size(options));
    if (command_line(launcher, argv, pes, line) != TULLE_OK) {
        fprintf(stderr, "tulle: %s\n", tulle_error_message());
        return EXIT_USAGE;
    }
    if (!has_scratch(launcher)) return EXIT_RESOURCES;
    if (roster_open(&roster)) {
        fprintf(stderr, "tulle: cannot hear of the job's processes: %s\n", strerror(errno));
        return EXIT_RESOURCES;
    }
    int status = launch_line(line, starts_by_hydra(launcher), &roster);
    roster_close(&roster);
    return status;
}

static int is_below(const struct rlimit *limit, double bytes)
{
    return limit->rlim_cur != RLIM_INFINITY && (double)limit->rlim_cur < bytes;
}

static int limits_below(double bytes)
{
    struct rlimit limit;
    return (getrlimit(RLIMIT_AS, &limit) == 0 && is_below(&limit, bytes)) ||
           (getrlimit(RLIMIT_DATA, &limit) == 0 && is_below(&limit, bytes));
}

void spare_blas_threads(char **argv)
{
    static const char variable[] = "OPENBLAS_NUM_THREADS";
    const double buffer = 160e6, program = 256e6; /* a thread's, with its stack; libraries and the rest */
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores < 2 || secure_getenv(variable) || !limits_below((double)cores * buffer + program)) return;
    if (setenv(variable, "1", 1) == 0) execv("/proc/self/exe", argv);
}

bool has_stack(char **argv)
{
    enum { LEAST = 512 << 10, USUAL = 8 << 20 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LEAST) return true;
    const double now = (double)limit.rlim_cur;
    if (limit.rlim_max >= LEAST) {
        limit.rlim_cur = limit.rlim_max < USUAL ? limit.rlim_max : USUAL;
        if (setrlimit(RLIMIT_STACK, &limit) == 0) execv("/proc/self/exe", argv);
    }
    fprintf(stderr, "tulle: the limit of the stack (ulimit -s) is %.0f KB, and at least %d KB are taken\n", now / 1024,
        LEAST >> 10);
    return false;
}
