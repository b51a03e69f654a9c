/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs grids. Blocks follow each other, in an order by the seed: the least progress that CUDA promises, so a block that
 * waits for one that has not begun is found. Those of a cooperative launch are all there, and take turns. Threads of a
 * block are fibers that are left only where they wait or, now and then, at atomics. The thread sanitizer takes each
 * fiber for a thread of its own that nothing orders but the collectives; the address sanitizer gets the places of the
 * stacks.
 */
#include "block.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

__thread emul_thread *emul_self;

namespace emul
{

__thread block *running;

namespace
{
enum { STACK = 256 << 10, PAGE = 4096, MARGIN = 64 };
/* Stacks begin so far apart in a page, lest all want the same lines of a cache. */
enum { STAGGER = 192, STAGGERED = 21 };
enum { PATIENCE = 2000000 };    /* turns of threads that wait, until others' progress is looked at */
std::atomic<uint64_t> progress; /* of all kernels */

/* ---- fibers ---- */

void begin_fiber()
{
    block *b = running;
#ifdef EMUL_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &b->scheduler.bottom, &b->scheduler.size);
#endif
    EMUL_ACQUIRE(b); /* what was there when the kernel began */
    b->run(b->arguments);
    EMUL_RELEASE(&b->stacks);
    b->now->state = fiber::DONE;
    b->threads[static_cast<size_t>(b->now->self.warp * WARP)].gone |= 1u << b->now->self.lane;
    b->spins = 0;
    progress.fetch_add(1, std::memory_order_relaxed);
    b->live--;
    if (b->waiting && b->waiting == b->live) release_barrier(b); /* the hardware counts who has left, too */
    if (!b->now->copies.empty()) complain("a thread ends before it has waited for its copies");
    suspend(b->now);
    abort(); /* one that has left is not gone on with */
}

char *map_stack()
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *at = mmap(nullptr, STACK + PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED || mprotect(at, PAGE, PROT_NONE)) {
        fprintf(stderr, "emul: there is no memory for stacks\n");
        abort();
    }
    return static_cast<char *>(at) + PAGE;
}

#ifdef EMUL_TSAN
/* A thread that had another's stack would race with it for the sanitizer: each has the same always. */
char *take_stack(block *b, const fiber *f)
{
    size_t number = static_cast<size_t>(f->self.number);
    if (b->stacks.size() <= number) b->stacks.resize(number + 1);
    if (!b->stacks[number]) b->stacks[number] = map_stack();
    return b->stacks[number];
}

void give_stack(block *, fiber *f)
{
    f->stack = nullptr;
}
#else
char *take_stack(block *b, const fiber *)
{
    if (b->stacks.empty()) return map_stack();
    char *stack = b->stacks.back(); /* the last one is still warm */
    b->stacks.pop_back();
    return stack;
}

void give_stack(block *b, fiber *f)
{
    b->stacks.push_back(f->stack);
    f->stack = nullptr;
}
#endif

void resume(block *b, fiber *f)
{
    if (!f->sp) {
        f->stack = take_stack(b, f);
        f->bottom = f->stack;
        f->size = STACK;
        void **top = reinterpret_cast<void **>(f->stack + STACK - MARGIN - f->self.number % STAGGERED * STAGGER);
        *--top = nullptr; /* it returns nowhere; and the stack is aligned as at a call */
        *--top = reinterpret_cast<void *>(begin_fiber);
        f->sp = top;
    }
    b->now = f;
    emul_self = &f->self;
    go_on_with(f, &b->scheduler, false);
    emul_self = nullptr;
    if (f->state == fiber::DONE) give_stack(b, f);
}

/* ---- shared memory ---- */

#ifdef EMUL_TSAN
/* The thread sanitizer would order blocks that had the same addresses one after the other: each has fresh ones. */
thread_local char *arena, *arena_at;
enum { ARENA = 1 << 30 };

void begin_shared()
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *at = mmap(nullptr, ARENA, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED) abort();
    arena = arena_at = static_cast<char *>(at);
}

