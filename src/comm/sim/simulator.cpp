/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SimGrid behind a few C functions, which catch its exceptions. SimGrid has one engine at a time,
 * whose platform cannot grow after a run. So an engine lives as long as a team, and teams follow
 * each other. Settings by command line words apply once a process.
 *
 * Network: max-min sharing of links (CM02), without the corrections for TCP, whose windows and
 * overheads a fabric with remote memory access lacks. A flow's share of a full link is inversely
 * proportional to its latency.
 */
#include <exception>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <xbt/log.h>

#include "comm/sim/sim_team.h"

namespace s4u = simgrid::s4u;

namespace
{

/* One for each process, as SimGrid is. */
struct Simulator {
    s4u::Engine *engine = nullptr; /* of the open team */
    std::thread::id thread;        /* on whose stack it runs */
    bool configured = false, running = false;
    bool again = false; /* it is not the first engine */
};
Simulator simulator;

s4u::Host *host_of(const tulle__sim_place *place)
{
    return reinterpret_cast<s4u::Host *>(const_cast<tulle__sim_place *>(place));
}

tulle__sim_place *place_of(s4u::Host *host)
{
    return reinterpret_cast<tulle__sim_place *>(host);
}

s4u::Semaphore *semaphore_of(tulle__sim_bell *bell)
{
    return reinterpret_cast<s4u::Semaphore *>(bell);
}

/* Takes over send's reference. */
s4u::CommPtr comm_of(tulle__sim_flow *flow)
{
    return s4u::CommPtr(reinterpret_cast<s4u::Comm *>(flow), false);
}

/*
 * Sanitizers know only threads' stacks, so each PE gets a thread there. Otherwise switching stacks
 * is much faster.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONTEXTS "thread"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CONTEXTS "thread"
#endif
#endif
#ifndef CONTEXTS
#define CONTEXTS "raw"
#endif

void start()
{
    /* SimGrid reads the words once, and wants an array that it may change */
    static char name[] = "tulle", model[] = "--cfg=network/model:CM02", window[] = "--cfg=network/TCP-gamma:0",
                crosstraffic[] = "--cfg=network/crosstraffic:no", precision[] = "--cfg=surf/precision:1e-12",
                stack[] = "--cfg=contexts/stack-size:2048", contexts[] = "--cfg=contexts/factory:" CONTEXTS;
    char *arguments[] = {name, model, window, crosstraffic, precision, stack, contexts, nullptr};
    int count = simulator.configured ? 1 : static_cast<int>(std::size(arguments)) - 1;
    if (simulator.configured) arguments[1] = nullptr;
    xbt_log_control_set("root.threshold:critical");
    simulator.engine = new s4u::Engine(&count, arguments);
    simulator.again = simulator.configured;
    simulator.configured = true;
    simulator.thread = std::this_thread::get_id();
}

using Route = std::vector<s4u::LinkInRoute>;

/* Connects a zone or a host to the zone above, by a port of both directions. */
void hang(s4u::NetZone *above, simgrid::kernel::routing::NetPoint *what, simgrid::kernel::routing::NetPoint *gateway,
    const std::string &name, double bandwidth, double latency)
{
    auto *port = above->create_split_duplex_link(name, bandwidth)->set_latency(latency)->seal();
    above->add_route(what, nullptr, gateway, nullptr, Route{{port, s4u::LinkInRoute::Direction::UP}}, true);
}

/* A zone whose members hang on a switch; nullptr: below none. SimGrid 4 has a root above all zones. */
s4u::NetZone *new_star(s4u::NetZone *above, const std::string &name)
{
#if SIMGRID_VERSION_MAJOR >= 4
    return (above ? above : simulator.engine->get_netzone_root())->add_netzone_star(name);
#else
    auto *star = s4u::create_star_zone(name);
    return above ? star->set_parent(above) : star;
#endif
}

s4u::NetZone *new_zone(s4u::NetZone *above, const std::string &name, simgrid::kernel::routing::NetPoint **gateway)
{
    auto *zone = new_star(above, name);
    *gateway = zone->create_router(name + "-switch");
    return zone;
}

