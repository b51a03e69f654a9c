/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of devices and pinned memory of the host. What is new is NaN. An allocation ends at a page that nobody may
 * touch; with EMUL_GUARD memory of a device cannot be touched at all but while that device works, or one that was given
 * access to it as a peer. Under the address sanitizer allocations are its own, and the guard is its poison.
 *
 * The module cuts large allocations into blocks and says so: a block that is taken is NaN, and has a margin behind it
 * that nobody may write; nor may memory of no block be written. Copies and workspaces lie within one block. The address
 * sanitizer has all else poisoned; without it, writes are found when the block, or the memory, changes hands.
 *
 * Managed memory can only be read while a device works, until a kernel writes it: the host that writes it meanwhile is
 * found. On a GPU that is allowed, but moves pages there and back under running kernels, and a hanging card has been
 * the end of it: a word for running kernels lies in pinned memory.
 */
#include "block.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/mman.h>
#ifdef EMUL_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace emul
{

namespace
{
enum { PAGE = 4096 };
std::map<uintptr_t, region> &regions()
{
    static auto *all = new std::map<uintptr_t, region>;
    return *all;
}

#if defined EMUL_ASAN || defined EMUL_TSAN /* whose own handlers tell where a fault is */
void watch_managed(void *, size_t) {}
void forget_managed(void *) {}
void guard_managed(bool) {}
#else
/* Ranges that the handler of faults sees, which takes no lock. */
struct managed_range {
    std::atomic<char *> at;
    std::atomic<size_t> bytes;
} managed_ranges[64];
struct sigaction before_handler;

managed_range *managed_with(const char *address)
{
    for (managed_range &m : managed_ranges)
        if (m.at && address >= m.at && address < m.at + m.bytes) return &m;
    return nullptr;
}

/* A kernel, or work of a stream, may write; the host has written under running kernels. */
void handle_fault(int, siginfo_t *info, void *)
{
    managed_range *m = managed_with(static_cast<char *>(info->si_addr));
    if (!m) {
        sigaction(SIGSEGV, &before_handler, nullptr); /* and the fault comes again */
        return;
    }
    mprotect(m->at, m->bytes, PROT_READ | PROT_WRITE);
    if (!running && !*doing) complain("the host writes managed memory while kernels run");
}

void watch_managed(void *at, size_t bytes)
{
    static bool handles;
    for (managed_range &m : managed_ranges) {
        if (m.at) continue;
        m.bytes = bytes;
        m.at = static_cast<char *>(at);
        break;
    }
    if (handles) return;
    handles = true;
    struct sigaction action = {};
    action.sa_sigaction = handle_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_handler);
}

void forget_managed(void *at)
{
    if (managed_range *m = managed_with(static_cast<char *>(at))) m->at = nullptr;
}

void guard_managed(bool on)
{
    for (managed_range &m : managed_ranges)
        if (m.at) mprotect(m.at, m.bytes, on ? PROT_READ : PROT_READ | PROT_WRITE);
}
#endif

bool reachable(int device)
{
    const house &h = here();
    for (int d = 0; d < h.devices; d++)
        if (h.working[d] && (d == device || h.peer[d][device])) return true;
    return false;
}

void protect(uintptr_t at, const region &r, bool open)
{
#ifdef EMUL_ASAN
    if (!open || r.cut)
        __asan_poison_memory_region(reinterpret_cast<void *>(at), r.bytes);
    else
        __asan_unpoison_memory_region(reinterpret_cast<void *>(at), r.bytes);
    if (open)
        for (auto &b : r.blocks) __asan_unpoison_memory_region(reinterpret_cast<void *>(b.first), b.second);
#else
    (void)at;
    if (mprotect(r.base, r.mapped, open ? PROT_READ | PROT_WRITE : PROT_NONE)) abort();
#endif
}

cudaError_t take(void **out, size_t bytes, int device, bool managed = false)
{
    house &h = here();
    held lock(h.lock);
    if (device >= 0 && (bytes > h.memory || h.used[device] > h.memory - bytes))
        return remember(cudaErrorMemoryAllocation);
    region r = {bytes, device, false, nullptr, 0, managed};
#ifdef EMUL_ASAN
    if (posix_memalign(&r.base, device < 0 ? size_t(PAGE) : size_t(ALIGNMENT), bytes ? bytes : 1))
        return remember(cudaErrorMemoryAllocation);
    char *at = static_cast<char *>(r.base);
#else
    r.mapped = (bytes + PAGE - 1) / PAGE * PAGE + (bytes == 0) * PAGE;
    r.base = mmap(nullptr, r.mapped + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r.base == MAP_FAILED) return remember(cudaErrorMemoryAllocation);
    if (mprotect(static_cast<char *>(r.base) + r.mapped, PAGE, PROT_NONE)) abort();
    char *at = static_cast<char *>(r.base) + (device < 0 ? 0 : (r.mapped - bytes) / ALIGNMENT * ALIGNMENT);
#endif
    memset(at, 0xff, bytes);
    regions()[reinterpret_cast<uintptr_t>(at)] = r;
    if (managed) watch_managed(r.base, r.mapped);
    if (device >= 0) h.used[device] += bytes;
    if (device >= 0 && h.guard && !managed && !reachable(device)) protect(reinterpret_cast<uintptr_t>(at), r, false);
    *out = at;
    return cudaSuccess;
}

enum { MARGIN_BYTE = 0xa5, FREE_BYTE = 0xff };

bool is_all(const char *at, size_t bytes, int byte)
{
    return bytes == 0 || (at[0] == static_cast<char>(byte) && memcmp(at, at + 1, bytes - 1) == 0);
}

/* Fills a block that is taken, with its margin, or one that is given back; what is wrong with it. */
const char *change_hands(region &r, char *at, size_t bytes, size_t length, bool used)
{
    const uintptr_t key = reinterpret_cast<uintptr_t>(at);
    const char *wrong = nullptr;
    if (used == (r.blocks.count(key) != 0)) return used ? "a block is taken twice" : "a block is given back twice";
#ifndef EMUL_ASAN /* which finds the access itself */
    if (used && !is_all(at, length, FREE_BYTE)) wrong = "somebody has written memory that was free";
    if (!used && !is_all(at + bytes, length - bytes, MARGIN_BYTE)) wrong = "somebody has written behind a block";
#endif
    memset(at, FREE_BYTE, length);
    if (used) memset(at + bytes, MARGIN_BYTE, length - bytes);
    if (used)
        r.blocks[key] = bytes;
    else
        r.blocks.erase(key);
    return wrong;
}

/* Waits for devices, as CUDA does. */
cudaError_t drop(void *at, bool of_device)
{
    house &h = here();
    touch_context();
    held lock(h.lock);
    auto it = regions().find(reinterpret_cast<uintptr_t>(at));
    if (!at) return cudaSuccess;
    if (it == regions().end() || (it->second.device >= 0) != of_device || it->second.registered)
        return remember(cudaErrorInvalidValue);
    run_all(lock, it->second.device);
    it = regions().find(reinterpret_cast<uintptr_t>(at));
    region r = it->second;
    counted(of_device ? "cudaFree" : "cudaFreeHost");
    if (!r.blocks.empty()) blamed("an arena is freed, and blocks of it are in use");
    if (of_device) h.used[r.device] -= r.bytes;
#ifdef EMUL_ASAN
    __asan_unpoison_memory_region(at, r.bytes);
    free(r.base);
#else
    if (r.managed) forget_managed(r.base);
    munmap(r.base, r.mapped + PAGE);
#endif
    regions().erase(it);
    return cudaSuccess;
}
} // namespace

