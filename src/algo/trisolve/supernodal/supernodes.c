/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/supernodal/supernodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { WIDTH_MOST = 64, SLACK = 8 };

/*
 * In entries of a serial solve, approximately: the cost of a value of a dense block, of a block, of
 * a row; the work that is worth another worker's wait; entries during a word's latency.
 */
#define VALUE_COST 0.9
#define BLOCK_COST 43.0
#define ROW_COST 8.0
#define THIN 1024.0
#define SIGHT 400.0
#define RELAX 0.2

/* Common part of neighbouring steps, by rows or by columns. */
struct likeness {
    int32_t *count;  /* [n]: entries off the diagonal of the row or column */
    int32_t *common; /* [n]: those that the previous step has too */
    char *adjacent;  /* [n]: whether the row has an entry in the column of the previous step */
};

static void likeness_fini(struct likeness *l)
{
    tulle__free(l->count);
    tulle__free(l->common);
    tulle__free(l->adjacent);
}

static tulle_status likeness_init(int64_t n, struct likeness *l)
{
    *l = (struct likeness){.count = NULL};
    TULLE_CALL(tulle__alloc_zero((size_t)n, sizeof *l->count, "lengths of rows", &l->count));
    TULLE_CALL(tulle__alloc_zero((size_t)n, sizeof *l->common, "what rows have in common", &l->common));
    return tulle__alloc_zero((size_t)n, sizeof *l->adjacent, "neighbouring rows", &l->adjacent);
}

static int64_t step_of(const tulle__triangle *t, int32_t col)
{
    return t->upper ? t->n - 1 - col : col;
}

/* The number of common entries of two rows. */
static int32_t common_of(const tulle__triangle_span *a, const tulle__triangle_span *b)
{
    int32_t both = 0;
    for (int64_t i = a->from, j = b->from; i < a->to && j < b->to;) {
        int32_t c = a->tile->colind[i], d = b->tile->colind[j];
        both += c == d;
        i += c <= d;
        j += d <= c;
    }
    return both;
}

static void compare(const tulle__triangle *t, struct likeness *rows, struct likeness *columns)
{
    int cursor = 0;
    tulle__triangle_span before = {.tile = NULL};
    for (int64_t step = 0; step < t->n; step++) {
        tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, step), &cursor);
        rows->count[step] = (int32_t)(span.to - span.from);
        if (step) rows->common[step] = common_of(&span, &before);
        for (int64_t e = span.from; e < span.to; e++) {
            int64_t s = step_of(t, span.tile->colind[e]);
            columns->count[s]++;
            if (e == span.from || span.tile->colind[e - 1] != span.tile->colind[e] - 1) continue;
            columns->common[t->upper ? s + 1 : s]++; /* of the later step */
        }
        if (span.from < span.to)
            rows->adjacent[step] = columns->adjacent[step] =
                step_of(t, span.tile->colind[t->upper ? span.from : span.to - 1]) == step - 1;
        before = span;
    }
}

/*
 * Cuts steps into runs. A run of w steps stores its triangle and w lines of `beyond` positions
 * outside. With a further step their number is known exactly if the steps are alike, and otherwise
 * estimated from the last one.
 */
static int64_t cut_runs(const struct likeness *l, int64_t n, int by_columns, double relax, int32_t *cut, double *stored)
{
    int64_t count = 0;
    double width = 0, beyond = 0, entries = 0, kept = 0;
    *stored = 0;
    for (int64_t s = 0; s < n; s++) {
        double fresh = (double)(l->count[s] - l->common[s]), w = width + 1, sum = entries + (double)l->count[s];
        double more = by_columns ? beyond - l->adjacent[s] + fresh : beyond + fresh - l->adjacent[s];
        double capacity = w * more + w * width / 2, allowed = relax > 0 ? relax * capacity + SLACK : 0;
        if (s == 0 || w > WIDTH_MOST || capacity - sum > allowed) {
            *stored += kept;
            cut[count++] = (int32_t)s;
            w = 1;
            sum = more = capacity = (double)l->count[s];
        }
        width = w;
        beyond = more;
        entries = sum;
        kept = capacity;
    }
    *stored += kept;
    cut[count] = (int32_t)n;
    return count;
}

