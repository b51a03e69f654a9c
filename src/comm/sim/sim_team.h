/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the module `sim`: a team of simulated PEs, platforms, and the few functions of
 * SimGrid, whose asynchronous transfers and programmed platforms are C++ only (simulator.cpp).
 * libtulle sees nothing of it. Seconds and bytes a second are virtual unless stated otherwise.
 */
#ifndef TULLE_COMM_SIM_TEAM_H
#define TULLE_COMM_SIM_TEAM_H

#include "base/module/module.h"
#include "comm/link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* libtulle's functions, set when it loads the module. */
extern const tulle__module_host *tulle__sim_host;

/* ---- platform.c ---- */

/* Rates of a PE's processor. A kernel takes the longest of its three times. */
typedef struct tulle__sim_rates {
    double flops[TULLE_TYPE_COUNT];
    double memory, cache; /* bytes a second */
    double launch;        /* seconds, of each kernel */
    double hop;           /* until threads of a running kernel see each other's writes */
} tulle__sim_rates;

/*
 * Nodes of equal PEs. All ports have both directions. A transfer passes both PEs' ports; between
 * nodes also both nodes' ports; between leaf switches also their uplinks.
 */
typedef struct tulle__sim_platform {
    const char *name;
    int node;                     /* PEs of a node; 0: all */
    double near_bw, near_latency; /* within a node: a PE's port, and latency */
    double pair_bw;               /* most that one transfer within a node gets */
    double far_bw, far_latency;   /* between nodes: a node's port, and latency */
    int leaf;                     /* nodes of a leaf switch; 0: one switch for all */
    double taper;                 /* bandwidth of a leaf's ports to that of its uplink */
    double overhead;              /* seconds of a PE to start an operation */
    double range;                 /* seconds of a PE for each further range of a list; < 0: a part of the latency */
    double small;                 /* bytes; transfers up to this size do not compete for links */
    int queued;                   /* links serve one transfer after the other, and do not share */
    tulle__sim_rates rates;
    int measured;    /* kernels take their real time */
    double speed;    /* simulated processor's speed over this one's */
    int from_file;   /* only SimGrid knows links and nodes */
    int sizes;       /* data=none: shape-only; transfers without a local end move nothing */
    double capacity; /* bytes of a PE's memory; 0: this machine's */
    int direct;      /* PEs of a node reach each other's memory by load and store */
} tulle__sim_platform;

/* Reads the spec's keys; *file is set if the platform is an XML file, from which links and rates are taken. */
tulle_status tulle__sim_platform_read(tulle__spec_part *part, tulle__sim_platform *platform, const char **file);

/* Ranges of a list that take as long as a message, unless the platform says. */
enum { TULLE__SIM_RANGES = 16 };

/* The model's figures of a platform with so many PEs. */
enum { TULLE__NEAR, TULLE__FAR };
void tulle__sim_machine(const tulle__sim_platform *platform, int npes, tulle__simulated *machine);

/* True if two PEs share a node. */
int tulle__sim_same_node(const tulle__sim_platform *platform, int a, int b);

/* ---- simulator.cpp ---- */

typedef struct tulle__sim_place tulle__sim_place; /* a host of SimGrid */
typedef struct tulle__sim_flow tulle__sim_flow;   /* a transfer in flight */
typedef struct tulle__sim_bell tulle__sim_bell;   /* a sleeping PE's alarm */

/* Starts SimGrid with the platform, or with the file's, and sets the place of each of npes PEs. */
tulle_status tulle__sim_open(const tulle__sim_platform *platform, const char *file, int npes, tulle__sim_place **place);
/* Ends SimGrid after a successful open, when all bells are freed. */
void tulle__sim_close(void);
/* Runs body(arg[rank]) on every PE until all have returned. */
tulle_status tulle__sim_run(int npes, tulle__sim_place *const *place, void (*body)(void *), void *const *arg);

double tulle__sim_clock(void);
/* A place's flops a second. */
double tulle__sim_speed(const tulle__sim_place *place);
double tulle__sim_latency(const tulle__sim_place *from, const tulle__sim_place *to);

/*
 * On a PE. send: at `most` bytes a second, 0: as the links allow. await blocks until the flow
 * arrives; drop cancels it. Both free it.
 */
tulle__sim_flow *tulle__sim_send(tulle__sim_place *from, tulle__sim_place *to, uint64_t bytes, double most);
void tulle__sim_await(tulle__sim_flow *flow);
/* True if the flow has arrived; frees nothing. */
int tulle__sim_arrived(tulle__sim_flow *flow);
void tulle__sim_drop(tulle__sim_flow *flow);
void tulle__sim_sleep(double seconds);
/* Schedules call(arg, at, value) at that date, outside of any PE, in date order. */
typedef void (*tulle__sim_call)(void *arg, uint64_t *at, uint64_t value);
void tulle__sim_later(double date, tulle__sim_call call, void *arg, uint64_t *at, uint64_t value);

tulle__sim_bell *tulle__sim_bell_new(void);
void tulle__sim_bell_free(tulle__sim_bell *bell);
void tulle__sim_bell_ring(tulle__sim_bell *bell);
/* Sleeps until it is rung, at most `seconds`. */
void tulle__sim_bell_await(tulle__sim_bell *bell, double seconds);

/* ---- link_queues.c ---- */

/* All links idle. */
tulle_status tulle__sim_queues_new(tulle__engine_team *team);
/* When bytes that one PE sends another now arrive; they keep their links busy. */
double tulle__sim_queues_pass(tulle__engine_team *team, int from, int to, size_t bytes);

/* ---- sim.c and operations.c ---- */

/* A started get or put. The bytes are copied at its wait. */
typedef struct tulle__sim_transfer {
    tulle__sim_flow *flow; /* NULL: small, part of the list's first, or within a PE */
    double due;            /* arrival of a small one */
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
    double owed;       /* seconds of this PE still to pass */
    double last_store; /* arrival of its last store */
    tulle__sim_bell *bell;
    int asleep, setting_up;
    uint64_t writes, seen; /* writes into this PE's memory by others */
    tulle__sim_transfer *transfer;
    size_t transfers, capacity;
    uint64_t count;       /* of the last transfer, counted over all groups */
    int exhausted;        /* no memory for a transfer's record; the next wait says so */
    int64_t kernel_began; /* real nanoseconds */
} tulle__sim_link;

struct tulle__engine_team {
    int npes;
    tulle__sim_platform platform;
    tulle__sim_place **place;
    int opened;
    size_t segment_bytes[TULLE__SEGMENTS];
    char **segment;  /* [rank * TULLE__SEGMENTS + segment] */
    double *latency; /* [npes * npes] as asked for, < 0: not yet; NULL: by nodes */
    double *busy;    /* links' dates (link_queues.c); NULL: SimGrid shares them */
    tulle__sim_link *link;
};

extern const tulle__link_ops tulle__sim_ops;
extern const tulle__virtual_ops tulle__sim_virtual_ops, tulle__sim_sizes_ops; /* the second with data=none */

/* Ends a run on a PE: drops transfers that were not waited for, and lets its stores arrive. */
void tulle__sim_run_end(tulle__sim_link *link);

#ifdef __cplusplus
}
#endif
#endif
