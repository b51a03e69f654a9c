/* SPDX-License-Identifier: Apache-2.0 */
#include "turn.h"

#include <chrono>

#include <pthread.h>
#include <unistd.h>

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace
{
constexpr std::chrono::milliseconds look(50);        /* between two looks at signals of a thread that waits */
constexpr int64_t patience_ns = INT64_C(5000000000); /* with a Python function that keeps others waiting */

pthread_t main_thread;

int64_t now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

void stay()
{
    for (;;) pause();
}

WithoutPython::~WithoutPython()
{
    staying([this] { PyEval_RestoreThread(state); });
}

WithPython::WithPython()
{
    staying([this] { state = PyGILState_Ensure(); });
}

bool on_main_thread()
{
    return pthread_equal(pthread_self(), main_thread);
}

void find_main_thread()
{
    nb::object main = nb::module_::import_("threading").attr("main_thread")();
    main_thread = static_cast<pthread_t>(nb::cast<unsigned long>(main.attr("ident")));
    /* a child has one thread */
    pthread_atfork(nullptr, nullptr, [] { main_thread = pthread_self(); });
}

void Turn::take_now(std::unique_lock<std::mutex> &lock)
{
    (void)lock;
    owner = std::this_thread::get_id();
    times++;
}

bool Turn::try_take()
{
    std::unique_lock<std::mutex> lock(mutex);
    if (times && owner != std::this_thread::get_id()) return false;
    take_now(lock);
    return true;
}

bool Turn::is_stuck() const
{
    return functions.load() > 0 && now() - since.load() > patience_ns;
}

Turn::Outcome Turn::take()
{
    if (try_take()) return mine;
    const bool main = on_main_thread();
    for (;;) {
        {
            WithoutPython released;
            std::unique_lock<std::mutex> lock(mutex);
            if (given.wait_for(lock, look, [this] { return times == 0; })) {
                take_now(lock);
                break;
            }
        }
        if (main && PyErr_CheckSignals() != 0) return signalled;
        if (is_stuck()) return stuck;
    }
    return mine;
}

void Turn::give()
{
    bool last;
    {
        std::lock_guard<std::mutex> lock(mutex);
        last = --times == 0;
    }
    if (last) given.notify_one();
}

int Turn::give_all()
{
    int before;
    {
        std::lock_guard<std::mutex> lock(mutex);
        before = times;
        times = 0;
    }
    given.notify_one();
    return before;
}

bool Turn::take_back(int before)
{
    bool calm = true;
    for (;;) {
        const Outcome outcome = take();
        if (outcome == mine) break;
        if (outcome == stuck) continue; /* this call cannot end without it */
        calm = false;
        break;
    }
    if (!calm) { /* waits on, without looking again: the exception is kept */
        WithoutPython released;
        std::unique_lock<std::mutex> lock(mutex);
        given.wait(lock, [this] { return times == 0; });
        take_now(lock);
    }
    std::lock_guard<std::mutex> lock(mutex);
    times = before;
    return calm;
}

void Turn::function_begins()
{
    since = now();
    functions++;
}

void Turn::function_ends()
{
    functions--;
}
