/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse results that stay on devices: resident_chain PES DEVICE [csr|bsr|vbsr]. C = A A and D = C A, or A C, by two
 * plans with device-resident results: the values of C cross no link, counted to the byte, also where other PEs read C,
 * which they take from its devices; and D is what the host makes. So it is where the host, or a device that is no
 * peer, multiplies with C, where memory is short, with new values of A, where C is added to, and after failures. Of
 * blocks norms come to the host each time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "body.h"
#include "mat/mat.h"
#include "tap.h"

enum { SIZE = 70, BLOCK = 2, LARGEST = 4 };

enum way { CHAIN, AS_B, ON_HOST, NEW_VALUES, ADDED, OTHER_DEVICE, TRANSPOSED, AGAIN_INTO, WAYS };
static const char *const words[WAYS] = {"C A", "A C", "C A by the host", "new values of A", "C is added to",
    "on a device that is no peer", "C^T A", "another plan writes C"};

struct run {
    const char *device;
    tulle_kind kind;    /* of A */
    int tiles, pointer; /* pointer: bytes of a row pointer there */
    enum way way;
    int64_t moved[2][3], later[2][3]; /* out: bytes of the first and the third executions of both plans, of all PEs */
    int64_t c;                        /* out: bytes of the arrays of C but norms, all tiles */
    int64_t structure;                /* of what the host needs: without values, and cuts of blocks */
    int64_t norms, norms_d;           /* of blocks of C, of D */
    double worst;                     /* out: difference of values, over the largest */
};

/* Cuts for BSR of one size, for VBSR of sizes in turn. */
static tulle_block_cuts cuts_of(tulle_kind kind, tulle_gidx cut[SIZE + 1])
{
    tulle_block_cuts cuts = {.cut = cut};
    for (tulle_gidx at = cut[0] = 0; at < SIZE; cut[++cuts.count] = at) {
        at += kind == TULLE_BSR ? BLOCK : 1 + cuts.count % LARGEST;
        if (at > SIZE) at = SIZE;
    }
    return cuts;
}

static tulle_status load(tulle_comm *comm, int tiles, tulle_kind kind, tulle_mat **A)
{
    tulle_status status = TULLE_OK;
    tulle_layout *layout = NULL, *in_blocks = NULL;
    tulle_mat *csr = NULL;
    tulle_gidx cut[SIZE + 1];
    const tulle_block_cuts cuts = cuts_of(kind, cut);
    const tulle_layout_spec spec = {.m = SIZE,
        .n = SIZE,
        .tile_rows = tiles,
        .tile_cols = tiles,
        .map = TULLE_CYCLIC,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle_mat_load(comm, "er:n=70,degree=5", layout, TULLE_CSR, NULL, NULL, &csr));
    if (kind == TULLE_BSR) {
        TULLE_TRY(tulle_mat_to_bsr(csr, BLOCK, BLOCK, A));
    } else if (kind == TULLE_VBSR) {
        TULLE_TRY(tulle_layout_in_blocks(layout, &cuts, &cuts, &in_blocks));
        TULLE_TRY(tulle_mat_to_vbsr(csr, in_blocks, A));
    } else {
        *A = csr;
        csr = NULL;
    }
out:
    tulle_mat_free(csr);
    tulle_layout_free(in_blocks);
    tulle_layout_free(layout);
    return status;
}

