/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common work of threads of a block: barriers, operations of a warp, copies that are waited for. Whoever comes to one
 * with a mask, a line or an operation that does not fit the others' is reported, as a GPU would hang or give any value.
 */
#include "block.h"

#include <cstdio>

namespace emul
{

void release_barrier(block *b)
{
    b->last_count = b->count;
    b->waiting = b->count = 0;
    for (fiber &f : b->threads)
        if (f.state == fiber::AT_BARRIER) f.state = fiber::READY;
}

namespace
{
/* The last lane to come works out what each gets. */
void finish(block *b, fiber *lane, unsigned mask, int operation)
{
    for (int l = 0; l < WARP; l++)
        if (mask >> l & 1 && (lane[l].mask != mask || lane[l].operation != operation))
            abandon(b, "lanes of a warp meet with different masks or operations");
    lane->waiting &= ~mask;
    uint64_t in[WARP] = {0}, ballot = 0, sum = 0;
    for (int l = 0; l < WARP; l++) {
        if (!(mask >> l & 1)) continue;
        in[l] = lane[l].value;
        sum += in[l];
        if (in[l]) ballot |= uint64_t(1) << l;
    }
    for (int l = 0; l < WARP; l++) {
        if (!(mask >> l & 1)) continue;
        fiber *f = &lane[l];
        uint64_t same = 0;
        switch (operation) {
        case EMUL_SHUFFLE:
            if (!(mask >> (f->source & (WARP - 1)) & 1)) complain("a shuffle reads a lane that is not in its mask");
            f->value = in[f->source & (WARP - 1)];
            break;
        case EMUL_BALLOT:
            f->value = ballot;
            break;
        case EMUL_SUM:
            f->value = sum;
            break;
        case EMUL_MATCH:
            for (int k = 0; k < WARP; k++)
                if ((mask >> k & 1) && in[k] == in[l]) same |= uint64_t(1) << k;
            f->value = same;
            break;
        default:
            break;
        }
        f->state = fiber::READY;
    }
}
} // namespace
} // namespace emul

using namespace emul;

extern "C" int emul_barrier(int predicate, int what, int line)
{
    block *b = running;
    fiber *f = b->now;
    f->where = line;
    if (b->waiting == 0)
        b->where = line;
    else if (b->where != line)
        complain("threads of a block meet in different __syncthreads");
    b->count += predicate;
    b->waiting++;
    int all = b->live;
    EMUL_RELEASE(&b->waiting);
    f->state = fiber::AT_BARRIER;
    if (b->waiting == b->live) release_barrier(b);
    suspend(f);
    EMUL_ACQUIRE(&b->waiting);
    return what == EMUL_COUNT ? b->last_count : what == EMUL_AND ? b->last_count == all : b->last_count != 0;
}

extern "C" uint64_t emul_warp(unsigned mask, uint64_t value, int source, int operation)
{
    block *b = running;
    fiber *f = b->now, *lane = &b->threads[static_cast<size_t>(f->self.warp * WARP)];
    int lanes = static_cast<int>(b->threads.size()) - f->self.warp * WARP;
    unsigned there = lanes >= WARP ? 0xffffffffu : (1u << lanes) - 1, come = 0;
    f->where = reinterpret_cast<intptr_t>(__builtin_return_address(0));
    f->mask = mask & there; /* of a last warp that is not whole, as compute capabilities from 7.0 on take it */
    f->operation = operation;
    f->value = value;
    f->source = source;
    if (!(mask >> f->self.lane & 1)) {
        abandon(b, "a lane calls an operation of its warp without being in the mask");
    }
    f->state = fiber::AT_WARP;
    if (lane->gone & f->mask) abandon(b, "a lane that has left is in the mask of an operation of its warp");
    come = lane->waiting & f->mask;
    if (come) {
        const fiber *other = &lane[__builtin_ctz(come)]; /* all of them are compared by the last one */
        if (other->mask != f->mask || other->operation != operation)
            abandon(b, "lanes of a warp meet with different masks or operations");
    }
    lane->waiting |= 1u << f->self.lane;
    come |= 1u << f->self.lane;
    if (operation == EMUL_SYNC) EMUL_RELEASE(lane);
    if (come == f->mask) finish(b, lane, come, operation);
    suspend(f);
    if (operation == EMUL_SYNC) EMUL_ACQUIRE(lane);
    return f->value;
}

/* ---- copies under way ---- */

/* An asynchronous copy: the target is NaN until a wait, so that a test finds an earlier reader. */
extern "C" void emul_async_copy(void *to, const void *from, size_t bytes)
{
    fiber *f = running->now;
    if (bytes != 4 && bytes != 8 && bytes != 16) complain("an asynchronous copy has 4, 8 or 16 bytes");
    if (reinterpret_cast<uintptr_t>(to) % bytes || reinterpret_cast<uintptr_t>(from) % bytes)
        complain("an asynchronous copy is not aligned to its bytes");
    memset(to, 0xff, bytes);
    f->copies.push_back({to, from, bytes, f->open_group});
}

extern "C" void emul_async_commit(void)
{
    running->now->open_group++;
}

extern "C" void emul_async_wait(int groups_left)
{
    fiber *f = running->now;
    size_t left = 0;
    for (const fiber::copy &c : f->copies)
        if (c.group < f->open_group - groups_left)
            memcpy(c.to, c.from, c.bytes);
        else
            f->copies[left++] = c;
    f->copies.resize(left);
}