/* ---- assignment to workers ---- */

/* PE 0's scratch. */
struct tree {
    int64_t count;
    int by_columns;
    const int32_t *cut, *of;
    double *work, *weight; /* [count]: of a supernode, and of its subtree */
    int32_t *parent;       /* [count]; -1: none */
    int32_t *owner;        /* [count] */
};

/*
 * Computes work and the tree. By columns a step's parent is the first that requires it, by rows the
 * last that it requires: for a factor both are the elimination tree. mark: [n], as up to so many
 * columns may be found.
 */
static void compute_work(const tulle__triangle *t, struct tree *tree, int32_t *mark)
{
    int cursor = 0;
    for (int64_t s = 0; s < t->n; s++) mark[s] = -1;
    for (int64_t s = 0; s < tree->count; s++) tree->parent[s] = -1;
    for (int32_t s = 0; s < tree->count; s++) {
        double width = (double)(tree->cut[s + 1] - tree->cut[s]), values = width * (width + 1) / 2, blocks = 1;
        for (int64_t step = tree->cut[s]; step < tree->cut[s + 1]; step++) {
            tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, step), &cursor);
            int32_t last = s;
            for (int64_t k = 0; k < span.to - span.from; k++) {
                int64_t other = step_of(t, span.tile->colind[t->upper ? span.to - 1 - k : span.from + k]);
                int32_t j = tree->of[other];
                if (j == s) break; /* the rest is the run's own triangle */
                if (tree->by_columns) {
                    if (j == last) continue;
                    last = j;
                    values += tree->cut[j + 1] - tree->cut[j];
                    blocks += mark[j] != s;
                    mark[j] = s;
                    if (tree->parent[j] < 0) tree->parent[j] = s;
                } else if (mark[other] != s) {
                    mark[other] = s;
                    values += width;
                    if (j > tree->parent[s]) tree->parent[s] = j;
                }
            }
        }
        tree->work[s] = VALUE_COST * values + BLOCK_COST * blocks + ROW_COST * width;
    }
}

struct root {
    double weight;
    int32_t at;
};

static int heavier(const void *a, const void *b)
{
    const struct root *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    return x->at < y->at ? -1 : 1;
}

/* Node k in a topological order with parents last; or, in reverse, first. */
static int64_t node(const struct tree *tree, int64_t k, int parents_last)
{
    return (tree->by_columns != 0) == parents_last ? k : tree->count - 1 - k;
}

/*
 * Assigns subtrees, the heaviest first, to the worker with the least load, and nodes above them
 * cyclically. *time: an estimate until all are done.
 */
static void partition_rows(struct tree *tree, int workers, struct root *root, double *load, double *time)
{
    double total = 0, most = 0, above = 0;
    int64_t roots = 0;
    int last = 0, turns = 0;
    for (int64_t s = 0; s < tree->count; s++) total += tree->weight[s] = tree->work[s];
    for (int64_t k = 0; k < tree->count; k++) {
        int64_t s = node(tree, k, 1);
        if (tree->parent[s] >= 0) tree->weight[tree->parent[s]] += tree->weight[s];
    }
    double limit = total / (4.0 * workers);
    for (int64_t s = 0; s < tree->count; s++)
        if (tree->weight[s] <= limit && (tree->parent[s] < 0 || tree->weight[tree->parent[s]] > limit))
            root[roots++] = (struct root){tree->weight[s], (int32_t)s};
    qsort(root, (size_t)roots, sizeof *root, heavier);
    for (int w = 0; w < workers; w++) load[w] = 0;
    for (int64_t r = 0; r < roots; r++) {
        int least = 0;
        for (int w = 1; w < workers; w++)
            if (load[w] < load[least]) least = w;
        tree->owner[root[r].at] = least;
        load[least] += root[r].weight;
    }
    for (int64_t k = 0; k < tree->count; k++) {
        int64_t s = node(tree, k, 0);
        int32_t parent = tree->parent[s];
        if (tree->weight[s] <= limit && parent >= 0 && tree->weight[parent] <= limit)
            tree->owner[s] = tree->owner[parent];
    }
    for (int64_t s = 0; s < tree->count; s++) {
        if (tree->weight[s] <= limit) continue;
        if (tree->work[s] >= THIN) {
            last = (last + 1) % workers;
            turns++;
        }
        tree->owner[s] = last;
        above += tree->work[s];
    }
    for (int w = 0; w < workers; w++)
        if (load[w] > most) most = load[w];
    *time = workers == 1 ? total : most + above / workers * 1.2 + SIGHT * turns;
}

