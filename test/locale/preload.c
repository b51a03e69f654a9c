/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into tests: their main begins with setlocale(LC_ALL, ""), as that of a host program may. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void set_locale(void)
{
    if (setlocale(LC_ALL, "") && *localeconv()->decimal_point == ',') return;
    printf("Bail out! the locale has no decimal comma\n");
    exit(EXIT_FAILURE);
}
