/* SPDX-License-Identifier: Apache-2.0 */
/* What slabs are made of: what was asked for, or what takes fewest bytes of the link. */
#include <inttypes.h>
#include <stdio.h>

#include "algo/stream/stream.h"
#include "base/error.h"
#include "base/spec.h"
#include "mat/blocks.h"
#include "mat/context.h"

enum { LARGEST_BLOCK = 64, EITHER = -1 };

/* ---- what is asked for ---- */

struct wanted {
    int as_it_lies, chosen; /* csr alone; auto */
    int64_t block;          /* 0: what suits */
    int half;               /* EITHER: if the matrix is symmetric */
    int64_t index_bytes;    /* 0: 2 where that does */
    tulle_type values;
};

static tulle_status parse_values(tulle__spec_part *part, tulle_type type, tulle_type *values)
{
    static const char *const names[] = {"f32", "f64"};
    static const tulle_type types[] = {TULLE_F32, TULLE_F64};
    const char *word = NULL;
    int which;
    *values = type;
    tulle_status status = tulle__spec_word(part, "values", &word);
    if (status != TULLE_OK || !word) return status;
    status = tulle__name_parse("type of values", word, names, 2, &which);
    if (status != TULLE_OK) return status;
    *values = types[which];
    if (*values == TULLE_F64 && type == TULLE_F32)
        return tulle__fail(TULLE_ERR_ARG, "values=f64 for a matrix of f32 values");
    return TULLE_OK;
}

static tulle_status parse(const char *text, tulle_type type, struct wanted *w)
{
    static const char *const names[] = {"auto", "csr", "bsr"}, *const keys[] = {"b", "half", "index", "values"};
    enum { AUTO, CSR, BSR };
    tulle__spec spec;
    int name;
    tulle_status status;
    *w = (struct wanted){.as_it_lies = 1, .values = type};
    if (!text) return TULLE_OK;
    TULLE_TRY(tulle__spec_parse(text, &spec));
    if (spec.nparts != 1) TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "'%s' is not one format", text));
    tulle__spec_part *part = &spec.part[0];
    TULLE_TRY(tulle__name_parse("format", part->name, names, 3, &name));
    *w = (struct wanted){.as_it_lies = name == CSR && part->nkeys == 0,
        .chosen = name == AUTO,
        .block = name == CSR,
        .half = name == AUTO ? EITHER : 0};
    if (name == BSR) TULLE_TRY(tulle__spec_int(part, "b", 1, LARGEST_BLOCK, &w->block));
    TULLE_TRY(tulle__spec_flag(part, "half", &w->half));
    TULLE_TRY(tulle__spec_int(part, "index", 2, 4, &w->index_bytes));
    if (w->index_bytes == 3) TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "index=3: column indices have 2 or 4 bytes"));
    TULLE_TRY(parse_values(part, type, &w->values));
    status = name == BSR ? tulle__spec_done(part, keys, 4) : tulle__spec_done(part, keys + 1, 3);
out:
    return status;
}

/* ---- what suits ---- */

struct look {
    const tulle__tile_row *rows;
    tulle__blocks_facts *facts; /* [nthreads] */
};

static tulle_status look_at_part(void *arg, int thread, int nthreads)
{
    struct look *look = arg;
    tulle__csr csr;
    tulle__tile_row part;
    int64_t m = look->rows->m;
    tulle__blocks_part(look->rows, m * thread / nthreads, m * (thread + 1) / nthreads, &csr, &part);
    tulle__blocks_look(&part, &look->facts[thread]);
    return TULLE_OK;
}

/* Of the tiles of this PE, by its threads. */
static tulle_status look_here(const struct tulle_stream *s, tulle__blocks_facts *here)
{
    tulle__context *context = NULL;
    tulle__blocks_facts *facts = NULL;
    int nthreads, none = 1;
    tulle_status status;
    TULLE_TRY(tulle__context_get(s->comm, &context));
    nthreads = tulle__pool_size(context->pool);
    TULLE_TRY(tulle__alloc((size_t)nthreads, sizeof *facts, "facts of blocks", &facts));
    *here = (tulle__blocks_facts){0};
    for (int i = 0; i < s->A->layout->mt; i++) {
        if (!tulle__tile_is_mine(s->A, i, 0)) continue;
        tulle_tile tile = tulle__tile_in_place(s->A, i, 0);
        tulle__csr csr = tulle__tile_csr(&tile);
        tulle_gidx left = 0;
        tulle__tile_row rows = {.type = s->type,
            .first = s->A->layout->row_cut[i],
            .m = csr.m,
            .n = s->n,
            .ntiles = 1,
            .tile = &csr,
            .col = &left};
        TULLE_TRY(tulle__pool_run(context->pool, look_at_part, &(struct look){.rows = &rows, .facts = facts}));
        for (int t = 0; t < nthreads; t++, none = 0)
            if (none)
                *here = facts[t];
            else
                tulle__blocks_join(here, &facts[t]);
    }
out:
    tulle__free(facts);
    return status;
}

