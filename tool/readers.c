/* SPDX-License-Identifier: Apache-2.0 */
#include "readers.h"

#include <string.h>
#include <strings.h>

#define ASYNCHRONOUS "stationary-c,stationary-a,stationary-b,steal-random-a,steal-local-a,steal-local-c"
#define FETCH_B "stationary-c,stationary-a,steal-random-a,steal-local-a,steal-local-c"

/* Options of products with a sparse A; of all products. */
#define OF_SPARSE(verb)                                                                                                \
    {                                                                                                                  \
        verb, "transfers", "alg", FETCH_B, NULL, "whole", 0                                                            \
    }
#define OF_PRODUCTS(verb)                                                                                              \
    {verb, "no-offset", "alg", ASYNCHRONOUS, NULL, NULL, 0}, {verb, "lookahead", "alg", ASYNCHRONOUS, NULL, "0", 0},   \
        {verb, "replication", "alg", ASYNCHRONOUS, NULL, NULL, 1},                                                     \
        {verb, "resident", "alg", "stationary-c", "device", NULL, 1},                                                  \
        {verb, "devices", NULL, NULL, "device", NULL, 0},                                                              \
    {                                                                                                                  \
        verb, "pin", NULL, NULL, "device", NULL, 0                                                                     \
    }

/* Options of solve that least squares have not. */
#define OF_SYSTEMS(option)                                                                                             \
    {                                                                                                                  \
        "solve", option, "method", "cg,gmres,block-cg,minres", NULL, NULL, 0                                           \
    }

static const struct reader readers[] = {
    OF_SPARSE("spmm"),
    OF_PRODUCTS("spmm"),
    OF_SPARSE("spgemm"),
    {"spgemm", "filter", NULL, NULL, "blocks", NULL, 0},
    {"spgemm", "symmetric-c", NULL, NULL, "blocks", NULL, 0},
    {"spgemm", "half", NULL, NULL, "blocks", NULL, 0},
    OF_PRODUCTS("spgemm"),
    {"gemm", "block", "alg", "stationary-c", "device", NULL, 0},
    {"gemm", "host-block", "alg", "stationary-c", "device", NULL, 0},
    {"gemm", "chunk", "alg", "stationary-c", "device", NULL, 0},
    OF_PRODUCTS("gemm"),
    {"trisolve", "chunk", "method", "chunked", NULL, NULL, 0},
    {"trisolve", "tasks", "method", "push,unified-tasks,zerocopy", NULL, NULL, 0},
    {"trisolve", "solves", "method", "auto,serial,chunked", NULL, NULL, 0},
    {"trisolve", "elimination", "from", "lu,cholesky", NULL, NULL, 0},
    {"trisolve", "library", "from", "lu,cholesky", NULL, NULL, 0},
    {"solve", "restart", "method", "gmres", NULL, NULL, 0},
    {"solve", "width", "method", "block-cg,minres,lsqr,lsmr", NULL, NULL, 0},
    {"solve", "damp", "method", "lsqr,lsmr", NULL, NULL, 0},
    {"solve", "gradient", "method", "lsqr,lsmr", NULL, NULL, 0},
    {"solve", "max-condition", "method", "lsqr,lsmr", NULL, NULL, 0},
    OF_SYSTEMS("precond"),
    OF_SYSTEMS("permute"),
    OF_SYSTEMS("device"),
    OF_SYSTEMS("format"),
    OF_SYSTEMS("budget"),
    OF_SYSTEMS("slabs"),
    OF_SYSTEMS("ring"),
    OF_SYSTEMS("overlap"),
    {"eig", "degree", "method", "chebyshev", NULL, NULL, 0},
    {"matfun", "combine", "method", "submatrix", NULL, NULL, 0},
    {"matfun", "precision", "method", "submatrix", NULL, NULL, 0},
    {"matfun", "device", "method", "submatrix", NULL, NULL, 0},
    {"matfun", "order", "method", "newton-schulz", NULL, NULL, 0},
    {"density", "nonorthogonal", "method", "submatrix", NULL, NULL, 0},
    {"density", "kT", "method", "submatrix", NULL, NULL, 0},
    {"density", "precision", "method", "submatrix", NULL, NULL, 0},
    {"density", "device", "method", "submatrix", NULL, NULL, 0},
    {"density", "order", "method", "newton-schulz", NULL, NULL, 0},
};
enum { READERS = sizeof readers / sizeof *readers };

