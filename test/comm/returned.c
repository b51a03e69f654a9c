/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a PE that waits looks whether another has returned from its body: not before 20 ms and 1 ms
 * a PE have passed since it looked last, however often it asks, and then at once. The clock is the
 * test's.
 */
#include "base/clock.h"
#include "body.h"
#include "comm/slot.h"
#include "held_clock.h"
#include "tap.h"

enum { ASKS = 1000, MS = 1000000, LATEST = 22 * MS }; /* with two PEs */

/* What PE 0 hears, asked so many times. */
static tulle_status ask(tulle_comm *comm)
{
    tulle_status status = TULLE_OK;
    for (int n = 0; n < ASKS && status == TULLE_OK; n++) status = tulle__comm_deserted(comm, comm->agrees + 1);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    tulle_status *heard = arg, status = TULLE_OK;
    if (comm->rank == 1) return TULLE_OK; /* without the agreement that PE 0 waits for */
    tulle__place place = tulle__fixed_place(comm, 1);
    for (int turns = 0; tulle__load(comm, &place, offsetof(tulle__fixed, returned)) / 2 != comm->pe->run;)
        tulle__pause(comm, &turns);
    comm->pe->looked_ns = tulle__clock_ns();
    heard[0] = ask(comm);
    pass_ns(LATEST - 1);
    heard[1] = ask(comm);
    pass_ns(1);
    heard[2] = ask(comm);
    EXPECT(comm->pe->looked_ns == tulle__clock_ns());
out:
    return status;
}

int main(void)
{
    tulle_team *team;
    if (!ok(tulle_team_new("threads", 2, NULL, &team) == TULLE_OK, "open")) return tap_done();
    hold_clock((int64_t)1000 * MS, 0);
    for (int run = 0; run < 2; run++) {
        tulle_status heard[3] = {TULLE_ERR_CHECK, TULLE_ERR_CHECK, TULLE_ERR_CHECK};
        ok(tulle_team_run(team, body, heard) == TULLE_OK, "run %d: %s", run, tulle_error_message());
        ok(heard[0] == TULLE_OK && heard[1] == TULLE_OK, "nothing is looked at before 22 ms: %s, %s",
            tulle_status_name(heard[0]), tulle_status_name(heard[1]));
        ok(heard[2] == TULLE_ERR_PEER, "then PE 1 is missed: %s", tulle_status_name(heard[2]));
    }
    tulle_team_free(team);
    return tap_done();
}
