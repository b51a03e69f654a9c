/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a machine that is not this one, below a folder. */
#ifndef TULLE_TEST_MACHINE_FILES_H
#define TULLE_TEST_MACHINE_FILES_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tap.h"

/* Writes a file below `root`, and its folders. */
static inline void machine_put(const char *root, const char *path, const char *text)
{
    char name[2048];
    snprintf(name, sizeof name, "%s/%s", root, path);
    for (char *at = name + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(name, 0777);
        *at = '/';
    }
    FILE *file = fopen(name, "w");
    if (!ok(file != NULL, "%s is written", path)) return;
    fputs(text, file);
    fclose(file);
}

#endif
