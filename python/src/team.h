/* SPDX-License-Identifier: Apache-2.0 */
/* A team that this process has opened, and calls on it: one thread at a time, without Python's lock. */
#ifndef TULLE_PYTHON_TEAM_H
#define TULLE_PYTHON_TEAM_H

#include <atomic>
#include <exception>
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

#include "turn.h"

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

    /* Runs a call of the library, when it is this thread's turn, and throws its failure. `may`: a status that is
     * returned too. */
    tulle_status call(const std::function<tulle_status(tulle_comm *)> &body, tulle_status may = TULLE_OK);
    /* Takes the turn for this thread until `leave`: calls of other threads wait. */
    void enter();
    void leave();
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
     * free is not collective. With Python's lock.
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
    /* True if it ends before its objects may, which hold no memory of it then. */
    bool closes() const
    {
        return over_mpi;
    }

  private:
    friend class Meanwhile;

    struct Disposal {
        int64_t number;
        std::function<void()> body;
    };
    using Disposals = std::vector<Disposal>;
    void usable() const;
    Disposals taken();
    void run_disposals(Disposals &now);
    tulle_status run_common_disposals(Disposals &now);
    tulle_status run(const std::function<tulle_status(tulle_comm *)> &body, Disposals &now);
    bool look_at_signals();

    tulle_comm *comm = nullptr; /* closed: nullptr */
    const bool over_mpi;
    const unsigned forks; /* of the process, when it was made */
    int npes = 1, me = 0;
    int64_t numbered = 0;
    Turn turn;                    /* whose calls these are; guards the next two */
    int depth = 0;                /* of calls within calls */
    std::exception_ptr signalled; /* what a handler of a signal threw during the call in progress */
    std::mutex waiting;           /* guards disposals */
    Disposals disposals;
};

using TeamRef = std::shared_ptr<Team>;

/*
 * A Python function that a call on the team runs. In the thread of the call other calls may be made meanwhile, of this
 * thread and of others, where the team is this process alone. Made and unmade with Python's lock.
 */
class Meanwhile
{
  public:
    enum Where { own_thread, library_thread };
    Meanwhile(Team &team, Where where);
    ~Meanwhile();
    Meanwhile(const Meanwhile &) = delete;
    Meanwhile &operator=(const Meanwhile &) = delete;

  private:
    Team &team;
    const Team *const outer;
    tulle_lent lent = {}; /* before lends, which fills it */
    const bool lends;
    int turns = 0, depth = 0;
    std::exception_ptr signalled;
};

/* An object of the library, which holds its team; the team frees it when it is no call's. */
class Handle
{
  public:
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    const TeamRef team;

  protected:
    /* After the objects that it uses, which are to be freed after it. */
    explicit Handle(TeamRef t) : team(std::move(t)), number(team->number()) {}
    ~Handle() = default;
    void dispose(std::function<void()> body)
    {
        team->dispose(number, std::move(body));
    }

  private:
    const int64_t number;
};

void bind_team(nb::module_ &m);

#endif
