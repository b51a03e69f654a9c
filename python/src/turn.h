/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of Python that wait for one another, for Python's lock, and for signals. */
#ifndef TULLE_PYTHON_TURN_H
#define TULLE_PYTHON_TURN_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <Python.h>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#else
#include <exception>
#endif

/*
 * Without Python's lock, and with it again. A thread that comes for it when Python has ended stays here: it would be
 * unwound through the library.
 */
class WithoutPython
{
  public:
    WithoutPython() : state(PyEval_SaveThread()) {}
    ~WithoutPython();
    WithoutPython(const WithoutPython &) = delete;
    WithoutPython &operator=(const WithoutPython &) = delete;

  private:
    PyThreadState *state;
};

/* With Python's lock, in any thread; as above. */
class WithPython
{
  public:
    WithPython();
    ~WithPython()
    {
        PyGILState_Release(state);
    }
    WithPython(const WithPython &) = delete;
    WithPython &operator=(const WithPython &) = delete;

  private:
    PyGILState_STATE state;
};

/* Waits for the end of the program. */
[[noreturn]] void stay();

/*
 * Runs body, a function without result. A thread that Python ends in it, because Python is itself
 * ending, stays: the unwinding by which it ends would pass C's frames, and catch (...) must not stop it.
 */
template <class Body> void staying(Body body)
{
#ifdef __GLIBCXX__
    try {
        body();
    } catch (abi::__forced_unwind &) {
        stay();
    }
#else
    /* libc++ enters no handler for it: destructors run, without an exception of C++ */
    struct Guard {
        const int before = std::uncaught_exceptions();
        bool left = false;
        ~Guard()
        {
            if (!left && std::uncaught_exceptions() == before) stay();
        }
    } guard;
    body();
    guard.left = true;
#endif
}

/* True in the thread that Python runs handlers of signals in. */
bool on_main_thread();
/* When the module is imported, with Python's lock. */
void find_main_thread();

/*
 * One thread at a time, and that one again. Waits without Python's lock, so that nobody waits for both in turn, and
 * runs handlers of signals meanwhile.
 */
class Turn
{
  public:
    enum Outcome { mine, signalled, stuck };
    /*
     * signalled: a handler's exception is Python's current one. stuck: who has the turn has run a Python function for
     * so long that it may wait for this thread. With Python's lock.
     */
    Outcome take();
    /* Takes it if it is free, or this thread's. */
    bool try_take();
    void give();
    /* Gives it to other threads, however often it was taken: as often as take_back does. */
    int give_all();
    /* With Python's lock. False: a handler's exception is Python's current one; the turn is this thread's all the same.
     */
    bool take_back(int times);
    /* Tells that a Python function of the call in progress begins, or ends, within which nobody else has the turn. */
    void function_begins();
    void function_ends();

  private:
    void take_now(std::unique_lock<std::mutex> &lock);
    bool is_stuck() const;

    std::mutex mutex;
    std::condition_variable given;
    std::thread::id owner;
    int times = 0;
    std::atomic<int> functions{0};
    std::atomic<int64_t> since{0}; /* the last of them began, in ns */
};

#endif
