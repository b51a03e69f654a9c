/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/block_sizes.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/budget.h>

enum { WORD_MOST = 4096 };

/* The d-th word of the list; the first where there are fewer. */
static tulle_status word_of(const char *list, int d, char word[WORD_MOST])
{
    const char *at = list;
    for (; d > 0 && (at = strchr(at, ',')); d--) at++;
    if (!at) at = list;
    size_t length = strcspn(at, ",");
    if (!length || length >= WORD_MOST) return tulle_fail(TULLE_ERR_ARG, "--blocks has an empty name, or a long one");
    memcpy(word, at, length);
    word[length] = '\0';
    return TULLE_OK;
}

static tulle_status append(tulle_gidx **cut, tulle_gidx *count, tulle_gidx end)
{
    if ((*count & (*count + 1)) == 0) { /* room for a power of two, less one, and the first cut */
        tulle_gidx *more = realloc(*cut, (size_t)(2 * *count + 2) * sizeof **cut);
        if (!more) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for block sizes");
        *cut = more;
        if (!*count) (*cut)[0] = 0;
    }
    (*cut)[++*count] = end;
    return TULLE_OK;
}

/* Blocks of `size`; the last has the rest. Refuses more than the PEs have memory for. */
static tulle_status even_cuts(tulle_gidx n, tulle_gidx size, int pes, tulle_gidx **cut, tulle_gidx *count)
{
    const double COPIES = 3; /* this one's room, and those of layouts */
    const double bytes = COPIES * sizeof **cut * ((double)n / (double)size) * pes;
    tulle_status status = bytes < (double)tulle_memory_free()
                              ? TULLE_OK
                              : tulle_fail(TULLE_ERR_LIMIT,
                                    "--blocks: the cuts of %" PRId64 " rows or columns into blocks of %" PRId64
                                    " take %.3g GB on all PEs",
                                    n, size, 1e-9 * bytes);
    for (tulle_gidx at = 0; at < n && status == TULLE_OK; at += size)
        status = append(cut, count, n - at < size ? n : at + size);
    return status;
}

static tulle_status read_sizes(FILE *file, const char *path, tulle_gidx n, tulle_gidx **cut, tulle_gidx *count)
{
    char line[256], *rest;
    tulle_gidx end = 0;
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        char *text = line + strspn(line, " \t\r\n");
        if (!*text || *text == '#') continue;
        errno = 0;
        long long size = strtoll(text, &rest, 10);
        if (errno || rest == text || rest[strspn(rest, " \t\r\n")] || size < 1)
            return tulle_fail(
                TULLE_ERR_FORMAT, "%s:%d: the size of a block is a whole number, at least 1", path, number);
        if (size > n - end)
            return tulle_fail(TULLE_ERR_FORMAT, "%s:%d: the blocks reach beyond the %" PRId64 " indices that there are",
                path, number, n);
        end += size;
        tulle_status status = append(cut, count, end);
        if (status != TULLE_OK) return status;
    }
    if (ferror(file)) return tulle_fail(TULLE_ERR_IO, "%s: reading failed", path);
    return end == n ? TULLE_OK
                    : tulle_fail(TULLE_ERR_FORMAT, "%s: the sizes add up to %" PRId64 ", not %" PRId64, path, end, n);
}

static tulle_status cuts_of(const char *word, tulle_gidx n, int known, int pes, tulle_gidx **cut, tulle_gidx *count)
{
    char *rest;
    if (same_word(word, "auto"))
        return known ? even_cuts(n, known, pes, cut, count)
                     : tulle_fail(TULLE_ERR_ARG, "--blocks is required: the size of blocks, or a file of sizes. Only "
                                                 "generators of blocks know it (--blocks auto)");
    long long size = strtoll(word, &rest, 10);
    if (!*rest && size < 1) return tulle_fail(TULLE_ERR_ARG, "--blocks: a block is at least 1 wide, not %s", word);
    if (!*rest) return even_cuts(n, size, pes, cut, count);
    FILE *file = fopen(word, "r");
    if (!file) return tulle_fail(TULLE_ERR_IO, "--blocks: %s: %s", word, strerror(errno));
    tulle_status status = read_sizes(file, word, n, cut, count);
    fclose(file);
    return status;
}

