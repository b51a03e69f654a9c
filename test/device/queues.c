/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of devices (src/device/device.h): queues SPEC. The same for each of them; what is to be overlapped,
 * paced or refused is in test_limit.c.
 */
#include "base/error.h"
#include "copies.h"
#include "devices.h"

static void test_memory(tulle__device *d)
{
    tulle__device_buffer *a = NULL, *b = NULL, *none = NULL;
    void *host = NULL;
    size_t before = d->used, too_much = d->capacity - before + 1;
    char figure[32];
    snprintf(figure, sizeof figure, "%zu", d->capacity);
    ok(d->capacity > 0 && *d->text && *d->name, "%s: %s, %zu bytes", d->name, d->text, d->capacity);
    ok(tulle__device_buffer_new(d, 1000, "a", &a) == TULLE_OK && a->bytes == 1000, "a buffer");
    ok(d->used == before + 1000, "it is counted");
    ok(!a->direct || (uintptr_t)a->direct % TULLE__DEVICE_ALIGN == 0, "it is aligned if the host reaches it");
    ok(tulle__device_buffer_new(d, too_much, "the moon", &b) == TULLE_ERR_LIMIT && !b, "too much is refused");
    ok(strstr(tulle_error_message(), "the moon") && strstr(tulle_error_message(), figure), "with the figures");
    ok(tulle__device_buffer_new(d, 0, "nothing", &none) == TULLE_OK, "a buffer of nothing");
    tulle__device_buffer_free(d, none);
    tulle__device_buffer_free(d, a);
    tulle__device_buffer_free(d, NULL);
    ok(d->used == before, "what is freed is not counted any more");
    ok(d->ops->host_new(d, 5000, "staging", &host) == TULLE_OK && (uintptr_t)host % TULLE__DEVICE_ALIGN == 0,
        "host memory is aligned");
    if (host) memset(host, 1, 5000);
    d->ops->host_free(d, host);
    d->ops->host_free(d, NULL);
}

/* Many copies up and down again, some of nothing, at odd places. */
static void test_copies(tulle__device *d)
{
    enum { COUNT = 600, SIZE = 97 };
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *q = NULL;
    unsigned char *up = malloc(COUNT * SIZE), *down = malloc(COUNT * SIZE);
    int64_t copies = d->counting->counts.copies[0], bytes = d->counting->counts.bytes[1];
    for (int i = 0; i < COUNT * SIZE; i++) up[i] = (unsigned char)(i * 7 + i / 251);
    memset(down, 0, COUNT * SIZE);
    ok(tulle__device_buffer_new(d, COUNT * SIZE, "a", &buffer) == TULLE_OK && d->ops->queue_new(d, &q) == TULLE_OK,
        "a queue");
    for (int i = 0; i < COUNT; i++)
        d->ops->upload(q, &(tulle__device_place){buffer, (size_t)(i * SIZE)}, up + i * SIZE, i % 50 == 9 ? 0 : SIZE);
    for (int i = 0; i < COUNT; i++)
        if (i % 50 != 9) d->ops->download(q, down + i * SIZE, &(tulle__device_place){buffer, (size_t)(i * SIZE)}, SIZE);
    ok(d->ops->queue_wait(q) == TULLE_OK, "600 copies up, and down again behind them");
    int same = 1;
    for (int i = 0; i < COUNT * SIZE; i++) same &= down[i] == (i / SIZE % 50 == 9 ? 0 : up[i]);
    ok(same, "bring what was sent");
    ok(d->counting->counts.copies[0] == copies + COUNT && d->counting->counts.bytes[1] == bytes + 588 * SIZE,
        "and are counted");
    ok(d->ops->queue_wait(q) == TULLE_OK, "waiting for nothing");
    d->ops->queue_free(d, q);
    d->ops->queue_free(d, NULL);
    tulle__device_buffer_free(d, buffer);
    free(up);
    free(down);
}