char *take_shared(size_t bytes)
{
    bytes = (bytes + MARGIN - 1) / MARGIN * MARGIN;
    if (arena_at + bytes > arena + ARENA) arena_at = arena;
    arena_at += bytes;
    return arena_at - bytes;
}

void give_shared(shared_array &) {}

void end_shared()
{
    munmap(arena, ARENA);
}
#elif defined EMUL_ASAN
void begin_shared() {}

char *take_shared(size_t bytes)
{
    return static_cast<char *>(malloc(bytes)); /* of exactly so many: it knows when somebody goes beyond */
}

void give_shared(shared_array &s)
{
    free(s.memory);
}

void end_shared() {}
#else
enum { UNTOUCHED = 0xa5 };

void begin_shared() {}

char *take_shared(size_t bytes)
{
    char *at = static_cast<char *>(malloc(bytes + 2 * MARGIN));
    if (!at) abort();
    memset(at, UNTOUCHED, bytes + 2 * MARGIN);
    return at + MARGIN;
}

void give_shared(shared_array &s)
{
    const unsigned char *before = reinterpret_cast<unsigned char *>(s.memory) - MARGIN,
                        *behind = before + MARGIN + s.bytes;
    bool clean = true;
    for (int i = 0; i < MARGIN; i++) clean = clean && before[i] == UNTOUCHED && behind[i] == UNTOUCHED;
    if (!clean) complain("a kernel writes outside of an array in shared memory");
    free(s.memory - MARGIN);
}

void end_shared() {}
#endif

shared_array shared_new(block *b, size_t bytes)
{
    shared_array made = {take_shared(bytes), bytes};
#ifndef EMUL_TSAN                     /* which would take it for a write of the thread that comes first */
    memset(made.memory, 0xff, bytes); /* NaN */
#endif
    b->shared_bytes += bytes;
    if (b->shared_bytes > b->shared_most || b->shared_bytes - b->dynamic.bytes > SHARED_UNASKED) {
        char text[200];
        snprintf(text, sizeof text,
            "a block has %zu bytes of shared memory, %zu of them the launch's: it may have %zu in all, and %d in "
            "arrays",
            b->shared_bytes, b->dynamic.bytes, b->shared_most, SHARED_UNASKED);
        complain(text);
    }
    return made;
}

/* ---- blocks ---- */

void describe_stuck(const block *b, char *text, size_t size)
{
    int told = 0;
    uint3 at = b->threads[0].self.block;
    int n = snprintf(text, size, "block (%u,%u,%u) is stuck: %d of its %zu threads have not left", at.x, at.y, at.z,
        b->live, b->threads.size());
    for (const fiber &f : b->threads) {
        if (f.state == fiber::DONE || told++ == 4 || n >= static_cast<int>(size)) continue;
        if (told > 4) break;
        size_t left = size - static_cast<size_t>(n);
        if (f.state == fiber::AT_BARRIER)
            n += snprintf(text + n, left, "; thread %d waits in __syncthreads at line %d", f.self.number,
                static_cast<int>(f.where));
        else if (f.state == fiber::AT_WARP)
            n += snprintf(text + n, left, "; thread %d waits for the lanes %08x of its warp", f.self.number, f.mask);
        else
            n += snprintf(text + n, left, "; thread %d waits for something that does not come", f.self.number);
    }
}

void prepare_threads(block *b, const emul_shape &shape, uint3 at, char *dynamic)
{
    const dim3 &size = shape.threads;
    b->live = static_cast<int>(b->threads.size());
    b->waiting = b->count = 0;
    for (int i = 0; i < b->live; i++) {
        fiber *f = &b->threads[static_cast<size_t>(i)];
        unsigned n = static_cast<unsigned>(i);
        f->self = {{n % size.x, n / size.x % size.y, n / (size.x * size.y)}, at, shape.threads, shape.blocks, i % WARP,
            i / WARP, i, dynamic};
        f->state = fiber::READY;
        f->sp = nullptr;
        f->waiting = f->gone = 0;
        f->copies.clear();
        f->first_group = f->open_group = 0;
    }
}

