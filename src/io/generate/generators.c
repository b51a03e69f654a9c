/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of synthetic matrices, and making one from its spec. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/generate/generator.h"

static const tulle__generator_kind *const kinds[] = {&tulle__generator_rmat, &tulle__generator_er,
    &tulle__generator_fem, &tulle__generator_stencil2d, &tulle__generator_stencil3d, &tulle__generator_band,
    &tulle__generator_circuit, &tulle__generator_nlpkkt, &tulle__generator_delaunay, &tulle__generator_shell,
    &tulle__generator_road, &tulle__generator_powergrid, &tulle__generator_nedelec, &tulle__generator_web,
    &tulle__generator_cliques, &tulle__generator_cantilever, &tulle__generator_cantilever_load, &tulle__generator_water,
    &tulle__generator_blocks, &tulle__generator_tightbinding, &tulle__generator_dense};

enum { KINDS = sizeof kinds / sizeof *kinds, KEYS = 16 };

static const char *const mode_names[TULLE__VALUES_COUNT] = {
    [TULLE__VALUES_RANDOM] = "random",
    [TULLE__VALUES_ONES] = "ones",
    [TULLE__VALUES_INTEGER] = "integer",
    [TULLE__VALUES_LAPLACE] = "laplace",
    [TULLE__VALUES_SPD] = "spd",
    [TULLE__VALUES_ELEMENTS] = "elements",
};

const char *tulle__generator_name(int i, const char **sentence)
{
    if (i < 0 || i >= KINDS) return NULL;
    if (sentence) *sentence = kinds[i]->sentence;
    return kinds[i]->name;
}

int tulle__generator_known(const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    for (int i = 0; i < KINDS; i++)
        if (tulle__word_same(kinds[i]->name, name)) return 1;
    return 0;
}

static tulle_status find_kind(const char *name, const tulle__generator_kind **kind)
{
    const char *names[KINDS];
    int found;
    for (int i = 0; i < KINDS; i++) names[i] = kinds[i]->name;
    TULLE_CALL(tulle__name_parse("generator", name, names, KINDS, &found));
    *kind = kinds[found];
    return TULLE_OK;
}

static tulle_status read_mode(tulle__spec_part *part, tulle__generator *g)
{
    const char *word = NULL;
    g->mode = g->kind->mode;
    TULLE_CALL(tulle__spec_word(part, "values", &word));
    if (!word) return TULLE_OK;
    int found;
    TULLE_CALL(tulle__name_parse("kind of values (values=)", word, mode_names, TULLE__VALUES_COUNT, &found));
    g->mode = (tulle__generator_mode)found;
    if (g->mode == TULLE__VALUES_LAPLACE && !g->kind->laplace)
        return tulle__fail(TULLE_ERR_ARG, "values=laplace is for stencils, not for '%s'", part->name);
    if (g->mode == TULLE__VALUES_ELEMENTS && !g->kind->element)
        return tulle__fail(
            TULLE_ERR_ARG, "values=elements is for cantilevers, molecules and tight binding, not for '%s'", part->name);
    if (g->mode == TULLE__VALUES_SPD && !g->symmetric)
        return tulle__fail(TULLE_ERR_ARG, "values=spd needs a symmetric pattern, which this '%s' has not", part->name);
    return TULLE_OK;
}

static tulle_status open_part(tulle__spec_part *part, tulle__generator *g)
{
    const char *keys[KEYS] = {"seed", "values"};
    int nkeys = 2;
    int64_t seed = 1;
    while (nkeys < KEYS && g->kind->keys[nkeys - 2]) {
        keys[nkeys] = g->kind->keys[nkeys - 2];
        nkeys++;
    }
    TULLE_CALL(tulle__spec_int(part, "seed", INT64_MIN, INT64_MAX, &seed));
    g->seed = (uint64_t)seed;
    g->pattern_seed = tulle__random_at(g->seed, 1, 0);
    g->value_seed = tulle__random_at(g->seed, 2, 0);
    /* a wrong key is reported before a missing one, which it may stand for */
    for (int i = 0; i < part->nkeys; i++) part->used[i] = 0;
    for (int i = 0; i < part->nkeys; i++)
        for (int k = 0; k < nkeys; k++) part->used[i] |= strcmp(part->key[i], keys[k]) == 0;
    TULLE_CALL(tulle__spec_done(part, keys, nkeys));
    TULLE_CALL(g->kind->open(part, g));
    return read_mode(part, g);
}

tulle_status tulle__generator_open(const char *text, tulle__generator **generator)
{
    tulle__generator *g = NULL;
    tulle__spec *spec = NULL;
    const tulle__generator_kind *kind = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc(1, sizeof *spec, "a spec", &spec));
    TULLE_TRY(tulle__spec_parse(text, spec));
    if (spec->nparts != 1)
        TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "the spec of a matrix has one part, '%s' has %d", text, spec->nparts));
    TULLE_TRY(find_kind(spec->part[0].name, &kind));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *g, "a generator", &g));
    g->kind = kind;
    g->nnz = -1;
    TULLE_TRY(open_part(&spec->part[0], g));
    *generator = g;
    g = NULL;
out:
    tulle__generator_close(g);
    tulle__free(spec);
    return status;
}

void tulle__generator_close(tulle__generator *generator)
{
    if (!generator) return;
    if (generator->kind->close) generator->kind->close(generator);
    tulle__free(generator);
}