const region *region_of(const void *at, size_t bytes)
{
    uintptr_t address = reinterpret_cast<uintptr_t>(at);
    auto it = regions().upper_bound(address);
    if (it == regions().begin()) return nullptr;
    --it;
    if (it->second.cut) {
        auto block = it->second.blocks.upper_bound(address);
        if (block == it->second.blocks.begin()) return nullptr;
        --block;
        return address + bytes <= block->first + block->second ? &it->second : nullptr;
    }
    return address + bytes <= it->first + it->second.bytes ? &it->second : nullptr;
}

bool on_device(const void *at, size_t bytes, int device)
{
    held lock(here().lock);
    const region *r = region_of(at, bytes);
    return r && r->device == device;
}

void adopt(void *at, size_t bytes, int device)
{
    held lock(here().lock);
    regions()[reinterpret_cast<uintptr_t>(at)] = {bytes, device, true, at, bytes, false};
}

void open_memory(int device, int by)
{
    house &h = here();
    bool before[DEVICES];
    int all = 0;
    for (int d = 0; d < h.devices; d++) all += h.working[d];
    if (all == 0 || all + by == 0) guard_managed(by > 0);
    if (!h.guard) {
        h.working[device] += by;
        return;
    }
    for (int d = 0; d < h.devices; d++) before[d] = reachable(d);
    h.working[device] += by;
    for (auto &entry : regions()) {
        int d = entry.second.device;
        if (d >= 0 && !entry.second.managed && reachable(d) != before[d])
            protect(entry.first, entry.second, !before[d]);
    }
}

} // namespace emul