/* All of C on the host, and beside it. */
static tulle_status compare(const tulle_mat *C, const tulle_mat *D, struct run *run, double *worst)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = C->layout;
    double most = 0, apart = 0;
    run->c = run->structure = run->norms = 0;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_fetch *fetch[2] = {NULL, NULL};
            tulle_tile c, d;
            TULLE_TRY(tulle_mat_get_tile(C, i, j, &fetch[0]));
            TULLE_TRY(tulle_fetch_wait(fetch[0], &c));
            TULLE_TRY(tulle_mat_get_tile(D, i, j, &fetch[1]));
            TULLE_TRY(tulle_fetch_wait(fetch[1], &d));
            const int64_t places = c.kind == TULLE_VBSR ? c.blocks : c.nnz,
                          rows = c.kind == TULLE_VBSR ? c.block_rows : c.m;
            EXPECT(c.nnz == d.nnz && c.blocks == d.blocks);
            EXPECT(!places || !memcmp(c.colind, d.colind, (size_t)places * sizeof *c.colind));
            for (int64_t e = 0; e < c.nnz; e++) {
                double x = ((const double *)c.val)[e], y = ((const double *)d.val)[e];
                if (!(fabs(x - y) <= apart)) apart = fabs(x - y);
                if (fabs(y) > most) most = fabs(y);
            }
            const int64_t structure = (rows + 1) * run->pointer + 4 * places;
            const int64_t offsets = c.kind == TULLE_VBSR ? 8 * (places + 1) : 0, norms = offsets ? 8 * places : 0;
            run->structure += structure + offsets + norms;
            run->norms += norms;
            run->c += structure + offsets + 8 * c.nnz + (offsets ? 8 * (rows + c.block_cols + 2) : 0);
            tulle_fetch_free(fetch[0]);
            tulle_fetch_free(fetch[1]);
        }
    EXPECT(most > 0);
    *worst = fmax(*worst, apart / most);
out:
    return status;
}

static tulle_status double_values(tulle_mat *A)
{
    tulle_status status = TULLE_OK;
    tulle_own_tile tile;
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            if (!tulle__tile_is_mine(A, i, j)) continue;
            TULLE_TRY(tulle_mat_own_tile(A, i, j, &tile));
            for (int64_t e = 0; e < tile.nnz; e++) ((double *)tile.val)[e] *= e % 3 ? 2 : -.5;
        }
    status = tulle_mat_renew(A);
out:
    return status;
}

static void note(int64_t moved[3], const tulle_product_report *r)
{
    for (int way = 0; way < 3; way++) moved[way] = r->device.bytes[way];
}

static tulle_status new_result(tulle_comm *comm, const tulle_mat *A, const tulle_mat *B, tulle_op op, tulle_mat **C)
{
    tulle_layout *layout = NULL;
    tulle_status status = tulle_product_layout(A, op, B, TULLE_OP_N, &layout);
    if (status == TULLE_OK)
        status = tulle_mat_kind(A) == TULLE_CSR ? tulle_mat_new_csr(comm, layout, TULLE_F64, C)
                                                : tulle_mat_new_vbsr(comm, layout, TULLE_F64, C);
    tulle_layout_free(layout);
    return status;
}

/* The plans of C and D, for a device or the host. */
struct pair {
    tulle_product *first, *second;
    tulle_mat *C, *D;
};

static tulle_status pair_new(tulle_comm *comm, const tulle_mat *A, const char *device, enum way way, struct pair *p)
{
    tulle_status status;
    char other[128];
    tulle_product_devices devices = {.resident = device != NULL};
    tulle_product_options o = {.device = device, .devices = &devices, .alg = TULLE_PRODUCT_STATIONARY_C};
    tulle_op op = way == TRANSPOSED ? TULLE_OP_T : TULLE_OP_N;
    TULLE_TRY(new_result(comm, A, A, TULLE_OP_N, &p->C));
    TULLE_TRY(tulle_product_new(A, A, p->C, &o, &p->first));
    TULLE_TRY(tulle_product_execute(p->first, 1, 0, NULL)); /* its layout, and its structure */
    const tulle_mat *left = way == AS_B ? A : p->C, *right = way == AS_B ? p->C : A;
    TULLE_TRY(new_result(comm, left, right, op, &p->D));
    o.op_a = op;
    if (way == ON_HOST || way == TRANSPOSED) o.device = NULL;
    if (way == OTHER_DEVICE && device) {
        snprintf(other, sizeof other, "fault+%s", device);
        o.device = other;
    }
    devices.resident = o.device != NULL;
    TULLE_TRY(tulle_product_new(left, right, p->D, &o, &p->second));
out:
    return status;
}

