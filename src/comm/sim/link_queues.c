/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that serve one transfer after the other (sharing=queue), in place of SimGrid's max-min sharing: the date of an
 * arrival is known at the start, and costs the same however many transfers there are. Bytes go on to the next link as
 * they come (cut-through; switches have room for what waits), and a link that is faster than what feeds it takes
 * others' between them. So the last of the transfers that fill a link ends when it would with fair sharing; the others
 * end sooner.
 */
#include <math.h>

#include "comm/sim/sim_team.h"

enum { OUT, IN, DIRECTIONS };

/* Until when a link is busy, by its number: ports of PEs, then of nodes, then uplinks of leaf switches. */
static double *busy(const tulle__engine_team *team, int number, int direction)
{
    return &team->busy[(size_t)number * DIRECTIONS + (size_t)direction];
}

static int node_size(const tulle__engine_team *team)
{
    return team->platform.node > 0 ? team->platform.node : team->npes;
}

static int nodes_of(const tulle__engine_team *team)
{
    return (team->npes + node_size(team) - 1) / node_size(team);
}

tulle_status tulle__sim_queues_new(tulle__engine_team *team)
{
    const int nodes = nodes_of(team), leaf = team->platform.leaf;
    const size_t links = (size_t)team->npes + (size_t)nodes + (size_t)(leaf ? (nodes + leaf - 1) / leaf : 0);
    return tulle__sim_host->alloc_zero(DIRECTIONS * links, sizeof *team->busy, "queues of links", &team->busy);
}

/* A transfer on its way: when its first byte is at the next link, and how long its bytes follow one another. */
struct passage {
    double begin, length;
};

/* The link has sent all before it, and all of it, at `until`. */
static void pass(struct passage *p, double *until, double seconds)
{
    p->length = fmax(p->length, seconds);
    *until = fmax(p->begin, *until) + seconds;
    p->begin = fmax(p->begin, *until - p->length);
}

double tulle__sim_queues_pass(tulle__engine_team *team, int from, int to, size_t bytes)
{
    const tulle__sim_platform *p = &team->platform;
    const double size = (double)bytes, port = size / p->near_bw, far = size / p->far_bw;
    const int near = tulle__sim_same_node(p, from, to), nodes = team->npes, leaves = nodes + nodes_of(team);
    const int node[] = {from / node_size(team), to / node_size(team)};
    struct passage x = {tulle__sim_clock(), near ? size / p->pair_bw : 0};
    pass(&x, busy(team, from, OUT), port);
    if (!near) pass(&x, busy(team, nodes + node[0], OUT), far);
    if (p->leaf && node[0] / p->leaf != node[1] / p->leaf) {
        const double uplink = far * p->taper / p->leaf;
        pass(&x, busy(team, leaves + node[0] / p->leaf, OUT), uplink);
        pass(&x, busy(team, leaves + node[1] / p->leaf, IN), uplink);
    }
    if (!near) pass(&x, busy(team, nodes + node[1], IN), far);
    pass(&x, busy(team, to, IN), port);
    return x.begin + x.length + (near ? p->near_latency : p->far_latency);
}