/*
 * A leaf switch: a router in a zone of its own. SimGrid looks for a way from a host to a gateway in the innermost zone
 * that it has in common with it, and takes the host for a member of that zone if the gateway is one.
 */
s4u::NetZone *new_leaf(s4u::NetZone *above, const std::string &name, simgrid::kernel::routing::NetPoint **gateway)
{
    auto *leaf = new_star(above, name), *inner = new_zone(leaf, name + "-inner", gateway);
    inner->seal();
    leaf->add_route(inner->get_netpoint(), nullptr, *gateway, nullptr, Route{}, true);
    return leaf;
}

/* Each end has half of a route's latency. */
void build(const tulle__sim_platform &p, int npes, tulle__sim_place **place)
{
    const int node = p.node > 0 ? p.node : npes, leaf = p.leaf;
    const double near = p.near_latency / 2, far = (p.far_latency - p.near_latency) / 2;
    auto *all = new_star(nullptr, "all"), *above = all;
    simgrid::kernel::routing::NetPoint *leaf_switch = nullptr, *node_switch = nullptr;
    for (int first = 0, n = 0; first < npes; first += node, n++) {
        const std::string name = "node" + std::to_string(n);
        if (leaf && n % leaf == 0) above = new_leaf(all, name + "-leaf", &leaf_switch);
        auto *zone = new_zone(above, name, &node_switch);
        for (int rank = first; rank < npes && rank < first + node; rank++) {
            const std::string pe = "pe" + std::to_string(rank);
            auto *host = zone->create_host(pe, p.rates.flops[TULLE_F64])->seal();
            hang(zone, host->get_netpoint(), nullptr, pe + "-port", p.near_bw, near);
            place[rank] = place_of(host);
        }
        zone->seal();
        hang(above, zone->get_netpoint(), node_switch, name + "-port", p.far_bw, far);
        if (leaf && (n % leaf == leaf - 1 || first + node >= npes)) {
            above->seal();
            hang(all, above->get_netpoint(), leaf_switch, name + "-uplink", leaf * p.far_bw / p.taper, 0);
        }
    }
    all->seal();
}

/* Refuses a file without routes: SimGrid would end the process at the first such transfer. */
tulle_status find_routes(const char *file, const std::vector<s4u::Host *> &hosts, size_t npes)
{
    for (size_t from = 0; from < npes; from++)
        for (size_t to = 0; to < npes; to++) {
            std::vector<s4u::Link *> links;
            double latency = 0;
            if (from != to) hosts[from]->route_to(hosts[to], links, &latency);
            if (from != to && links.empty())
                return tulle__sim_host->fail(TULLE_ERR_FORMAT, "sim: %s has no route from %s to %s", file,
                    hosts[from]->get_cname(), hosts[to]->get_cname());
        }
    return TULLE_OK;
}

/* PEs are on the hosts in name order. */
tulle_status load(const char *file, int npes, tulle__sim_place **place)
{
    if (simulator.again) /* SimGrid would crash */
        return tulle__sim_host->fail(TULLE_ERR_STATE,
            "sim: SimGrid reads a platform file only for the first simulated team of a process, and %s comes later",
            file);
    simulator.engine->load_platform(file);
    simulator.engine->get_netzone_root()->seal(); /* routes are known from then on */
    const std::vector<s4u::Host *> hosts = simulator.engine->get_all_hosts();
    if (hosts.size() < static_cast<size_t>(npes))
        return tulle__sim_host->fail(
            TULLE_ERR_ARG, "sim: %s has %zu hosts, fewer than the %d PEs", file, hosts.size(), npes);
    for (int rank = 0; rank < npes; rank++) place[rank] = place_of(hosts[static_cast<size_t>(rank)]);
    return find_routes(file, hosts, static_cast<size_t>(npes));
}

} // namespace

