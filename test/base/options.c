/* SPDX-License-Identifier: Apache-2.0 */
/* Options of programs and libraries of different releases: what is read, and what is refused. */
#include "base/options.h"

#include <string.h>

#include <tulle/status.h>

#include "tap.h"

/* Options of the first release, of this one, and of one to come. */
struct first {
    size_t size;
    int alg;
};
struct known {
    size_t size;
    int alg, pad;
    double tolerance;
};
struct later {
    size_t size;
    int alg, pad;
    double tolerance, more;
};

static int read_options(const void *given, struct known *options)
{
    memset(options, 0xff, sizeof *options);
    return tulle__options_read("f", given, sizeof(struct first), sizeof *options, options);
}

int main(void)
{
    struct known options;
    ok(!read_options(NULL, &options) && options.alg == 0 && options.tolerance == 0, "NULL: all are defaults");
    struct first old = {.size = 0, .alg = 7};
    ok(!read_options(&old, &options) && options.alg == 7 && options.tolerance == 0, "size 0: the first release's");
    old.size = sizeof old;
    ok(!read_options(&old, &options) && options.alg == 7 && options.tolerance == 0, "an older struct: the rest is 0");
    struct known same = {.size = sizeof same, .alg = 7, .tolerance = 0.5};
    ok(!read_options(&same, &options) && options.alg == 7 && options.tolerance == 0.5, "the same release");
    struct later later = {.size = sizeof later, .alg = 7, .tolerance = 0.5};
    ok(!read_options(&later, &options) && options.tolerance == 0.5, "a later struct whose new field is 0");
    later.more = 1;
    ok(read_options(&later, &options) && strstr(tulle_error_message(), "f: byte") != NULL,
        "... and one where it is set");
    same.size = 4;
    ok(read_options(&same, &options) && strstr(tulle_error_message(), "options.size is 4") != NULL, "too small");
    same.size = (size_t)1 << 40;
    ok(read_options(&same, &options) && strstr(tulle_error_message(), "options.size is 1099511627776") != NULL,
        "memory that nobody has initialised");
    return tap_done();
}
