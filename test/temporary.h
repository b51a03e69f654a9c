/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary folders of test programs, below $TMPDIR or /tmp. */
#ifndef TULLE_TEST_TEMPORARY_H
#define TULLE_TEST_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>

enum { TEMPORARY_MOST = 256 };

/* Makes an empty folder; its name goes to folder[TEMPORARY_MOST]. 0 if that fails. */
__attribute__((unused)) static int temporary_folder(char *folder)
{
    const char *top = getenv("TMPDIR");
    int n = snprintf(folder, TEMPORARY_MOST, "%s/tulle-XXXXXX", top && *top ? top : "/tmp");
    return n < TEMPORARY_MOST && mkdtemp(folder) != NULL;
}

#endif
