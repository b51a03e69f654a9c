/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of specs: `name:key=value,key=value` joined by `+`, outermost first, for instance
 * `check+net:latency=2us,bw=12G+threads`. The reader of a part asks for values by key, then refuses
 * keys that it did not read.
 */
#ifndef TULLE_BASE_SPEC_H
#define TULLE_BASE_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

enum { TULLE__SPEC_PARTS = 8, TULLE__SPEC_KEYS = 24, TULLE__SPEC_TEXT = 1024 };

typedef struct tulle__spec_part {
    const char *name;
    const char *key[TULLE__SPEC_KEYS];
    const char *value[TULLE__SPEC_KEYS]; /* NULL: a key without value */
    int used[TULLE__SPEC_KEYS];
    int nkeys;
} tulle__spec_part;

typedef struct tulle__spec {
    char text[TULLE__SPEC_TEXT]; /* storage of the parts' strings */
    tulle__spec_part part[TULLE__SPEC_PARTS];
    int nparts;
} tulle__spec;

/*
 * Parses text; TULLE_ERR_ARG names the position of an error. The spec must not be moved afterwards.
 */
tulle_status tulle__spec_parse(const char *text, tulle__spec *spec);

/*
 * Each leaves *value unchanged if the key is absent; TULLE_ERR_ARG if the value is malformed or
 * outside [low, high].
 */
tulle_status tulle__spec_int(tulle__spec_part *part, const char *key, int64_t low, int64_t high, int64_t *value);
tulle_status tulle__spec_real(tulle__spec_part *part, const char *key, double low, double high, double *value);
tulle_status tulle__spec_bytes(tulle__spec_part *part, const char *key, double *value);   /* 12G, 4K, 512 */
tulle_status tulle__spec_seconds(tulle__spec_part *part, const char *key, double *value); /* 2us, 10ms, 1 */
tulle_status tulle__spec_flag(tulle__spec_part *part, const char *key, int *value);       /* on, off, alone = on */
tulle_status tulle__spec_word(tulle__spec_part *part, const char *key, const char **value);

/* TULLE_ERR_ARG, with the nearest known key, if a key was not read. */
tulle_status tulle__spec_done(const tulle__spec_part *part, const char *const *known, int nknown);

/*
 * Numbers with units, also for options. Decimal factors K M G T (1000), binary Ki Mi Gi Ti;
 * seconds: s ms us ns.
 */
tulle_status tulle__parse_bytes(const char *text, const char *what, double *value);
tulle_status tulle__parse_seconds(const char *text, const char *what, double *value);
tulle_status tulle__parse_int(const char *text, const char *what, int64_t low, int64_t high, int64_t *value);
tulle_status tulle__parse_real(const char *text, const char *what, double low, double high, double *value);

/* The listed word nearest to `text` by edit distance; NULL: none is near. */
const char *tulle__nearest(const char *text, const char *const *words, int nwords);

/* True if two words are equal, ignoring case. */
int tulle__word_same(const char *a, const char *b);

/*
 * Adds to the message of a failure to find `name` the nearest name and the list. TULLE_ERR_ARG if a
 * name is near, else status.
 */
tulle_status tulle__name_unknown(tulle_status status, const char *name, const char *const *names, int count);

/*
 * The index of a name in a list, ignoring case. TULLE_ERR_ARG with `what`, the nearest name and the
 * list if it is unknown.
 */
tulle_status tulle__name_parse(const char *what, const char *name, const char *const *names, int count, int *found);

#endif
