/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_write.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of the character of UTF-8 at s; 0: there is none. */
static int utf8_length(const unsigned char *s)
{
    const int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    const int overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    const int outside = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f); /* surrogates; too large */
    return n > 1 && (overlong || outside) ? 0 : n;
}

void json_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const int n = utf8_length(c);
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 32)
            fprintf(out, "\\u%04x", *c);
        else if (n == 0)
            fprintf(out, "\\ufffd");
        else
            fwrite(c, 1, (size_t)n, out);
        c += n ? n : 1;
    }
    fputc('"', out);
}

/* The length of printf's word for a number that is not finite, at s; 0: it is another. Names are in quotes. */
static size_t infinite_length(const char *s)
{
    const size_t sign = *s == '-';
    const int is = strncmp(s + sign, "nan", 3) == 0 || strncmp(s + sign, "inf", 3) == 0;
    return is && !isalpha((unsigned char)s[sign + 3]) ? sign + 3 : 0;
}

void json_printf(FILE *out, const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    const int length = vasprintf(&text, format, list);
    va_end(list);
    if (length < 0) return;
    int quoted = 0;
    for (const char *c = text; *c;) {
        const size_t n = quoted ? 0 : infinite_length(c);
        if (*c == '"') quoted = !quoted;
        if (n)
            fputs("null", out);
        else
            fputc(*c, out);
        c += n ? n : 1;
    }
    free(text);
}

void json_number(double x, FILE *out)
{
    json_printf(out, "%.17g", x);
}

void json_numbers(const char *name, const double *x, int count, FILE *out)
{
    fprintf(out, "\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        if (i) fputc(',', out);
        json_number(x[i], out);
    }
    fputc(']', out);
}