int64_t now_ms()
{
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/* Nobody has done anything for as long as patience goes: kernels of other threads may be what the block waits for. */
bool is_stuck(block *b)
{
    uint64_t seen = progress.load(std::memory_order_relaxed);
    int64_t now = now_ms();
    if (seen != b->seen || !b->since) {
        b->seen = seen;
        b->since = now;
    }
    return now - b->since >= here().patience;
}

/* Each thread that can goes on once; false: none could. */
bool step_block(block *b)
{
    size_t n = b->threads.size(), at = b->seed ? random_next(b->seed) % n : 0;
    bool moved = false, back = b->seed && random_next(b->seed) % 2;
    running = b;
    for (size_t k = 0; k < n && !b->abandoned; k++) {
        fiber *f = &b->threads[at];
        at = back ? (at ? at : n) - 1 : at + 1 < n ? at + 1 : 0;
        if (f->state != fiber::READY) continue;
        resume(b, f);
        moved = true;
    }
    return moved;
}

/* Ends a block that is complete, or given up. */
void end_block(block *b)
{
    for (fiber &f : b->threads)
        if (f.stack) give_stack(b, &f);
    if (b->dynamic.memory) give_shared(b->dynamic);
    for (shared_array &s : b->shared)
        if (s.memory) give_shared(s);
    b->shared.clear();
    b->dynamic = {nullptr, 0};
}

/* Blocks that run at the same time, by turns, until all have ended or one is stuck. */
void run_blocks(const std::vector<block *> &blocks)
{
    bool moved = true, abandoned = false;
    while (moved && !abandoned) {
        moved = false;
        for (block *b : blocks) {
            if (!b->live) continue;
            moved |= step_block(b);
            abandoned |= b->abandoned;
            if (abandoned) break;
        }
    }
    size_t shared = 0;
    for (block *b : blocks) {
        shared += b->shared_bytes + SHARED_KEPT;
        if (!b->live || abandoned) continue;
        char text[600];
        running = b;
        describe_stuck(b, text, sizeof text);
        complain(text);
        abandoned = true;
    }
    if (blocks.size() > 1 && shared > (here().gpu.shared + SHARED_KEPT) * PROCESSORS)
        complain("resident blocks have more shared memory together than the device");
    for (block *b : blocks) {
        b->abandoned = abandoned;
        running = b;
        end_block(b);
    }
}
} // namespace

void abandon(block *b, const char *why)
{
    complain(why);
    b->abandoned = true;
    suspend(b->now);
    abort();
}

/* The host's thread ends: streams have some of their own, which come and go. */
block::~block()
{
    for (char *stack : stacks)
        if (stack) munmap(stack - PAGE, STACK + PAGE);
#ifdef EMUL_TSAN
    for (void *f : tsan_fibers) __tsan_destroy_fiber(f);
#endif
}

/* A block that this thread runs, with its stacks, which it keeps from kernel to kernel. */
static block *take_block(size_t number)
{
    static thread_local std::vector<std::unique_ptr<block>> kept;
    while (kept.size() <= number) kept.emplace_back(new block());
    return kept[number].get();
}

static void begin_grid(block *b, const emul_shape &shape, void (*run)(void *), void *arguments, uint64_t seed)
{
    b->threads.assign(size_t(shape.threads.x) * shape.threads.y * shape.threads.z, fiber());
    b->run = run;
    b->arguments = arguments;
    b->seed = seed;
    b->spins = b->seen = 0;
    b->since = 0;
    b->abandoned = false;
#ifdef EMUL_TSAN
    b->scheduler.tsan = __tsan_get_current_fiber();
    while (b->tsan_fibers.size() < b->threads.size()) b->tsan_fibers.push_back(__tsan_create_fiber(0));
    for (size_t i = 0; i < b->threads.size(); i++) b->threads[i].tsan = b->tsan_fibers[i];
#endif
}

