/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <locale.h>
#include <stdlib.h>

/* The thread's locale is the C one in between; C libraries have that one object for all, without memory. */
struct stay {
    locale_t c, before;
};

static struct stay enter(void)
{
    struct stay stay = {.c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (stay.c) stay.before = uselocale(stay.c);
    return stay;
}

static void leave(const struct stay *stay)
{
    if (!stay->c) return;
    uselocale(stay->before);
    freelocale(stay->c);
}

double tulle__decimal_read(const char *text, char **end)
{
    const struct stay stay = enter();
    double value = strtod(text, end);
    leave(&stay);
    return value;
}

float tulle__decimal_read_f32(const char *text, char **end)
{
    const struct stay stay = enter();
    float value = strtof(text, end);
    leave(&stay);
    return value;
}

int tulle__decimal_vformat(char *to, size_t size, const char *format, va_list args)
{
    const struct stay stay = enter();
    int n = vsnprintf(to, size, format, args);
    leave(&stay);
    return n;
}

int tulle__decimal_format(char *to, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = tulle__decimal_vformat(to, size, format, args);
    va_end(args);
    return n;
}

int tulle__decimal_print(FILE *file, const char *format, ...)
{
    va_list args;
    const struct stay stay = enter();
    va_start(args, format);
    int n = vfprintf(file, format, args);
    va_end(args);
    leave(&stay);
    return n;
}
