/* SPDX-License-Identifier: Apache-2.0 */
#include "team.h"

#include <algorithm>
#include <atomic>
#include <csignal>

#include <pthread.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

/*
 * Ctrl-C during a call. Python's handler only notes the signal until its interpreter goes on, which
 * waits for the call: a handler before it ends the call. Signals come to the main thread alone.
 */
namespace
{
std::atomic<tulle_comm *> interruptible{nullptr};
struct sigaction before;

void on_interrupt(int number, siginfo_t *info, void *context)
{
    if (tulle_comm *comm = interruptible.load()) tulle_comm_interrupt(comm, true);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
}

class Interruptible
{
  public:
    explicit Interruptible(tulle_comm *comm) : comm(comm), outer(interruptible)
    {
        struct sigaction now = {};
        if (outer) { /* a call of another team, from a Python function that its call runs */
            interruptible = comm;
            return;
        }
        if (sigaction(SIGINT, nullptr, &before) != 0) return;
        /* a program that ignores the signal, or dies of it, has its way */
        if (!(before.sa_flags & SA_SIGINFO) && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) return;
        interruptible = comm;
        now.sa_sigaction = on_interrupt;
        now.sa_flags = SA_SIGINFO | (before.sa_flags & SA_ONSTACK);
        now.sa_mask = before.sa_mask;
        installed = sigaction(SIGINT, &now, nullptr) == 0;
    }
    ~Interruptible()
    {
        if (installed) sigaction(SIGINT, &before, nullptr);
        interruptible = outer;
        tulle_comm_interrupt(comm, false);
    }
    Interruptible(const Interruptible &) = delete;
    Interruptible &operator=(const Interruptible &) = delete;

  private:
    tulle_comm *comm, *outer;
    bool installed = false;
};

bool on_main_thread()
{
    static const pthread_t thread = [] {
        nb::object main = nb::module_::import_("threading").attr("main_thread")();
        return static_cast<pthread_t>(nb::cast<unsigned long>(main.attr("ident")));
    }();
    return pthread_equal(pthread_self(), thread);
}
} // namespace

Team::Team(const std::string &spec, int threads, size_t memory, const std::optional<Handed> &handed)
    : over_mpi(handed.has_value())
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
        nb::gil_scoped_release released;
        status = tulle_open(&options, &comm);
    }
    if (status != TULLE_OK) throw Failure(status, tulle_error_message());
    npes = tulle_comm_size(comm);
    me = tulle_comm_rank(comm);
}

Team::~Team()
{
    if (npes == 1) run_disposals();
    tulle_close(comm);
}

void Team::close()
{
    nb::gil_scoped_release released;
    std::lock_guard<std::recursive_mutex> lock(busy);
    tulle_close(comm);
    comm = nullptr;
    run_disposals();
}

/* Those that are still to be freed; a closed team has freed them. */
void Team::run_disposals()
{
    std::vector<Disposal> now;
    {
        std::lock_guard<std::mutex> lock(waiting);
        now.swap(disposals);
    }
    for (auto &disposal : now)
        if (comm) disposal.body();
}

/* Frees what is gone in all processes, the youngest first. */
tulle_status Team::run_common_disposals()
{
    std::vector<Disposal> now;
    {
        std::lock_guard<std::mutex> lock(waiting);
        now.swap(disposals);
    }
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

tulle_status Team::call(const std::function<tulle_status(tulle_comm *)> &body, tulle_status may)
{
    tulle_status status = TULLE_OK;
    std::string message;
    const bool main = on_main_thread();
    if (on_library_thread) throw Failure(TULLE_ERR_ARG, "the function of a matrix function may not call the library");
    if (!comm) throw Failure(TULLE_ERR_ARG, "the team of this object has been closed: its `with` block has ended");
    {
        nb::gil_scoped_release released;
        std::lock_guard<std::recursive_mutex> lock(busy);
        std::optional<Interruptible> guard;
        if (depth == 0) {
            if (npes > 1)
                status = run_common_disposals();
            else
                run_disposals();
            if (main) guard.emplace(comm);
        }
        depth++;
        if (status == TULLE_OK) status = body(comm);
        depth--;
        if (status != TULLE_OK) message = tulle_error_message();
    }
    if (status == TULLE_ERR_INTERRUPTED && PyErr_CheckSignals() != 0) throw nb::python_error();
    if (status != TULLE_OK && status != may) throw Failure(status, message);
    return status;
}

void Team::dispose(int64_t number, std::function<void()> body)
{
    {
        std::lock_guard<std::mutex> lock(waiting);
        disposals.push_back({number, std::move(body)});
    }
    std::unique_lock<std::recursive_mutex> lock(busy, std::try_to_lock);
    if (lock.owns_lock() && depth == 0 && (npes == 1 || !comm)) run_disposals();
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
    nb::class_<Team>(m, "Team")
        .def(nb::init<const std::string &, int, size_t, const std::optional<Handed> &>(), nb::arg("spec"),
            nb::arg("threads"), nb::arg("memory"), nb::arg("handed").none() = nb::none())
        .def("close", &Team::close)
        .def("rows", &Team::rows)
        .def_prop_ro("size", &Team::size)
        .def_prop_ro("rank", &Team::rank);
}