/* One direction: PE 0 reads, others receive. */
static tulle_status read_direction(
    const char *list, tulle_comm *comm, int d, tulle_gidx n, int known, struct block_sizes *sizes)
{
    char word[WORD_MOST];
    tulle_gidx *count = &sizes->cut[d].count, **cut = &sizes->workspace[d];
    tulle_status status = TULLE_OK;
    int lead = tulle_comm_rank(comm) == 0;
    if (lead) status = word_of(list, d, word);
    if (lead && status == TULLE_OK) status = cuts_of(word, n, known, tulle_comm_size(comm), cut, count);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_broadcast(comm, 0, count, sizeof *count);
    if (status != TULLE_OK) return status;
    size_t bytes = (size_t)(*count + 1) * sizeof **cut;
    if (!*cut && (*cut = calloc(1, bytes)) == NULL) status = tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_broadcast(comm, 0, *cut, bytes);
    sizes->cut[d].cut = *cut;
    return status;
}

tulle_status block_sizes_read(
    const char *list, int most, tulle_comm *comm, const tulle_gidx n[3], const int known[3], struct block_sizes *sizes)
{
    tulle_status status = TULLE_OK;
    char *rest;
    int words = 1;
    memset(sizes, 0, sizeof *sizes);
    if (!list) return TULLE_OK;
    for (const char *at = list; (at = strchr(at, ',')); at++) words++;
    if (words > most)
        return tulle_fail(TULLE_ERR_ARG,
            "--blocks has %d words, and at most %d are read here: %s; sizes that differ from block to block come from "
            "a file",
            words, most, most == 1 ? "for rows and columns alike" : "for rows and for columns");
    long long size = same_word(list, "auto") && known[0] == known[1] ? known[0] : strtoll(list, &rest, 10);
    if (!same_word(list, "auto") && *rest) size = 0;
    if (size > 0 && size <= INT32_MAX && n[0] % size == 0 && n[1] % size == 0) sizes->even = (int)size;
    for (int d = 0; d < 3 && status == TULLE_OK; d++) status = read_direction(list, comm, d, n[d], known[d], sizes);
    return status;
}

void block_sizes_free(struct block_sizes *sizes)
{
    for (int d = 0; d < 3; d++) free(sizes->workspace[d]);
    memset(sizes, 0, sizeof *sizes);
}

tulle_status block_sizes_ones(tulle_gidx n, tulle_block_cuts *cuts, tulle_gidx **workspace)
{
    *workspace = malloc((size_t)(n + 1) * sizeof **workspace);
    if (!*workspace) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for cuts");
    for (tulle_gidx i = 0; i <= n; i++) (*workspace)[i] = i;
    *cuts = (tulle_block_cuts){n, *workspace};
    return TULLE_OK;
}

bool block_flag(const struct options *o, const char *name)
{
    return options_has(o, name) && options_flag(o, name);
}

tulle_status filter_option(const struct options *o, double *filter)
{
    static const char *const flags[] = {"symmetric-c", "half"};
    for (int f = 0; f < 2; f++)
        if (block_flag(o, flags[f]) && !options_word(o, "blocks", NULL))
            return tulle_fail(TULLE_ERR_ARG, "--%s is for matrices of blocks: give --blocks as well", flags[f]);
    const char *text = options_has(o, "filter") ? options_word(o, "filter", NULL) : NULL;
    char *rest;
    *filter = 0;
    if (!text) return TULLE_OK;
    *filter = strtod(text, &rest);
    if (rest == text || *rest || !(*filter >= 0) || *filter > DBL_MAX)
        return tulle_fail(TULLE_ERR_ARG, "--filter is a norm, at least 0, not '%s'", text);
    if (!options_word(o, "blocks", NULL))
        return tulle_fail(TULLE_ERR_ARG, "--filter is for matrices of blocks: give --blocks as well");
    return TULLE_OK;
}

tulle_status block_sizes_known(
    const struct options *o, const tulle_read_options *reading, int sparse, tulle_comm *comm, int known[3])
{
    tulle_operand_shape shape[2] = {{.m = 0}};
    tulle_status status = tulle_operand_inspect(o->operand[0], reading, &shape[0]);
    shape[1] = shape[0];
    if (status == TULLE_OK && sparse && o->noperands > 1)
        status = tulle_operand_inspect(o->operand[1], reading, &shape[1]);
    known[0] = known[1] = shape[0].block;
    known[2] = shape[1].block;
    if (shape[0].block != shape[1].block) known[1] = 0; /* the inner indices are both's */
    return tulle_comm_agree(comm, status);
}
