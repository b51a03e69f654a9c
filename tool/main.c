/* SPDX-License-Identifier: Apache-2.0 */
/* tulle VERB OPERANDS OPTIONS. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/launch.h>

#include "completion.h"
#include "plural.h"
#include "standard_input.h"
#include "start/launch.h"
#include "start/roster.h"
#include "verb.h"

static const struct verb *const verbs[] = {&verb_spmm, &verb_spgemm, &verb_gemm, &verb_trisolve, &verb_solve,
    &verb_stream, &verb_matfun, &verb_density, &verb_predict, &verb_stat, &verb_gen, &verb_convert, &verb_plot,
    &verb_calibrate, &verb_info};
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

static const char *const exit_texts = "0 done; 1 a check failed, or an iteration did not converge; 2 bad usage or "
                                      "input; 3 not enough resources; 4 a PE was lost";

static void help(FILE *file)
{
    fprintf(file, "tulle %s: sparse and dense linear algebra over one-sided communication\n\n", tulle_version());
    fprintf(file, "usage: tulle VERB OPERANDS OPTIONS\n\n");
    for (int v = 0; v < VERBS; v++) fprintf(file, "  %-10s %s\n", verbs[v]->name, verbs[v]->summary);
    fprintf(file,
        "\n`tulle VERB --help` explains a verb. An operand is a file (.mtx, .mtx.gz, .npy, .npz, .bsp.h5), - for\n"
        "Matrix Market on standard input, or a generator's spec, as in rmat:scale=17,edgefactor=8,seed=1:\n\n");
    const char *name, *sentence;
    for (int i = 0; (name = tulle_operand_generator(i, &sentence)); i++) fprintf(file, "  %-10s %s\n", name, sentence);
    fprintf(file, "\n`tulle --completion bash|zsh` prints the completion of command lines.\n\nExit status: %s.\n",
        exit_texts);
}

static void help_verb(const struct verb *v, FILE *file)
{
    fprintf(file, "usage: tulle %s %s [OPTIONS]\n\n%s.\n\n%s\n\nOptions:\n", v->name, v->operands, v->summary,
        v->description);
    options_help(v->options, file);
    fprintf(file, "\nExamples:\n");
    for (const char *line = v->examples; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(file, "  %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    fprintf(file, "\nExit status: %s.\n", exit_texts);
}

/* Writes text as mdoc: a leading dot or quote would be a macro, an empty line is a paragraph. */
static void man_text(const char *text, FILE *file)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (!n)
            fprintf(file, ".Pp");
        else if (*line == '.' || *line == '\'')
            fprintf(file, "\\&");
        for (size_t i = 0; i < n; i++) {
            if (line[i] == '\\')
                fputs("\\e", file);
            else
                fputc(line[i], file);
        }
        fputc('\n', file);
        line += n + (line[n] == '\n');
    }
}

static void man_head(const char *title, const char *name, const char *summary, FILE *file)
{
    fprintf(file, ".Dd $Mdocdate$\n.Dt %s 1\n.Os Tulle %s\n.Sh NAME\n.Nm %s\n.Nd %s\n", title, tulle_version(), name,
        summary);
}

static void man_verb(const struct verb *v, FILE *file)
{
    char name[64];
    snprintf(name, sizeof name, "tulle-%s", v->name);
    man_head(name, name, v->summary, file);
    fprintf(file, ".Sh SYNOPSIS\n.Nm tulle %s\n%s%s.Op Ar options\n.Sh DESCRIPTION\n", v->name, v->operands,
        *v->operands ? "\n" : "");
    man_text(v->description, file);
    fprintf(file, ".Sh OPTIONS\n.Bl -tag -width Ds\n");
    options_man(v->options, file);
    fprintf(file, ".El\n.Sh EXIT STATUS\n%s.\n.Sh EXAMPLES\n.Bd -literal\n", exit_texts);
    man_text(v->examples, file);
    fprintf(file, "\n.Ed\n.Sh SEE ALSO\n.Xr tulle 1\n");
}

