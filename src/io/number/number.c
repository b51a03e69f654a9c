/* SPDX-License-Identifier: Apache-2.0 */
#include "io/number/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "io/number/number_scale.h"

int tulle__number_scale(uint64_t mantissa, int exponent, double *value)
{
    return tulle__scale(mantissa, exponent, value);
}

int tulle__number_narrow(double value, float *narrow)
{
    *narrow = (float)value;
    if ((double)*narrow == value) return 1;
    /* rounding twice is wrong only if the first landed on the middle between two floats */
    double size = fabs(value);
    /* the midpoint between the largest float and infinity */
    if (size >= 0x1.ffffffp127) return size > 0x1.ffffffp127;
    float other = nextafterf(*narrow, value > (double)*narrow ? INFINITY : -INFINITY);
    return ((double)*narrow + (double)other) / 2 != value;
}

/* A number split into parts: [digits, digits_end) holds the digits and possibly a point. */
struct decimal {
    const char *digits, *digits_end;
    uint64_t mantissa;  /* of the first 19 significant digits */
    int64_t exponent;   /* x = mantissa * 10^exponent if not `more` */
    int negative, more; /* digits other than 0 after the first 19 */
};

static int digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static int letter(const char *p, const char *end, char lower)
{
    return p < end && (*p | 32) == lower;
}

static tulle__number split(const char *p, const char *end, struct decimal *d, const char **stop)
{
    d->negative = 0;
    if (p < end && (*p == '-' || *p == '+')) d->negative = *p++ == '-';
    d->digits = p;
    d->mantissa = 0;
    d->more = 0;
    int64_t significant = 0, after = 0, dropped = 0;
    int any = 0, point = 0;
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = 1;
            continue;
        }
        if (!digit(*p)) break;
        any = 1;
        after += point;
        int x = *p - '0';
        if (significant == 0 && x == 0) continue;
        if (significant < 19) {
            d->mantissa = d->mantissa * 10 + (uint64_t)x;
            significant++;
        } else {
            dropped++;
            d->more |= x;
        }
    }
    *stop = p;
    d->digits_end = p;
    if (!any) {
        if (d->digits < end && *d->digits != '.') *stop = d->digits;
        if (letter(*stop, end, 'n') && letter(*stop + 1, end, 'a') && letter(*stop + 2, end, 'n')) {
            *stop += 3;
            return TULLE__NUMBER_NAN;
        }
        if (letter(*stop, end, 'i') && letter(*stop + 1, end, 'n') && letter(*stop + 2, end, 'f')) {
            static const char rest[] = "inity";
            int k = 0;
            *stop += 3;
            while (k < 5 && letter(*stop + k, end, rest[k])) k++;
            if (k == 5) *stop += 5;
            return TULLE__NUMBER_INF;
        }
        return TULLE__NUMBER_NONE;
    }
    int64_t exponent = 0;
    if (p < end && ((*p | 32) == 'e' || (*p | 32) == 'd')) {
        p++;
        int negative = 0;
        if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
        if (p == end || !digit(*p)) {
            *stop = p;
            return TULLE__NUMBER_EXPONENT;
        }
        for (; p < end && digit(*p); p++)
            if (exponent < (int64_t)1 << 50) exponent = exponent * 10 + (*p - '0');
        if (negative) exponent = -exponent;
        *stop = p;
    }
    d->exponent = exponent - after + dropped;
    return TULLE__NUMBER_OK;
}

/*
 * Converts by the C library's strtod on a bounded copy: 800 digits and, if non-zeros follow, one
 * more digit. This is enough, since the midpoint of two doubles has at most 767 digits.
 */
