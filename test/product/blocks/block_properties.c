/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants of a product of matrices of blocks: block_properties SPEC PES. Blocks that are split or
 * merged at equal entries, blocks in another order, the layout, the algorithm and the number of layers give the same
 * values: those of the definition, exactly, as values are small integers.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tulle/algebra.h>

#include "block_problem.h"
#include "body.h"

enum { SIZE = 48, PART = 4, PARTS = SIZE / PART };

struct property {
    const char *name;
    int sizes[3]; /* of blocks, in turn */
    int tiles;
    bool permuted; /* blocks of PART rows and columns */
    tulle_product_options options;
};

/* Blocks of the sizes in turn. */
static tulle_block_cuts cut_in_turn(const int sizes[3], tulle_gidx *workspace)
{
    tulle_gidx count = 0;
    workspace[0] = 0;
    for (; workspace[count] < SIZE; count++) {
        const tulle_gidx end = workspace[count] + sizes[count % 3];
        workspace[count + 1] = end < SIZE ? end : SIZE;
    }
    return (tulle_block_cuts){count, workspace};
}

/* New place of row or column x if blocks of PART are permuted. */
static int64_t moved(int64_t x)
{
    return (x / PART * 5 + 2) % PARTS * PART + x % PART;
}

static struct reference permute(const struct reference *r)
{
    struct reference x = make_reference(SIZE, SIZE, EMPTY, 1);
    for (int64_t i = 0; i < SIZE; i++)
        for (int64_t j = 0; j < SIZE; j++) {
            x.val[moved(i) * SIZE + moved(j)] = r->val[i * SIZE + j];
            x.has[moved(i) * SIZE + moved(j)] = r->has[i * SIZE + j];
        }
    return x;
}

static tulle_status keeps(tulle_comm *comm, void *arg)
{
    const struct property *p = arg;
    tulle_status status;
    const struct setting s = {.type = TULLE_F64, .kind = TULLE_VBSR};
    tulle_gidx workspace[SIZE + 1];
    const tulle_block_cuts cuts = cut_in_turn(p->sizes, workspace);
    struct reference a = make_reference(SIZE, SIZE, RANDOM, 3), b = make_reference(SIZE, SIZE, DENSE_COL, 4),
                     c = make_reference(SIZE, SIZE, EMPTY, 5), want, pa, pb;
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL, *S = NULL;
    tulle_product *plan = NULL;
    want = multiply(&a, &b, &c, 1, 0, &p->options);
    pa = permute(&a);
    pb = permute(&b);
    if (p->permuted) {
        struct reference there = permute(&want);
        free_reference(&want);
        want = there;
    }
    for (int64_t e = 0; e < SIZE * SIZE; e++) want.has[e] = want.val[e] != 0;
    TULLE_TRY(layout_of(comm, p->tiles, cuts, cuts, &l));
    TULLE_TRY(into_blocks(comm, p->permuted ? &pa : &a, &s, TULLE_VBSR, l, &A));
    TULLE_TRY(into_blocks(comm, p->permuted ? &pb : &b, &s, TULLE_VBSR, l, &B));
    TULLE_TRY(tulle_mat_new_vbsr(comm, l, TULLE_F64, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &p->options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    TULLE_TRY(tulle_mat_to_csr(C, true, &S));
    TULLE_TRY(compare(S, &want));
out:
    tulle_product_free(plan);
    tulle_mat_free(S);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(l);
    free_reference(&a);
    free_reference(&b);
    free_reference(&c);
    free_reference(&pa);
    free_reference(&pb);
    free_reference(&want);
    return status;
}

struct limits {
    tulle_gidx first[3], count[3]; /* rows, inner indices, columns */
};

static struct reference part_of(const struct reference *r, const struct limits *x, int rows, int cols)
{
    struct reference p = make_reference(x->count[rows], x->count[cols], EMPTY, 1);
    for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < p.n; j++) {
            const int64_t at = (x->first[rows] + i) * r->n + x->first[cols] + j;
            p.val[i * p.n + j] = r->val[at];
            p.has[i * p.n + j] = r->has[at];
        }
    return p;
}

/* P, a product, into its range of another matrix, of which all else stays: with beta = 2, then with 0. */
static tulle_status into_range(
    tulle_comm *comm, const struct limits *x, const tulle_layout *layout, const tulle_mat *P, const struct reference *p)
{
    tulle_status status;
    const struct setting s = {.type = TULLE_F64, .kind = TULLE_VBSR};
    struct reference d = make_reference(SIZE, SIZE, RANDOM, 9);
    tulle_mat *D = NULL, *S = NULL;
    TULLE_TRY(into_blocks(comm, &d, &s, TULLE_VBSR, layout, &D));
    for (double beta = 2; beta >= 0; beta -= 2) {
        TULLE_TRY(tulle_mat_range_add(-3, P, beta, D, x->first[0], x->first[2]));
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                double *at = &d.val[(x->first[0] + i) * d.n + x->first[2] + j];
                *at = beta * *at - 3 * p->val[i * p->n + j];
            }
        for (int64_t e = 0; e < d.m * d.n; e++) d.has[e] = d.val[e] != 0;
        tulle_mat_free(S);
        S = NULL;
        TULLE_TRY(tulle_mat_to_csr(D, true, &S));
        TULLE_TRY(compare(S, &d));
    }
    EXPECT(tulle_mat_range_add(1, P, 1, D, x->first[0] + 1, x->first[2] + SIZE) == TULLE_ERR_ARG);
    EXPECT(tulle_mat_range_add(1, S, 1, D, 0, 0) == TULLE_ERR_UNSUPPORTED);
    EXPECT(tulle_mat_range_add(1, D, 1, D, 0, 0) == TULLE_ERR_ARG);
out:
    tulle_mat_free(D);
    tulle_mat_free(S);
    free_reference(&d);
    return status;
}

