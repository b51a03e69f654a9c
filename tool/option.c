/* SPDX-License-Identifier: Apache-2.0 */
#include "option.h"

#include <string.h>
#include <strings.h>

static int count(const struct option *table)
{
    int n = 0;
    while (table[n].name) n++;
    return n;
}

static int find(const struct options *o, const char *name)
{
    for (int i = 0; i < o->count; i++)
        if (strcmp(o->table[i].name, name) == 0) return i;
    return -1;
}

/* An option as scipy or PETSc calls it. */
static int find_foreign(const struct options *o, const char *name)
{
    static const char *const words[][2] = {{"rtol", "tol"}, {"atol", "absolute"}, {"max-it", "max-iterations"},
        {"maxiter", "max-iterations"}, {"x0", "guess"}, {"dtype", "type"}};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strcmp(words[w][0], name) == 0) return find(o, words[w][1]);
    return -1;
}

static tulle_status unknown(const struct options *o, const char *name)
{
    const char *names[OPTIONS_MAX];
    for (int i = 0; i < o->count; i++) names[i] = o->table[i].name;
    const char *near = tulle_nearest_word(name, names, o->count);
    return tulle_fail(TULLE_ERR_ARG, "unknown option --%s%s%s%s", name, near ? "; did you mean --" : "",
        near ? near : "", near ? "?" : "");
}

int same_word(const char *given, const char *word)
{
    return strcasecmp(given, word) == 0;
}

static tulle_status choose(const struct option *t, const char *text, char *choice)
{
    enum { WORDS = 12 };
    char copy[160], what[64];
    const char *words[WORDS];
    int n = 0, found;
    snprintf(copy, sizeof copy, "%s", t->argument);
    snprintf(what, sizeof what, "--%s", t->name);
    for (char *word = copy, *next; word && n < WORDS; word = next) {
        next = strchr(word, '|');
        if (next) *next++ = '\0';
        words[n++] = word;
    }
    tulle_status status = tulle_parse_word(text, what, words, n, &found);
    if (status == TULLE_OK) snprintf(choice, CHOICE_MAX, "%s", words[found]);
    return status;
}

static tulle_status set(struct options *o, int i, const char *text)
{
    const struct option *t = &o->table[i];
    char what[64];
    snprintf(what, sizeof what, "--%s", t->name);
    o->value[i].given = 1;
    o->value[i].word = text;
    if (t->kind == KIND_INT) return tulle_parse_int(text, what, t->low, t->high, &o->value[i].number);
    if (t->kind == KIND_CHOICE) {
        o->value[i].word = o->value[i].choice;
        return choose(t, text, o->value[i].choice);
    }
    if (t->kind != KIND_SIZE) return TULLE_OK;
    const tulle_status status = tulle_parse_bytes(text, what, &o->value[i].size);
    if (status != TULLE_OK || o->value[i].size >= 1) return status; /* 0 would be the default */
    return tulle_fail(TULLE_ERR_ARG, "%s: '%s' is less than a byte", what, text);
}

tulle_status options_parse(const struct option *table, int argc, char **argv, struct options *o)
{
    int only_operands = 0;
    *o = (struct options){.table = table, .count = count(table)};
    if (o->count > OPTIONS_MAX) return tulle_fail(TULLE_ERR_LIMIT, "%d options, %d at most", o->count, OPTIONS_MAX);
    for (int a = 0; a < argc; a++) {
        const char *word = argv[a], *value = NULL;
        char name[64];
        if (only_operands || word[0] != '-' || !word[1]) {
            if (o->noperands == OPERANDS_MAX) return tulle_fail(TULLE_ERR_ARG, "too many operands: '%s'", word);
            o->operand[o->noperands++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = 1;
            continue;
        }
        int i = -1;
        if (word[1] == '-') {
            size_t length = strcspn(word + 2, "=");
            snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
            if (word[2 + length]) value = word + 3 + length;
            i = find(o, name);
            if (i < 0) i = find_foreign(o, name);
            if (i < 0) return unknown(o, name);
        } else {
            for (int k = 0; k < o->count; k++)
                if (table[k].letter == word[1]) i = k;
            if (i < 0) return tulle_fail(TULLE_ERR_ARG, "unknown option %s", word);
            if (word[2]) value = word + 2;
        }
        if (table[i].kind == KIND_FLAG) {
            if (value) return tulle_fail(TULLE_ERR_ARG, "--%s takes no value", table[i].name);
            o->value[i].given = 1;
            continue;
        }
        if (!value && ++a < argc) value = argv[a];
        if (!value) return tulle_fail(TULLE_ERR_ARG, "--%s needs a value: %s", table[i].name, table[i].argument);
        tulle_status status = set(o, i, value);
        if (status != TULLE_OK) return status;
    }
    return TULLE_OK;
}

int options_has(const struct options *o, const char *name)
{
    return find(o, name) >= 0;
}

int options_flag(const struct options *o, const char *name)
{
    int i = find(o, name);
    return i >= 0 && o->value[i].given;
}

int64_t options_int(const struct options *o, const char *name, int64_t fallback)
{
    int i = find(o, name);
    return i >= 0 && o->value[i].given ? o->value[i].number : fallback;
}

double options_size(const struct options *o, const char *name, double fallback)
{
    int i = find(o, name);
    return i >= 0 && o->value[i].given ? o->value[i].size : fallback;
}

const char *options_word(const struct options *o, const char *name, const char *fallback)
{
    int i = find(o, name);
    return i >= 0 && o->value[i].given ? o->value[i].word : fallback;
}

const char **options_place(struct options *o, const char *name)
{
    int i = find(o, name);
    return i >= 0 && o->value[i].given ? &o->value[i].word : NULL;
}

tulle_status options_each(const char *list, tulle_status (*read)(const char *word, void *arg), void *arg)
{
    tulle_status status = TULLE_OK;
    for (const char *word = list; word && status == TULLE_OK; word = strchr(word, ',')) {
        char one[64];
        word += *word == ',';
        snprintf(one, sizeof one, "%.*s", (int)strcspn(word, ","), word);
        status = read(one, arg);
    }
    return status;
}
