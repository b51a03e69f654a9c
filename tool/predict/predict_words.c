/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/predict_words.h"

#include <stdio.h>
#include <string.h>

#include "verb.h"

static const char *const words[PREDICTED] = {"a product", "gemm", "eig", "lobpcg", "svd", "pca"};

enum {
    PRODUCT = 1 << PREDICT_PRODUCT,
    GEMM = 1 << PREDICT_GEMM,
    EIG = 1 << PREDICT_EIG,
    LOBPCG = 1 << PREDICT_LOBPCG,
    SINGULAR = 1 << PREDICT_SVD | 1 << PREDICT_PCA,
    SPECTRUM = EIG | LOBPCG | SINGULAR
};

/* Options that are not read for all. */
static const struct {
    const char *option;
    unsigned readers;
} readers[] = {{"cols", PRODUCT}, {"cyclic", PRODUCT}, {"cut", PRODUCT}, {"lookahead", PRODUCT}, {"transfers", PRODUCT},
    {"blocks", PRODUCT}, {"filter", PRODUCT}, {"estimate", PRODUCT}, {"grid", PRODUCT | GEMM},
    {"tiles", PRODUCT | GEMM}, {"device", PRODUCT | GEMM}, {"devices", PRODUCT | GEMM}, {"device-rate", PRODUCT | GEMM},
    {"node-pes", PRODUCT | GEMM}, {"size", GEMM}, {"m", GEMM}, {"n", GEMM}, {"k", GEMM}, {"count", SPECTRUM},
    {"tol", SPECTRUM}, {"block", SPECTRUM}, {"basis", SPECTRUM}, {"passes", SINGULAR}, {"which", EIG | LOBPCG},
    {"method", EIG}, {"degree", EIG}, {"bounds", EIG}, {"lenient", PRODUCT | SPECTRUM},
    {"zero-based", PRODUCT | SPECTRUM}, {"finite", PRODUCT | SPECTRUM}, {"drop-zeros", PRODUCT | SPECTRUM},
    {"assume", PRODUCT | SPECTRUM}, {"duplicates", PRODUCT | SPECTRUM}};

/* Options that these read with another one only, or only without it. */
static const struct {
    const char *option;
    unsigned readers;
    const char *other;
    int with;
} companions[] = {{"tiles", GEMM, "device", 1}, {"devices", PRODUCT | GEMM, "device", 1},
    {"device-rate", PRODUCT | GEMM, "device", 1}, {"estimate", PRODUCT, "cols", 0}};

enum predicted predict_what(const struct options *o)
{
    for (int w = PREDICT_GEMM; w < PREDICTED; w++)
        if (strcmp(o->operand[0], words[w]) == 0) return (enum predicted)w;
    return PREDICT_PRODUCT;
}

const char *predict_word(enum predicted what)
{
    return words[what];
}

static tulle_status refuse(enum predicted what, const char *option, unsigned of)
{
    char names[64] = "";
    for (int w = 0; w < PREDICTED; w++) {
        const size_t used = strlen(names);
        if (of >> w & 1) snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", words[w]);
    }
    return tulle_fail(TULLE_ERR_ARG, "predict %s%s does not read --%s, which is for %s",
        what == PREDICT_PRODUCT ? "of " : "", words[what], option, names);
}

static tulle_status check_companions(const struct options *o, enum predicted what)
{
    for (size_t c = 0; c < sizeof companions / sizeof *companions; c++) {
        const char *option = companions[c].option, *other = companions[c].other;
        if (!(companions[c].readers >> what & 1) || !options_flag(o, option)) continue;
        if (options_flag(o, other) != companions[c].with)
            return tulle_fail(TULLE_ERR_ARG, "predict of %s reads --%s with%s --%s only", words[what], option,
                companions[c].with ? "" : "out", other);
    }
    return TULLE_OK;
}

tulle_status predict_check_options(const struct options *o, enum predicted what)
{
    for (size_t r = 0; r < sizeof readers / sizeof *readers; r++)
        if (options_flag(o, readers[r].option) && !(readers[r].readers >> what & 1))
            return refuse(what, readers[r].option, readers[r].readers);
    return check_companions(o, what);
}
