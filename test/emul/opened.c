/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs that are opened once a process: by all plans, PEs and teams, and until the last of these ends; again after a
 * failure or a loss. Wrappers stay each PE's own. EMUL_DEVICES GPUs.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "emulation.h"
#include "mat/pe_device.h"
#include "tap.h"

enum { PES_MOST = 4, PLANS = 3 };

static emulation emul;

struct run {
    const char *spec;
    int multiplies, wrong[PES_MOST];
    size_t capacity[PES_MOST];
    tulle_status upload[PES_MOST];
};

/* C = A B of one value each, by cuBLAS and by cuSPARSE; PEs that share handles of libraries do so at once. */
static tulle_status multiply(tulle__device *device, tulle__device_queue *queue, int rank, int *wrong)
{
    enum { ROWPTR = 0, COLIND = 256, A = 512, B = 768, C = 1024, BYTES = 1280, TIMES = 10 };
    static const int32_t rowptr[] = {0, 1};
    const int32_t column = 0;
    const double a = rank + 2, b = rank + 3;
    tulle__device_buffer *all = NULL;
    const tulle__device_ops *ops = device->ops;
    tulle_status status = tulle__device_buffer_new(device, BYTES, "operands", &all);
    if (status != TULLE_OK) return status;
    ops->upload(queue, &(tulle__device_place){all, ROWPTR}, rowptr, sizeof rowptr);
    ops->upload(queue, &(tulle__device_place){all, COLIND}, &column, sizeof column);
    ops->upload(queue, &(tulle__device_place){all, A}, &a, sizeof a);
    ops->upload(queue, &(tulle__device_place){all, B}, &b, sizeof b);
    for (int i = 0; i < TIMES && status == TULLE_OK; i++) {
        tulle__device_tile one = {.kind = i % 2 ? TULLE_DENSE : TULLE_CSR,
            .type = TULLE_F64,
            .order = TULLE_ROW_MAJOR,
            .m = 1,
            .n = 1,
            .ld = 1,
            .nnz = 1,
            .rowptr = {all, ROWPTR},
            .colind = {all, COLIND},
            .val = {all, A}};
        tulle__device_chain chain = {
            .type = TULLE_F64, .m = 1, .n = 1, .npairs = 1, .C = {all, C}, .c_row = 1, .c_col = 1, .alpha = i + 1};
        double c = 0;
        chain.A[0] = one;
        one.kind = TULLE_DENSE;
        one.val.at = B;
        chain.B[0] = one;
        tulle__start_chain(device, queue, &chain);
        ops->download(queue, &c, &chain.C, sizeof c);
        status = ops->queue_wait(queue);
        *wrong += status == TULLE_OK && c != a * b * (i + 1);
    }
    tulle__device_buffer_free(device, all);
    return status;
}

/* Opens a device as a plan does, copies something there, multiplies, closes it. */
static tulle_status plan(tulle_comm *comm, struct run *run)
{
    tulle__device *device = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device_buffer *buffer = NULL;
    const tulle__device_setting setting = {
        .threads = 1, .rank = comm->rank, .near_rank = comm->rank, .near_size = comm->size};
    const double x = 1;
    tulle_status status;
    TULLE_TRY(tulle__pe_device_open(comm->pe, run->spec, &setting, &device));
    run->capacity[comm->rank] = device->capacity;
    TULLE_TRY(device->ops->queue_new(device, &queue));
    TULLE_TRY(tulle__device_buffer_new(device, sizeof x, "a buffer", &buffer));
    device->ops->upload(queue, &(tulle__device_place){buffer, 0}, &x, sizeof x);
    run->upload[comm->rank] = device->ops->queue_wait(queue);
    if (run->multiplies) TULLE_TRY(multiply(device, queue, comm->rank, &run->wrong[comm->rank]));
out:
    if (device) {
        device->ops->queue_free(device, queue);
        tulle__device_buffer_free(device, buffer);
    }
    tulle__device_close(device);
    return status;
}

static tulle_status plans(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    for (int i = 0; i < PLANS && status == TULLE_OK; i++) status = plan(comm, arg);
    return tulle_comm_agree(comm, status);
}

static tulle_team *new_team(int pes)
{
    tulle_team *team = NULL;
    ok(tulle_team_new("threads", pes, &(tulle_team_options){.threads = 1}, &team) == TULLE_OK, "%d PEs", pes);
    return team;
}

static int devices(void)
{
    const char *text = getenv("EMUL_DEVICES");
    return text ? atoi(text) : 1;
}

static int64_t loads(void)
{
    return emul.count("cudaFuncGetAttributes");
}