tulle_status tulle__sim_open(const tulle__sim_platform *platform, const char *file, int npes, tulle__sim_place **place)
{
    if (simulator.engine)
        return tulle__sim_host->fail(
            TULLE_ERR_STATE, "sim: another simulated team is open, and SimGrid has one platform at a time");
    tulle_status status = TULLE_OK;
    try {
        start();
        if (file)
            status = load(file, npes, place);
        else
            build(*platform, npes, place);
    } catch (const std::exception &error) {
        status = tulle__sim_host->fail(
            file ? TULLE_ERR_FORMAT : TULLE_ERR_COMM, "sim: the platform %s: %.300s", platform->name, error.what());
    }
    if (status != TULLE_OK) tulle__sim_close();
    return status;
}

void tulle__sim_close()
{
    delete simulator.engine;
    simulator.engine = nullptr;
}

tulle_status tulle__sim_run(int npes, tulle__sim_place *const *place, void (*body)(void *), void *const *arg)
{
    tulle_status status = TULLE_OK;
    if (simulator.thread != std::this_thread::get_id())
        return tulle__sim_host->fail(
            TULLE_ERR_STATE, "sim: a simulated team can be run only by the thread that opened it");
    if (simulator.running) return tulle__sim_host->fail(TULLE_ERR_STATE, "sim: a run inside a run of a simulated team");
    simulator.running = true;
    try {
        for (int rank = 0; rank < npes; rank++) {
            void *mine = arg[rank];
            s4u::Actor::create("pe", host_of(place[rank]), [body, mine] { body(mine); });
        }
        simulator.engine->run();
    } catch (const std::exception &error) {
        status = tulle__sim_host->fail(TULLE_ERR_COMM, "sim: the simulation broke off: %.300s", error.what());
    }
    simulator.running = false;
    return status;
}

double tulle__sim_clock()
{
    return s4u::Engine::get_clock();
}

double tulle__sim_speed(const tulle__sim_place *place)
{
    return host_of(place)->get_speed();
}

double tulle__sim_latency(const tulle__sim_place *from, const tulle__sim_place *to)
{
    std::vector<s4u::Link *> links;
    double latency = 0;
    host_of(from)->route_to(host_of(to), links, &latency);
    return latency;
}

tulle__sim_flow *tulle__sim_send(tulle__sim_place *from, tulle__sim_place *to, uint64_t bytes, double most)
{
    s4u::CommPtr comm = s4u::Comm::sendto_init();
    comm->set_payload_size(bytes);
    if (most > 0) comm->set_rate(most); /* SimGrid refuses it once both ends are known */
    comm->set_source(host_of(from));
    comm->set_destination(host_of(to)); /* this starts it */
    return reinterpret_cast<tulle__sim_flow *>(comm.detach());
}

void tulle__sim_await(tulle__sim_flow *flow)
{
    comm_of(flow)->wait();
}

int tulle__sim_arrived(tulle__sim_flow *flow)
{
    return reinterpret_cast<s4u::Comm *>(flow)->test();
}

void tulle__sim_drop(tulle__sim_flow *flow)
{
    comm_of(flow)->cancel();
}

void tulle__sim_sleep(double seconds)
{
    s4u::this_actor::sleep_for(seconds);
}

void tulle__sim_later(double date, tulle__sim_call call, void *arg, uint64_t *at, uint64_t value)
{
    simgrid::kernel::timer::Timer::set(date, [call, arg, at, value] { call(arg, at, value); });
}

tulle__sim_bell *tulle__sim_bell_new()
{
    return reinterpret_cast<tulle__sim_bell *>(s4u::Semaphore::create(0).detach());
}

void tulle__sim_bell_free(tulle__sim_bell *bell)
{
    if (bell) s4u::SemaphorePtr(semaphore_of(bell), false);
}

void tulle__sim_bell_ring(tulle__sim_bell *bell)
{
    semaphore_of(bell)->release();
}

void tulle__sim_bell_await(tulle__sim_bell *bell, double seconds)
{
    semaphore_of(bell)->acquire_timeout(seconds);
}
