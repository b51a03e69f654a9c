/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a program: each with a comm of its own, their plans side by side; one comm in turn, held, and lent. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 20 };

/* Work of one thread, repeated. */
struct worker {
    pthread_t thread;
    tulle_comm *comm; /* shared; NULL: its own */
    pthread_mutex_t *turn;
    double scale, seen[ROUNDS];
    int wrong, failed;
};

/* scale times a tridiagonal matrix. */
static tulle_mat *matrix(tulle_comm *comm, double scale)
{
    static const char spec[] = "band:n=40,lower=1,upper=1";
    tulle_mat *A = NULL;
    if (tulle_mat_load(comm, spec, NULL, TULLE_CSR, NULL, NULL, &A) != TULLE_OK) return NULL;
    if (tulle_mat_scale(A, scale, NULL, NULL) == TULLE_OK) return A;
    tulle_mat_free(A);
    return NULL;
}

/* The largest column sum of A A by a plan that is made, executed and freed. */
static tulle_status square(tulle_comm *comm, double scale, double *norm)
{
    tulle_layout *layout = NULL;
    tulle_mat *A = matrix(comm, scale), *C = NULL;
    tulle_product *plan = NULL;
    tulle_status status = A ? tulle_product_layout(A, TULLE_OP_N, A, TULLE_OP_N, &layout) : TULLE_ERR_MEMORY;
    if (status == TULLE_OK) status = tulle_mat_new_csr(comm, layout, TULLE_F64, &C);
    if (status == TULLE_OK) status = tulle_product_new(A, A, C, NULL, &plan);
    for (int twice = 0; twice < 2 && status == TULLE_OK; twice++) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_mat_norm(C, TULLE_NORM_ONE, norm);
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (int round = 0; round < ROUNDS; round++) {
        const tulle_team_options two = {.threads = 1 + round % 2};
        const tulle_open_options options = {.team = &two};
        tulle_comm *comm = w->comm;
        if (!comm && tulle_open(&options, &comm) != TULLE_OK) {
            w->failed++;
            continue;
        }
        if (w->turn) pthread_mutex_lock(w->turn);
        w->failed += tulle_comm_hold(comm) != TULLE_OK;
        w->failed += square(comm, w->scale, &w->seen[round]) != TULLE_OK;
        tulle_comm_release(comm);
        if (w->turn) pthread_mutex_unlock(w->turn);
        w->wrong += memcmp(&w->seen[round], &w->seen[0], sizeof(double)) != 0;
        if (!w->comm) tulle_close(comm);
    }
    return NULL;
}

/* All threads' results are those of one thread, bit for bit. */
static void side_by_side(tulle_comm *comm, const char *what)
{
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    struct worker w[THREADS];
    memset(w, 0, sizeof w);
    for (int t = 0; t < THREADS; t++) {
        w[t].comm = comm;
        w[t].turn = comm ? &turn : NULL;
        w[t].scale = t + 1;
        if (pthread_create(&w[t].thread, NULL, work, &w[t]) != 0) abort();
    }
    for (int t = 0; t < THREADS; t++) pthread_join(w[t].thread, NULL);
    tulle_comm *alone = NULL;
    for (int t = 0; t < THREADS; t++) {
        double norm = 0;
        int same = tulle_open(NULL, &alone) == TULLE_OK && square(alone, w[t].scale, &norm) == TULLE_OK &&
                   memcmp(&norm, &w[t].seen[0], sizeof norm) == 0;
        ok(same && norm > 0 && !w[t].wrong && !w[t].failed, "thread %d with %s: %d wrong, %d failed, norm %g of %g", t,
            what, w[t].wrong, w[t].failed, w[t].seen[0], norm);
        tulle_close(alone);
    }
}

/* A call while another thread holds the comm. */
static void *refused(void *arg)
{
    tulle_comm *comm = arg;
    const tulle_status held = tulle_comm_hold(comm), made = tulle_comm_barrier(comm);
    return held == TULLE_ERR_STATE && made == TULLE_ERR_STATE ? arg : NULL;
}

/* A call while the comm is lent. */
static void *lent_out(void *arg)
{
    double norm = 0;
    if (tulle_comm_hold(arg) != TULLE_OK) return NULL;
    const tulle_status status = square(arg, 3, &norm);
    tulle_comm_release(arg);
    return status == TULLE_OK && norm > 0 ? arg : NULL;
}

static void *in_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, body, arg) != 0) abort();
    pthread_join(thread, &result);
    return result;
}

struct lender {
    tulle_comm *comm;
    int steps, worked, refused;
};

static void watch(void *arg, const tulle_krylov_step *step)
{
    struct lender *l = arg;
    tulle_lent lent;
    (void)step;
    l->steps++;
    l->refused += in_thread(refused, l->comm) != NULL;
    if (tulle_comm_lend(l->comm, &lent) != TULLE_OK) return;
    l->worked += in_thread(lent_out, l->comm) != NULL;
    if (tulle_comm_resume(l->comm, &lent) != TULLE_OK) l->worked = -1000;
}

static bool attend(void *arg)
{
    return ++*(int *)arg > 2;
}

int main(void)
{
    int ptr[] = {0, 2, 4}, col[] = {0, 1, 0, 1}, calls = 0;
    double val[] = {2, -1, -1, 2}, b[] = {1, 2};
    tulle_comm *comm = NULL;
    tulle_lent lent = {0};
    side_by_side(NULL, "comms of its own");
    ok(tulle_open(NULL, &comm) == TULLE_OK, "open");
    tulle_comm_release(comm);
    side_by_side(comm, "one comm in turn");
    ok(tulle_comm_hold(comm) == TULLE_OK && tulle_comm_hold(comm) == TULLE_OK, "holds nest");
    tulle_comm_release(comm);
    ok(in_thread(refused, comm) != NULL, "a comm that another thread holds: %s", tulle_error_message());
    tulle_comm_release(comm);
    ok(in_thread(lent_out, comm) != NULL, "and when it does no more");
    ok(tulle_comm_lend(comm, &lent) == TULLE_ERR_STATE, "no call to lend it from: %s", tulle_error_message());
    ok(tulle_comm_resume(comm, &lent) == TULLE_ERR_ARG, "nothing to resume: %s", tulle_error_message());
    struct lender l = {.comm = comm};
    const tulle_krylov_options krylov = {.watch = watch, .arg = &l};
    const tulle_solve_options options = {.krylov = &krylov};
    tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val), B = TULLE_ARRAY_DENSE(2, 1, b),
                X = {.storage = TULLE_STORAGE_DENSE};
    ok(tulle_solve(comm, &A, &B, &X, &options, NULL) == TULLE_OK && ((double *)X.val)[0] > 1.33, "a solve: %s",
        tulle_error_message());
    ok(l.steps && l.worked == l.steps && l.refused == l.steps, "%d steps: %d calls while it was lent, %d refused",
        l.steps, l.worked, l.refused);
    tulle_array_free(&X);
    tulle_comm_attend(comm, attend, &calls);
    tulle_status status = TULLE_OK;
    for (int k = 0; k < 1000000000 && status == TULLE_OK; k++) status = tulle_comm_agree(comm, TULLE_OK);
    ok(status == TULLE_ERR_INTERRUPTED && calls == 3, "ended by the third look: %d", calls);
    tulle_comm_attend(comm, NULL, NULL);
    ok(tulle_comm_agree(comm, TULLE_OK) == TULLE_OK, "and usable: %s", tulle_error_message());
    tulle_close(comm);
    return tap_done();
}