/* Options that nothing reads beside another one, given (value NULL) or of this value. */
static const struct {
    const char *verb, *option, *beside, *value;
} apart[] = {
    {"spgemm", "unordered", "top", NULL},
    {"spgemm", "unordered", "above", NULL},
    {"spgemm", "unordered", "cosine", NULL},
    {"spgemm", "unordered", "blocks", NULL},
    {"spgemm", "unordered", "resident", "device"},
    {"gemm", "block", "pin", "off"},
    {"gemm", "host-block", "pin", "off"},
    {"gemm", "chunk", "pin", "off"},
    {"gemm", "block", "resident", "device"},
    {"gemm", "host-block", "resident", "device"},
    {"gemm", "chunk", "resident", "device"},
};

const struct reader *reader_of(const char *verb, int i)
{
    for (int r = 0; r < READERS; r++)
        if (strcmp(readers[r].verb, verb) == 0 && i-- == 0) return &readers[r];
    return NULL;
}

/* A list with commas; a line that would be too long breaks behind one. */
static void print_list(const char *words, int column, FILE *file)
{
    enum { LAST = 78, INDENT = 6 };
    for (const char *at = words; *at;) {
        const int n = (int)strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
        if (column + n > LAST) column = fprintf(file, "\n%*s", INDENT, "") - 1;
        column += fprintf(file, "%.*s", n, at);
        at += n;
    }
}

void readers_print(const char *verb, int mdoc, FILE *file)
{
    const struct reader *r = reader_of(verb, 0);
    if (!r) return;
    fprintf(file, mdoc ? ".Ss Read by some only\n.Bl -tag -width Ds\n" : "\nRead by some only:\n");
    for (int i = 0; (r = reader_of(verb, i)); i++) {
        int column = fprintf(file, mdoc ? ".It Fl Fl %s\n" : "  --%s:", r->option);
        if (r->by) column += fprintf(file, "%s--%s ", mdoc ? "" : " ", r->by);
        if (r->by) print_list(r->words, column, file);
        if (r->with) fprintf(file, "%swith --%s", r->by ? ", " : mdoc ? "" : " ", r->with);
        if (r->all) fprintf(file, "; %s by all", r->all);
        fputc('\n', file);
    }
    if (mdoc) fprintf(file, ".El\n");
}

/* True if a word, in any case, is in a list with commas. */
static int listed(const char *words, const char *word, size_t n)
{
    for (const char *at = words; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ",") == n && strncasecmp(at, word, n) == 0) return 1;
    }
    return 0;
}

/* Given with another value than the one that it has without. */
static int is_given(const struct options *o, const char *name, const char *all)
{
    for (int i = 0; i < o->count; i++) {
        if (strcmp(o->table[i].name, name) != 0 || !o->value[i].given) continue;
        if (o->table[i].kind == KIND_FLAG || !o->value[i].word) return 1;
        if (same_word(o->value[i].word, "auto") || (all && same_word(o->value[i].word, all))) return 0;
        return !o->table[i].fallback || !same_word(o->value[i].word, o->table[i].fallback);
    }
    return 0;
}

static int is_asked(const struct options *o, const struct reader *r)
{
    return is_given(o, r->option, r->all);
}

static const struct reader *unread(
    const struct options *o, const char *verb, const char *by, const char *word, size_t n)
{
    const struct reader *r;
    for (int i = 0; (r = reader_of(verb, i)); i++)
        if (r->by && strcmp(r->by, by) == 0 && is_asked(o, r) && !listed(r->words, word, n)) return r;
    return NULL;
}