static void test_plans(int pes)
{
    struct run run = {.spec = "cuda", .multiplies = 1};
    tulle_team *team = new_team(pes);
    const int want = pes < devices() ? pes : devices();
    const int64_t before = emul.count("cuSPARSE begins");
    tulle_status status = tulle_team_run(team, plans, &run);
    int64_t loaded = loads();
    ok(status == TULLE_OK && emul.count("cuSPARSE begins") == before + want && emulation_open(&emul, "cuBLAS") == want,
        "%d PEs, %d plans each: %d opened GPUs %s", pes, PLANS, want, status ? tulle_error_message() : "");
    status = tulle_team_run(team, plans, &run);
    ok(status == TULLE_OK && emul.count("cuSPARSE begins") == before + want && loads() == loaded,
        "so in another run: %" PRId64 " kernels are loaded again", loads() - loaded);
    const int64_t took = emul.count("cudaMalloc"), gave = emul.count("cudaFree");
    for (int i = 0; i < 3 && status == TULLE_OK; i++) status = tulle_team_run(team, plans, &run);
    ok(status == TULLE_OK && emul.count("cudaMalloc") == took && emul.count("cudaFree") == gave,
        "and none takes memory of CUDA again, or gives it back: %" PRId64 " times", emul.count("cudaMalloc") - took);
    tulle_team_free(team);
    for (int pe = 1; pe < pes; pe++) run.wrong[0] += run.wrong[pe];
    ok(run.wrong[0] == 0, "products are right (%d wrong)", run.wrong[0]);
    ok(emulation_all_open(&emul) == 0 && emul.held() == 0, "all are closed with the team");
}

/* Without a team a GPU is open as long as its devices. */
static void test_alone(void)
{
    const tulle__device_setting setting = {.threads = 1};
    tulle__device *device[2] = {NULL, NULL};
    tulle__device_queue *queue[2] = {NULL, NULL};
    tulle_status status = TULLE_OK;
    const int64_t before = emul.count("cuSPARSE begins");
    for (int i = 0; i < 2 && status == TULLE_OK; i++) status = tulle__device_open("cuda:0", &setting, &device[i]);
    for (int i = 0; i < 2 && status == TULLE_OK; i++) status = device[i]->ops->queue_new(device[i], &queue[i]);
    ok(status == TULLE_OK && emul.count("cuSPARSE begins") == before + 1, "two devices, one GPU that is opened");
    for (int i = 0; i < 2 && status == TULLE_OK; i++) {
        ok(emulation_open(&emul, "cuSPARSE") == 1, "it is open");
        device[i]->ops->queue_free(device[i], queue[i]);
        tulle__device_close(device[i]);
    }
    ok(emulation_all_open(&emul) == 0, "as long as one of them");
}

struct thread {
    tulle_team *team;
    struct run run;
    tulle_status status;
};

static void *run_team(void *arg)
{
    struct thread *t = arg;
    t->status = tulle_team_run(t->team, plans, &t->run);
    return NULL;
}

static void test_teams(void)
{
    struct thread thread[2];
    pthread_t id[2];
    const int64_t before = emul.count("cuSPARSE begins");
    const int want = devices() < 2 ? 1 : 2;
    int wrong = 0;
    for (int i = 0; i < 2; i++)
        thread[i] = (struct thread){.team = new_team(2), .run = {.spec = "cuda", .multiplies = 1}};
    for (int i = 0; i < 2; i++) pthread_create(&id[i], NULL, run_team, &thread[i]);
    for (int i = 0; i < 2; i++) pthread_join(id[i], NULL);
    ok(thread[0].status == TULLE_OK && thread[1].status == TULLE_OK && emul.count("cuSPARSE begins") == before + want,
        "two teams at once share GPUs: %" PRId64 " are opened", emul.count("cuSPARSE begins") - before);
    tulle_team_free(thread[0].team);
    ok(emulation_open(&emul, "cuSPARSE") == want, "the end of one closes none");
    for (int i = 0; i < 4; i++) wrong += thread[i / 2].run.wrong[i % 2];
    ok(wrong == 0, "products are right (%d wrong)", wrong);
    (void)run_team(&thread[1]);
    ok(thread[1].status == TULLE_OK && emul.count("cuSPARSE begins") == before + want, "which the other goes on with");
    tulle_team_free(thread[1].team);
    ok(emulation_all_open(&emul) == 0 && emul.held() == 0, "until its end");
}