/* ---- everything ---- */

struct made {
    struct tree tree;
    int32_t *cut, *of;
    double time, width;
};

static void made_fini(struct made *m)
{
    tulle__free(m->cut);
    tulle__free(m->of);
    tulle__free(m->tree.work);
    tulle__free(m->tree.weight);
    tulle__free(m->tree.parent);
    tulle__free(m->tree.owner);
}

/* Cuts, and the direction of the two that stores less. */
static tulle_status find(const tulle__triangle *t, double relax, struct made *m)
{
    tulle_status status;
    struct likeness rows = {.count = NULL}, columns = {.count = NULL};
    int32_t *other = NULL;
    double stored[2], entries = 0;
    int64_t count[2], n = t->n;
    TULLE_TRY(likeness_init(n, &rows));
    TULLE_TRY(likeness_init(n, &columns));
    TULLE_TRY(tulle__alloc((size_t)n + 1, sizeof *other, "supernodes", &other));
    TULLE_TRY(tulle__alloc((size_t)n + 1, sizeof *m->cut, "supernodes", &m->cut));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *m->of, "supernodes", &m->of));
    compare(t, &rows, &columns);
    count[0] = cut_runs(&rows, n, 0, relax, m->cut, &stored[0]);
    count[1] = cut_runs(&columns, n, 1, relax, other, &stored[1]);
    m->tree.by_columns = stored[1] + BLOCK_COST * (double)count[1] < stored[0] + BLOCK_COST * (double)count[0];
    if (m->tree.by_columns) memcpy(m->cut, other, ((size_t)n + 1) * sizeof *other);
    m->tree.count = count[m->tree.by_columns];
    m->tree.cut = m->cut;
    m->tree.of = m->of;
    for (int32_t s = 0; s < m->tree.count; s++)
        for (int32_t step = m->cut[s]; step < m->cut[s + 1]; step++) {
            double line = 1 + (double)(m->tree.by_columns ? columns.count[step] : rows.count[step]);
            m->of[step] = s;
            m->width += line * (double)(m->cut[s + 1] - m->cut[s]);
            entries += line;
        }
    m->width = entries > 0 ? m->width / entries : 0;
out:
    tulle__free(other);
    likeness_fini(&rows);
    likeness_fini(&columns);
    return status;
}

static tulle_status plant(const tulle__triangle *t, int workers, struct made *m)
{
    struct tree *tree = &m->tree;
    size_t count = (size_t)tree->count;
    TULLE__SCOPED int32_t *mark = NULL;
    TULLE__SCOPED struct root *root = NULL;
    TULLE__SCOPED double *load = NULL;
    TULLE_CALL(tulle__alloc(count, sizeof *tree->work, "supernodes", &tree->work));
    TULLE_CALL(tulle__alloc(count, sizeof *tree->weight, "supernodes", &tree->weight));
    TULLE_CALL(tulle__alloc(count, sizeof *tree->parent, "supernodes", &tree->parent));
    TULLE_CALL(tulle__alloc(count, sizeof *tree->owner, "supernodes", &tree->owner));
    TULLE_CALL(tulle__alloc((size_t)t->n, sizeof *mark, "supernodes", &mark));
    TULLE_CALL(tulle__alloc(count, sizeof *root, "subtrees", &root));
    TULLE_CALL(tulle__alloc((size_t)workers, sizeof *load, "loads of workers", &load));
    compute_work(t, tree, mark);
    partition_rows(tree, workers, root, load, &m->time);
    return TULLE_OK;
}

