/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that several PEs add to and read, of all kinds, as the baselines' partial sums and counters
 * are: remote_words SPEC PES. Every PE adds to words of every PE, and reads them while others add.
 */
#include <string.h>

#include "algo/trisolve/baselines/remote_words.h"
#include "body.h"
#include "tap.h"

static tulle_status add_and_read(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { N = 6, TIMES = 50 }; /* two words of each kind */
    tulle_status status;
    int size = tulle_comm_size(comm), taken = 0;
    tulle__place own = {.length = 0}, *place = NULL;
    tulle__range read[2];
    uint64_t before[2], more[N] = {1, 3, 0, 0, 0, 0}, *got = NULL;
    const double reals[2] = {0.5, -2};
    const float halves[2] = {0.25f, 8};
    memcpy(&more[2], reals, sizeof reals);
    for (int i = 0; i < 2; i++) memcpy(&more[4 + i], &halves[i], sizeof halves[i]);
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *place, "test", &place));
    TULLE_TRY(tulle__alloc((size_t)size * N, sizeof *got, "test", &got));
    TULLE_TRY(tulle__heap_take(comm->pe->control, N * sizeof(uint64_t), "test", &own));
    taken = 1;
    memset(tulle__mapped(comm, &own), 0, N * sizeof(uint64_t));
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, place));
    static const tulle__word_kind kinds[] = {TULLE__WORD_INT, TULLE__WORD_F64, TULLE__WORD_F32};
    for (int times = 0; times < TIMES; times++) {
        tulle__range range[2];
        for (int r = 0; r < size; r++) {
            for (int k = 0; k < 3; k++) {
                /* as one range and as two */
                range[0] = (tulle__range){16 * (uint64_t)k, &more[2 * k], 16};
                range[1] = (tulle__range){16 * (uint64_t)k + 8, &more[2 * k + 1], 8};
                if (times % 2) range[0].bytes = 8;
                for (int i = 0; i < 2; i++) read[i] = (tulle__range){range[i].at, &before[i], range[i].bytes};
                TULLE_TRY(tulle__words_add(comm, 4, &place[r], kinds[k], 1 + times % 2, range, read));
            }
        }
        for (int r = 0; r < size; r++)
            tulle__words_read(comm, 6, &place[r], 1, &(tulle__range){0, got + (size_t)r * N, N * sizeof *got});
        TULLE_TRY(tulle__wait(comm, 6));
        for (int r = 0; r < size; r++) EXPECT(got[r * N] > (uint64_t)times && got[r * N] <= (uint64_t)(size * TIMES));
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    for (int r = 0; r < size; r++) {
        double sums[2];
        float sums_f32[2];
        tulle__range range[2] = {{32, got + 4, 16}, {0, got, 32}};
        tulle__words_read(comm, 6, &place[r], 2, range);
        TULLE_TRY(tulle__wait(comm, 6));
        memcpy(sums, got + 2, sizeof sums);
        for (int i = 0; i < 2; i++) memcpy(&sums_f32[i], got + 4 + i, sizeof sums_f32[i]);
        EXPECT(got[0] == (uint64_t)(size * TIMES) && got[1] == 3 * got[0]);
        EXPECT(sums[0] == 0.5 * size * TIMES && sums[1] == -2.0 * size * TIMES);
        EXPECT(sums_f32[0] == 0.25f * (float)(size * TIMES) && sums_f32[1] == 8 * (float)(size * TIMES));
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    if (taken) tulle__heap_give(comm->pe->control, &own);
    tulle__free(place);
    tulle__free(got);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    tulle_team *team = NULL;
    int npes = atoi(argv[2]);
    tulle_team_options options = {.memory = (size_t)npes << 26};
    tulle_status status = tulle_team_new(argv[1], npes, &options, &team);
    if (ok(status == TULLE_OK, "open %s with %d PEs: %s", argv[1], npes, tulle_error_message()))
        for (int again = 0; again < 2; again++) {
            status = tulle_team_run(team, add_and_read, NULL);
            ok(status == TULLE_OK, "sums are whole: %s", status == TULLE_OK ? "they are" : tulle_error_message());
        }
    tulle_team_free(team);
    return tap_done();
}
