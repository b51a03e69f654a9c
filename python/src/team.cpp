/* SPDX-License-Identifier: Apache-2.0 */
#include "team.h"

#include <algorithm>

#include <pthread.h>

#include <tulle/launch.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

namespace
{
std::atomic<unsigned> forks_of_process{0};
/* The team whose call runs Python in this thread where no call may be made: a handler of a signal, or a function that
 * its threads run. */
thread_local const Team *busy = nullptr;

void count_fork()
{
    forks_of_process++;
}
} // namespace

Team::Team(const std::string &spec, int threads, size_t memory, const std::optional<Handed> &handed)
    : over_mpi(handed.has_value()), forks(forks_of_process)
{
    tulle_team_options team = {};
    team.size = sizeof team;
    team.threads = threads;
    team.memory = memory;
    tulle_open_options options = {};
    options.size = sizeof options;
    options.spec = spec.empty() ? nullptr : spec.c_str();
    options.team = &team;
    tulle_communicator communicator = {};
    if (handed) {
        communicator.family = std::get<0>(*handed).c_str();
        communicator.size = std::get<1>(*handed);
        communicator.comm = reinterpret_cast<const void *>(std::get<2>(*handed));
        communicator.library = reinterpret_cast<void (*)()>(std::get<3>(*handed));
        options.communicator = &communicator;
    }
    tulle_status status;
    {
        WithoutPython released;
        status = tulle_open(&options, &comm);
        tulle_comm_release(comm); /* it is not this thread's: another may close it */
    }
    if (status != TULLE_OK) throw Failure(status, tulle_error_message_from(0));
    npes = tulle_comm_size(comm);
    me = tulle_comm_rank(comm);
    tulle_comm_attend(
        comm, [](void *team) { return static_cast<Team *>(team)->look_at_signals(); }, this);
}

Team::~Team()
{
    if (forks != forks_of_process) return; /* its threads are the parent's */
    Disposals now = taken();
    if (npes == 1) run_disposals(now);
    tulle_close(comm);
}

void Team::close()
{
    enter();
    Disposals now = taken();
    {
        WithoutPython released;
        tulle_close(comm);
        comm = nullptr;
    }
    leave();
}

/* Throws where no call can be made. */
void Team::usable() const
{
    if (forks != forks_of_process)
        throw Failure(TULLE_ERR_STATE, "this object was made before the process was forked, and its threads are the "
                                       "parent's: make it in the child");
    if (busy == this)
        throw Failure(TULLE_ERR_STATE, "a call is in progress in this thread: the function of a matrix function, and a "
                                       "handler of signals, may not call the library on the same team");
    if (!comm) throw Failure(TULLE_ERR_STATE, "the team of this object has been closed: its `with` block has ended");
}

void Team::enter()
{
    usable();
    switch (turn.take()) {
    case Turn::signalled:
        throw nb::python_error();
    case Turn::stuck:
        throw Failure(TULLE_ERR_STATE, "another thread's call on this team runs a Python function for long, which may "
                                       "wait for this call");
    case Turn::mine:
        break;
    }
    if (!comm) {
        turn.give();
        usable();
    }
}

void Team::leave()
{
    turn.give();
}

/* Runs in the thread of a call, without Python's lock. */
bool Team::look_at_signals()
{
    if (!on_main_thread()) return false;
    WithPython held;
    const Team *outer = busy;
    busy = this;
    turn.function_begins();
    const bool calm = PyErr_CheckSignals() == 0;
    turn.function_ends();
    busy = outer;
    if (calm) return false;
    nb::python_error raised;
    if (!signalled) signalled = std::make_exception_ptr(std::move(raised));
    return true;
}

Team::Disposals Team::taken()
{
    Disposals now;
    std::lock_guard<std::mutex> lock(waiting);
    now.swap(disposals);
    return now;
}

/* Frees what is still to be freed; a closed team has freed it. */
void Team::run_disposals(Disposals &now)
{
    for (auto &disposal : now)
        if (comm) disposal.body();
}

/* Frees what is gone in all processes, the youngest first. */
tulle_status Team::run_common_disposals(Disposals &now)
{
    int64_t most = (int64_t)now.size();
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_MAX, 1, &most);
    const size_t width = (size_t)most;
    std::vector<int64_t> mine(width, 0), all(width * (size_t)npes);
    for (size_t d = 0; d < now.size(); d++) mine[d] = now[d].number;
    if (status == TULLE_OK && most)
        status = tulle_comm_allgather(comm, mine.data(), width * sizeof(int64_t), all.data());
    /* how many processes name each number */
    std::sort(all.begin(), all.end());
    std::sort(now.begin(), now.end(), [](const Disposal &x, const Disposal &y) { return x.number > y.number; });
    for (auto &disposal : now) {
        const auto [begin, end] = std::equal_range(all.begin(), all.end(), disposal.number);
        if (status == TULLE_OK && (!disposal.number || end - begin == npes)) {
            disposal.body();
        } else {
            std::lock_guard<std::mutex> lock(waiting);
            disposals.push_back(std::move(disposal));
        }
    }
    return status;
}