static void test_products(tulle__device *d)
{
    static const int64_t sizes[][2] = {{1, 1}, {0, 4}, {7, 0}, {30, 21}, {64, 64}};
    static const int64_t cols[] = {0, 1, 3, 8, 32};
    int bad = 0, count = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t w = 0; w < sizeof cols / sizeof *cols; w++)
            for (int block = 1; block <= 6; block = block == 1 ? 2 : block == 2 ? 3 : block + 3)
                for (int kind = 0; kind < 4; kind++)
                    for (int types = 0; types < 3; types++) {
                        int symmetric = kind % 2;
                        struct problem p = {.m = sizes[s][0],
                            .n = symmetric ? sizes[s][0] : sizes[s][1],
                            .cols = cols[w],
                            .block = block,
                            .symmetric = symmetric,
                            .type = types == 2 ? TULLE_F64 : TULLE_F32,
                            .vectors = types == 0 ? TULLE_F32 : TULLE_F64,
                            .narrow = kind / 2,
                            .slabs = 1 + (int)w};
                        count++;
                        if (!problem_runs(d, &p)) bad++;
                    }
    ok(bad == 0, "%d products by slabs with events between queues (%d wrong)", count, bad);
}

/* Rows have the same bits however the matrix is cut. Columns have 16 bits, as others are cuSPARSE's of cuda. */
static void test_cuts(tulle__device *d)
{
    int same = 0, count = 0;
    for (int block = 1; block <= 3; block++)
        for (int64_t cols = 1; cols <= 9; cols += 4) {
            struct problem p = {.m = 61, .n = 67, .cols = cols, .block = block, .narrow = 1, .unit = 1 / 3.};
            p.type = p.vectors = TULLE_F64;
            uint64_t bits = 0;
            for (p.slabs = 1; p.slabs < 8; p.slabs += 3, count++) {
                tulle_status status = problem_run(d, &p);
                if (p.slabs == 1) bits = p.bits;
                same += status == TULLE_OK && p.bits == bits;
            }
        }
    ok(same == count, "%d of %d cuts have the bits of the whole", same, count);
}

static void test_scale(tulle__device *d)
{
    double host[12], got[12];
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *q = NULL;
    tulle__vectors Y;
    for (int i = 0; i < 12; i++) host[i] = i == 5 ? (double)NAN : i;
    tulle__device_buffer_new(d, sizeof host, "a", &buffer);
    d->ops->queue_new(d, &q);
    Y = (tulle__vectors){.place = {buffer, sizeof(double)}, .ld = 4};
    d->ops->upload(q, &(tulle__device_place){buffer, 0}, host, sizeof host);
    tulle__start_scale(d, q, &(tulle__device_scale){TULLE_F64, 2, 3, Y, 0});
    Y.place.at = 9 * sizeof(double);
    tulle__start_scale(d, q, &(tulle__device_scale){TULLE_F64, 1, 2, Y, -2});
    d->ops->download(q, got, &(tulle__device_place){buffer, 0}, sizeof got);
    ok(d->ops->queue_wait(q) == TULLE_OK, "scaling");
    int fine = 1;
    for (int i = 0; i < 12; i++) {
        double want = (i >= 1 && i <= 3) || (i >= 5 && i <= 7) ? 0 : i == 9 || i == 10 ? -2 * i : i;
        fine &= got[i] == want;
    }
    ok(fine, "scales its lines and nothing else, and zero does not read");
    d->ops->queue_free(d, q);
    tulle__device_buffer_free(d, buffer);
}

static void test_events(tulle__device *d)
{
    tulle__device_queue *q = NULL;
    tulle__device_event *e = NULL;
    ok(d->ops->queue_new(d, &q) == TULLE_OK && d->ops->event_new(d, &e) == TULLE_OK, "an event");
    d->ops->event_wait(e);
    d->ops->join(q, e);
    ok(d->ops->queue_wait(q) == TULLE_OK, "one that was not recorded has happened");
    d->ops->record(q, e);
    d->ops->record(q, e);
    d->ops->event_wait(e);
    ok(d->ops->queue_wait(q) == TULLE_OK, "it may be recorded again");
    ok(d->ops->event_done(e), "and has happened");
    d->ops->event_free(d, e);
    d->ops->event_free(d, NULL);
    d->ops->queue_free(d, q);
}