static void pair_free(struct pair *p)
{
    tulle_product_free(p->second);
    tulle_product_free(p->first);
    tulle_mat_free(p->D);
    tulle_mat_free(p->C);
}

static tulle_status run_pair(tulle_comm *comm, tulle_mat *A, const char *device, struct run *run, struct pair *p)
{
    tulle_status status;
    tulle_product_report report[2];
    double beta = run->way == ADDED ? .5 : 0;
    tulle_product *writer = NULL;
    TULLE_TRY(pair_new(comm, A, device, run->way, p));
    for (int turn = 0; turn < 3; turn++) {
        TULLE_TRY(tulle_product_execute(p->first, 2, turn ? beta : 0, &report[0]));
        if (run->way == AGAIN_INTO && turn == 1) {
            TULLE_TRY(tulle_product_new(A, A, p->C, NULL, &writer));
            TULLE_TRY(tulle_product_execute(writer, 3, .25, NULL));
        }
        TULLE_TRY(tulle_product_execute(p->second, -1, 0, &report[1]));
        if (device)
            for (int n = 0; n < 2; n++) note(turn ? run->later[n] : run->moved[n], &report[n]);
        if (run->way != NEW_VALUES || turn != 1) continue;
        TULLE_TRY(tulle_product_sync(p->first));
        TULLE_TRY(tulle_product_sync(p->second));
        TULLE_TRY(double_values(A));
        TULLE_TRY(tulle_comm_barrier(comm));
    }
out:
    tulle_product_free(writer);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg, mine = *run;
    tulle_status status;
    tulle_mat *A = NULL, *B = NULL;
    struct pair there = {.C = NULL}, here = {.C = NULL};
    TULLE_TRY(load(comm, run->tiles, run->kind, &A));
    TULLE_TRY(load(comm, run->tiles, run->kind, &B));
    TULLE_TRY(run_pair(comm, A, run->device, &mine, &there));
    TULLE_TRY(tulle_product_sync(there.second));
    TULLE_TRY(tulle_product_sync(there.first));
    TULLE_TRY(run_pair(comm, B, NULL, &mine, &here));
    mine.worst = 0;
    TULLE_TRY(compare(there.D, here.D, &mine, &mine.worst));
    mine.norms_d = mine.norms;
    TULLE_TRY(compare(there.C, here.C, &mine, &mine.worst));
    if (tulle_comm_rank(comm) == 0) *run = mine;
out:
    pair_free(&there);
    pair_free(&here);
    tulle_mat_free(A);
    tulle_mat_free(B);
    return status;
}

/* The chain, with an operation that fails on the way: all PEs say so. Then it is right again. */
static tulle_status failing(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    struct run mine = *run;
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL;
    struct pair p = {.C = NULL};
    char device[128];
    int failed = 0;
    TULLE_TRY(load(comm, run->tiles, run->kind, &A));
    for (int op = 0; op < 60; op += 7) {
        snprintf(device, sizeof device, "fault:op=%d+%s", op, run->device);
        tulle_status outcome = run_pair(comm, A, device, &mine, &p);
        TULLE_TRY(same_everywhere(comm, outcome));
        EXPECT(outcome == TULLE_OK || outcome == TULLE_ERR_COMM);
        failed += outcome != TULLE_OK;
        if (outcome != TULLE_OK && p.second) {
            TULLE_TRY(tulle_product_execute(p.first, 2, 0, NULL));
            TULLE_TRY(tulle_product_execute(p.second, -1, 0, NULL));
            double error;
            TULLE_TRY(tulle_product_check(p.second, &error));
            TULLE_TRY(tulle_product_check(p.first, &error));
        }
        pair_free(&p);
        p = (struct pair){.C = NULL};
    }
    EXPECT(failed > 4);
out:
    pair_free(&p);
    tulle_mat_free(A);
    return status;
}