static void by_digits(const struct decimal *d, int single, double *value64, float *value32)
{
    enum { MOST = 800 };
    char text[MOST + 40];
    int n = 0, more = 0;
    int64_t dropped = 0;
    for (const char *p = d->digits; p < d->digits_end; p++) {
        if (*p == '.' || (n == 0 && *p == '0')) continue;
        if (n < MOST)
            text[n++] = *p;
        else {
            dropped++;
            more |= *p != '0';
        }
    }
    /* d->exponent belongs to the first 19 digits */
    int64_t beyond = n + dropped > 19 ? n + dropped - 19 : 0;
    int64_t exponent = d->exponent - beyond + dropped;
    if (more) {
        text[n++] = '1';
        exponent--;
    }
    if (n == 0) text[n++] = '0';
    if (exponent > 100000) exponent = 100000;
    if (exponent < -100000) exponent = -100000;
    text[n++] = 'e';
    char *end = tulle__number_write_i64(text + n, exponent);
    *end = '\0';
    if (single)
        *value32 = tulle__decimal_read_f32(text, NULL);
    else
        *value64 = tulle__decimal_read(text, NULL);
}

static int clip(int64_t exponent)
{
    return exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : (int)exponent;
}

static int scale(const struct decimal *d, double *value)
{
    static const double ten[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int exponent = clip(d->exponent);
    if (d->more) { /* between mantissa and mantissa + 1 */
        double above;
        return tulle__number_scale(d->mantissa, exponent, value) &&
               tulle__number_scale(d->mantissa + 1, exponent, &above) && *value == above;
    }
    if (d->mantissa >> 53 == 0 && exponent >= -22 && exponent <= 22) { /* both exact: one rounding */
        *value = exponent < 0 ? (double)d->mantissa / ten[-exponent] : (double)d->mantissa * ten[exponent];
        return 1;
    }
    return tulle__number_scale(d->mantissa, exponent, value);
}

static tulle__number classify(const struct decimal *d, int infinite, int zero)
{
    if (infinite) return TULLE__NUMBER_OVERFLOW;
    return zero && d->mantissa ? TULLE__NUMBER_UNDERFLOW : TULLE__NUMBER_OK;
}

tulle__number tulle__number_f64(const char *text, const char *end, double *value, const char **stop)
{
    struct decimal d;
    tulle__number kind = split(text, end, &d, stop);
    double x = kind == TULLE__NUMBER_NAN ? NAN : INFINITY;
    if (kind == TULLE__NUMBER_OK) {
        if (!scale(&d, &x)) by_digits(&d, 0, &x, NULL);
        kind = classify(&d, isinf(x), x == 0);
    } else if (kind > TULLE__NUMBER_INF) {
        return kind;
    }
    *value = d.negative ? -x : x;
    return kind;
}

tulle__number tulle__number_f32(const char *text, const char *end, float *value, const char **stop)
{
    struct decimal d;
    tulle__number kind = split(text, end, &d, stop);
    float x = kind == TULLE__NUMBER_NAN ? NAN : INFINITY;
    if (kind == TULLE__NUMBER_OK) {
        double wide;
        if (!scale(&d, &wide) || !tulle__number_narrow(wide, &x)) by_digits(&d, 1, NULL, &x);
        kind = classify(&d, isinf(x), x == 0);
    } else if (kind > TULLE__NUMBER_INF) {
        return kind;
    }
    *value = d.negative ? -x : x;
    return kind;
}

tulle__number tulle__number_i64(const char *text, const char *end, int64_t *value, const char **stop)
{
    const char *p = text;
    int negative = 0, over = 0;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    const char *digits = p;
    uint64_t most = (uint64_t)INT64_MAX + (uint64_t)negative, x = 0;
    for (; p < end && digit(*p); p++) {
        uint64_t next;
        if (__builtin_mul_overflow(x, 10, &next) || __builtin_add_overflow(next, (uint64_t)(*p - '0'), &next) ||
            next > most)
            over = 1;
        else
            x = next;
    }
    *stop = p;
    if (p == digits) return TULLE__NUMBER_NONE;
    if (over) return TULLE__NUMBER_OVERFLOW;
    *value = negative ? (int64_t)(0 - x) : (int64_t)x;
    return TULLE__NUMBER_OK;
}