const struct reader *unread_by(const struct options *o, const char *verb, const char *by, const char *word)
{
    return unread(o, verb, by, word, strlen(word));
}

/* "--chunk is read by --method chunked only, not by levels" */
static tulle_status refuse(const struct reader *r, const char *word, size_t n)
{
    return tulle_fail(
        TULLE_ERR_ARG, "--%s is read by --%s %s only, not by %.*s", r->option, r->by, r->words, (int)n, word);
}

/* The first word of a row that reads all options given. */
static const char *first_reader(const struct options *o, const char *verb, const struct reader *row, size_t *n)
{
    for (const char *at = row->words; at; at = strchr(at, ',')) {
        at += *at == ',';
        *n = strcspn(at, ",");
        if (!unread(o, verb, row->by, at, *n)) return at;
    }
    return NULL;
}

/* Refuses `auto` and `all` unless some algorithm reads all options given. */
static tulle_status check_any(const struct options *o, const char *verb, const char *by)
{
    const struct reader *r, *first = NULL;
    size_t n;
    for (int i = 0; (r = reader_of(verb, i)); i++) {
        if (!r->by || strcmp(r->by, by) != 0 || !is_asked(o, r)) continue;
        if (!first) first = r;
        if (!first_reader(o, verb, r, &n))
            return tulle_fail(TULLE_ERR_ARG, "--%s is read by --%s %s, and --%s by %s: none reads both", first->option,
                by, first->words, r->option, r->words);
    }
    return TULLE_OK;
}

/* Refuses an option beside one with which nothing reads it. */
static tulle_status check_apart(const struct options *o, const char *verb)
{
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        const char *beside = apart[i].beside, *value = apart[i].value;
        if (strcmp(apart[i].verb, verb) != 0 || !is_given(o, apart[i].option, NULL) || !is_given(o, beside, NULL) ||
            (value && !same_word(options_word(o, beside, ""), value)))
            continue;
        return tulle_fail(TULLE_ERR_ARG, "--%s is not read with --%s%s%s: omit one of them", apart[i].option, beside,
            value ? " " : "", value ? value : "");
    }
    return TULLE_OK;
}

tulle_status check_readers(const struct options *o, const char *verb, const char *by, const char *fallback)
{
    const struct reader *r;
    const tulle_status alone = check_apart(o, verb);
    if (alone != TULLE_OK) return alone;
    const char *given = options_word(o, by, fallback);
    for (int i = 0; (r = reader_of(verb, i)); i++)
        if (r->with && is_asked(o, r) && !options_flag(o, r->with))
            return tulle_fail(TULLE_ERR_ARG, "--%s is read with --%s only%s: give --%s as well", r->option, r->with,
                strcmp(r->with, "device") == 0 ? ", by products on devices" : "", r->with);
    for (const char *word = given; word; word = strchr(word, ',')) {
        word += *word == ',';
        const size_t n = strcspn(word, ",");
        if ((n == 4 && strncasecmp(word, "auto", n) == 0) || (n == 3 && strncasecmp(word, "all", n) == 0)) {
            const tulle_status status = check_any(o, verb, by);
            if (status != TULLE_OK) return status;
        } else if ((r = unread(o, verb, by, word, n))) {
            return refuse(r, word, n);
        }
    }
    return TULLE_OK;
}

const char *chosen_word(const struct options *o, const char *verb, const char *by, const char *fallback, char word[32])
{
    const struct reader *r;
    const char *given = options_word(o, by, fallback);
    size_t n;
    if (!same_word(given, "auto") || !unread_by(o, verb, by, "auto")) return given;
    for (int i = 0; (r = reader_of(verb, i)); i++) {
        if (!r->by || strcmp(r->by, by) != 0 || !is_asked(o, r)) continue;
        const char *found = first_reader(o, verb, r, &n);
        if (!found) continue;
        snprintf(word, 32, "%.*s", (int)n, found);
        return word;
    }
    return given;
}
