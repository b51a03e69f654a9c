/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/levels/frontier.h"

#include <math.h>

#include "base/error.h"

bool tulle__is_whole(double states)
{
    return fabs(states - round(states)) <= 1e-9 * (1 + fabs(states));
}

static tulle_status set_frontier(const tulle__levels_state *s)
{
    tulle__spectrum *x = s->x;
    tulle_status status = TULLE_OK;
    double states = s->states;
    if (x->kT > 0 || states < 0) {
        status = tulle__spectrum_count(x, x->mu, &states);
        x->frontier[0] = states - .5;
        x->frontier[1] = states + .5;
        return status;
    }
    const bool whole = tulle__is_whole(states);
    if (whole) states = round(states);
    x->frontier[0] = ceil(states) - .5;
    x->frontier[1] = floor(states) + .5;
    return TULLE_OK;
}

/* Further levels on one side, the more the further. Collective, agreed. */
static tulle_status reach(tulle__levels_state *s, bool up, double end, double number)
{
    tulle__spectrum *x = s->x;
    for (double more = 8;; more *= 2) {
        double *edge = up ? &x->high : &x->low, sum, place, levels;
        TULLE_CALL(tulle__spectrum_count(x, *edge, &sum));
        if (up ? sum >= number || *edge >= end : sum < number || *edge <= end) break;
        TULLE_CALL(tulle__levels_place(s, *edge, end, more, &place, &levels));
        TULLE_CALL(tulle__levels_widen(s, up ? x->low : place, up ? place : x->high));
        tulle__levels_base(s);
    }
    return TULLE_OK;
}

tulle_status tulle__frontier_reach(tulle__levels_state *s)
{
    double ends[2];
    tulle__levels_base(s);
    TULLE_CALL(set_frontier(s));
    TULLE_CALL(tulle__levels_ends(s, ends));
    s->bare = true;
    TULLE_CALL(reach(s, false, ends[0], s->x->frontier[0]));
    return reach(s, true, ends[1], s->x->frontier[1]);
}

tulle_status tulle__frontier_find(const tulle__spectrum *x, double *below, double *above)
{
    TULLE_CALL(tulle__spectrum_level(x, x->frontier[0], below));
    return tulle__spectrum_level(x, x->frontier[1], above);
}