/* Whoever polls for an event, and does nothing else, sees it happen, and what was started before it done. */
static void test_polling(tulle__device *d)
{
    enum { COPIES = 20, MOST = 100000000 };
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *q[2] = {NULL, NULL};
    tulle__device_event *e[3] = {NULL, NULL, NULL};
    double up[COPIES], down[COPIES];
    int64_t polls = 0;
    tulle_status status = tulle__device_buffer_new(d, sizeof up, "a", &buffer);
    for (int i = 0; i < 3 && status == TULLE_OK; i++) status = d->ops->event_new(d, &e[i]);
    for (int i = 0; i < 2 && status == TULLE_OK; i++) status = d->ops->queue_new(d, &q[i]);
    ok(status == TULLE_OK && d->ops->event_done(e[0]), "an event that was not recorded is done");
    for (int i = 0; i < COPIES; i++) {
        up[i] = i + 1;
        d->ops->upload(q[0], &(tulle__device_place){buffer, (size_t)i * sizeof *up}, &up[i], sizeof *up);
    }
    d->ops->record(q[0], e[0]);
    d->ops->join(q[1], e[0]);
    d->ops->download(q[1], down, &(tulle__device_place){buffer, 0}, sizeof down);
    d->ops->record(q[1], e[1]);
    while (!d->ops->event_done(e[1]) && polls < MOST) polls++;
    ok(polls < MOST && memcmp(up, down, sizeof up) == 0, "copies in two queues are done when their event is");
    ok(d->ops->event_done(e[0]), "and so is what they waited for");
    ok(d->ops->queue_wait(q[0]) == TULLE_OK && d->ops->queue_wait(q[1]) == TULLE_OK, "without errors");
    for (int i = 0; i < 2; i++) d->ops->queue_free(d, q[i]);
    for (int i = 0; i < 3; i++) d->ops->event_free(d, e[i]);
    tulle__device_buffer_free(d, buffer);
}

/* A slab that stays is multiplied with what was found out about it, several times, with new X. */
static void test_prepared(tulle__device *d)
{
    enum { COLS = 2 };
    struct problem p = {
        .m = 23, .n = 17, .cols = COLS, .block = 1, .type = TULLE_F64, .vectors = TULLE_F64, .slabs = 1};
    struct engines e = {.X = NULL};
    tulle__slab_task task = {.vectors = TULLE_F64, .cols = COLS};
    tulle__device_buffer *workspace = NULL;
    tulle__device_prepared *prepared = NULL;
    double X[17 * COLS], Y[23 * COLS];
    size_t bytes = 0;
    int wrong = 0;
    tulle_status status = open_engines(d, &p, &e);
    char *data = pack_slab(d, &p, 0, p.m, &task.A);
    task.A.rowptr.buffer = task.A.base.buffer = task.A.colind.buffer = task.A.val.buffer = e.ring[0];
    task.X = (tulle__vectors){{e.X, 0}, COLS};
    task.Y = (tulle__vectors){{e.Y, 0}, COLS};
    if (status == TULLE_OK && d->ops->workspace) status = d->ops->workspace(d, &task, &bytes);
    if (status == TULLE_OK && bytes) status = tulle__device_buffer_new(d, bytes, "a workspace", &workspace);
    task.workspace.buffer = workspace;
    ok(status == TULLE_OK, "a workspace of %zu bytes", bytes);
    d->ops->upload(e.kernels, &(tulle__device_place){e.ring[0], 0}, data, slab_bytes(&p, &task.A));
    if (d->ops->prepare) status = d->ops->prepare(e.kernels, &task, &prepared);
    task.prepared = prepared;
    for (int turn = 0; turn < 3 && status == TULLE_OK; turn++) {
        for (int i = 0; i < 17 * COLS; i++) X[i] = x_at(i / COLS + turn, i % COLS);
        d->ops->upload(e.kernels, &task.X.place, X, sizeof X);
        tulle__start_multiply(d, e.kernels, &task);
        d->ops->download(e.kernels, Y, &task.Y.place, sizeof Y);
        status = d->ops->queue_wait(e.kernels);
        for (int i = 0; i < 23 * COLS; i++) {
            double want = 0;
            for (int64_t k = 0; k < p.n; k++) want += element(&p, i / COLS, k) * X[k * COLS + i % COLS];
            wrong += Y[i] != want;
        }
    }
    ok(status == TULLE_OK && wrong == 0, "a prepared slab is multiplied again and again (%d wrong)", wrong);
    if (prepared) d->ops->forget(d, prepared);
    tulle__device_buffer_free(d, workspace);
    close_engines(d, &e);
    free(data);
}

