/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selections of entries of C: selection SPEC PES [DRAWS]. Drawn cases, by number: shapes, values (ties, all equal, all
 * negative, NaN and infinities), the first entries of rows (none, one, as many as there are, more), thresholds,
 * cosines, transposes, cuts and owners at random or one grid, every algorithm, ranges of columns and layers; against
 * rows of the whole product that are sorted here by the definition. The same plan again with new values. Then what is
 * refused.
 */
#include <string.h>

#include <tulle/algebra.h>

#include "body.h"
#include "operands.h"
#include "reference.h"
#include "tap.h"

enum values { MANY_TIES, EQUAL, NEGATIVE, NOT_FINITE, HUGE_AND_TINY, VALUES };
static const char *const value_names[] = {"ties", "equal", "negative", "not finite", "huge and tiny"};

struct cases {
    int number;
    int64_t m, k, n;
    int cut[3];
    enum shape shape;
    enum values values;
    tulle_type type;
    double alpha;
    int next; /* by tulle_product_next */
    tulle_product_options options;
    tulle_selection selection;
};

static uint64_t draw(int number, int which)
{
    return tulle__random_at(91, (uint64_t)number, (uint64_t)which);
}

/* Huge and tiny are whole rows, or columns, of A: those of op(A), so that sums are exact. */
static void set_values(struct reference *r, enum values values, int by_row, int number)
{
    for (int64_t e = 0; e < r->m * r->n; e++) {
        const uint64_t x = tulle__random_at((uint64_t)number, 17, (uint64_t)e);
        if (values == EQUAL) r->val[e] = 1;
        if (values == NEGATIVE) r->val[e] = -fabs(r->val[e]);
        if (values == NOT_FINITE && x % 29 == 0) r->val[e] = x % 3 == 0 ? NAN : x % 3 == 1 ? INFINITY : -INFINITY;
        const int64_t line = by_row ? e / r->n : e % r->n;
        if (values == HUGE_AND_TINY && line % 2) r->val[e] *= line % 4 == 1 ? 0x1p-30 : 0x1p30;
    }
}

/* True if a's entry goes before b's: the definition, in words of numpy. */
static int goes_first(double a, int64_t column_a, double b, int64_t column_b)
{
    if (isnan(a) != isnan(b)) return isnan(b) != 0;
    if (!isnan(a) && a != b) return a > b;
    return column_a < column_b;
}

static double rounded(tulle_type type, double x)
{
    return type == TULLE_F32 ? (double)(float)x : x;
}

/* The norm of row (column) `line` of a reference. */
static double norm_of(const struct reference *r, int by_row, int64_t line)
{
    double sum = 0;
    for (int64_t e = 0; e < (by_row ? r->n : r->m); e++) {
        const int64_t at = by_row ? line * r->n + e : e * r->n + line;
        if (r->has[at]) sum += r->val[at] * r->val[at];
    }
    return sqrt(sum);
}

static void divide_by_norms(
    const struct cases *c, const struct reference *a, const struct reference *b, struct reference *full)
{
    for (int64_t i = 0; i < full->m; i++)
        for (int64_t j = 0; j < full->n; j++) {
            const int64_t e = i * full->n + j;
            const double x = norm_of(a, c->options.op_a == TULLE_OP_N, i),
                         y = norm_of(b, c->options.op_b == TULLE_OP_T, j);
            if (x == 0 || y == 0) full->has[e] = 0;
            if (full->has[e]) full->val[e] = rounded(c->type, full->val[e] / x / y);
        }
}

/* Leaves the entries that are selected. */
static void select_rows(const struct cases *c, struct reference *full)
{
    const tulle_selection *s = &c->selection;
    for (int64_t i = 0; i < full->m; i++) {
        char *has = full->has + i * full->n;
        const double *val = full->val + i * full->n;
        for (int64_t j = 0; s->by_value && j < full->n; j++) has[j] = has[j] && val[j] > rounded(c->type, s->above);
        char *kept = calloc((size_t)full->n + 1, 1);
        for (int64_t n = 0; n < (s->by_rank ? s->top : full->n) && n < full->n; n++) {
            int64_t first = -1;
            for (int64_t j = 0; j < full->n; j++)
                if (has[j] && !kept[j] && (first < 0 || goes_first(val[j], j, val[first], first))) first = j;
            if (first >= 0) kept[first] = 1;
        }
        memcpy(has, kept, (size_t)full->n);
        free(kept);
    }
}

