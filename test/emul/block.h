/* SPDX-License-Identifier: Apache-2.0 */
/* A block of CUDA threads, as fibers: what block.cpp runs and warp.cpp lets wait for each other. */
#ifndef EMUL_BLOCK_H
#define EMUL_BLOCK_H

#include "inside.h"

#ifdef EMUL_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
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

/* State of one that stops and goes on: the scheduler of a block, or a fiber. */
struct resumable {
    void *sp; /* where it was left; NULL: it has not begun */
    void *tsan, *asan;
    const void *bottom; /* of its stack, for the sanitizer */
    size_t size;
};

struct fiber : resumable {
    emul_thread self;
    enum { READY, AT_BARRIER, AT_WARP, DONE } state;
    char *stack;            /* the lowest address */
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
    resumable scheduler;
    std::vector<char *> stacks;
    std::vector<void *> tsan_fibers;
    ~block();
};

/* The block that this thread runs; NULL outside of kernels. */
extern __thread block *running;

/*
 * Saves where it is in *save, and goes on where `load` was saved. It is in line, and jumps: a processor predicts that a
 * return goes to who called last, which it never would here.
 */
inline __attribute__((always_inline)) void switch_stack(void **save, void *load)
{
    asm volatile("leaq -128(%%rsp), %%rsp\n" /* what a leaf may have below its stack */
                 "pushq %%rbp\n"
                 "pushq %%rbx\n"
                 "leaq 1f(%%rip), %%rax\n"
                 "pushq %%rax\n"
                 "movq %%rsp, (%0)\n"
                 "movq %1, %%rsp\n"
                 "popq %%rax\n"
                 "jmp *%%rax\n"
                 "1:\n"
                 "popq %%rbx\n"
                 "popq %%rbp\n"
                 "leaq 128(%%rsp), %%rsp\n"
                 : "+D"(save), "+S"(load)
                 :
                 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory", "xmm0",
                 "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                 "xmm13", "xmm14", "xmm15");
}

/* Stops `from`, which may end, and goes on with `to`; returns when another goes on with `from`. */
inline __attribute__((always_inline)) void go_on_with(resumable *to, resumable *from, bool ends)
{
#ifdef EMUL_ASAN
    __sanitizer_start_switch_fiber(ends ? nullptr : &from->asan, to->bottom, to->size);
#else
    (void)ends;
#endif
#ifdef EMUL_TSAN
    __tsan_switch_to_fiber(to->tsan, __tsan_switch_to_fiber_no_sync);
#endif
    switch_stack(&from->sp, to->sp);
#ifdef EMUL_ASAN
    __sanitizer_finish_switch_fiber(from->asan, nullptr, nullptr);
#endif
}

/* The fiber stops here until the scheduler comes back to it. */
inline void suspend(fiber *f)
{
    go_on_with(&running->scheduler, f, f->state == fiber::DONE);
}
/* All who wait at the barrier go on. */
void release_barrier(block *b);
/* The block is not run any further; its device is lost. Does not return. */
[[noreturn]] void abandon(block *b, const char *why);

} // namespace emul

#endif