/* A kernel that there is not: the queue says so once, and goes on. */
static void test_errors(tulle__device *d)
{
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got = 0;
    int64_t rowptr[2] = {0, 1};
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *q = NULL, *other = NULL;
    tulle__device_buffer_new(d, 4096, "a", &buffer);
    d->ops->queue_new(d, &q);
    d->ops->queue_new(d, &other);
    d->ops->upload(q, &(tulle__device_place){buffer, 0}, rowptr, sizeof rowptr);
    d->ops->upload(q, &(tulle__device_place){buffer, 256}, "\0\0\0\0", 4);
    d->ops->upload(q, &(tulle__device_place){buffer, 512}, x, sizeof x);
    tulle__slab_task task = {.A = {.type = TULLE_F64,
                                 .block = 1,
                                 .index_bytes = 4,
                                 .m = 1,
                                 .n = 1,
                                 .blocks = 1,
                                 .rowptr = {buffer, 0},
                                 .colind = {buffer, 256},
                                 .val = {buffer, 512}},
        .vectors = TULLE_F32,
        .X = {.place = {buffer, 512}, .ld = 1},
        .Y = {.place = {buffer, 1024}, .ld = 1},
        .cols = 1};
    tulle__start_multiply(d, q, &task);
    d->ops->upload(q, &(tulle__device_place){buffer, 512}, "lost", 4);
    ok(d->ops->queue_wait(q) == TULLE_ERR_UNSUPPORTED && *tulle_error_message(), "a kernel that there is not is told");
    ok(d->ops->queue_wait(q) == TULLE_OK, "once");
    ok(d->ops->queue_wait(other) == TULLE_OK, "and not to another queue");
    d->ops->download(q, &got, &(tulle__device_place){buffer, 512}, sizeof got);
    ok(d->ops->queue_wait(q) == TULLE_OK && got == 1, "what was behind it was left out, what comes then is not");
    d->ops->queue_free(d, q);
    d->ops->queue_free(d, other);
    tulle__device_buffer_free(d, buffer);
}

/* The n-th allocation fails, from opening to closing, until all of it succeeds; nothing is left. */
static void test_allocations(const char *spec)
{
    tulle__account *account = tulle__account_new(0), *before = tulle__account_enter(account);
    struct problem p = {.m = 20, .n = 20, .cols = 3, .block = 1, .type = TULLE_F64, .vectors = TULLE_F64, .slabs = 3};
    int n = 0, done = 0, leaks = 0, odd = 0;
    for (; !done && n < 1000; n++) {
        tulle__device *d = NULL;
        tulle__account_fail_after(account, n);
        tulle__error_clear();
        tulle_status status = tulle__device_open(spec, &(tulle__device_setting){.threads = 2, .overlap = 1}, &d);
        if (status == TULLE_OK) status = problem_run(d, &p);
        tulle__account_fail_after(account, -1);
        odd += status != TULLE_OK && (status != TULLE_ERR_MEMORY || !*tulle_error_message());
        done = status == TULLE_OK;
        tulle__device_close(d);
        leaks += tulle__account_blocks(account) != 0;
    }
    ok(done && n > 4, "%d allocations", n - 1);
    ok(!leaks && !odd, "each failed in turn: %d leaks, %d other failures", leaks, odd);
    tulle__account_enter(before);
    tulle__account_free(account);
}

