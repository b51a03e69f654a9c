/* SPDX-License-Identifier: Apache-2.0 */
/* A team that this process has opened, and calls on it: one at a time, without Python's lock. */
#ifndef TULLE_PYTHON_TEAM_H
#define TULLE_PYTHON_TEAM_H

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <tulle/tulle.h>

namespace nb = nanobind;

/* A failed call: translated to the exception that Python has for its cause. */
struct Failure : std::runtime_error {
    tulle_status status;
    Failure(tulle_status s, const std::string &message) : std::runtime_error(message), status(s) {}
};

/* A communicator that mpi4py handed over: family, size and address of the handle, MPI_Comm_size of its library. */
using Handed = std::tuple<std::string, size_t, uintptr_t, uintptr_t>;

class Team
{
  public:
    Team(const std::string &spec, int threads, size_t memory, const std::optional<Handed> &handed);
    ~Team();
    Team(const Team &) = delete;
    Team &operator=(const Team &) = delete;

    /*
     * Runs a call of the library and throws its failure. `may`: a status that is returned too. A
     * Python function that a call runs in its own thread may make calls, too.
     */
    tulle_status call(const std::function<tulle_status(tulle_comm *)> &body, tulle_status may = TULLE_OK);
    /*
     * The number of an object that all processes make in the same order. Frees are collective, but
     * Python drops objects whenever it likes: the team frees those that are gone in all processes.
     */
    int64_t number()
    {
        return ++numbered;
    }
    /*
     * Runs what frees an object: now, or with the next call if another one is in progress; over
     * several processes with the first call before which it is gone in all of them. number 0: the
     * free is not collective.
     */
    void dispose(int64_t number, std::function<void()> body);
    /* Frees the team with all its objects, which can only be dropped afterwards. Collective. */
    void close();

    /* Rows of all processes together, and those of the processes before this one. Collective. */
    std::pair<int64_t, int64_t> rows(int64_t count);

    int size() const
    {
        return npes;
    }
    int rank() const
    {
        return me;
    }
    /* Whether it ends before its objects may, which hold no memory of it then. */
    bool closes() const
    {
        return over_mpi;
    }

  private:
    struct Disposal {
        int64_t number;
        std::function<void()> body;
    };
    void run_disposals();
    tulle_status run_common_disposals();

    tulle_comm *comm = nullptr; /* closed: nullptr */
    const bool over_mpi;
    int npes = 1, me = 0;
    int64_t numbered = 0;
    std::recursive_mutex busy; /* held during a call */
    int depth = 0;             /* of calls within calls; guarded by busy */
    std::mutex waiting;        /* guards disposals */
    std::vector<Disposal> disposals;
};

/* Set while a thread of the library runs a Python function, within which the threads are busy. */
inline thread_local bool on_library_thread = false;

using TeamRef = std::shared_ptr<Team>;

void bind_team(nb::module_ &m);

#endif