/* nan is not equal to itself, a number that no product makes is; entries that are absent have no value. */
static void name_nan(struct reference *r)
{
    for (int64_t e = 0; e < r->m * r->n; e++)
        if (!r->has[e])
            r->val[e] = 0;
        else if (isnan(r->val[e]))
            r->val[e] = 12345;
}

static tulle_status name_own_nan(tulle_mat *C)
{
    const tulle_layout *l = tulle_mat_layout(C);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_own_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(C))) continue;
            tulle_status status = tulle_mat_own_tile(C, i, j, &t);
            if (status != TULLE_OK) return status;
            for (int64_t e = 0; e < t.nnz; e++)
                if (t.type == TULLE_F32 && isnan(((float *)t.val)[e]))
                    ((float *)t.val)[e] = 12345;
                else if (t.type == TULLE_F64 && isnan(((double *)t.val)[e]))
                    ((double *)t.val)[e] = 12345;
        }
    return tulle_comm_barrier(tulle_mat_comm(C));
}

static tulle_status execute(tulle_product *plan, const struct cases *c, tulle_product_report *report)
{
    tulle_columns columns = {.last = false};
    if (!c->next) return tulle_product_execute(plan, c->alpha, 0, report);
    const tulle_status status = tulle_product_next(plan, c->alpha, &columns, report);
    if (status == TULLE_OK && (!columns.last || columns.from || columns.to != columns.of))
        return tulle__fail(TULLE_ERR_CHECK, "a range of columns of a selection");
    return status;
}

/* C against what is selected of the product of the references. */
static tulle_status check(
    tulle_product *plan, const struct cases *c, const struct reference *a, const struct reference *b, tulle_mat *C)
{
    tulle_status status;
    tulle_product_report report;
    double error = 0;
    int64_t wanted = 0;
    struct reference want = multiply(a, b, NULL, c->alpha, 0, &c->options);
    for (int64_t e = 0; e < want.m * want.n; e++) want.val[e] = rounded(c->type, want.val[e]);
    if (c->selection.cosine) divide_by_norms(c, a, b, &want);
    select_rows(c, &want);
    for (int64_t e = 0; e < want.m * want.n; e++) wanted += want.has[e];
    TULLE_TRY(execute(plan, c, &report));
    TULLE_TRY(tulle_product_check(plan, &error));
    name_nan(&want);
    TULLE_TRY(name_own_nan(C));
    TULLE_TRY(compare(C, &want));
    EXPECT(report.nnz_c == wanted && tulle_mat_nnz(C) == wanted && !report.reused);
out:
    free_reference(&want);
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    tulle_status status;
    const int ta = c->options.op_a == TULLE_OP_T, tb = c->options.op_b == TULLE_OP_T, size = tulle_comm_size(comm);
    struct reference a = make_reference(ta ? c->k : c->m, ta ? c->m : c->k, c->shape, (uint64_t)c->number);
    struct reference b = make_reference(tb ? c->n : c->k, tb ? c->k : c->n, RANDOM, (uint64_t)c->number + 1000);
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_options options = c->options;
    options.size = sizeof options;
    options.selection = &c->selection;
    set_values(&a, c->values, !ta, c->number);
    set_values(&b, c->values == EQUAL || c->values == NEGATIVE ? EQUAL : MANY_TIES, 1, c->number + 1);
    TULLE_TRY(cut_layout(a.m, a.n, c->cut[0], size, &l[0]));
    TULLE_TRY(cut_layout(b.m, b.n, c->cut[1], size, &l[1]));
    TULLE_TRY(cut_layout(c->m, c->n, c->cut[2], size, &l[2]));
    TULLE_TRY(distribute(comm, &a, l[0], c->type, &A));
    TULLE_TRY(distribute(comm, &b, l[1], c->type, &B));
    TULLE_TRY(tulle_mat_new_csr(comm, l[2], c->type, &C));
    status = tulle_product_new(A, B, C, &options, &plan);
    if (status == TULLE_ERR_UNSUPPORTED && options.alg == TULLE_PRODUCT_CANNON && size > 1) {
        status = TULLE_OK;
        goto out;
    }
    TULLE_TRY(status);
    TULLE_TRY(check(plan, c, &a, &b, C));
    TULLE_TRY(scale_values(A, &a, -2));
    TULLE_TRY(check(plan, c, &a, &b, C));
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    free_reference(&a);
    free_reference(&b);
    return status;
}

