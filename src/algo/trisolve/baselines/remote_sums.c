/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remote partial sums and in-degrees. A counter is written after the sum that it covers, and read
 * before it, so that a sum is final when it is read. Where all PEs are mapped this is done by loads
 * and stores; otherwise counters are words of control memory, and so are sums that others add to.
 */
#include <string.h>

#include "algo/trisolve/baselines/remote_words.h"
#include "algo/trisolve/baselines/scatter.h"
#include "base/error.h"

enum { COUNTERS, SUMS };

static int window_of(const tulle__scatter *s)
{
    return s->nown < TULLE__SCATTER_WINDOW ? (int)s->nown : TULLE__SCATTER_WINDOW;
}

/* Bytes of a sum where it is shared. */
static size_t sum_size(const tulle__scatter *s)
{
    return s->shared ? sizeof(uint64_t) : tulle_type_size(s->type);
}

/* Rows of this PE's published arrays: all rows, or its part. */
static int64_t published_rows(const tulle__scatter *s)
{
    int part = s->upper ? s->comm->size - 1 - s->comm->rank : s->comm->rank;
    return s->shared ? s->first[part + 1] - s->first[part] : s->n;
}

void tulle__remote_sums_close(tulle__scatter *s)
{
    tulle__pe *pe = s->comm->pe;
    void **const own[] = {&s->lines, &s->sum, (void **)&s->left, (void **)&s->waiting, (void **)&s->ready,
        (void **)&s->met, (void **)&s->word, &s->got, (void **)&s->range, (void **)&s->add_row, (void **)&s->add_value,
        (void **)&s->add_was, (void **)&s->add_range, (void **)&s->add_read};
    for (int what = 0; what < 2; what++) {
        if (s->own[what].length)
            tulle__heap_give(s->own[what].segment == TULLE__DATA ? pe->data : pe->control, &s->own[what]);
        s->own[what].length = 0;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        tulle__free(*own[i]);
        *own[i] = NULL;
    }
    s->cols = -1;
}

static tulle_status take_workspace(tulle__scatter *s, tulle_gidx cols, int direct)
{
    tulle__pe *pe = s->comm->pe;
    tulle__heap *words = direct ? pe->data : pe->control;
    size_t size = tulle_type_size(s->type), all = (size_t)(s->nown * cols), rows = (size_t)published_rows(s);
    size_t window = (size_t)window_of(s), reads = window * (size_t)s->comm->size;
    TULLE_CALL(tulle__alloc(all, size, "unknowns", &s->lines));
    TULLE_CALL(tulle__alloc(all, size, "partial sums", &s->sum));
    TULLE_CALL(tulle__alloc((size_t)s->nown, sizeof *s->left, "in-degrees", &s->left));
    TULLE_CALL(tulle__alloc(window, sizeof *s->waiting, "waiting rows", &s->waiting));
    TULLE_CALL(tulle__alloc(window, sizeof *s->ready, "ready rows", &s->ready));
    TULLE_CALL(tulle__alloc(reads, 1, "counters", &s->met));
    TULLE_CALL(tulle__alloc(reads, sizeof *s->word, "counters", &s->word));
    TULLE_CALL(tulle__alloc(reads, sizeof *s->range, "counters", &s->range));
    TULLE_CALL(tulle__alloc(reads * (size_t)cols, sum_size(s), "sums of others", &s->got));
    if (s->shared) {
        TULLE_CALL(tulle__alloc(TULLE__ADDS, sizeof *s->add_row, "additions", &s->add_row));
        TULLE_CALL(tulle__alloc(TULLE__ADDS, sizeof *s->add_range, "additions", &s->add_range));
        TULLE_CALL(tulle__alloc(TULLE__ADDS, sizeof *s->add_read, "additions", &s->add_read));
        TULLE_CALL(tulle__alloc(TULLE__ADDS * (size_t)cols, sizeof *s->add_value, "additions", &s->add_value));
        TULLE_CALL(tulle__alloc(TULLE__ADDS * (size_t)cols, sizeof *s->add_was, "additions", &s->add_was));
    }
    TULLE_CALL(tulle__heap_take(
        words, (rows + 1) * sizeof(uint64_t), "in-degrees that other PEs count or read", &s->own[COUNTERS]));
    TULLE_CALL(tulle__heap_take(s->shared ? words : pe->data, rows * (size_t)cols * sum_size(s) + sizeof(uint64_t),
        "partial sums that other PEs add to or read", &s->own[SUMS]));
    for (int what = 0; what < 2; what++) s->own[what].managed = s->shared; /* unified memory */
    return TULLE_OK;
}

