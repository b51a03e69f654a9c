/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of inputs and expectations: name|options|input|expectation, one a line. */
#ifndef TULLE_TEST_IO_CASES_H
#define TULLE_TEST_IO_CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/status.h>

enum { CASE_MOST = 4 << 20 };

typedef struct test_case {
    char *name, *options, *expect;
    char *input;
    size_t bytes;
} test_case;

/* Short words of the input that stand for long ones. */
typedef struct case_macro {
    const char *word, *text;
} case_macro;

__attribute__((unused)) static char *case_unescape(char *out, const char *p, const char *end, const case_macro *macros)
{
    while (p < end) {
        if (*p == '{') {
            const char *close = strchr(p, '}');
            if (p[1] == '*') {
                long n = strtol(p + 2, NULL, 10);
                const char *text = strchr(p, ':') + 1;
                for (long i = 0; i < n; i++) out = case_unescape(out, text, close, macros);
            } else {
                for (const case_macro *m = macros; m && m->word; m++)
                    if (strlen(m->word) == (size_t)(close - p - 1) && memcmp(m->word, p + 1, strlen(m->word)) == 0)
                        out = case_unescape(out, m->text, m->text + strlen(m->text), NULL);
            }
            p = close + 1;
        } else if (*p == '\\') {
            char hex[3] = {0};
            p += 2;
            switch (p[-1]) {
            case 'n':
                *out++ = '\n';
                break;
            case 'r':
                *out++ = '\r';
                break;
            case 't':
                *out++ = '\t';
                break;
            case 'v':
                *out++ = '\v';
                break;
            case '0':
                *out++ = '\0';
                break;
            case 'x':
                memcpy(hex, p, 2);
                *out++ = (char)strtol(hex, NULL, 16);
                p += 2;
                break;
            default:
                *out++ = p[-1];
            }
        } else {
            *out++ = *p++;
        }
    }
    return out;
}

/*
 * Reads the next case of an open table into c, whose strings live until the next call; 0 at the
 * end.
 */
__attribute__((unused)) static int case_next(FILE *table, const case_macro *macros, test_case *c)
{
    static char line[1 << 16], input[CASE_MOST];
    char *field[4];
    do
        if (!fgets(line, sizeof line, table)) return 0;
    while (line[0] == '#' || line[0] == '\n');
    line[strcspn(line, "\n")] = '\0';
    char *p = line;
    for (int i = 0; i < 4; i++) {
        field[i] = p;
        p = i < 3 ? strchr(p, '|') : NULL;
        if (i < 3 && !p) {
            printf("Bail out! malformed case: %s\n", line);
            exit(EXIT_FAILURE);
        }
        if (p) *p++ = '\0';
    }
    c->name = field[0];
    c->options = field[1];
    c->expect = field[3];
    c->input = input;
    c->bytes = (size_t)(case_unescape(input, field[2], field[2] + strlen(field[2]), macros) - input);
    return 1;
}

__attribute__((unused)) static void case_write(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) {
        printf("Bail out! cannot write %s\n", path);
        exit(EXIT_FAILURE);
    }
}

/* "FORMAT :3:1: cause" against a status and a message that begins with the path. */
__attribute__((unused)) static int case_fails_as(
    const char *expect, const char *path, tulle_status status, const char *message)
{
    const char *name = tulle_status_name(status) + strlen("TULLE_");
    if (strncmp(name, "ERR_", 4) == 0) name += 4;
    size_t n = strcspn(expect, " ");
    if (strlen(name) != n || strncmp(name, expect, n) != 0) return 0;
    expect += n + (expect[n] == ' ');
    if (strncmp(message, path, strlen(path)) == 0) message += strlen(path);
    return strncmp(message, expect, strlen(expect)) == 0;
}

#endif
