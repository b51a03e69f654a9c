/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tulle/launch.h>

#include "report/plural.h"

/* Open MPI gives its processes a terminal of its own, whatever takes its output in the end. */
static int is_terminal(FILE *file)
{
    return isatty(fileno(file)) && !tulle_launched_by();
}

int terminal_fits(FILE *file, int columns, int wide)
{
    struct winsize size;
    if (wide || !is_terminal(file)) return 1;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || !size.ws_col) return columns <= 80;
    return columns <= size.ws_col;
}

static int has_colours(FILE *file)
{
    const char *none = secure_getenv("NO_COLOR"), *term = secure_getenv("TERM");
    return is_terminal(file) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

const char *infinite_rows(int64_t rows, char *text, size_t size)
{
    *text = '\0';
    if (rows) snprintf(text, size, ", %" PRId64 " %s not finite", rows, plural(rows, "row", "rows"));
    return text;
}

const char *passed_word(int passed, FILE *file)
{
    if (!has_colours(file)) return passed ? "passed" : "FAILED";
    return passed ? "\033[32mpassed\033[0m" : "\033[31mFAILED\033[0m";
}