/* In this thread's turn, without Python's lock. */
tulle_status Team::run(const std::function<tulle_status(tulle_comm *)> &body, Disposals &now)
{
    tulle_status status = tulle_comm_hold(comm);
    if (status != TULLE_OK) return status;
    if (depth == 0) {
        if (npes > 1)
            status = run_common_disposals(now);
        else
            run_disposals(now);
    }
    depth++;
    if (status == TULLE_OK) status = body(comm);
    depth--;
    if (depth == 0) tulle_comm_interrupt(comm, false);
    tulle_comm_release(comm);
    return status;
}

tulle_status Team::call(const std::function<tulle_status(tulle_comm *)> &body, tulle_status may)
{
    tulle_status status;
    std::string message;
    Disposals now; /* what they hold is dropped with Python's lock */
    enter();
    if (depth == 0) now = taken();
    {
        WithoutPython released;
        status = run(body, now);
        if (status != TULLE_OK) message = tulle_error_message_from(0);
    }
    std::exception_ptr raised;
    if (depth == 0) std::swap(raised, signalled);
    leave();
    if (raised) std::rethrow_exception(raised);
    if (status != TULLE_OK && status != may) throw Failure(status, message);
    return status;
}

void Team::dispose(int64_t number, std::function<void()> body)
{
    if (forks != forks_of_process) return;
    {
        std::lock_guard<std::mutex> lock(waiting);
        disposals.push_back({number, std::move(body)});
    }
    if (!turn.try_take()) return;
    if (depth == 0 && (npes == 1 || !comm)) {
        Disposals now = taken();
        if (comm && tulle_comm_hold(comm) == TULLE_OK) {
            run_disposals(now);
            tulle_comm_release(comm);
        }
    }
    turn.give();
}

Meanwhile::Meanwhile(Team &t, Where where)
    : team(t), outer(busy), lends(where == own_thread && t.npes == 1 && tulle_comm_lend(t.comm, &lent) == TULLE_OK)
{
    if (!lends) {
        busy = &team;
        team.turn.function_begins();
        return;
    }
    depth = team.depth;
    team.depth = 0;
    std::swap(signalled, team.signalled);
    turns = team.turn.give_all();
}

Meanwhile::~Meanwhile()
{
    if (!lends) {
        team.turn.function_ends();
        busy = outer;
        return;
    }
    const bool calm = team.turn.take_back(turns);
    (void)tulle_comm_resume(team.comm, &lent); /* no other has it in this thread's turn */
    std::swap(signalled, team.signalled);
    team.depth = depth;
    if (calm) return;
    nb::python_error raised;
    if (!team.signalled) team.signalled = std::make_exception_ptr(std::move(raised));
    tulle_comm_interrupt(team.comm, true);
}

std::pair<int64_t, int64_t> Team::rows(int64_t count)
{
    std::vector<int64_t> all((size_t)npes);
    call([&](tulle_comm *c) { return tulle_comm_allgather(c, &count, sizeof count, all.data()); });
    int64_t first = 0, sum = 0;
    for (int r = 0; r < npes; r++) {
        if (r == me) first = sum;
        sum += all[(size_t)r];
    }
    return {sum, first};
}

void bind_team(nb::module_ &m)
{
    find_main_thread();
    pthread_atfork(nullptr, nullptr, count_fork);
    /* the launcher that has started this process as one of several, their number, 0 if it does not tell, and its rank
     */
    m.def("launched", []() -> std::optional<std::tuple<std::string, int, int>> {
        if (tulle_launched_size() == 1) return std::nullopt;
        return std::tuple<std::string, int, int>(tulle_launched_name(), tulle_launched_size(), tulle_launched_rank());
    });
    nb::class_<Team>(m, "Team")
        .def(nb::init<const std::string &, int, size_t, const std::optional<Handed> &>(), nb::arg("spec"),
            nb::arg("threads"), nb::arg("memory"), nb::arg("handed").none() = nb::none())
        .def("close", &Team::close)
        .def("enter", &Team::enter)
        .def("leave", &Team::leave)
        .def("rows", &Team::rows)
        .def_prop_ro("size", &Team::size)
        .def_prop_ro("rank", &Team::rank);
}