using namespace emul;

extern "C" {

cudaError_t cudaMemGetInfo(size_t *left, size_t *whole)
{
    cudaError_t error = enter("cudaMemGetInfo", cudaErrorUnknown);
    if (error != cudaSuccess) return error;
    held lock(here().lock);
    *whole = here().memory;
    *left = here().memory - here().used[current()];
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    cudaError_t error = enter("cudaMalloc", cudaErrorMemoryAllocation);
    return error == cudaSuccess ? take(memory, bytes, current()) : error;
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned)
{
    cudaError_t error = enter("cudaMallocManaged", cudaErrorMemoryAllocation);
    return error == cudaSuccess ? take(memory, bytes, current(), true) : error;
}

cudaError_t cudaFree(void *memory)
{
    return drop(memory, true);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned)
{
    cudaError_t error = enter("cudaHostAlloc", cudaErrorMemoryAllocation);
    return error == cudaSuccess ? take(memory, bytes, -1) : error;
}

cudaError_t cudaFreeHost(void *memory)
{
    return drop(memory, false);
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned)
{
    cudaError_t error = enter("cudaHostRegister", cudaErrorMemoryAllocation);
    if (error != cudaSuccess) return error;
    held lock(here().lock);
    uintptr_t at = reinterpret_cast<uintptr_t>(memory);
    if (!memory || bytes == 0) return remember(cudaErrorInvalidValue);
    auto next = regions().lower_bound(at);
    if (region_of(memory, 1) || (next != regions().end() && next->first < at + bytes))
        return remember(cudaErrorHostMemoryAlreadyRegistered);
    regions()[at] = {bytes, -1, true, nullptr, 0, false};
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    touch_context();
    held lock(here().lock);
    auto it = regions().find(reinterpret_cast<uintptr_t>(memory));
    if (it == regions().end() || !it->second.registered) return remember(cudaErrorHostMemoryNotRegistered);
    run_all(lock, -1);
    regions().erase(reinterpret_cast<uintptr_t>(memory));
    return cudaSuccess;
}

void emul_block(void *memory, size_t bytes, size_t length, int used)
{
    house &h = here();
    held lock(h.lock);
    auto it = regions().upper_bound(reinterpret_cast<uintptr_t>(memory));
    region &r = (--it)->second;
    const bool closed = h.guard && !reachable(r.device), first = !r.cut;
    char *at = static_cast<char *>(memory);
    r.cut = true;
    if (closed || first) protect(it->first, r, true);
#ifdef EMUL_ASAN
    __asan_unpoison_memory_region(at, length);
#endif
    const char *wrong = change_hands(r, at, bytes, length, used != 0);
#ifdef EMUL_ASAN
    __asan_poison_memory_region(used ? at + bytes : at, used ? length - bytes : length);
#endif
    if (closed) protect(it->first, r, false);
    if (wrong) blamed(wrong);
}

/* Blocks of memory that were not given back, of devices and pinned, for tests; of arenas those in use. */
__attribute__((visibility("default"))) int emul_blocks(void)
{
    held lock(here().lock);
    size_t blocks = 0;
    for (const auto &r : regions()) blocks += r.second.cut ? r.second.blocks.size() : 1;
    return static_cast<int>(blocks);
}

/* Allocations of CUDA that were not given back. */
__attribute__((visibility("default"))) int emul_held(void)
{
    held lock(here().lock);
    return static_cast<int>(regions().size());
}
}