/* The product over sub-ranges of rows, inner indices and columns: that of ranges of the factors, which stay in blocks.
 */
static tulle_status over_ranges(tulle_comm *comm, void *arg)
{
    const struct limits *x = arg;
    tulle_status status;
    const struct setting s = {.type = TULLE_F64, .kind = TULLE_VBSR};
    const tulle_product_options options = {.alg = TULLE_PRODUCT_AUTO};
    tulle_gidx workspace[SIZE + 1];
    const tulle_block_cuts cuts = cut_in_turn((const int[3]){3, 5, 1}, workspace);
    struct reference a = make_reference(SIZE, SIZE, RANDOM, 3), b = make_reference(SIZE, SIZE, RANDOM, 4);
    struct reference pa = part_of(&a, x, 0, 1), pb = part_of(&b, x, 1, 2), pc = part_of(&a, x, 0, 2),
                     want = multiply(&pa, &pb, &pc, 1, 0, &options);
    tulle_layout *l = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *RA = NULL, *RB = NULL, *C = NULL, *S = NULL;
    tulle_product *plan = NULL;
    double difference;
    for (int64_t e = 0; e < want.m * want.n; e++) want.has[e] = want.val[e] != 0;
    TULLE_TRY(layout_of(comm, 3, cuts, cuts, &l));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l, &A));
    TULLE_TRY(into_blocks(comm, &b, &s, TULLE_VBSR, l, &B));
    TULLE_TRY(tulle_mat_range(A, x->first[0], x->count[0], x->first[1], x->count[1], &RA));
    TULLE_TRY(tulle_mat_range(B, x->first[1], x->count[1], x->first[2], x->count[2], &RB));
    EXPECT(tulle_mat_kind(RA) == TULLE_VBSR && tulle_mat_kind(RB) == TULLE_VBSR);
    TULLE_TRY(tulle_product_layout(RA, TULLE_OP_N, RB, TULLE_OP_N, &lc));
    TULLE_TRY(tulle_mat_new_vbsr(comm, lc, TULLE_F64, &C));
    TULLE_TRY(tulle_product_new(RA, RB, C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    TULLE_TRY(tulle_product_check(plan, &difference));
    TULLE_TRY(tulle_mat_to_csr(C, true, &S));
    TULLE_TRY(compare(S, &want));
    TULLE_TRY(into_range(comm, x, l, C, &want));
    tulle_mat_free(RA);
    RA = NULL;
    TULLE_TRY(tulle_mat_range(A, 1, 9, 0, 8, &RA)); /* begins within a block */
    EXPECT(tulle_mat_kind(RA) == TULLE_CSR);
out:
    tulle_product_free(plan);
    tulle_mat_free(S);
    tulle_mat_free(C);
    tulle_mat_free(RB);
    tulle_mat_free(RA);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(l);
    tulle_layout_free(lc);
    free_reference(&a);
    free_reference(&b);
    free_reference(&pa);
    free_reference(&pb);
    free_reference(&pc);
    free_reference(&want);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    const int npes = atoi(argv[2]);
    tulle_team *team;
    const tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    static const struct property properties[] = {{.name = "blocks of 4", .sizes = {4, 4, 4}, .tiles = 3},
        {.name = "split into entries", .sizes = {1, 1, 1}, .tiles = 3},
        {.name = "split unevenly", .sizes = {1, 3, 2}, .tiles = 3}, {.name = "merged", .sizes = {8, 8, 8}, .tiles = 3},
        {.name = "merged unevenly", .sizes = {8, 4, 16}, .tiles = 2},
        {.name = "one block", .sizes = {SIZE, SIZE, SIZE}, .tiles = 1},
        {.name = "in another order", .sizes = {4, 4, 4}, .tiles = 3, .permuted = true},
        {.name = "in another order, merged", .sizes = {8, 8, 8}, .tiles = 4, .permuted = true}};
    for (size_t n = 0; n < sizeof properties / sizeof *properties; n++)
        for (int way = 0; way < 4; way++) {
            struct property p = properties[n];
            p.options.alg = way == 1   ? TULLE_PRODUCT_STATIONARY_A
                            : way == 2 ? TULLE_PRODUCT_SUMMA
                                       : TULLE_PRODUCT_STEAL_LOCAL_C;
            p.options.replication = way == 3 ? npes : 1;
            const tulle_status status = tulle_team_run(team, keeps, &p);
            ok(status == TULLE_OK, "%s, %s, %d layers: %s", p.name, tulle_product_alg_name(p.options.alg),
                p.options.replication, status == TULLE_OK ? "the same values" : tulle_error_message());
        }
    static const struct limits limits[] = {{{0, 0, 0}, {SIZE, SIZE, SIZE}}, {{3, 9, 18}, {33, 27, 9}},
        {{8, 0, 36}, {1, SIZE, 12}}, {{0, 45, 0}, {9, 3, SIZE}}, {{9, 9, 9}, {9, 0, 18}}, {{9, 9, 9}, {0, 18, 9}}};
    for (size_t n = 0; n < sizeof limits / sizeof *limits; n++) {
        struct limits x = limits[n];
        const tulle_status status = tulle_team_run(team, over_ranges, &x);
        ok(status == TULLE_OK, "rows %d and %d more, inner %d, %d, columns %d, %d: %s", (int)x.first[0],
            (int)x.count[0], (int)x.first[1], (int)x.count[1], (int)x.first[2], (int)x.count[2],
            status == TULLE_OK ? "the product" : tulle_error_message());
    }
    tulle_team_free(team);
    return tap_done();
}