tulle_status tulle__remote_sums_open(tulle__scatter *s, tulle_gidx cols)
{
    tulle_comm *comm = s->comm;
    int64_t direct = !tulle__is_virtual(comm); /* in virtual time, access to other PEs' memory must take time */
    if (s->cols == cols) return TULLE_OK;
    for (int r = 0; r < comm->size; r++)
        if (!comm->pe->link->ops->mapped(comm->pe->link, tulle__comm_world(comm, r), TULLE__DATA)) direct = 0;
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_MIN, 1, &direct)));
    tulle__remote_sums_close(s);
    TULLE_CALL(tulle_comm_agree(comm, take_workspace(s, cols, direct != 0)));
    for (int what = 0; what < 2; what++) {
        TULLE_CALL(tulle_comm_allgather(comm, &s->own[what], sizeof s->own[what], s->place[what]));
        for (int r = 0; r < comm->size; r++)
            s->direct[what][r] = direct ? tulle__mapped(comm, &s->place[what][r]) : NULL;
    }
    s->cols = cols;
    return TULLE_OK;
}

void tulle__remote_sums_arm(tulle__scatter *s)
{
    uint64_t *counter = tulle__mapped(s->comm, &s->own[COUNTERS]);
    int64_t rows = published_rows(s);
    for (int64_t r = 0; r < rows; r++) tulle__word_write(&counter[r], s->shared ? 0 : (uint64_t)s->owed[r]);
    memset(tulle__mapped(s->comm, &s->own[SUMS]), 0, (size_t)(rows * s->cols) * sum_size(s));
    memset(s->sum, 0, (size_t)(s->nown * s->cols) * tulle_type_size(s->type));
    memcpy(s->left, s->near, (size_t)s->nown * sizeof *s->left);
    s->messages = s->polls = 0;
    s->nadds = 0;
}

/* True if a PE publishes a row, and as which of its rows. */
static int publishes_row(const tulle__scatter *s, int rank, tulle_gidx row, uint64_t *at)
{
    int part = s->upper ? s->comm->size - 1 - rank : rank;
    *at = (uint64_t)(s->shared ? row - s->first[part] : row);
    return s->shared ? row >= s->first[part] && row < s->first[part + 1] : rank != s->comm->rank;
}

static int keeper(const tulle__scatter *s, tulle_gidx row, uint64_t *at)
{
    int rank = 0;
    while (!publishes_row(s, rank, row, at)) rank++;
    return rank;
}

/* ---- adding ---- */

static tulle__word_kind kind_of(const tulle__scatter *s)
{
    return s->type == TULLE_F32 ? TULLE__WORD_F32 : TULLE__WORD_F64;
}

/* a x as a word. */
static uint64_t product(tulle_type type, const char *a, const char *x)
{
    uint64_t word;
    uint32_t half;
    if (type == TULLE_F32) {
        float y = *(const float *)(const void *)a * *(const float *)(const void *)x;
        memcpy(&half, &y, sizeof half);
        return half;
    }
    double y = *(const double *)(const void *)a * *(const double *)(const void *)x;
    memcpy(&word, &y, sizeof word);
    return word;
}