static void begin_block(block *b, const emul_shape &shape, uint64_t i)
{
    uint3 at = {static_cast<unsigned>(i % shape.blocks.x), static_cast<unsigned>(i / shape.blocks.x % shape.blocks.y),
        static_cast<unsigned>(i / shape.blocks.x / shape.blocks.y)};
    b->dynamic = {nullptr, shape.shared};
    b->shared.clear();
    b->shared_bytes = 0;
    b->shared_most = shape.shared_most;
    if (shape.shared) b->dynamic = shared_new(b, shape.shared);
    EMUL_RELEASE(b);
    prepare_threads(b, shape, at, b->dynamic.memory);
}

bool run_grid(const emul_shape &shape, void (*run)(void *), void *arguments, uint64_t seed)
{
    uint64_t blocks = uint64_t(shape.blocks.x) * shape.blocks.y * shape.blocks.z;
    size_t together = shape.resident ? static_cast<size_t>(blocks) : 1;
    std::vector<block *> some;
    for (size_t n = 0; n < together; n++) {
        some.push_back(take_block(n));
        begin_grid(some[n], shape, run, arguments, seed ? seed + 2 * n : 0);
        some[n]->patience = PATIENCE / together;
    }
    begin_shared();
    block *before = running, *first = some[0];
    uint64_t from = seed && together == 1 ? random_next(first->seed) % blocks : 0;
    for (uint64_t k = 0; k < blocks && !first->abandoned; k += together) {
        for (size_t n = 0; n < together; n++) {
            running = some[n];
            begin_block(some[n], shape, (k + n + from) % blocks);
        }
        run_blocks(some);
    }
    running = before;
    bool well = !first->abandoned;
    for (block *b : some) EMUL_ACQUIRE(&b->stacks), (void)b;
    end_shared();
    return well;
}

int resident_blocks(int threads, size_t shared)
{
    const capability &gpu = here().gpu;
    int by_threads = gpu.threads / threads;
    int by_shared = shared ? static_cast<int>((gpu.shared + SHARED_KEPT) / (shared + SHARED_KEPT)) : RESIDENT_BLOCKS;
    int blocks = by_threads < by_shared ? by_threads : by_shared;
    return blocks < RESIDENT_BLOCKS ? blocks : RESIDENT_BLOCKS;
}

} // namespace emul

using namespace emul;

extern "C" void *emul_shared(int number, size_t bytes)
{
    block *b = running;
    if (static_cast<size_t>(number) >= b->shared.size()) b->shared.resize(static_cast<size_t>(number) + 1);
    shared_array &s = b->shared[static_cast<size_t>(number)];
    if (!s.memory) s = shared_new(b, bytes);
    return s.memory;
}

extern "C" void emul_yield(void)
{
    block *b = running;
    if (!b) return;
    if (++b->spins % 128 == 0) sched_yield(); /* it may wait for a kernel of another thread's */
    if (b->spins > b->patience && b->spins % 64 == 0 && is_stuck(b)) {
        char text[600];
        describe_stuck(b, text, sizeof text);
        abandon(b, text);
    }
    suspend(b->now);
}

extern "C" void emul_progress(void)
{
    if (!running) return;
    running->spins = 0;
    running->since = 0;
    progress.fetch_add(1, std::memory_order_relaxed);
}

extern "C" void emul_perhaps(void)
{
    if (running && running->seed && random_next(running->seed) % 8 == 0) emul_yield();
}

extern "C" void emul_trap(const char *why)
{
    if (running) abandon(running, why);
    complain(why);
}