/* Every copy and kernel fails in turn; each is told, and the device goes on. */
static void test_faults(const char *spec)
{
    struct problem p = {.m = 20, .n = 20, .cols = 3, .block = 1, .type = TULLE_F64, .vectors = TULLE_F64, .slabs = 3};
    int told = 0, n = 0, again = 0;
    for (int done = 0; !done && n < 100; n++) {
        char text[200];
        tulle__device *d = NULL;
        snprintf(text, sizeof text, "fault:op=%d+%s", n, spec);
        if (tulle__device_open(text, &(tulle__device_setting){.threads = 2, .overlap = 1}, &d) != TULLE_OK) break;
        tulle_status status = problem_run(d, &p);
        done = status == TULLE_OK;
        told += status == TULLE_ERR_COMM && strstr(tulle_error_message(), "fault") != NULL;
        if (!done) again += problem_runs(d, &p);
        tulle__device_close(d);
    }
    ok(n == 10 && told == 9 && again == 9, "each of 9 operations failed in turn (%d, %d, %d)", n, told, again);
}

/* The spec with `what` before its part-th part; 0: it has fewer. */
static int laid_in(const char *spec, int part, const char *what, char *text, size_t size)
{
    const char *rest = spec;
    for (; part && rest; part--) {
        rest = strchr(rest, '+');
        if (rest) rest++;
    }
    if (!rest) return 0;
    snprintf(text, size, "%.*s%s+%s", (int)(rest - spec), spec, what, rest);
    return 1;
}

/* 1: everything of a lost device is refused at once with one message, and what it has can be freed. */
static int is_lost(tulle__device *d, const char *message)
{
    const tulle__device_ops *ops = d->ops;
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *q = NULL;
    tulle__device_event *e = NULL;
    void *host = NULL;
    int told = 0;
#define TOLD(call) told += (call) == TULLE_ERR_COMM && !strcmp(tulle_error_message(), message)
    tulle__error_clear();
    TOLD(ops->state(d));
    tulle__error_clear();
    TOLD(tulle__device_buffer_new(d, 100, "a", &buffer));
    tulle__error_clear();
    TOLD(ops->queue_new(d, &q));
    tulle__error_clear();
    TOLD(ops->event_new(d, &e));
    tulle__error_clear();
    TOLD(ops->host_new(d, 100, "a", &host));
#undef TOLD
    return told == 5 && !buffer && !q && !e && !host;
}

