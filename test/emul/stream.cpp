/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams are lists of work that is done as late as it may be: by whoever waits for it (EMUL_WHEN=late, the default),
 * at once (eager), or now and then (EMUL_SEED). So whoever forgets to wait reads what was there before. A query does
 * one piece of work: whoever asks often enough gets there, and nobody who does not ask (EMUL_ASKED=0: nor who does).
 * Whoever copies to pageable memory of the host waits for it, and for all that was before.
 */
#include "inside.h"

#include <chrono>
#include <deque>
#include <thread>

namespace
{
struct work {
    const char *what;
    std::function<void()> run; /* empty: wait for the other stream */
    CUstream_st *other;
    uint64_t ticket;
    bool event; /* no work, but a mark behind it */
};
} // namespace

struct CUstream_st {
    std::deque<work> list;
    uint64_t given = 0, done = 0; /* tickets */
    bool busy = false, gone = false;
    int device = 0;
    std::thread::id giver; /* of the work that was given last */
};

struct CUevent_st {
    CUstream_st *stream = nullptr; /* that it was recorded in last */
    uint64_t ticket = 0;
    bool timed = true;
    int device = 0;
    std::shared_ptr<double> at; /* milliseconds; below zero: not yet */
};

namespace emul
{

namespace
{
std::vector<std::unique_ptr<CUstream_st>> &streams() /* all that ever were: an event may name one that is gone */
{
    static auto *all = new std::vector<std::unique_ptr<CUstream_st>>;
    return *all;
}

CUstream_st *own[DEVICES]; /* of each device, for calls without a stream */

CUstream_st *add_stream()
{
    streams().emplace_back(new CUstream_st);
    streams().back()->device = current();
    return streams().back().get();
}

CUstream_st *stream_of(CUstream_st *stream)
{
    if (stream) return stream;
    if (!own[current()]) own[current()] = add_stream();
    return own[current()];
}

void run_to(held &lock, CUstream_st *s, uint64_t ticket)
{
    house &h = here();
    while (s->done < ticket) {
        if (s->busy) {
            h.moved.wait(lock);
            continue;
        }
        s->busy = true;
        work w = std::move(s->list.front());
        s->list.pop_front();
        if (w.run && h.lost[s->device] == cudaSuccess) {
            open_memory(s->device, 1);
            lock.unlock();
            doing = w.what;
            w.run();
            doing = "";
            lock.lock();
            open_memory(s->device, -1);
        } else if (w.other)
            run_to(lock, w.other, w.ticket);
        s->done++;
        s->busy = false;
        h.moved.notify_all();
    }
}

uint64_t add(held &lock, CUstream_st *stream, work w)
{
    house &h = here();
    CUstream_st *s = stream_of(stream);
    s->list.push_back(std::move(w));
    s->giver = std::this_thread::get_id();
    uint64_t ticket = ++s->given;
    if (h.when == house::EAGER) run_to(lock, s, ticket);
    if (h.when == house::NOW_AND_THEN) {
        uint64_t random = random_next(h.seed);
        CUstream_st *any = streams()[random % streams().size()].get();
        /* not another thread's: its kernel may wait for one that this thread has yet to start */
        if ((random >> 20 & 1) && any->given > any->done && !any->busy && any->giver == s->giver)
            run_to(lock, any, any->done + 1 + (random >> 30) % (any->given - any->done));
    }
    return ticket;
}

/* One piece of work more, if there is any and nobody is at it. */
cudaError_t ask(held &lock, CUstream_st *s, uint64_t ticket)
{
    if (s->done < ticket && !s->busy && (here().asked || s->list.front().event)) run_to(lock, s, s->done + 1);
    return s->done < ticket ? cudaErrorNotReady : cudaSuccess;
}

double now_ms()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* Checks a copy with memory of a device on that side, which must be there now. */
bool of_some_device(const void *at, size_t bytes)
{
    held lock(here().lock);
    const region *r = region_of(at, bytes);
    return r && r->device >= 0;
}

/* Under the lock: memory of the host that copies cannot reach while the host goes on. */
bool is_pageable(const void *at, size_t bytes)
{
    const region *r = region_of(at, bytes);
    return !r || (r->device < 0 && !here().pins);
}

/* Reports a copy whose side on the host spans so many bytes. */
void complain_of_pageable(const void *host, size_t span, size_t bytes)
{
    held lock(here().lock);
    bool too_large = bytes >= here().pageable && is_pageable(host, span);
    lock.unlock();
    if (too_large) complain("a copy of pageable memory of the host, of so many bytes");
}

/* The source of a copy to a device: pageable memory is read before the call returns, other memory when it is done. The
 * driver may wait for what is in the stream before it reads, so it does with some seeds. */
const void *staged(cudaStream_t stream, const void *from, size_t pitch, size_t width, size_t height,
    std::shared_ptr<std::vector<char>> &keep)
{
    held lock(here().lock);
    house &h = here();
    size_t bytes = height ? pitch * (height - 1) + width : 0;
    if (!is_pageable(from, bytes)) return from;
    CUstream_st *s = stream_of(stream);
    if (h.when == house::NOW_AND_THEN && (random_next(h.seed) >> 20 & 3) == 0) run_to(lock, s, s->given);
    keep =
        std::make_shared<std::vector<char>>(static_cast<const char *>(from), static_cast<const char *>(from) + bytes);
    return keep->data();
}
} // namespace

void enqueue(cudaStream_t stream, const char *what, std::function<void()> run)
{
    held lock(here().lock);
    add(lock, stream, work{what, std::move(run), nullptr, 0, false});
}

int device_of(cudaStream_t stream)
{
    return stream ? stream->device : current();
}

void run_all(held &lock, int device)
{
    for (size_t i = 0; i < streams().size(); i++) {
        CUstream_st *s = streams()[i].get();
        if (device < 0 || s->device == device) run_to(lock, s, s->given);
    }
}

} // namespace emul