static double relax_of(double relax)
{
    return relax < 0 ? 0 : relax > 0 ? relax : RELAX;
}

tulle_status tulle__supernodes_cost(const tulle__triangle *t, int workers, double relax, double *cost, double *width)
{
    struct made m = {.time = 0};
    double serial = (double)(t->own ? t->own->nnz : t->T->nnz) + (double)t->n;
    tulle_status status = find(t, relax_of(relax), &m);
    *cost = 1e9;
    if (status == TULLE_OK && m.width >= 4) {
        status = plant(t, workers, &m);
        *cost = m.time / serial;
    }
    *width = m.width;
    made_fini(&m);
    return status;
}

static size_t block_bytes(int64_t n, int64_t count)
{
    return (size_t)(n + 3 * count + 1) * sizeof(int32_t);
}

static void look_into(tulle__supernodes *s, const void *block)
{
    s->cut = block;
    s->of = s->cut + s->count + 1;
    s->owner = s->of + s->n;
    s->after = s->owner + s->count;
}

/* On PE 0. */
static tulle_status make(const tulle__triangle *t, int workers, double relax, tulle__supernodes *s)
{
    tulle_status status;
    struct made m = {.time = 0};
    int32_t *rows = NULL;
    TULLE_TRY(tulle__alloc_zero((size_t)workers, sizeof *rows, "rows of workers", &rows));
    TULLE_TRY(find(t, relax_of(relax), &m));
    TULLE_TRY(plant(t, workers, &m));
    s->count = m.tree.count;
    s->by_columns = m.tree.by_columns;
    TULLE_TRY(tulle__heap_take(s->comm->pe->data, block_bytes(s->n, s->count), "supernodes", &s->block));
    look_into(s, tulle__mapped(s->comm, &s->block));
    memcpy((int32_t *)(uintptr_t)s->cut, m.cut, ((size_t)s->count + 1) * sizeof *m.cut);
    memcpy((int32_t *)(uintptr_t)s->of, m.of, (size_t)s->n * sizeof *m.of);
    memcpy((int32_t *)(uintptr_t)s->owner, m.tree.owner, (size_t)s->count * sizeof *m.tree.owner);
    for (int64_t k = 0; k < s->count; k++) {
        rows[s->owner[k]] += s->cut[k + 1] - s->cut[k];
        ((int32_t *)(uintptr_t)s->after)[k] = rows[s->owner[k]];
    }
out:
    tulle__free(rows);
    made_fini(&m);
    return status;
}

tulle_status tulle__supernodes_init(const tulle__triangle *t, int workers, double relax, tulle__supernodes *supernodes)
{
    tulle_comm *comm = t->T->comm;
    struct {
        tulle__place block;
        int64_t count, by_columns;
    } made;
    *supernodes = (tulle__supernodes){.comm = comm, .n = t->n};
    TULLE_CALL(tulle_comm_agree(comm, comm->rank == 0 ? make(t, workers, relax, supernodes) : TULLE_OK));
    made.block = supernodes->block;
    made.count = supernodes->count;
    made.by_columns = supernodes->by_columns;
    TULLE_CALL(tulle_comm_broadcast(comm, 0, &made, sizeof made));
    supernodes->block = made.block;
    supernodes->count = made.count;
    supernodes->by_columns = (int)made.by_columns;
    if (t->reach == TULLE__ROWS_ALL || comm->rank == 0) look_into(supernodes, tulle__mapped(comm, &supernodes->block));
    return TULLE_OK;
}

void tulle__supernodes_fini(tulle__supernodes *supernodes)
{
    if (supernodes->comm && supernodes->comm->rank == 0 && supernodes->block.length)
        tulle__heap_give(supernodes->comm->pe->data, &supernodes->block);
    *supernodes = (tulle__supernodes){.n = 0};
}
