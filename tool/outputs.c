/* SPDX-License-Identifier: Apache-2.0 */
#include "outputs.h"

#include <string.h>

#include <tulle/launch.h>

/* Options with input files besides the operands, and options with output files besides a matrix. */
static const char *const inputs[] = {"rhs", "guess", "machine"};
static const char *const others[] = {"history", "trace"};
enum { INPUTS = sizeof inputs / sizeof *inputs, OTHERS = sizeof others / sizeof *others };

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

static tulle_status try_other(const struct options *options, const char *name, const char *matrix)
{
    const char *path = options_word(options, name, NULL);
    if (!path) return TULLE_OK;
    if (strcmp(path, "-") == 0)
        return tulle_fail(TULLE_ERR_ARG, "--%s needs the name of a file; only -o writes to standard output", name);
    if (matrix && strcmp(path, matrix) == 0)
        return tulle_fail(TULLE_ERR_ARG, "%s: two outputs have the same name", path);
    tulle_status status = distinct_from_inputs(options, path);
    return status == TULLE_OK ? tulle_output_try(path) : status;
}

tulle_status try_outputs(const struct options *options, const char *matrix, tulle_kind kind)
{
    if (tulle_launched_rank() != 0) return TULLE_OK;
    tulle_status status = TULLE_OK;
    if (matrix) status = tulle_output_try_matrix(matrix, kind);
    if (matrix && status == TULLE_OK) status = distinct_from_inputs(options, matrix);
    for (int i = 0; i < OTHERS && status == TULLE_OK; i++) status = try_other(options, others[i], matrix);
    return status;
}

tulle_status try_output(const char *path, const char *const *operand, int noperands)
{
    tulle_status status = tulle_output_try(path);
    for (int i = 0; i < noperands && status == TULLE_OK; i++) status = tulle_output_distinct(path, operand[i]);
    return status;
}

FILE *report_file(const struct options *options)
{
    return strcmp(options_word(options, "output", ""), "-") == 0 ? stderr : stdout;
}