using namespace emul;

/* Result of a wait: the device may have been lost by what was waited for. */
static cudaError_t ended(int device)
{
    cudaError_t lost = here().lost[device];
    return lost == cudaSuccess ? lost : remember(lost);
}

#define ENTER(how)                                                                                                     \
    do {                                                                                                               \
        cudaError_t entered = enter(__func__, how);                                                                    \
        if (entered != cudaSuccess) return entered;                                                                    \
    } while (0)

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    ENTER(cudaErrorMemoryAllocation);
    held lock(here().lock);
    *stream = add_stream();
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    touch_context();
    held lock(here().lock);
    if (!stream || stream->gone) return remember(cudaErrorInvalidResourceHandle);
    run_to(lock, stream, stream->given);
    stream->gone = true;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    CUstream_st *s = stream_of(stream);
    run_to(lock, s, s->given);
    return ended(s->device);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    CUstream_st *s = stream_of(stream);
    cudaError_t error = ask(lock, s, s->given);
    return error == cudaSuccess ? ended(s->device) : error;
}

cudaError_t cudaDeviceSynchronize(void)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    run_all(lock, current());
    return ended(current());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    if (event->stream) add(lock, stream, work{"waiting for an event", nullptr, event->stream, event->ticket, false});
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    ENTER(cudaErrorMemoryAllocation);
    *event = new CUevent_st;
    (*event)->timed = !(flags & cudaEventDisableTiming);
    (*event)->device = current();
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    touch_context();
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    CUstream_st *s = stream_of(stream);
    if (event->device != s->device) return remember(cudaErrorInvalidResourceHandle);
    std::shared_ptr<double> at = std::make_shared<double>(-1);
    event->at = at;
    event->stream = s;
    event->ticket = s->given + 1;
    add(lock, s, work{"an event", [at]() { *at = now_ms(); }, nullptr, 0, true});
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    if (event->stream) run_to(lock, event->stream, event->ticket);
    return ended(event->device);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    cudaError_t error = event->stream ? ask(lock, event->stream, event->ticket) : cudaSuccess;
    return error == cudaSuccess ? ended(event->device) : error;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    ENTER(cudaErrorUnknown);
    held lock(here().lock);
    if (!begin->timed || !end->timed || !begin->at || !end->at) return remember(cudaErrorInvalidResourceHandle);
    if (*begin->at < 0 || *end->at < 0) return cudaErrorNotReady;
    *milliseconds = static_cast<float>(*end->at - *begin->at);
    return cudaSuccess;
}

/* ---- copies ---- */

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
    size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    ENTER(cudaErrorUnknown);
    std::shared_ptr<std::vector<char>> keep;
    size_t last = height ? height - 1 : 0;
    bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
    if (width > to_pitch || width > from_pitch) return remember(cudaErrorInvalidValue);
    if (!down && kind != cudaMemcpyHostToHost && !of_some_device(to, to_pitch * last + width))
        return remember(cudaErrorInvalidValue);
    if (!up && kind != cudaMemcpyHostToHost && !of_some_device(from, from_pitch * last + width))
        return remember(cudaErrorInvalidValue);
    if (up) complain_of_pageable(from, from_pitch * last + width, width * height);
    if (down) complain_of_pageable(to, to_pitch * last + width, width * height);
    if (up) from = staged(stream, from, from_pitch, width, height, keep);
    /* the work alone keeps what is staged: whoever does it frees it */
    enqueue(stream, "a copy", [=, keep = std::move(keep)]() {
        (void)keep;
        for (size_t i = 0; i < height; i++)
            memcpy(static_cast<char *>(to) + i * to_pitch, static_cast<const char *>(from) + i * from_pitch, width);
    });
    held lock(here().lock);
    if (!down || !is_pageable(to, to_pitch * last + width)) return cudaSuccess;
    CUstream_st *s = stream_of(stream);
    run_to(lock, s, s->given);
    return ended(s->device);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

/* Between devices it needs no permission: without it the driver goes by way of the host. */
cudaError_t cudaMemcpyPeerAsync(
    void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream)
{
    ENTER(cudaErrorUnknown);
    if (!on_device(to, bytes, to_device) || !on_device(from, bytes, from_device))
        return remember(cudaErrorInvalidValue);
    enqueue(stream, "a copy between devices", [=]() {
        held lock(here().lock);
        open_memory(to_device, 1);
        open_memory(from_device, 1);
        memcpy(to, from, bytes);
        open_memory(from_device, -1);
        open_memory(to_device, -1);
    });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    ENTER(cudaErrorUnknown);
    if (!of_some_device(memory, bytes)) return remember(cudaErrorInvalidValue);
    enqueue(stream, "setting memory", [=]() { memset(memory, value, bytes); });
    return cudaSuccess;
}
}