/* A device is lost at each of its operations, wherever in the spec that happens. */
static void test_loss(const char *spec)
{
    struct problem p = {.m = 20, .n = 20, .cols = 3, .block = 1, .type = TULLE_F64, .vectors = TULLE_F64, .slabs = 3};
    int parts = 0, bad = 0, runs = 0, right = 0;
    char what[64], text[200], message[TULLE_MESSAGE_MAX];
    for (; laid_in(spec, parts, "fault", text, sizeof text); parts++)
        for (int n = 0, done = 0; !done && n < 100; n++, runs++) {
            tulle__device *d = NULL;
            tulle__device_buffer *buffer = NULL;
            tulle__device_queue *q = NULL;
            tulle__device_event *e = NULL;
            tulle__device_setting setting = {.threads = 2, .overlap = 1, .number = 1};
            snprintf(what, sizeof what, "fault:lost=%d,device=1", n);
            laid_in(spec, parts, what, text, sizeof text);
            tulle_status status = tulle__device_open(text, &setting, &d);
            if (status == TULLE_OK) status = tulle__device_buffer_new(d, sizeof text, "a", &buffer);
            if (status == TULLE_OK) status = d->ops->queue_new(d, &q);
            if (status == TULLE_OK) status = d->ops->event_new(d, &e);
            if (status != TULLE_OK) {
                bad++;
                break;
            }
            status = problem_run(d, &p);
            done = status == TULLE_OK;
            right += done && !p.wrong;
            snprintf(message, sizeof message, "%s", tulle_error_message());
            if (!done) {
                bad += status != TULLE_ERR_COMM || !strstr(message, "device 1 of PE 0") || !strstr(message, "is lost");
                bad += !is_lost(d, message);
                for (int turn = 0; turn < 2; turn++) { /* again and again */
                    d->ops->upload(q, &(tulle__device_place){buffer, 0}, text, sizeof text);
                    d->ops->record(q, e);
                    d->ops->join(q, e);
                    d->ops->event_wait(e);
                    bad += !d->ops->event_done(e);
                    bad += d->ops->queue_wait(q) != TULLE_ERR_COMM || strcmp(tulle_error_message(), message) != 0;
                }
            }
            d->ops->event_free(d, e);
            d->ops->queue_free(d, q);
            tulle__device_buffer_free(d, buffer);
            bad += d->used != 0;
            tulle__device_close(d);
        }
    ok(parts && !bad && right == parts && runs >= 10 * parts,
        "a device that is lost says so at once: %d specs, %d runs, %d bad", parts, runs, bad);
}

static void test_specs(const char *spec)
{
    static const char *const bad[] = {"cpv", "limit:mem=1M", "cpu+ref", "limit:men=1M+cpu", "cpu:mem=x", "cpu:mem", "",
        "limit:link=0+cpu", "limit:peer=x+cpu", "fault:op=-1+cpu", "fault:lost=-1+cpu"};
    tulle__device_setting setting = {.threads = 1};
    tulle__device *d = NULL;
    char text[200];
    int refused = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tulle__error_clear();
        refused += tulle__device_open(bad[i], &setting, &d) == TULLE_ERR_ARG && *tulle_error_message() && !d;
    }
    ok(refused == sizeof bad / sizeof *bad, "specs that are none are refused");
    ok(tulle__device_open("shower", &setting, &d) == TULLE_ERR_UNSUPPORTED && !d, "a device that is not there: %s",
        tulle_error_message());
    snprintf(text, sizeof text, "limit:mem=10000+%s", spec);
    ok(tulle__device_open(text, &setting, &d) == TULLE_OK && d->capacity == 10000, "%s", text);
    tulle__device_close(d);
}

int main(int argc, char **argv)
{
    tulle__device *d = NULL;
    tulle__device_setting setting = {.threads = 2, .overlap = 1};
    if (argc < 2) return 2;
    tulle_status status = tulle__device_open(argv[1], &setting, &d);
    if (status == TULLE_ERR_UNSUPPORTED) { /* a GPU; the others are always here */
        skip("%s: %s", argv[1], tulle_error_message());
        return tap_done();
    }
    if (!ok(status == TULLE_OK, "%s opens%s%s", argv[1], status ? ": " : "", status ? tulle_error_message() : ""))
        return tap_done();
    test_memory(d);
    test_copies(d);
    test_lines(d);
    test_register(d);
    test_scale(d);
    test_events(d);
    test_polling(d);
    test_prepared(d);
    test_products(d);
    test_cuts(d);
    test_errors(d);
    ok(d->used == 0, "all buffers are gone");
    tulle__device_close(d);
    tulle__device_close(NULL);
    test_allocations(argv[1]);
    test_peers(argv[1]);
    test_faults(argv[1]);
    test_loss(argv[1]);
    test_specs(argv[1]);
    return tap_done();
}
