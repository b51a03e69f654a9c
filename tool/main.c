/* SPDX-License-Identifier: Apache-2.0 */
/* tulle VERB OPERANDS OPTIONS. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/launch.h>

#include "completion.h"
#include "launch.h"
#include "report/plural.h"
#include "roster.h"
#include "standard_input.h"
#include "verb.h"
#include "verb_help.h"

static const struct verb *const verbs[] = {&verb_spmm, &verb_spgemm, &verb_gemm, &verb_trisolve, &verb_solve, &verb_eig,
    &verb_svd, &verb_pca, &verb_stream, &verb_matfun, &verb_density, &verb_predict, &verb_stat, &verb_gen,
    &verb_convert, &verb_plot, &verb_calibrate, &verb_info};
enum { VERBS = sizeof verbs / sizeof *verbs };

static int exit_status(tulle_status status)
{
    switch (status) {
    case TULLE_OK:
        return EXIT_DONE;
    case TULLE_ERR_CHECK:
    case TULLE_ERR_CONVERGENCE:
        return EXIT_CHECK;
    case TULLE_ERR_LIMIT:
    case TULLE_ERR_MEMORY:
        return EXIT_RESOURCES;
    case TULLE_ERR_COMM:
    case TULLE_ERR_PEER:
    case TULLE_ERR_LOST:
        return EXIT_LOST;
    default:
        return EXIT_USAGE;
    }
}

/* NULL, after listing the verbs, if there is none of that name. */
static const struct verb *find_verb(const char *name)
{
    const char *names[VERBS];
    int found;
    for (int v = 0; v < VERBS; v++) names[v] = verbs[v]->name;
    if (tulle_parse_word(name, "verb", names, VERBS, &found) == TULLE_OK) return verbs[found];
    fprintf(stderr, "tulle: %s\ntulle: `tulle --help` explains the verbs\n", tulle_error_message());
    return NULL;
}

/* The exit status of what only prints, `name` NULL: the command. */
static int printed(const char *name, int code)
{
    if (!fflush(stdout) && !ferror(stdout)) return code;
    fprintf(stderr, "tulle%s%s: writing to standard output failed\n", name ? " " : "", name ? name : "");
    return code == EXIT_DONE ? EXIT_USAGE : code;
}

/* Prints the man page of a verb, or of the command, for the build. */
static int print_man(int argc, char **argv)
{
    if (argc == 0) {
        man_all(verbs, VERBS, stdout);
        return printed(NULL, EXIT_DONE);
    }
    const struct verb *v = find_verb(argv[0]);
    if (!v) return EXIT_USAGE;
    man_verb(v, stdout);
    return printed(NULL, EXIT_DONE);
}

static int print_completion(const char *shell)
{
    if (completion(shell, verbs, VERBS, stdout) == TULLE_OK) return printed(NULL, EXIT_DONE);
    fprintf(stderr, "tulle: %s\n", tulle_error_message());
    return EXIT_USAGE;
}

/* If several processes had the same failure, or have no job together, only one prints it. */
static int finish(const struct verb *v, tulle_status status)
{
    if (status != TULLE_OK && tulle_launched_rank() == 0)
        fprintf(stderr, "tulle %s: %s\n", v->name, tulle_error_message());
    return roster_leave(printed(v->name, exit_status(status)));
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
    struct options options;
    roster_sign();
    tulle_status status = options_parse(v->options, argc - 2, argv + 2, &options);
    if (status == TULLE_OK && options_flag(&options, "help")) {
        help_verb(v, stdout);
        return printed(v->name, EXIT_DONE);
    }
    if (status == TULLE_OK && (options.noperands < v->least || options.noperands > v->most))
        status = tulle_fail(TULLE_ERR_ARG, "%d %s; usage: tulle %s %s [OPTIONS]", options.noperands,
            plural(options.noperands, "operand", "operands"), v->name, v->operands);
    if (status != TULLE_OK) return finish(v, status);
    options.inputs = v->inputs;
    int together = options_has(&options, "comm");
    if (together && !options_word(&options, "comm", NULL) && !tulle_launched_by()) status = tulle_launched_check(1);
    if (together && status == TULLE_OK) status = become_program(&options, argv);
    if (status != TULLE_OK) return finish(v, status);
    if (together && wants_launch(&options)) {
        status = allow_standard_input(&options, launch_size(&options));
        return status == TULLE_OK ? launch(&options, argv) : finish(v, status);
    }
    if (tulle_launched_size() == 1) status = take_standard_input(&options);
    if (status == TULLE_OK && (together || tulle_launched_rank() == 0)) status = v->run(&options);
    return finish(v, status);
}

int main(int argc, char **argv)
{
    if (!has_stack(argv)) return EXIT_RESOURCES;
    spare_blas_threads(argv);
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit becomes a write error, which is reported */
    /* PEs whose kernels wait for each other on one GPU: CUDA reads it when it starts, and so do programs begun here */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    if (argc < 2) {
        help_all(verbs, VERBS, stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        if (argc == 2) {
            help_all(verbs, VERBS, stdout);
            return printed(NULL, EXIT_DONE);
        }
        const struct verb *v = find_verb(argv[2]);
        if (!v) return EXIT_USAGE;
        help_verb(v, stdout);
        return printed(NULL, EXIT_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tulle %s\n", tulle_version());
        return printed(NULL, EXIT_DONE);
    }
    if (strcmp(argv[1], "--man") == 0) return print_man(argc - 2, argv + 2);
    if (strcmp(argv[1], "--completion") == 0) return print_completion(argc == 3 ? argv[2] : "");
    const struct verb *v = find_verb(argv[1]);
    return v ? run_verb(v, argc, argv) : EXIT_USAGE;
}