static void man(FILE *file)
{
    man_head("TULLE", "tulle", "sparse and dense linear algebra over one-sided communication", file);
    fprintf(file,
        ".Sh SYNOPSIS\n.Nm\n.Ar verb\n.Ar operands\n.Op Ar options\n.Sh DESCRIPTION\n"
        "An operand is a file (.mtx, .mtx.gz, .npy, .npz, .bsp.h5), - for Matrix Market on standard input, or\n"
        "the spec of a generator. The verbs:\n"
        ".Bl -tag -width Ds\n");
    for (int v = 0; v < VERBS; v++) fprintf(file, ".It Xr tulle-%s 1\n%s.\n", verbs[v]->name, verbs[v]->summary);
    fprintf(file, ".El\n.Pp\nThe generators:\n.Bl -tag -width Ds\n");
    const char *name, *sentence;
    for (int i = 0; (name = tulle_operand_generator(i, &sentence)); i++) fprintf(file, ".It %s\n%s.\n", name, sentence);
    fprintf(file,
        ".El\n.Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
        ".It Ev TULLE_MODULE_PATH\nFolders with engines and wrappers.\n"
        ".It Ev TMPDIR\nThe folder for a copy of standard input while it is read; without it /tmp.\n"
        ".It Ev TULLE_MACHINE\nThe file that\n.Xr tulle-calibrate 1\nwrites and the bounds are taken from.\n"
        ".El\n.Sh EXIT STATUS\n%s.\n",
        exit_texts);
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

/* Prints the man page of a verb, or of the command, for the build. */
static int print_man(int argc, char **argv)
{
    if (argc == 0) {
        man(stdout);
        return EXIT_DONE;
    }
    const struct verb *v = find_verb(argv[0]);
    if (!v) return EXIT_USAGE;
    man_verb(v, stdout);
    return EXIT_DONE;
}

static int print_completion(const char *shell)
{
    if (completion(shell, verbs, VERBS, stdout) == TULLE_OK) return EXIT_DONE;
    fprintf(stderr, "tulle: %s\n", tulle_error_message());
    return EXIT_USAGE;
}

/* If several processes had the same failure, or have no job together, only one prints it. */
static int finish(const struct verb *v, tulle_status status)
{
    if (status != TULLE_OK && tulle_launched_rank() == 0)
        fprintf(stderr, "tulle %s: %s\n", v->name, tulle_error_message());
    int code = exit_status(status);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "tulle %s: writing to standard output failed\n", v->name);
        if (status == TULLE_OK) code = EXIT_USAGE;
    }
    return roster_leave(code);
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
    struct options options;
    roster_sign();
    tulle_status status = options_parse(v->options, argc - 2, argv + 2, &options);
    if (status == TULLE_OK && options_flag(&options, "help")) {
        help_verb(v, stdout);
        return EXIT_DONE;
    }
    if (status == TULLE_OK && (options.noperands < v->least || options.noperands > v->most))
        status = tulle_fail(TULLE_ERR_ARG, "%d %s; usage: tulle %s %s [OPTIONS]", options.noperands,
            plural(options.noperands, "operand", "operands"), v->name, v->operands);
    if (status != TULLE_OK) return finish(v, status);
    options.inputs = v->inputs;
    int together = options_has(&options, "comm");
    if (together) status = become_program(&options, argv);
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
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit becomes a write error, which is reported */
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        if (argc == 2) {
            help(stdout);
            return EXIT_DONE;
        }
        const struct verb *v = find_verb(argv[2]);
        if (!v) return EXIT_USAGE;
        help_verb(v, stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tulle %s\n", tulle_version());
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--man") == 0) return print_man(argc - 2, argv + 2);
    if (strcmp(argv[1], "--completion") == 0) return print_completion(argc == 3 ? argv[2] : "");
    const struct verb *v = find_verb(argv[1]);
    return v ? run_verb(v, argc, argv) : EXIT_USAGE;
}
