/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a simulation, as its engine describes it (comm/link.h). */
#include "algo/model/simulated.h"

#include <stdio.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"

static void take_tiers(const tulle__simulated *s, int pes, tulle_machine *m)
{
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) {
        m->tier[d] = (tulle_tier){.latency = s->latency[d], .bandwidth = s->bandwidth[d], .range = s->range[d]};
        m->single[d] = s->single[d];
    }
    m->node_pes = s->node_pes ? s->node_pes : pes;
    m->in_place = s->in_place;
    m->overhead = s->overhead;
    m->shared = s->shared;
}

static void take_kernels(const tulle__simulated *s, tulle_machine *m)
{
    *m = (tulle_machine){.threads = 1, .simulated = true, .launch = s->launch, .stream = s->memory, .cache = s->cache};
    snprintf(m->kind, sizeof m->kind, "simulated");
    memcpy(m->fma, s->flops, sizeof m->fma);
}

static void scale(double *rate, int n, double speed)
{
    for (int i = 0; i < n; i++) rate[i] *= speed;
}

/* A simulated processor that is so many times as fast as this one. */
static void hasten(tulle_machine *m, double speed)
{
    m->stream *= speed;
    m->cache *= speed;
    scale(m->fma, TULLE_TYPE_COUNT, speed);
    scale(m->spmm, TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS, speed);
    scale(m->spgemm, TULLE_RATE_FACTORS, speed);
    scale(m->blocks, TULLE_RATE_BLOCKS, speed);
}

bool tulle__machine_of_comm(const tulle_comm *comm, tulle_machine *machine)
{
    const tulle__link *link = comm->pe->link;
    tulle__simulated s;
    if (!link->virtual_time || !link->virtual_time->machine) return false;
    link->virtual_time->machine(link->clock, &s);
    if (s.memory > 0)
        take_kernels(&s, machine);
    else
        hasten(machine, s.speed);
    take_tiers(&s, link->npes, machine);
    return true;
}

tulle_status tulle_machine_of_team(const tulle_team *team, tulle_machine *machine)
{
    if (TULLE__NULL(team) || TULLE__NULL(machine)) return TULLE_ERR_ARG;
    tulle_machine m = *machine;
    if (!tulle__machine_of_comm(tulle__team_comm(team), &m))
        return tulle__fail(TULLE_ERR_STATE, "'%s' simulates no machine", tulle_team_spec(team));
    *machine = m;
    return TULLE_OK;
}
