/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers: against strtod, strtof and strtoll, bit by bit, on random and on hard texts. Argument:
 * how many rounds.
 */
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "io/number/number.h"
#include "tap.h"

static long checked, wrong;

static void complain(const char *what, const char *text)
{
    if (wrong++ < 10) printf("# %s: %.200s\n", what, text);
}

/* Both parsers give what the C library gives, and stop at the end. */
static void compare(const char *text)
{
    const char *end = text + strlen(text), *stop;
    double x = 0, y = strtod(text, NULL);
    float f = 0, g = strtof(text, NULL);
    tulle__number kind = tulle__number_f64(text, end, &x, &stop);
    if (memcmp(&x, &y, sizeof x) != 0 || stop != end) complain("f64", text);
    if ((kind == TULLE__NUMBER_OVERFLOW) != (isinf(y) != 0)) complain("overflow", text);
    tulle__number_f32(text, end, &f, &stop);
    if (memcmp(&f, &g, sizeof f) != 0 || stop != end) complain("f32", text);
    checked += 2;
}

static int significant_digits(const char *text)
{
    int digits = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (digits == 0 && *text == '0')) continue;
        digits++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return digits - zeros;
}

static void round_trip(double x, int shortest_too)
{
    char text[64], other[64];
    char *end = tulle__number_write_f64(text, x);
    *end = '\0';
    double y = strtod(text, NULL);
    if (memcmp(&x, &y, sizeof x) != 0 || end - text > TULLE__NUMBER_TEXT) complain("f64 back", text);
    checked++;
    if (!shortest_too) return;
    int digits = 1;
    do snprintf(other, sizeof other, "%.*e", digits - 1, x);
    while (strtod(other, NULL) != x && ++digits < 18);
    /*
     * ours may be shorter: near a power of two a decimal that is not the nearest may still be close
     * enough
     */
    if (significant_digits(text) > significant_digits(other)) complain("not the shortest", text);
}

static void round_trip_single(float x)
{
    char text[64];
    char *end = tulle__number_write_f32(text, x);
    *end = '\0';
    float y = strtof(text, NULL);
    if (memcmp(&x, &y, sizeof x) != 0 || end - text > TULLE__NUMBER_TEXT) complain("f32 back", text);
    checked++;
}

static void random_numbers(long rounds)
{
    char text[512];
    for (long i = 0; i < rounds; i++) {
        uint64_t r = tulle__random_at(7, 1, (uint64_t)i), s = tulle__random_at(7, 2, (uint64_t)i);
        double x;
        memcpy(&x, &r, sizeof x);
        if (isfinite(x)) {
            snprintf(text, sizeof text, "%.*g", 14 + (int)(s % 7), x);
            compare(text);
            if (i % 16 == 0) { /* exactly between two doubles, and a little beside */
                double y = nextafter(x, INFINITY);
                int n = snprintf(text, sizeof text, "%.30e", x);
                compare(text);
                if (fabs(x) > 1e-20 && fabs(x) < 1e20 && isfinite(y)) {
                    snprintf(text, sizeof text, "%.200Lf", ((long double)x + (long double)y) / 2);
                    compare(text);
                    n = (int)strlen(text);
                    text[n - 1] = '1';
                    compare(text);
                }
            }
            round_trip(x, i % 8 == 0);
        }
        uint32_t half = (uint32_t)s;
        float f;
        memcpy(&f, &half, sizeof f);
        if (isfinite(f)) {
            round_trip_single(f);
            float g = nextafterf(f, INFINITY);
            if (isfinite(g)) {
                snprintf(text, sizeof text, "%.170g", ((double)f + (double)g) / 2);
                compare(text);
            }
        }
        snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(r >> (s & 63)),
            (unsigned long long)s >> (r & 63), (int)(s % 680) - 345);
        compare(text);
        snprintf(text, sizeof text, "%s%d.%06d", i & 1 ? "-" : "", (int)(r % 100000), (int)(s % 1000000));
        compare(text);
        round_trip((double)(r >> 40) / 1000, 1);
    }
}

static void hard_numbers(void)
{
    static const char *const texts[] = {"0", "-0", "0.0", "-0e99999999999999999999", "1e0", "1e22", "1e23", "1e-22",
        "1e-23", "9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995", "9007199254740992.5",
        "4503599627370496.5", "4503599627370497.5", "2.2250738585072011e-308", "2.2250738585072014e-308",
        "2.2250738585072012e-308", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
        "1.7976931348623157e308", "1.7976931348623158e308", "1.797693134862315808e308", "1e308", "1e309", "1e-400",
        "1e400", "6.631236871469758276785396630275967e-39",
        "7.4109847687618698162648531893023320585475897039214871466383785237510e-17", "8.988465674311579538e307",
        "1.1754943508222875e-38", "3.4028235677973366e38", "3.4028235677973365e38",
        "3.40282346638528859811704183484516925e38", "1.4e-45", "7.0064923216240853e-46", "7.0064923216240854e-46",
        "16777217", "16777219", "1.00000005960464477539062500000001", "1.000000059604644775390625", "0.1", "0.3",
        "123456789012345678", "1234567890123456789", "12345678901234567890", "18446744073709551615",
        "18446744073709551616", "9223372036854775807", "9223372036854775808", "99999999999999999999", "1.", ".1",
        "+1.5",
        "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641"
        "6692"
        "88791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557136695962"
        "28429"
        "148198608349364752927190741684443655107043427115596995080930428801779041744977919999",
        "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641"
        "66928"
        "87910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622"
        "84291"
        "48198608349364752927190741684443655107043427115596995080930428801779041744977920000"};
    char text[2000];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare(texts[i]);
    for (int power = -360; power <= 330; power++)
        for (int digit = 1; digit <= 99; digit += 7) {
            snprintf(text, sizeof text, "%de%d", digit, power);
            compare(text);
        }
    for (int power = -1074; power <= 1023; power++) { /* powers of two, all their digits, and the halves between */
        double x = ldexp(1, power);
        round_trip(x, 1);
        round_trip(nextafter(x, 0), 1);
        round_trip(nextafter(x, INFINITY), 1);
        snprintf(text, sizeof text, "%.1100f", x);
        compare(text);
        if (power < 1023) snprintf(text, sizeof text, "%.1100f", x + nextafter(x, INFINITY));
        compare(text);
    }
    for (int power = -149; power <= 127; power++) {
        float x = ldexpf(1, power);
        round_trip_single(x);
        round_trip_single(nextafterf(x, 0));
        round_trip_single(nextafterf(x, INFINITY));
        snprintf(text, sizeof text, "%.1100f", (double)x + (double)nextafterf(x, INFINITY));
        compare(text);
    }
    for (int zeros = 0; zeros < 1500; zeros += 13) { /* beyond the digits that any copy keeps */
        memset(text, '0', sizeof text);
        memcpy(text, "9007199254740993.", 17);
        text[17 + zeros] = '1';
        text[18 + zeros] = '\0';
        compare(text);
    }
}

