/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers: the same bits as strtod and strtof wherever the grammars agree, and back again. */
#include <math.h>

#include "fuzz.h"
#include "io/number/number.h"

static void compare(const char *text, const char *end)
{
    double x = 0;
    float f = 0;
    int64_t i = 0;
    const char *stop, *stop_single;
    tulle__number kind = tulle__number_f64(text, end, &x, &stop);
    tulle__number kind_single = tulle__number_f32(text, end, &f, &stop_single);
    REQUIRE(stop >= text && stop <= end && stop == stop_single);
    REQUIRE((kind >= TULLE__NUMBER_NONE) == (kind_single >= TULLE__NUMBER_NONE));
    char back[TULLE__NUMBER_TEXT + 1];
    if (kind == TULLE__NUMBER_OK || kind == TULLE__NUMBER_OVERFLOW || kind == TULLE__NUMBER_UNDERFLOW) {
        size_t n = (size_t)(stop - text);
        char *copy = malloc(n + 1);
        REQUIRE(copy);
        for (size_t k = 0; k < n; k++) copy[k] = text[k] == 'd' || text[k] == 'D' ? 'e' : text[k];
        copy[n] = '\0';
        double y = strtod(copy, NULL);
        float g = strtof(copy, NULL);
        REQUIRE(memcmp(&x, &y, sizeof x) == 0 && memcmp(&f, &g, sizeof f) == 0);
        free(copy);
        *tulle__number_write_f64(back, x) = '\0';
        y = strtod(back, NULL);
        REQUIRE(memcmp(&x, &y, sizeof x) == 0);
        *tulle__number_write_f32(back, f) = '\0';
        g = strtof(back, NULL);
        REQUIRE(memcmp(&f, &g, sizeof f) == 0);
    }
    if (tulle__number_i64(text, end, &i, &stop) == TULLE__NUMBER_OK) {
        char *last = tulle__number_write_i64(back, i);
        int64_t j;
        REQUIRE(tulle__number_i64(back, last, &j, &stop) == TULLE__NUMBER_OK && i == j && stop == last);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* as text, in a block of just this size, and its first bytes as bits */
    char *text = malloc(size ? size : 1);
    REQUIRE(text);
    memcpy(text, data, size);
    compare(text, text + size);
    free(text);
    if (size >= 8) {
        double x, y;
        char back[TULLE__NUMBER_TEXT];
        const char *stop;
        memcpy(&x, data, 8);
        char *end = tulle__number_write_f64(back, x);
        REQUIRE(end - back <= TULLE__NUMBER_TEXT);
        tulle__number_f64(back, end, &y, &stop);
        REQUIRE(stop == end && (memcmp(&x, &y, 8) == 0 || isnan(x)));
    }
    return 0;
}
