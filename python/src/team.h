/* SPDX-License-Identifier: Apache-2.0 */
/* A team that this process has opened, and calls on it: one at a time, without Python's lock. */
#ifndef TULLE_PYTHON_TEAM_H
#define TULLE_PYTHON_TEAM_H

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <tulle/tulle.h>

namespace nb = nanobind;

/* A failed call: translated to the exception that Python has for its cause. */
struct Failure : std::runtime_error {
    tulle_status status;
    Failure(tulle_status s, const std::string &message) : std::runtime_error(message), status(s) {}
};

class Team
{
  public:
    Team(const std::string &spec, int threads, size_t memory);
    ~Team();
    Team(const Team &) = delete;
    Team &operator=(const Team &) = delete;

    /* Runs a call of the library and throws its failure. `may`: a status that is returned too. */
    tulle_status call(const std::function<tulle_status(tulle_comm *)> &body, tulle_status may = TULLE_OK);
    /* Runs what frees an object: now, or with the next call if another one is in progress. */
    void dispose(std::function<void()> body);

    int size() const
    {
        return tulle_comm_size(comm);
    }
    int rank() const
    {
        return tulle_comm_rank(comm);
    }

  private:
    void run_disposals();

    tulle_comm *comm = nullptr;
    std::mutex busy;    /* held during a call */
    std::mutex waiting; /* guards disposals */
    std::vector<std::function<void()>> disposals;
};

using TeamRef = std::shared_ptr<Team>;

void bind_team(nb::module_ &m);

#endif