static void integers(long rounds)
{
    char text[64];
    int fine = 1;
    for (long i = 0; i < rounds / 10; i++) {
        int64_t x = (int64_t)tulle__random_at(9, 1, (uint64_t)i) >> (i % 64), y = 0;
        char *end = tulle__number_write_i64(text, x);
        const char *stop;
        *end = '\0';
        fine &= strtoll(text, NULL, 10) == x;
        fine &= tulle__number_i64(text, end, &y, &stop) == TULLE__NUMBER_OK && y == x && stop == end;
    }
    ok(fine, "integers there and back");
    int64_t y = 5;
    const char *stop, *most = "9223372036854775807", *least = "-9223372036854775808", *over = "9223372036854775808";
    ok(tulle__number_i64(most, most + 19, &y, &stop) == TULLE__NUMBER_OK && y == INT64_MAX, "largest integer");
    ok(tulle__number_i64(least, least + 20, &y, &stop) == TULLE__NUMBER_OK && y == INT64_MIN, "smallest integer");
    ok(tulle__number_i64(over, over + 19, &y, &stop) == TULLE__NUMBER_OVERFLOW, "an integer too many");
}

/* kind, how many characters belong to the number (or come before the wrong one) */
static void stops(void)
{
    static const struct {
        const char *text;
        tulle__number kind;
        int stop;
    } cases[] = {{"1.5x", TULLE__NUMBER_OK, 3}, {"0x10", TULLE__NUMBER_OK, 1}, {"1,5", TULLE__NUMBER_OK, 1},
        {"1.5+103", TULLE__NUMBER_OK, 3}, {"1e", TULLE__NUMBER_EXPONENT, 2}, {"1e+", TULLE__NUMBER_EXPONENT, 3},
        {"1d5", TULLE__NUMBER_OK, 3}, {"-", TULLE__NUMBER_NONE, 1}, {".", TULLE__NUMBER_NONE, 1},
        {"", TULLE__NUMBER_NONE, 0}, {"x", TULLE__NUMBER_NONE, 0}, {"--1", TULLE__NUMBER_NONE, 1},
        {".e5", TULLE__NUMBER_NONE, 1}, {"nan", TULLE__NUMBER_NAN, 3}, {"-NaN(1)", TULLE__NUMBER_NAN, 4},
        {"inf", TULLE__NUMBER_INF, 3}, {"+Infinity", TULLE__NUMBER_INF, 9}, {"infinit", TULLE__NUMBER_INF, 3},
        {"in", TULLE__NUMBER_NONE, 0}, {"1..2", TULLE__NUMBER_OK, 2}, {"1e400", TULLE__NUMBER_OVERFLOW, 5},
        {"1e-400", TULLE__NUMBER_UNDERFLOW, 6}, {"0e-400", TULLE__NUMBER_OK, 6}, {" 1", TULLE__NUMBER_NONE, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x;
        const char *stop;
        size_t n = strlen(cases[i].text);
        char *exact = malloc(n ? n : 1); /* the sanitizer sees a read past the end */
        memcpy(exact, cases[i].text, n);
        tulle__number kind = tulle__number_f64(exact, exact + n, &x, &stop);
        ok(kind == cases[i].kind && stop - exact == cases[i].stop, "'%s' is kind %d, stops at %d", cases[i].text,
            (int)kind, (int)(stop - exact));
        free(exact);
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 400000;
    stops();
    hard_numbers();
    ok(wrong == 0, "%ld comparisons with the C library on hard numbers", checked);
    checked = wrong = 0;
    random_numbers(rounds);
    ok(wrong == 0, "%ld comparisons with the C library on random numbers", checked);
    integers(rounds);
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "de_DE.utf8") ||
        setlocale(LC_NUMERIC, "fr_FR.utf8")) {
        const char *text = "9007199254740993.5", *stop;
        double x;
        tulle__number_f64(text, text + strlen(text), &x, &stop);
        ok(x == 9007199254740994.0, "a locale with a decimal comma changes nothing");
    } else {
        skip("no locale with a decimal comma on this machine");
    }
    return tap_done();
}