static struct cases drawn(int number, int npes)
{
    enum { SIZES = 4 };
    static const int64_t sizes[SIZES][3] = {{37, 29, 41}, {20, 30, 150}, {1, 7, 60}, {60, 5, 3}};
    static const int64_t tops[] = {0, 1, 2, 3, 7, 41, 1000, INT64_MAX};
    static const double above[] = {0, 0.8, -3, 5, -INFINITY, INFINITY};
    const int64_t *size = sizes[draw(number, 0) % 6 % SIZES];
    struct cases c = {.number = number,
        .m = size[0],
        .k = size[1],
        .n = size[2],
        .shape = (enum shape)(draw(number, 1) % SHAPES),
        .values = (enum values)(draw(number, 2) % VALUES),
        .type = draw(number, 3) % 2 ? TULLE_F32 : TULLE_F64,
        .alpha = draw(number, 4) % 3 ? 1 : -2,
        .next = draw(number, 5) % 2};
    const int layers = 2 + (int)(draw(number, 6) % 3), how = (int)(draw(number, 7) % 4);
    for (int x = 0; x < 3; x++) c.cut[x] = how < 2 ? number * 3 + x : how == 2 ? ROWS : COLUMNS;
    if (how == 1) c.cut[draw(number, 8) % 3] = WHOLE;
    c.options.alg = (tulle_product_alg)(number % TULLE_PRODUCT_ALG_COUNT);
    c.options.op_a = draw(number, 9) % 4 ? TULLE_OP_N : TULLE_OP_T;
    c.options.op_b = draw(number, 10) % 2 ? TULLE_OP_N : TULLE_OP_T;
    c.options.phases = draw(number, 11) % 3 ? 0 : 1 + (int)(draw(number, 12) % 5);
    const bool bulk = c.options.alg == TULLE_PRODUCT_SUMMA || c.options.alg == TULLE_PRODUCT_CANNON;
    if (!bulk && npes % layers == 0 && draw(number, 14) % 3 == 0) c.options.replication = layers;
    if (c.options.alg == TULLE_PRODUCT_AUTO && draw(number, 14) % 3 == 1) c.options.replication = TULLE_AUTO;
    const uint64_t what = draw(number, 15) % 8; /* rarely all entries */
    c.selection = (tulle_selection){.size = sizeof c.selection,
        .by_rank = what == 7 || what % 4 != 1,
        .by_value = what % 4 == 1 || what % 4 == 2,
        .cosine = draw(number, 16) % 2,
        .top = tops[draw(number, 17) % (sizeof tops / sizeof *tops)],
        .above = above[draw(number, 18) % (sizeof above / sizeof *above)]};
    if (what == 0) c.selection.by_rank = false; /* all entries, or cosines alone */
    return c;
}

static void run(tulle_team *team, const struct cases *c)
{
    const tulle_product_options *o = &c->options;
    const tulle_selection *s = &c->selection;
    const tulle_status status = tulle_team_run(team, run_case, (void *)(uintptr_t)c);
    ok(status == TULLE_OK,
        "%d: %s %s %dx%dx%d %s, %s, cuts %d,%d,%d alpha %g%s%s%s phases %d replication %d%s top %s%lld above %s%g: "
        "%s",
        c->number, tulle_product_alg_name(o->alg), tulle_type_name(c->type), (int)c->m, (int)c->k, (int)c->n,
        shape_names[c->shape], value_names[c->values], c->cut[0], c->cut[1], c->cut[2], c->alpha,
        o->op_a == TULLE_OP_T ? " A^T" : "", o->op_b == TULLE_OP_T ? " B^T" : "", c->next ? " next" : "", o->phases,
        o->replication, s->cosine ? " cosine" : "", s->by_rank ? "" : "not ", (long long)s->top,
        s->by_value ? "" : "not ", s->above, status == TULLE_OK ? "right" : tulle_error_message());
}

/* Refusals, by what their messages name. */
struct refusal {
    tulle_selection selection;
    const char *device;
    int dense;
    double values; /* factor of those of A and of B; 0: none */
    double alpha, beta;
    tulle_status want;
    const char *words;
};

static tulle_status refused(tulle_comm *comm, void *arg)
{
    const struct refusal *r = arg;
    tulle_status status;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_product_options options = {.size = sizeof options, .selection = &r->selection, .device = r->device};
    options.unordered = strstr(r->words, "unordered") != NULL;
    for (int x = 0; x < 3; x++) TULLE_TRY(cut_layout(20, 20, ROWS, tulle_comm_size(comm), &o.l[x]));
    TULLE_TRY(load_operands(comm, "er:n=20,degree=3", r->dense ? NULL : "er:n=20,degree=3,seed=2", &o));
    if (r->values > 0) TULLE_TRY(tulle_mat_scale(o.A, r->values, NULL, NULL));
    if (r->values > 0) TULLE_TRY(tulle_mat_scale(o.B, r->values, NULL, NULL));
    status = tulle_product_new(o.A, o.B, o.C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, r->alpha, r->beta, NULL);
    EXPECT(status == r->want && strstr(tulle_error_message(), r->words));
    status = TULLE_OK;
out:
    tulle_product_free(plan);
    free_operands(&o, status);
    return status;
}

