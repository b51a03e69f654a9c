/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing of words and numbers as in Tulle's own specs, for programs that take such options. Not
 * collective.
 */
#ifndef TULLE_WORDS_H
#define TULLE_WORDS_H

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * `what` names the value in the message of TULLE_ERR_ARG. Size suffixes: K M G T are decimal, Ki Mi
 * Gi Ti binary.
 */
TULLE_API tulle_status tulle_parse_int(const char *text, const char *what, int64_t low, int64_t high, int64_t *value);
TULLE_API tulle_status tulle_parse_real(const char *text, const char *what, double low, double high, double *value);
TULLE_API tulle_status tulle_parse_bytes(const char *text, const char *what, double *value);
TULLE_API tulle_status tulle_parse_type(const char *text, tulle_type *type);

/*
 * The index of text in words, ignoring case; the message of TULLE_ERR_ARG has the nearest word and
 * all words.
 */
TULLE_API tulle_status tulle_parse_word(
    const char *text, const char *what, const char *const *words, int nwords, int *found);

/* The word of the list nearest to text by edit distance, NULL if none is near. */
TULLE_API const char *tulle_nearest_word(const char *text, const char *const *words, int nwords);

/* TULLE_ERR_ARG (or another failure) with the caller's message, for bodies of teams. */
TULLE_API tulle_status tulle_fail(tulle_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
