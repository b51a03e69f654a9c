/* SPDX-License-Identifier: Apache-2.0 */
#include "outputs.h"

#include <string.h>
#include <sys/stat.h>

#include <tulle/launch.h>

/* Options with input files besides the operands, with matrices that are written, and with other output files. */
static const char *const inputs[] = {"rhs", "guess", "machine", "blocks"};
static const char *const matrices[] = {"output", "left", "right", "components"};
static const char *const others[] = {"history", "trace"};
enum {
    INPUTS = sizeof inputs / sizeof *inputs,
    MATRICES = sizeof matrices / sizeof *matrices,
    OTHERS = sizeof others / sizeof *others
};

/* The word of the i-th option with an output; NULL: it is not given. */
static const char *output_word(const struct options *options, int i)
{
    return options_word(options, i < MATRICES ? matrices[i] : others[i - MATRICES], NULL);
}

/* The name without its folder, and whether the folder is there. */
static const char *in_folder(const char *path, struct stat *folder)
{
    char name[4096];
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n >= sizeof name) return NULL;
    memcpy(name, path, n);
    name[n] = '\0';
    return stat(n ? name : ".", folder) == 0 ? path + n : NULL;
}

/* True if both name one file, which need not be there. */
static int same_file(const char *a, const char *b)
{
    struct stat first, second;
    if (strcmp(a, b) == 0) return 1;
    const int there = stat(a, &first) == 0, both = stat(b, &second) == 0 && there;
    if (!both) {
        const char *x = in_folder(a, &first), *y = in_folder(b, &second);
        if (!x || !y || strcmp(x, y) != 0) return 0;
    }
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* matrix: an output that is no option's; NULL: there is none. */
static tulle_status distinct_outputs(const struct options *options, const char *matrix)
{
    for (int i = 0; i < MATRICES + OTHERS; i++) {
        const char *a = output_word(options, i);
        if (a && matrix && a != matrix && same_file(a, matrix))
            return tulle_fail(TULLE_ERR_ARG, "%s: two outputs have the same name", a);
        for (int j = 0; j < i && a; j++) {
            const char *b = output_word(options, j);
            if (b && same_file(a, b)) return tulle_fail(TULLE_ERR_ARG, "%s: two outputs have the same name", a);
        }
    }
    return TULLE_OK;
}

static tulle_status distinct_from_inputs(const struct options *options, const char *path)
{
    tulle_status status = TULLE_OK;
    for (int i = 0; i < options->inputs && i < options->noperands && status == TULLE_OK; i++)
        status = tulle_output_distinct(path, options->operand[i]);
    for (int i = 0; i < INPUTS && status == TULLE_OK; i++) {
        const char *input = options_word(options, inputs[i], NULL);
        if (input) status = tulle_output_distinct(path, input);
    }
    return status;
}

static tulle_status try_other(const struct options *options, const char *name)
{
    const char *path = options_word(options, name, NULL);
    if (!path) return TULLE_OK;
    if (strcmp(path, "-") == 0)
        return tulle_fail(TULLE_ERR_ARG, "--%s needs the name of a file; only -o writes to standard output", name);
    tulle_status status = distinct_from_inputs(options, path);
    return status == TULLE_OK ? tulle_output_try(path) : status;
}

tulle_status try_outputs(const struct options *options, const char *matrix, tulle_kind kind)
{
    if (tulle_launched_rank() != 0) return TULLE_OK;
    tulle_status status = TULLE_OK;
    if (matrix) status = tulle_output_try_matrix(matrix, kind);
    if (matrix && status == TULLE_OK) status = distinct_from_inputs(options, matrix);
    for (int i = 0; i < OTHERS && status == TULLE_OK; i++) status = try_other(options, others[i]);
    return status == TULLE_OK ? distinct_outputs(options, matrix) : status;
}

tulle_status try_output(const char *path, const char *const *operand, int noperands)
{
    tulle_status status = tulle_output_try(path);
    for (int i = 0; i < noperands && status == TULLE_OK; i++) status = tulle_output_distinct(path, operand[i]);
    return status;
}

FILE *report_file(const struct options *options)
{
    for (int i = 0; i < MATRICES; i++)
        if (strcmp(options_word(options, matrices[i], ""), "-") == 0) return stderr;
    return stdout;
}