/* For mapped PEs: at once. */
static void add_mapped(const tulle__scatter *s, int rank, uint64_t at, const uint64_t *value)
{
    uint64_t *sum = (uint64_t *)(void *)s->direct[SUMS][rank] + at * (uint64_t)s->cols;
    for (tulle_gidx c = 0; c < s->cols; c++) {
        uint64_t was = tulle__word_read(&sum[c]);
        while (!__atomic_compare_exchange_n(
            &sum[c], &was, tulle__word_sum(kind_of(s), was, value[c]), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
    }
    __atomic_fetch_add((uint64_t *)(void *)s->direct[COUNTERS][rank] + at, 1, __ATOMIC_ACQ_REL);
}

/* Adds the sums, or the counters, of the buffered entries of a PE. */
static tulle_status send_adds(tulle__scatter *s, int group, int rank, int what)
{
    static uint64_t const one = 1;
    uint64_t width = what == SUMS ? (uint64_t)s->cols : 1;
    size_t bytes = width * sizeof one;
    int used = 0;
    for (int i = 0; i < s->nadds; i++) {
        uint64_t at;
        if (!publishes_row(s, rank, s->add_row[i], &at)) continue;
        const uint64_t *words = what == SUMS ? s->add_value + (uint64_t)i * width : &one;
        s->add_read[used] = (tulle__range){at * bytes, s->add_was + (uint64_t)used * width, bytes};
        s->add_range[used++] = (tulle__range){at * bytes, (void *)(uintptr_t)words, bytes};
    }
    if (!used) return TULLE_OK;
    if (rank != s->comm->rank) s->messages += used * (int64_t)width;
    return tulle__words_add(s->comm, group, &s->place[what][rank], what == SUMS ? kind_of(s) : TULLE__WORD_INT, used,
        s->add_range, s->add_read);
}

tulle_status tulle__remote_sums_flush(tulle__scatter *s)
{
    tulle_status status = TULLE_OK;
    int group = tulle__comm_group(s->comm);
    for (int what = SUMS; what >= COUNTERS && s->nadds; what--)
        for (int rank = 0; rank < s->comm->size && status == TULLE_OK; rank++) status = send_adds(s, group, rank, what);
    s->nadds = 0;
    return status;
}

static tulle_status add_shared(tulle__scatter *s, tulle_gidx row, const char *a, const char *x)
{
    uint64_t at, *value = s->add_value + s->nadds * s->cols;
    size_t size = tulle_type_size(s->type);
    for (tulle_gidx c = 0; c < s->cols; c++) value[c] = product(s->type, a, x + (size_t)c * size);
    int rank = keeper(s, row, &at);
    if (s->direct[SUMS][rank]) {
        add_mapped(s, rank, at, value);
        if (rank != s->comm->rank) s->messages += s->cols + 1;
        return TULLE_OK;
    }
    s->add_row[s->nadds++] = (int32_t)row;
    return s->nadds < TULLE__ADDS ? TULLE_OK : tulle__remote_sums_flush(s);
}

tulle_status tulle__remote_sums_add(tulle__scatter *s, tulle_gidx row, int64_t entry, const void *x)
{
    size_t size = tulle_type_size(s->type);
    const char *a = (const char *)s->val + (size_t)entry * size;
    if (s->shared) return add_shared(s, row, a, x);
    /* only this PE writes here */
    uint64_t *counter = (uint64_t *)tulle__mapped(s->comm, &s->own[COUNTERS]) + row;
    char *sum = tulle__mapped(s->comm, &s->own[SUMS]);
    tulle__scatter_axpy(s->type, s->cols, a, x, sum + (size_t)(row * s->cols) * size);
    tulle__word_write(counter, tulle__word_read(counter) - 1);
    return TULLE_OK;
}

/* ---- reading ---- */

/* Reads the counters of all waiting lines that are not known to be complete. */
static tulle_status read_counters(tulle__scatter *s, int nwaiting)
{
    int size = s->comm->size, used = 0, group = tulle__comm_group(s->comm);
    for (int rank = 0; rank < size; rank++) {
        int from = used;
        const uint64_t *direct = (const uint64_t *)(const void *)s->direct[COUNTERS][rank];
        for (int w = 0; w < nwaiting; w++) {
            uint64_t at, *word = &s->word[w * size + rank];
            if (s->met[w * size + rank] || !publishes_row(s, rank, s->row[s->waiting[w]], &at)) continue;
            if (direct)
                *word = tulle__word_read(&direct[at]);
            else
                s->range[used++] = (tulle__range){at * sizeof *word, word, sizeof *word};
        }
        if (used > from) tulle__words_read(s->comm, group, &s->place[COUNTERS][rank], used - from, s->range + from);
    }
    return used ? tulle__wait(s->comm, group) : TULLE_OK;
}

/* True if all entries of a line are done, by the counters read. */
static int is_done(tulle__scatter *s, int w)
{
    int size = s->comm->size, done = 1;
    uint64_t at, want = s->shared ? (uint64_t)s->far[s->waiting[w]] : 0;
    for (int rank = 0; rank < size; rank++) {
        int known = w * size + rank;
        if (s->met[known] || !publishes_row(s, rank, s->row[s->waiting[w]], &at)) continue;
        s->met[known] = s->word[known] == want;
        if (!s->met[known])
            s->polls++;
        else if (rank != s->comm->rank)
            s->messages++;
        done = done && s->met[known];
    }
    return done;
}

tulle_status tulle__remote_sums_look(tulle__scatter *s, int *nwaiting, int *nready)
{
    int size = s->comm->size, kept = 0;
    tulle_status status = read_counters(s, *nwaiting);
    *nready = 0;
    if (status != TULLE_OK) return status;
    for (int w = 0; w < *nwaiting; w++) {
        if (is_done(s, w)) {
            s->ready[(*nready)++] = s->waiting[w];
            continue;
        }
        s->waiting[kept] = s->waiting[w];
        memmove(&s->met[kept++ * size], &s->met[w * size], (size_t)size);
    }
    *nwaiting = kept;
    return TULLE_OK;
}

/* Adds received sums to a line's. An f32 is the lower half of its word. */
static void add_got(tulle__scatter *s, int64_t line, const char *got)
{
    size_t size = tulle_type_size(s->type), step = sum_size(s);
    for (int64_t at = line * s->cols; at < (line + 1) * s->cols; at++, got += step) {
        uint64_t word = 0;
        double x;
        float y;
        if (s->shared) memcpy(&word, got, sizeof word);
        uint32_t half = (uint32_t)word;
        if (s->type == TULLE_F32) {
            memcpy(&y, s->shared ? (const void *)&half : got, size);
            ((float *)s->sum)[at] += y;
        } else {
            memcpy(&x, got, size);
            ((double *)s->sum)[at] += x;
        }
    }
}

tulle_status tulle__remote_sums_take(tulle__scatter *s, int nready)
{
    int size = s->comm->size, used = 0, group = tulle__comm_group(s->comm);
    size_t bytes = (size_t)s->cols * sum_size(s);
    for (int rank = 0; rank < size; rank++) {
        int from = used;
        for (int i = 0; i < nready; i++) {
            uint64_t at;
            if (!publishes_row(s, rank, s->row[s->ready[i]], &at)) continue;
            char *got = (char *)s->got + (size_t)(i * size + rank) * bytes;
            s->messages += rank != s->comm->rank;
            if (s->direct[SUMS][rank])
                memcpy(got, s->direct[SUMS][rank] + at * bytes, bytes);
            else
                s->range[used++] = (tulle__range){at * bytes, got, bytes};
        }
        if (used == from) continue;
        if (s->shared)
            tulle__words_read(s->comm, group, &s->place[SUMS][rank], used - from, s->range + from);
        else
            tulle__getv(s->comm, group, &s->place[SUMS][rank], used - from, s->range + from);
    }
    if (used) TULLE_CALL(tulle__wait(s->comm, group));
    for (int i = 0; i < nready; i++)
        for (int rank = 0; rank < size; rank++) {
            uint64_t at;
            if (publishes_row(s, rank, s->row[s->ready[i]], &at))
                add_got(s, s->ready[i], (const char *)s->got + (size_t)(i * size + rank) * bytes);
        }
    return TULLE_OK;
}