static void test_way(tulle_team *team, struct run run)
{
    int pes = tulle_team_size(team);
    tulle_status status = tulle_team_run(team, body, &run);
    ok(status == TULLE_OK && run.worst <= 1e-13, "%s, %d x %d tiles: as on the host (%.1e): %s", words[run.way],
        run.tiles, run.tiles, run.worst, status == TULLE_OK ? "ok" : tulle_error_message());
    if (run.way == CHAIN) {
        ok(run.moved[0][1] <= run.structure && run.later[0][0] == 0 && run.later[0][1] == run.norms,
            "the structure of C comes once (%d of %d bytes), values do not", (int)run.moved[0][1], (int)run.structure);
        ok(run.moved[1][2] == run.c && run.later[1][2] == run.c, "C goes from device to device: %d of its %d bytes",
            (int)run.later[1][2], (int)run.c);
        ok(run.later[1][0] == 0 && run.later[1][1] == run.norms_d, "no value crosses the link for C A");
    }
    if (run.way == AS_B) {
        ok(run.later[1][0] == 0 && run.later[1][1] == run.norms_d, "nor for A C: %d bytes, %d", (int)run.later[1][0],
            (int)run.later[1][1]);
        ok(run.later[1][2] == pes * run.c, "each PE has all of C from the devices of all: %d bytes of %d",
            (int)run.later[1][2], pes * (int)run.c);
    }
}

/* PEs that do not read each other's memory on the host take tiles from devices all the same. */
static void test_unmapped(struct run run, int pes)
{
    tulle_team *team = NULL;
    if (!ok(tulle_team_new("threads:direct=off", pes, NULL, &team) == TULLE_OK, "PEs whose memory is not mapped"))
        return;
    test_way(team, run);
    tulle_team_free(team);
}

int main(int argc, char **argv)
{
    tulle_team *team;
    tulle_device_facts facts;
    if (argc < 3) return 2;
    int pes = atoi(argv[1]);
    const char *device = argv[2];
    int cuda = strstr(device, "cuda") != NULL;
    if (cuda && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    if (!ok(tulle_team_new("threads", pes, NULL, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct run run = {.device = device, .kind = TULLE_CSR, .tiles = pes, .pointer = cuda ? 4 : 8};
    if (argc > 3) run.kind = strcmp(argv[3], "bsr") == 0 ? TULLE_BSR : TULLE_VBSR;
    struct blocks before[64] = {{0}}, after[64] = {{0}};
    for (run.way = 0; run.way < WAYS; run.way++) {
        test_way(team, run);
        if (!run.way) tulle_team_run(team, count_blocks, before);
    }
    run.tiles = pes + 2;
    for (run.way = CHAIN; run.way <= AS_B; run.way++) test_way(team, run);
    run.way = AS_B;
    test_unmapped(run, pes);
    run.way = CHAIN;
    tulle_status status = TULLE_OK;
    for (; run.way <= AS_B; run.way++) {
        status = tulle_team_run(team, failing, &run);
        ok(status == TULLE_OK, "%s, failures: %s", words[run.way],
            status == TULLE_OK ? "told, and right afterwards" : tulle_error_message());
    }
    for (int kilobytes = 10; kilobytes < 45 && !cuda; kilobytes += 8) {
        char small[64];
        snprintf(small, sizeof small, "limit:mem=%dK,link=100G,peer=100G+cpu", kilobytes);
        run.device = small;
        run.way = AS_B;
        run.tiles = 3 * pes;
        status = tulle_team_run(team, body, &run);
        ok((status == TULLE_OK && run.worst <= 1e-13) || status == TULLE_ERR_LIMIT, "%d KB a device: %s", kilobytes,
            status == TULLE_OK ? "right" : tulle_error_message());
    }
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK && !memcmp(before, after, sizeof before), "nothing leaks");
    tulle_team_free(team);
    return tap_done();
}