static void refusals(tulle_team *team)
{
    static const struct refusal rows[] = {
        {{.by_rank = true, .top = -1}, NULL, 0, 0, 1, 0, TULLE_ERR_ARG, "selection.top is -1"},
        {{.by_value = true, .above = NAN}, NULL, 0, 0, 1, 0, TULLE_ERR_ARG, "selection.above is nan"},
        {{.by_rank = true, .top = 1}, NULL, 0, 0, 1, 0, TULLE_ERR_ARG, "unordered is not read with options.selection"},
        {{.by_rank = true, .top = 1}, "cpu", 0, 0, 1, 0, TULLE_ERR_UNSUPPORTED, "on a device"},
        {{.by_rank = true, .top = 1}, NULL, 1, 0, 1, 0, TULLE_ERR_UNSUPPORTED, "dense"},
        {{.by_rank = true, .top = 1}, NULL, 0, 0, 0, 0, TULLE_ERR_UNSUPPORTED, "alpha = 0"},
        {{.by_rank = true, .top = 1}, NULL, 0, 0, 1, 2, TULLE_ERR_UNSUPPORTED, "beta = 2"},
        {{.cosine = true}, NULL, 0, 1e160, 1, 0, TULLE_ERR_UNSUPPORTED, "are outside of f64"},
        {{.cosine = true}, NULL, 0, 1e-160, 1, 0, TULLE_ERR_UNSUPPORTED, "are outside of f64"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const tulle_status status = tulle_team_run(team, refused, (void *)(uintptr_t)&rows[r]);
        ok(status == TULLE_OK, "refused: %s: %s", rows[r].words, status == TULLE_OK ? "right" : tulle_error_message());
    }
}

/* Nothing of C that is not kept needs memory: rows of thousands of entries, of which ten stay, in a small budget. */
static tulle_status in_little_memory(tulle_comm *comm, void *arg)
{
    int *phases = arg;
    tulle_status status;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_product_report report;
    double error;
    const tulle_selection selection = {.by_rank = true, .top = 10};
    tulle_product_options options = {
        .size = sizeof options, .selection = &selection, .alg = TULLE_PRODUCT_STATIONARY_C};
    for (int x = 0; x < 3; x++) TULLE_TRY(cut_layout(6000, 6000, ROWS, tulle_comm_size(comm), &o.l[x]));
    tulle_layout_free(o.l[1]);
    TULLE_TRY(cut_layout(6000, 6000, WHOLE, tulle_comm_size(comm), &o.l[1]));
    TULLE_TRY(load_operands(comm, "er:n=6000,degree=60", "er:n=6000,degree=60,seed=2", &o));
    TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    TULLE_TRY(tulle_product_check(plan, &error));
    EXPECT(report.nnz_c == 60000);
    if (tulle_comm_rank(comm) == 0) *phases = report.phases;
out:
    tulle_product_free(plan);
    free_operands(&o, status);
    return status;
}

static void little_memory(const char *spec, int npes)
{
    tulle_team *team;
    int phases = 0;
    /* all of C would be some 16 million entries of 12 bytes */
    tulle_team_options options = {.memory = (size_t)48 << 20, .threads = 1};
    if (!ok(tulle_team_new(spec, npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message())) return;
    const tulle_status status = tulle_team_run(team, in_little_memory, &phases);
    ok(status == TULLE_OK, "in little memory, in %d ranges: %s", phases,
        status == TULLE_OK ? "right" : tulle_error_message());
    tulle_team_free(team);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) return fprintf(stderr, "usage: %s SPEC PES [DRAWS]\n", argv[0]), 2;
    const int npes = atoi(argv[2]), draws = argc > 3 ? atoi(argv[3]) : 120;
    tulle_team *team;
    tulle_team_options options = {
        .memory = (size_t)npes << 26, .threads = npes > 1 ? 1 : 2, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    for (int number = 0; number < draws; number++) {
        const struct cases c = drawn(number, npes);
        run(team, &c);
        if (number == 8) tulle_team_run(team, count_blocks, before); /* what a team makes once is there */
    }
    refusals(team);
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "no block is left behind");
    tulle_team_free(team);
    if (strcmp(argv[1], "threads") == 0 && npes <= 2) little_memory(argv[1], npes);
    return tap_done();
}
