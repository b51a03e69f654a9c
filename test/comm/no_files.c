/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into PEs: files without a name cannot be made, as in a kernel that lacks them. A test
 * that asks for none fails.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int asked;

__attribute__((visibility("default"))) int memfd_create(const char *name, unsigned flags);

int memfd_create(const char *name, unsigned flags)
{
    (void)flags;
    asked |= strcmp(name, "tulle") == 0;
    errno = ENOSYS;
    return -1;
}

/* The launcher is another program. */
__attribute__((destructor)) static void require_asked(void)
{
    if (asked || strncmp(program_invocation_short_name, "test_", 5) != 0) return;
    fputs("not ok - no file without a name was asked for\n", stderr);
    _exit(1);
}
