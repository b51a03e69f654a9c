/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of public headers, for tests that want each function in a table. */
#ifndef TULLE_TEST_DECLARED_H
#define TULLE_TEST_DECLARED_H

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

/* True if a list of words with blanks between them has this one. */
static int has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words; (p = strstr(p, word)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return 1;
    return 0;
}

/*
 * The functions of a header, the word before the first parenthesis behind each TULLE_API, whose parameters have
 * `part`; each must be named. Returns their number.
 */
static int check_declared(const char *path, const char *part, int (*named)(const char *function))
{
    static char text[1 << 16];
    int functions = 0;
    FILE *file = fopen(path, "r");
    if (!ok(file != NULL, "%s", path)) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (char *p = text; (p = strstr(p, "TULLE_API "));) {
        char *end = strchr(p, '('), *begin = end, *last = end ? strchr(end, ';') : NULL;
        if (!last) break;
        while (begin > p && (begin[-1] == '_' || isalnum((unsigned char)begin[-1]))) begin--;
        const char *parameters = end + 1;
        p = end + 1;
        *end = '\0';
        if (strncmp(begin, "tulle_", 6) != 0) continue; /* the definition of TULLE_API */
        p = last + 1;
        *last = '\0';
        if (!strstr(parameters, part)) continue;
        functions++;
        if (!named(begin)) ok(0, "%s of %s is not in the table", begin, path);
    }
    return functions;
}

#endif