/* Each call of opening fails, or loses the GPU; the next try of the team opens it. */
static void test_failures(int lose)
{
    struct run run = {.spec = "cuda:0"};
    int failed = 0, bad = 0, whole = 0;
    for (int64_t n = 0; !whole; n += n < 40 ? 1 : 7) {
        tulle_team *team = NULL;
        bad += tulle_team_new("threads", 1, &(tulle_team_options){.threads = 1}, &team) != TULLE_OK;
        if (lose)
            emul.break_at(n);
        else
            emul.fail_at(n);
        tulle_status status = tulle_team_run(team, plans, &run);
        whole = emul.calls() <= n; /* no call has failed */
        failed += status != TULLE_OK;
        bad += status != TULLE_OK && !*tulle_error_message();
        emul.repair();
        bad += tulle_team_run(team, plans, &run) != TULLE_OK || emulation_open(&emul, "cuBLAS") < 1;
        tulle_team_free(team);
        bad += emulation_all_open(&emul) != 0 || emul.held() != 0;
    }
    ok(failed > 50 && !bad, "%s: the next try opens it, and the team closes it (%d failures, %d bad)",
        lose ? "a loss while it is opened" : "a call of opening that fails", failed, bad);
}

/* A device of a lost GPU stays lost beside one that is opened afterwards. */
static void test_loss(void)
{
    const tulle__device_setting setting = {.threads = 1};
    tulle__device *old = NULL, *other = NULL, *made = NULL;
    tulle__device_queue *queue = NULL;
    ok(tulle__device_open("cuda:0", &setting, &old) == TULLE_OK &&
            tulle__device_open("cuda:0", &setting, &other) == TULLE_OK,
        "two devices");
    emul.break_at(0);
    ok(old->ops->queue_new(old, &queue) == TULLE_ERR_COMM, "are lost by a call of one");
    ok(other->ops->state(other) == TULLE_ERR_COMM && strstr(tulle_error_message(), "GPU 0 cannot be used any more"),
        "as the other knows: %s", tulle_error_message());
    emul.repair();
    ok(tulle__device_open("cuda:0", &setting, &made) == TULLE_OK && made->ops->queue_new(made, &queue) == TULLE_OK,
        "one that works again is opened again");
    ok(old->ops->state(old) == TULLE_ERR_COMM && made->ops->state(made) == TULLE_OK, "old devices stay lost");
    made->ops->queue_free(made, queue);
    tulle__device_close(old);
    tulle__device_close(made);
    tulle__device_close(other);
    ok(emulation_all_open(&emul) == 0, "all are closed");
}

/* Each PE has its own wrapper over the shared GPU. */
static void test_wrappers(void)
{
    struct run run = {.spec = "fault:op=0,rank=1+cuda:0"};
    tulle_team *team = new_team(2);
    const int64_t before = emul.count("cuSPARSE begins");
    tulle_status status = tulle_team_run(team, plans, &run);
    ok(status == TULLE_OK && run.upload[0] == TULLE_OK && run.upload[1] == TULLE_ERR_COMM,
        "a fault of PE 1 is PE 1's alone, in each plan: %d, %d", run.upload[0], run.upload[1]);
    run.spec = "fault:lost=0,rank=0+cuda:0";
    status = tulle_team_run(team, plans, &run);
    ok(status == TULLE_OK && run.upload[0] == TULLE_ERR_COMM && run.upload[1] == TULLE_OK,
        "so is a loss, of PE 0: %d, %d", run.upload[0], run.upload[1]);
    run.spec = "limit:mem=1M+cuda:0";
    status = tulle_team_run(team, plans, &run);
    ok(status == TULLE_OK && run.capacity[0] == 1000000 && run.capacity[1] == 1000000, "each has its limit: %zu, %zu",
        run.capacity[0], run.capacity[1]);
    run.spec = "late+cuda:0,mem=2M";
    status = tulle_team_run(team, plans, &run);
    ok(status == TULLE_OK && run.capacity[0] == 2000000 && run.capacity[1] == 2000000, "or part: %zu, %zu",
        run.capacity[0], run.capacity[1]);
    ok(emul.count("cuSPARSE begins") == before + 1, "over one GPU that is opened");
    tulle_team_free(team);
    ok(emulation_all_open(&emul) == 0 && emul.held() == 0, "and closed");
}

int main(void)
{
    if (!ok(emulation_find(&emul), "the emulated module: %s", tulle_error_message())) return tap_done();
    test_alone();
    for (int pes = 1; pes <= PES_MOST; pes *= 2) test_plans(pes);
    test_teams();
    test_wrappers();
    test_loss();
    test_failures(0);
    test_failures(1);
    return tap_done();
}
