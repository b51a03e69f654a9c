/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortest round-trip decimals after R. Giulietti, "The Schubfach way to render doubles" (2020): of
 * the decimals in the rounding interval of x with the fewest digits, the one nearest to x. One
 * pass, three 64 x 128 bit products.
 */
#include <math.h>
#include <string.h>

#include "io/number/number.h"
#include "io/number/number_power.h"

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
    "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
    "9899";

static int digits_of(uint64_t x)
{
    int n = 1;
    while (x >= 10000) {
        x /= 10000;
        n += 4;
    }
    return n + (x >= 10) + (x >= 100) + (x >= 1000);
}

/* The n digits of x, with leading zeros. */
static void put_digits(char *to, uint64_t x, int n)
{
    while (n >= 2) {
        n -= 2;
        memcpy(to + n, pairs + 2 * (x % 100), 2);
        x /= 100;
    }
    if (n) *to = (char)('0' + x % 10);
}

char *tulle__number_write_i64(char *to, int64_t value)
{
    uint64_t x = (uint64_t)value;
    if (value < 0) {
        *to++ = '-';
        x = 0 - x;
    }
    int n = digits_of(x);
    put_digits(to, x, n);
    return to + n;
}

/* floor(g * c / 2^128), its last bit set if anything was cut. */
static uint64_t multiply_to_odd(tulle__power5 g, uint64_t c)
{
    unsigned __int128 y = (unsigned __int128)g.high * c + (uint64_t)(((unsigned __int128)g.low * c) >> 64);
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* c * 2^q, its lower neighbour half as far away as the upper if `close` -> digits * 10^exponent. */
static uint64_t shortest(uint64_t c, int q, int close, int *exponent)
{
    uint64_t odd = c & 1;                               /* the interval's ends belong to it if c is even */
    int k = (q * 1262611 - (close ? 524031 : 0)) >> 22; /* floor(log10(2^q)), or of 3/4 2^q */
    int h = q + ((-k * 1741647) >> 19) + 1;             /* + floor(log2(10^-k)) */
    tulle__power5 g = tulle__power5_table[-k - TULLE__POWER5_LOW];
    if (-k < 0 || -k > TULLE__POWER5_EXACT) g.high += ++g.low == 0; /* the method wants these rounded up */
    uint64_t left = multiply_to_odd(g, (4 * c - 2 + (uint64_t)close) << h) + odd;
    uint64_t middle = multiply_to_odd(g, (4 * c) << h);
    uint64_t right = multiply_to_odd(g, (4 * c + 2) << h) - odd;
    uint64_t s = middle / 4;
    *exponent = k;
    if (s >= 10) {
        uint64_t tens = s / 10;
        int below = left <= 40 * tens, above = 40 * tens + 40 <= right;
        if (below != above) {
            *exponent = k + 1;
            return tens + (uint64_t)above;
        }
    }
    int below = left <= 4 * s, above = 4 * s + 4 <= right;
    if (below != above) return s + (uint64_t)above;
    uint64_t half = 4 * s + 2;
    return s + (middle > half || (middle == half && (s & 1)));
}

static char *put_decimal(char *to, uint64_t digits, int exponent)
{
    while (digits % 10 == 0) {
        digits /= 10;
        exponent++;
    }
    int n = digits_of(digits);
    int point = n + exponent; /* x = 0.ddd * 10^point */
    if (point > 0 && point <= 17) {
        if (exponent >= 0) { /* ddd000 */
            put_digits(to, digits, n);
            memset(to + n, '0', (size_t)exponent);
            return to + point;
        }
        put_digits(to + 1, digits, n); /* dd.d */
        memmove(to, to + 1, (size_t)point);
        to[point] = '.';
        return to + n + 1;
    }
    if (point <= 0 && point > -4) { /* 0.000ddd */
        memcpy(to, "0.0000", 6);
        to += 2 - point;
        put_digits(to, digits, n);
        return to + n;
    }
    put_digits(to + 1, digits, n); /* d.dde+xx */
    to[0] = to[1];
    if (n > 1) to[1] = '.';
    to += n > 1 ? n + 1 : 1;
    *to++ = 'e';
    return tulle__number_write_i64(to, point - 1);
}

static char *put_special(char *to, int is_nan, int negative, int zero)
{
    if (is_nan) {
        memcpy(to, "nan", 3);
        return to + 3;
    }
    if (negative) *to++ = '-';
    if (zero) {
        *to = '0';
        return to + 1;
    }
    memcpy(to, "inf", 3);
    return to + 3;
}

char *tulle__number_write_f64(char *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int negative = (int)(bits >> 63), biased = (int)(bits >> 52) & 0x7ff;
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    if (biased == 0x7ff || (bits << 1) == 0) return put_special(to, biased == 0x7ff && fraction, negative, biased == 0);
    if (negative) *to++ = '-';
    double size = fabs(value);
    if (size < 0x1p53 && size == (double)(int64_t)size) return tulle__number_write_i64(to, (int64_t)size);
    uint64_t c = biased ? fraction | (uint64_t)1 << 52 : fraction;
    int exponent;
    uint64_t digits = shortest(c, (biased ? biased : 1) - 1075, fraction == 0 && biased > 1, &exponent);
    return put_decimal(to, digits, exponent);
}

char *tulle__number_write_f32(char *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    int negative = (int)(bits >> 31), biased = (int)(bits >> 23) & 0xff;
    uint32_t fraction = bits & ((1u << 23) - 1);
    if (biased == 0xff || bits << 1 == 0) return put_special(to, biased == 0xff && fraction, negative, biased == 0);
    if (negative) *to++ = '-';
    float size = fabsf(value);
    if (size < 0x1p24f && size == (float)(int32_t)size) return tulle__number_write_i64(to, (int32_t)size);
    uint32_t c = biased ? fraction | 1u << 23 : fraction;
    int exponent;
    uint64_t digits = shortest(c, (biased ? biased : 1) - 150, fraction == 0 && biased > 1, &exponent);
    return put_decimal(to, digits, exponent);
}
