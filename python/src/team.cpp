/* SPDX-License-Identifier: Apache-2.0 */
#include "team.h"

#include <atomic>
#include <csignal>
#include <optional>

#include <pthread.h>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

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
    explicit Interruptible(tulle_comm *comm) : comm(comm)
    {
        struct sigaction now = {};
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
        interruptible = nullptr;
        tulle_comm_interrupt(comm, false);
    }
    Interruptible(const Interruptible &) = delete;
    Interruptible &operator=(const Interruptible &) = delete;

  private:
    tulle_comm *comm;
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

Team::Team(const std::string &spec, int threads, size_t memory)
{
    tulle_team_options team = {};
    team.size = sizeof team;
    team.threads = threads;
    team.memory = memory;
    tulle_open_options options = {};
    options.size = sizeof options;
    options.spec = spec.empty() ? nullptr : spec.c_str();
    options.team = &team;
    tulle_status status;
    {
        nb::gil_scoped_release released;
        status = tulle_open(&options, &comm);
    }
    if (status != TULLE_OK) throw Failure(status, tulle_error_message());
}

Team::~Team()
{
    run_disposals();
    tulle_close(comm);
}

void Team::run_disposals()
{
    std::vector<std::function<void()>> now;
    {
        std::lock_guard<std::mutex> lock(waiting);
        now.swap(disposals);
    }
    for (auto &body : now) body();
}

tulle_status Team::call(const std::function<tulle_status(tulle_comm *)> &body, tulle_status may)
{
    tulle_status status;
    std::string message;
    const bool main = on_main_thread();
    {
        nb::gil_scoped_release released;
        std::lock_guard<std::mutex> lock(busy);
        run_disposals();
        std::optional<Interruptible> guard;
        if (main) guard.emplace(comm);
        status = body(comm);
        if (status != TULLE_OK) message = tulle_error_message();
    }
    if (status == TULLE_ERR_INTERRUPTED && PyErr_CheckSignals() != 0) throw nb::python_error();
    if (status != TULLE_OK && status != may) throw Failure(status, message);
    return status;
}

void Team::dispose(std::function<void()> body)
{
    {
        std::lock_guard<std::mutex> lock(waiting);
        disposals.push_back(std::move(body));
    }
    std::unique_lock<std::mutex> lock(busy, std::try_to_lock);
    if (lock.owns_lock()) run_disposals();
}

void bind_team(nb::module_ &m)
{
    nb::class_<Team>(m, "Team")
        .def(nb::init<const std::string &, int, size_t>(), nb::arg("spec"), nb::arg("threads"), nb::arg("memory"))
        .def_prop_ro("size", &Team::size)
        .def_prop_ro("rank", &Team::rank);
}
