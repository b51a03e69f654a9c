/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of an output before the work that produces it, and a trial write. Local. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/io.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/new_file.h"
#include "io/operand.h"

tulle_status tulle_output_try(const char *path)
{
    if (TULLE__NULL(path)) return TULLE_ERR_ARG;
    return tulle__new_file_try(path);
}

tulle_status tulle_output_try_matrix(const char *path, tulle_kind kind)
{
    if (TULLE__NULL(path) || TULLE__OUTSIDE(kind, TULLE_CSR)) return TULLE_ERR_ARG;
    tulle__format format;
    tulle_status status = tulle__output_format(path, kind, &format);
    return status != TULLE_OK || strcmp(path, "-") == 0 ? status : tulle__new_file_try(path);
}

/* 0: not an existing file that the output would replace. */
static int examine(const char *path, int standard, struct stat *info)
{
    int failed = strcmp(path, "-") == 0 ? fstat(standard, info) : stat(path, info);
    return failed == 0 && S_ISREG(info->st_mode);
}

tulle_status tulle_output_distinct(const char *path, const char *operand)
{
    if (TULLE__NULL(path) || TULLE__NULL(operand)) return TULLE_ERR_ARG;
    struct stat to, from;
    if (!examine(path, STDOUT_FILENO, &to) || !examine(operand, STDIN_FILENO, &from)) return TULLE_OK;
    if (to.st_dev != from.st_dev || to.st_ino != from.st_ino) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s: is also the input %s: write to another file", path, operand);
}

tulle_status tulle_file_write(const char *path, const void *data, size_t bytes)
{
    if (TULLE__NULL(path) || (bytes && TULLE__NULL(data))) return TULLE_ERR_ARG;
    tulle__new_file file;
    TULLE_CALL(tulle__new_file_open(path, &file));
    tulle_status status = tulle__new_file_write(&file, data, bytes);
    if (status == TULLE_OK) return tulle__new_file_close(&file);
    tulle__new_file_abort(&file);
    return status;
}