/* Collective: of all rows. */
static tulle_status look(const struct tulle_stream *s, tulle__blocks_facts *facts)
{
    tulle__blocks_facts here, *all = NULL;
    tulle_status status = look_here(s, &here);
    if (status == TULLE_OK) status = tulle__alloc((size_t)s->comm->size, sizeof *all, "facts of blocks", &all);
    TULLE_TRY(tulle_comm_agree(s->comm, status));
    TULLE_TRY(tulle_comm_allgather(s->comm, &here, sizeof here, all));
    *facts = all[0];
    for (int p = 1; p < s->comm->size; p++) tulle__blocks_join(facts, &all[p]);
    for (int b = 2; b <= TULLE__BLOCKS_MOST; b++)
        if (s->m % b) facts->blocks[b] = TULLE__BLOCKS_NONE;
out:
    tulle__free(all);
    return status;
}

/*
 * Where slabs are read in place half of the bytes is only worth a kernel that also writes: of single entries, for few
 * columns.
 */
static int half_pays(const struct tulle_stream *s, int block)
{
    enum { FEW = 4 };
    int in_place = s->device->ops->borrow && !s->options.slabs && !s->options.memory;
    return !in_place || block > 1 || s->options.cols <= FEW;
}

/* Collective, for all PEs alike. */
static tulle_status choose(struct tulle_stream *s, const struct wanted *w)
{
    static const double worth_it = 0.9;
    tulle__blocks_facts facts;
    tulle__stream_format *f = &s->format;
    tulle_status status = look(s, &facts);
    if (status != TULLE_OK) return status;
    int symmetric = s->m == s->n && tulle__blocks_symmetric(&facts);
    if (w->half == 1 && !symmetric)
        return tulle__fail(TULLE_ERR_ARG, "half of a matrix that is not symmetric, bit by bit, cannot stand for it");
    f->block = w->block ? (int)w->block : tulle__blocks_size(&facts, w->values);
    f->symmetric = w->half == EITHER ? symmetric && half_pays(s, f->block) : w->half;
    if (!w->chosen) return TULLE_OK;
    size_t block = (size_t)(f->block * f->block) * tulle_type_size(w->values) + sizeof(int32_t);
    double bytes = (double)tulle__blocks_estimate(&facts, f->block) * (double)block / (f->symmetric ? 2 : 1);
    f->packed = bytes < worth_it * (double)facts.nnz * (double)(tulle_type_size(s->type) + sizeof(int32_t));
    return TULLE_OK;
}

static tulle_status whole_blocks(const struct tulle_stream *s)
{
    if (s->m % s->format.block == 0 && s->n % s->format.block == 0) return TULLE_OK;
    return tulle__fail(
        TULLE_ERR_ARG, "%" PRId64 " x %" PRId64 " is not cut into whole blocks of %d", s->m, s->n, s->format.block);
}

tulle_status tulle__stream_choose_format(struct tulle_stream *s)
{
    struct wanted w;
    tulle_status status = parse(s->options.format, s->type, &w);
    if (status == TULLE_OK && s->rows && !w.as_it_lies && !w.chosen)
        status = tulle__fail(TULLE_ERR_UNSUPPORTED, "a file streams in the format that it is written in");
    TULLE_TRY(tulle_comm_agree(s->comm, status));
    s->format = (tulle__stream_format){.block = w.block > 0 ? (int)w.block : 1,
        .symmetric = w.half == 1,
        .packed = !w.as_it_lies && !s->rows,
        .values = w.values};
    if (s->format.packed && (!w.block || w.half)) TULLE_TRY(choose(s, &w));
    if (s->format.packed)
        s->format.index_bytes = (int)w.index_bytes;
    else
        s->format = (tulle__stream_format){.block = 1, .index_bytes = sizeof(int32_t), .values = s->type};
    status = whole_blocks(s); /* the same on all PEs */
out:
    return status;
}

const char *tulle__stream_format_text(const tulle__stream_format *f, char *text, size_t size)
{
    char block[32] = "csr";
    if (f->block > 1) snprintf(block, sizeof block, "bsr %d x %d", f->block, f->block);
    snprintf(text, size, "%s%s, %s, %d-byte columns", block, f->symmetric ? ", half" : "", tulle_type_name(f->values),
        f->index_bytes);
    return text;
}
