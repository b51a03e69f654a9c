/* SPDX-License-Identifier: Apache-2.0 */
#include "team.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

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
    {
        nb::gil_scoped_release released;
        std::lock_guard<std::mutex> lock(busy);
        run_disposals();
        status = body(comm);
        if (status != TULLE_OK) message = tulle_error_message();
    }
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
