/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/blocks/block_format.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/spec.h"
#include "mat/context.h"

/* ---- parsing ---- */

static tulle_status parse_values(tulle__spec_part *part, tulle_type type, tulle_type *values)
{
    static const char *const names[] = {"f32", "f64"};
    static const tulle_type types[] = {TULLE_F32, TULLE_F64};
    const char *word = NULL;
    int which;
    *values = type;
    TULLE_CALL(tulle__spec_word(part, "values", &word));
    if (!word) return TULLE_OK;
    TULLE_CALL(tulle__name_parse("type of values", word, names, 2, &which));
    *values = types[which];
    if (*values == TULLE_F64 && type == TULLE_F32)
        return tulle__fail(TULLE_ERR_ARG, "values=f64 would widen a matrix of f32 values");
    return TULLE_OK;
}

tulle_status tulle__block_wanted_parse(const char *text, tulle_type type, tulle__block_wanted *w)
{
    static const char *const names[] = {"auto", "csr", "bsr"}, *const keys[] = {"b", "half", "index", "values"};
    enum { AUTO, CSR, BSR };
    tulle__spec spec;
    int name;
    int64_t index_bytes = 0;
    *w = (tulle__block_wanted){.plain = 1, .bare = 1, .block = 1, .values = type};
    if (!text) return TULLE_OK;
    TULLE_CALL(tulle__spec_parse(text, &spec));
    if (spec.nparts != 1) return tulle__fail(TULLE_ERR_ARG, "'%s' is not a single format", text);
    tulle__spec_part *part = &spec.part[0];
    TULLE_CALL(tulle__name_parse("format", part->name, names, 3, &name));
    *w = (tulle__block_wanted){.plain = name == CSR && part->nkeys == 0,
        .automatic = name == AUTO,
        .bare = part->nkeys == 0,
        .block = name == CSR,
        .half = name == AUTO ? TULLE__EITHER : 0};
    if (name == BSR) TULLE_CALL(tulle__spec_int(part, "b", 1, TULLE__BLOCK_LARGEST, &w->block));
    TULLE_CALL(tulle__spec_flag(part, "half", &w->half));
    TULLE_CALL(tulle__spec_int(part, "index", 2, 4, &index_bytes));
    w->index_bytes = (int)index_bytes;
    if (w->index_bytes == 3) return tulle__fail(TULLE_ERR_ARG, "index=3: column indices have 2 or 4 bytes");
    TULLE_CALL(parse_values(part, type, &w->values));
    return name == BSR ? tulle__spec_done(part, keys, 4) : tulle__spec_done(part, keys + 1, 3);
}

/* ---- choosing ---- */

struct inspect {
    const tulle__tile_row *rows;
    tulle__blocks_facts *facts; /* [nthreads] */
};

static tulle_status inspect_part(void *arg, int thread, int nthreads)
{
    struct inspect *inspect = arg;
    tulle__csr csr;
    tulle__tile_row part;
    int64_t m = inspect->rows->m;
    tulle__blocks_part(inspect->rows, m * thread / nthreads, m * (thread + 1) / nthreads, &csr, &part);
    tulle__blocks_inspect(&part, &inspect->facts[thread]);
    return TULLE_OK;
}

tulle_status tulle__block_inspect(tulle__pool *pool, const tulle__tile_row *rows, tulle__blocks_facts *facts)
{
    int nthreads = tulle__pool_size(pool);
    struct inspect inspect = {.rows = rows};
    tulle_status status = tulle__alloc((size_t)nthreads, sizeof *inspect.facts, "block statistics", &inspect.facts);
    if (status == TULLE_OK) status = tulle__pool_run(pool, inspect_part, &inspect);
    for (int t = 0; t < nthreads && status == TULLE_OK; t++) tulle__blocks_join(facts, &inspect.facts[t]);
    tulle__free(inspect.facts);
    return status;
}

/* Statistics of this PE's tiles. */
static tulle_status inspect_own(const tulle_mat *A, tulle__blocks_facts *here)
{
    tulle__context *context = NULL;
    tulle_status status = tulle__context_get(A->comm, &context);
    *here = (tulle__blocks_facts){0};
    for (int i = 0; i < A->layout->mt && status == TULLE_OK; i++) {
        if (!tulle__tile_is_mine(A, i, 0)) continue;
        tulle_tile tile = tulle__tile_in_place(A, i, 0);
        tulle__csr csr = tulle__tile_csr(&tile);
        tulle__tile_row rows = tulle__blocks_rows(A, i, &csr);
        status = tulle__block_inspect(context->pool, &rows, here);
    }
    return status;
}

/* Statistics of all rows. Collective. */
static tulle_status inspect(const tulle_mat *A, tulle__blocks_facts *facts)
{
    tulle_comm *comm = A->comm;
    tulle__blocks_facts here, *all = NULL;
    tulle_status status = inspect_own(A, &here);
    if (status == TULLE_OK) status = tulle__alloc((size_t)comm->size, sizeof *all, "block statistics", &all);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_allgather(comm, &here, sizeof here, all));
    *facts = all[0];
    for (int p = 1; p < comm->size; p++) tulle__blocks_join(facts, &all[p]);
out:
    tulle__free(all);
    return status;
}

int tulle__block_needs_inspection(const tulle__block_wanted *w)
{
    return !w->block || w->half;
}

tulle_status tulle__block_decide(tulle_gidx m, tulle_gidx n, const tulle__blocks_facts *facts,
    const tulle__block_wanted *w, int half_of_entries, tulle_type type, tulle__block_choice *choice)
{
    static const double worth_it = 0.9;
    *choice = (tulle__block_choice){.block = (int)w->block, .half = w->half, .pays = 1};
    if (!tulle__block_needs_inspection(w)) return TULLE_OK;
    tulle__blocks_facts whole = *facts;
    int symmetric = m == n && tulle__blocks_symmetric(facts);
    for (int b = 2; b <= TULLE__BLOCKS_MOST; b++)
        if (m % b) whole.blocks[b] = TULLE__BLOCKS_NONE;
    if (w->half == 1 && !symmetric)
        return tulle__fail(
            TULLE_ERR_ARG, "half can only store a symmetric matrix, and this one is not symmetric bit by bit");
    if (!w->block) choice->block = tulle__blocks_size(&whole, w->values);
    if (w->half == TULLE__EITHER) choice->half = symmetric && (choice->block > 1 || half_of_entries);
    if (w->automatic) {
        size_t block = (size_t)(choice->block * choice->block) * tulle_type_size(w->values) + sizeof(int32_t);
        double bytes = (double)tulle__blocks_estimate(&whole, choice->block) * (double)block / (choice->half ? 2 : 1);
        choice->pays = bytes < worth_it * (double)whole.nnz * (double)(tulle_type_size(type) + sizeof(int32_t));
    }
    return TULLE_OK;
}

tulle_status tulle__block_choose(
    const tulle_mat *A, const tulle__block_wanted *w, int half_of_entries, tulle__block_choice *choice)
{
    tulle__blocks_facts facts = {0};
    TULLE_CALL(tulle__block_needs_inspection(w) ? inspect(A, &facts) : TULLE_OK);
    return tulle__block_decide(A->layout->m, A->layout->n, &facts, w, half_of_entries, A->type, choice);
}
