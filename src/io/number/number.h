/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal text to numbers and back, independent of the locale.
 *
 * Reading: the nearest float or double, ties to even: the same bits as strtod and strtof give in the C locale.
 *   number = [+-] ( digits [. [digits]] | . digits ) [ (e|E|d|D) [+-] digits ]  |  [+-] (nan | inf | infinity)
 * in any case of letters. Hexadecimal numbers are no numbers here. Never reads at or past `end`.
 * Writing: the shortest text that reads back as the same float or double (the nearest of these to the number).
 */
#ifndef TULLE_IO_NUMBER_H
#define TULLE_IO_NUMBER_H

#include <stdint.h>

typedef enum tulle__number {
    TULLE__NUMBER_OK,
    TULLE__NUMBER_NAN,
    TULLE__NUMBER_INF,       /* written as a word */
    TULLE__NUMBER_OVERFLOW,  /* a decimal beyond the largest: *value is +-inf (reals) or untouched (integers) */
    TULLE__NUMBER_UNDERFLOW, /* not zero, but *value is */
    TULLE__NUMBER_NONE,      /* no number here; *stop is the character that cannot be */
    TULLE__NUMBER_EXPONENT,  /* no digits after the exponent's letter; *stop as above */
} tulle__number;

/* Parses the longest number at [text, end); *stop is the first character after it. */
tulle__number tulle__number_f64(const char *text, const char *end, double *value, const char **stop);
tulle__number tulle__number_f32(const char *text, const char *end, float *value, const char **stop);

/* [+-] digits, exactly. */
tulle__number tulle__number_i64(const char *text, const char *end, int64_t *value, const char **stop);

/*
 * The double nearest to mantissa * 10^exponent. Returns 1 if *value is certain, 0 if only the
 * digits can decide.
 */
int tulle__number_scale(uint64_t mantissa, int exponent, double *value);

/* The float nearest to the number that rounded to `value`; 0 if the text must be parsed again. */
int tulle__number_narrow(double value, float *narrow);

enum { TULLE__NUMBER_TEXT = 32 }; /* characters that any of these may write, at most; no NUL is written */
char *tulle__number_write_f64(char *to, double value);
char *tulle__number_write_f32(char *to, float value);
char *tulle__number_write_i64(char *to, int64_t value);

#endif
