/* SPDX-License-Identifier: Apache-2.0 */
/* A block of CUDA threads, as fibers: what block.cpp runs and warp.cpp lets wait for each other. */
#ifndef EMUL_BLOCK_H
#define EMUL_BLOCK_H

#include "inside.h"

#ifdef EMUL_TSAN
#include <sanitizer/tsan_interface.h>
#define EMUL_RELEASE(at) __tsan_release(at)
#define EMUL_ACQUIRE(at) __tsan_acquire(at)
#else
#define EMUL_RELEASE(at) ((void)0)
#define EMUL_ACQUIRE(at) ((void)0)
#endif

namespace emul
{

struct fiber {
    emul_thread self;
    enum { READY, AT_BARRIER, AT_WARP, DONE } state;
    void *sp;    /* where it was left; NULL: it has not begun */
    char *stack; /* the lowest address */
    void *tsan, *asan;
    unsigned waiting, gone; /* of a warp's first lane: lanes that wait for others, or have left */
    /* of the collective that it waits in */
    intptr_t where; /* a line, or the address of the call */
    unsigned mask;
    int operation, source;
    uint64_t value;
    /* copies under way: of groups 0 .. ngroups - 1, and of the open one */
    struct copy {
        void *to;
        const void *from;
        size_t bytes;
        int group;
    };
    std::vector<copy> copies;
    int first_group, open_group;
};

/* Shared memory, with a margin on both sides that nobody may write. */
struct shared_array {
    char *memory;
    size_t bytes;
};

struct block {
    std::vector<fiber> threads;
    int live;                       /* threads that have not left */
    int waiting, count, last_count; /* at the barrier: threads, predicates; of the last one */
    intptr_t where;                 /* its line */
    bool abandoned;
    fiber *now;
    void (*run)(void *);
    void *arguments;
    uint64_t seed, spins, patience,
        seen;      /* patience: spins until others are looked at; seen: progress of all kernels */
    int64_t since; /* when that was looked at first; 0: not yet */
    std::vector<shared_array> shared;
    shared_array dynamic; /* the launch's */
    size_t shared_bytes, shared_most;
    /* the scheduler, and what it keeps from kernel to kernel */
    void *sp, *tsan, *asan;
    const void *bottom;
    size_t size;
    std::vector<char *> stacks;
    std::vector<void *> tsan_fibers;
    ~block();
};

/* The block that this thread runs; NULL outside of kernels. */
extern thread_local block *running;

/* The fiber stops here until the scheduler comes back to it. */
void suspend(fiber *f);
/* All who wait at the barrier go on. */
void release_barrier(block *b);
/* The block is not run any further; its device is lost. Does not return. */
[[noreturn]] void abandon(block *b, const char *why);

} // namespace emul

#endif
