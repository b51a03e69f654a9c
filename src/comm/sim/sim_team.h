/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the module `sim`: a team of simulated PEs, what a platform is made of, and the few things that are asked of
 * SimGrid, whose asynchronous transfers and platforms made by a program are C++ only (simulator.cpp). Nothing here is
 * seen by libtulle. Seconds and bytes a second are virtual unless it says otherwise.
 */
#ifndef TULLE_COMM_SIM_TEAM_H
#define TULLE_COMM_SIM_TEAM_H

#include "base/module.h"
#include "comm/link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What libtulle lent when it loaded the module. */
extern const tulle__module_host *tulle__sim_host;

/* ---- platform.c ---- */

/* What a PE's processor does; a kernel takes the longest of its three times. */
typedef struct tulle__sim_rates {
    double flops[TULLE_TYPE_COUNT];
    double memory, cache; /* bytes a second */
    double launch;        /* seconds, of each kernel */
    double hop;           /* until threads of a kernel that runs see what others of it have written */
} tulle__sim_rates;

/*
 * Nodes of equal PEs, every port of both directions. A transfer passes both PEs' ports; between nodes also both nodes'
 * ports, and between leaf switches their uplinks.
 */
typedef struct tulle__sim_platform {
    const char *name;
    int node;                     /* PEs of a node; 0: all */
    double near_bw, near_latency; /* a PE's port, and from PE to PE of a node */
    double pair_bw;               /* the most that one transfer within a node gets */
    double far_bw, far_latency;   /* a node's port, and from PE to PE of different nodes */
    int leaf;                     /* nodes of a leaf switch; 0: one switch for all */
    double taper;                 /* bandwidth of a leaf's ports to that of its uplink */
    double overhead;              /* seconds of a PE to start an operation */
    double range; /* seconds of a PE for each range of a list after the first; < 0: a part of the latency */
    double small; /* bytes; transfers of no more do not compete for links */
    tulle__sim_rates rates;
    int measured;  /* kernels take the time that they take here */
    double speed;  /* of the simulated processor, to that of this one */
    int from_file; /* links and nodes are SimGrid's alone */
    int sizes;     /* data=none: no values are held, and transfers without a local end move nothing */
    double room;   /* bytes of a PE's memory, if that is not this machine's */
    int direct;    /* PEs of a node reach each other's memory by load and store */
} tulle__sim_platform;

/* Reads the spec's keys; *file is set if the platform is an XML file, from which links and rates are taken. */
tulle_status tulle__sim_platform_read(tulle__spec_part *part, tulle__sim_platform *platform, const char **file);

/* Whether two PEs are of one node. */
int tulle__sim_same_node(const tulle__sim_platform *platform, int a, int b);

/* ---- simulator.cpp ---- */

typedef struct tulle__sim_place tulle__sim_place; /* a host of SimGrid */
typedef struct tulle__sim_flow tulle__sim_flow;   /* a transfer under way */
typedef struct tulle__sim_bell tulle__sim_bell;   /* what a PE sleeps by until it is rung */

/* Starts SimGrid with the platform, or with that of the file, and finds where each of npes PEs is. */
tulle_status tulle__sim_open(const tulle__sim_platform *platform, const char *file, int npes, tulle__sim_place **place);
/* After a successful open; bells must be gone. */
void tulle__sim_close(void);
/* Runs body(arg[rank]) on every PE until all have returned. */
tulle_status tulle__sim_run(int npes, tulle__sim_place *const *place, void (*body)(void *), void *const *arg);

double tulle__sim_clock(void);
/* Flops a second of a place. */
double tulle__sim_speed(const tulle__sim_place *place);
double tulle__sim_latency(const tulle__sim_place *from, const tulle__sim_place *to);

/* On a PE. At `most` bytes a second, 0: as the links allow. await lets time pass until the flow has arrived; drop
 * forgets it. Both free it. */
tulle__sim_flow *tulle__sim_send(tulle__sim_place *from, tulle__sim_place *to, uint64_t bytes, double most);
void tulle__sim_await(tulle__sim_flow *flow);
/* Whether the flow has arrived; frees nothing. */
int tulle__sim_arrived(tulle__sim_flow *flow);
void tulle__sim_drop(tulle__sim_flow *flow);
void tulle__sim_sleep(double seconds);
/* Calls call(arg, at, value) at that date, outside of any PE. In the order of dates. */
typedef void (*tulle__sim_call)(void *arg, uint64_t *at, uint64_t value);
void tulle__sim_later(double date, tulle__sim_call call, void *arg, uint64_t *at, uint64_t value);

tulle__sim_bell *tulle__sim_bell_new(void);
void tulle__sim_bell_free(tulle__sim_bell *bell);
void tulle__sim_bell_ring(tulle__sim_bell *bell);
/* Until it is rung, or for that long. */
void tulle__sim_bell_await(tulle__sim_bell *bell, double seconds);

/* ---- sim.c and operations.c ---- */

/* A get or a put that was started; its bytes are copied when it is waited for. */
typedef struct tulle__sim_transfer {
    tulle__sim_flow *flow; /* NULL: it is small, goes with the one before, or within a PE */
    double due;            /* when a small one is over */
    uint64_t count;
    int group, target;
    void *to;
    const void *from;
    size_t bytes;
} tulle__sim_transfer;

typedef struct tulle__sim_link {
    tulle__link link;
    tulle__engine_team *team;
    tulle__sim_place *place;
    double owed;       /* seconds of this PE that have not passed yet */
    double last_store; /* when the last of its stores arrives */
    tulle__sim_bell *bell;
    int asleep, setting_up;
    uint64_t writes, seen; /* into this PE's memory, by others */
    tulle__sim_transfer *transfer;
    size_t transfers, room;
    uint64_t count;       /* of the last transfer, of all groups together */
    int exhausted;        /* no memory for a transfer's record: told by the next wait */
    int64_t kernel_began; /* real nanoseconds */
} tulle__sim_link;

struct tulle__engine_team {
    int npes;
    tulle__sim_platform platform;
    tulle__sim_place **place;
    int opened;
    size_t segment_bytes[TULLE__SEGMENTS];
    char **segment;  /* [rank * TULLE__SEGMENTS + segment] */
    double *latency; /* [npes * npes] once asked for, < 0: not yet; NULL: a matter of nodes */
    tulle__sim_link *link;
};

extern const tulle__link_ops tulle__sim_ops;
extern const tulle__virtual_ops tulle__sim_virtual_ops, tulle__sim_sizes_ops; /* the latter with data=none */

/* The end of a run on a PE: what nobody waited for is forgotten, what was sent arrives. */
void tulle__sim_run_end(tulle__sim_link *link);

#ifdef __cplusplus
}
#endif
#endif
