/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_measure LIST [--round N] [--seconds S] [--match REGEX] [--small] [--plan]: the measurements of a list on a GPU,
 * Tulle's figures and those of NVIDIA's libraries on the same operands, as lines of JSON.
 *
 * One process opens the GPU, keeps operands in memory and measures one job after the other. Another one watches it: a
 * job that takes longer than its limit, or ends the process, as an error of CUDA that stays does, is a line `left_out`,
 * and a new process goes on behind it. A refused job (memory, a result that is wrong, an operation that a library does
 * not have) is such a line too. --plan lists the names of jobs. $GPU_COMMIT and $GPU_CARD stand in each line.
 * Status 1: something was left out; 77: no GPU.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <poll.h>
#include <regex.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rivals.h"

namespace
{

enum { NO_GPU = 77, BROKEN = 3 };

struct request {
    const char *list = nullptr, *match = nullptr;
    int round = 0;
    double seconds = 1e9;
    bool small = false, plan = false;
};

void left_out(const job &of, const std::string &why)
{
    std::fprintf(stderr, "gpu_measure: %s: %s\n", of.name().c_str(), why.c_str());
    line(of).add("left_out", of.name()).add("why", why).print();
}

/* ---- the process that measures ---- */

/* Operands by spec and type; the latest few stay. */
class operands
{
    enum { MOST = 4 };
    std::list<std::pair<std::string, operand>> all;

  public:
    const operand &of(tulle_comm *comm, const job &j)
    {
        const std::string key = j.spec + " " + j.type;
        for (auto it = all.begin(); it != all.end(); ++it)
            if (it->first == key) {
                all.splice(all.begin(), all, it);
                return it->second;
            }
        std::string path = j.spec;
        const char *folder = std::getenv("TULLE_MATRICES");
        if (path[0] == '@') path = std::string(folder ? folder : ".") + "/" + path.substr(1) + ".mtx.gz";
        while (all.size() >= MOST) all.pop_back();
        all.emplace_front();
        try {
            tulle_read_options reading = {};
            reading.size = sizeof reading;
            reading.type = j.type == "f64" ? TULLE_F64 : TULLE_F32;
            operand &x = all.front().second;
            ask(tulle_mat_load(comm, path.c_str(), nullptr, TULLE_CSR, &reading, nullptr, &x.A), "the operand");
            tulle_tile tile;
            ask(tulle_mat_tile(x.A, 0, 0, &tile), "the operand");
            x.host = matrix_of(tile);
        } catch (...) {
            all.pop_front();
            throw;
        }
        all.front().first = key;
        return all.front().second;
    }
    void clear()
    {
        all.clear();
    }
};

typedef void side(tulle_comm *comm, const job &of, const operand &x);

struct part {
    const char *name;
    bool has_operand;
    side *ours, *theirs;
};

void theirs(tulle_comm *, const job &of, const operand &x)
{
    rival_of(of, x.host);
}

const part PARTS[] = {
    {"rates", false, [](tulle_comm *, const job &of, const operand &) { rates(of); }, nullptr},
    {"spmm", true, our_products, theirs},
    {"spgemm", true, our_products, theirs},
    {"blocks", true, our_products, theirs},
    {"solves", true, our_solves, theirs},
    {"slabs", true, our_slabs, theirs},
    {"stream", true, our_slabs, nullptr},
    {"systems", true, our_systems, nullptr},
    {"functions", true, our_functions, nullptr},
    {"sign", true, [](tulle_comm *, const job &of, const operand &x) { signs(of, x.host); }, nullptr},
    {"gemm", false, our_gemm, [](tulle_comm *, const job &of, const operand &) { rival_gemm(of); }},
};

/* True if there was no refusal. */
bool attempt(const job &of, const char *who, const std::function<void()> &call)
{
    try {
        call();
        return true;
    } catch (const refusal &r) {
        left_out(of, who + r.why);
    } catch (const std::bad_alloc &) {
        left_out(of, std::string(who) + "the host's memory is not enough");
    }
    return false;
}

/* Each side is measured whatever becomes of the other. */
bool measure(tulle_comm *comm, operands &known, const job &of)
{
    static const operand none;
    const operand *x = &none;
    for (const part &p : PARTS) {
        if (of.part != p.name) continue;
        if (p.has_operand && !attempt(of, "", [&] { x = &known.of(comm, of); })) return false;
        bool right = attempt(of, "", [&] { p.ours(comm, of, *x); });
        if (p.theirs) right &= attempt(of, "the rival: ", [&] { p.theirs(comm, of, *x); });
        return right;
    }
    left_out(of, "there is no such part");
    return false;
}

/* Writes the number of each job to `to` before it begins. Does not return. */
[[noreturn]] void work(const std::vector<job> &jobs, size_t from, double end, int to)
{
    tulle_comm *comm = nullptr;
    cudaDeviceProp card;
    bool right = true;
    if (cudaGetDeviceProperties(&card, 0) == cudaSuccess) (void)setenv("GPU_CARD", card.name, 0);
    try {
        ask(tulle_open(nullptr, &comm), "a team");
    } catch (const refusal &r) {
        left_out(jobs[from], r.why);
        std::_Exit(BROKEN);
    }
    operands known;
    for (size_t j = from; j < jobs.size() && now() < end; j++) {
        if (write(to, &j, sizeof j) != sizeof j) std::_Exit(BROKEN);
        std::fprintf(stderr, "%s\n", jobs[j].name().c_str());
        right &= measure(comm, known, jobs[j]);
        (void)cudaGetLastError();
        if (cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) { /* it stays in this process */
            left_out(jobs[j], std::string("the GPU: ") + cudaGetErrorString(error));
            std::_Exit(BROKEN);
        }
    }
    known.clear();
    tulle_close(comm);
    std::exit(right ? 0 : 1);
}

/* ---- the process that watches ---- */

/* Ends within two seconds, also where the driver does not let it go. 0, or what waitpid has of it. */
int end_of(pid_t child)
{
    int status = 0;
    for (int turn = 0; turn < 200; turn++) {
        if (waitpid(child, &status, WNOHANG) == child) return status;
        (void)poll(nullptr, 0, 10);
    }
    return SIGKILL;
}

/* Runs jobs from `next` in one process, until it ends; returns the job to go on with. */
size_t watch(const std::vector<job> &jobs, size_t next, double end, bool *right)
{
    int ends[2];
    if (pipe(ends)) return left_out(jobs[next], "no pipe"), *right = false, jobs.size();
    const pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* not longer than who watches */
        work(jobs, next, end, ends[1]);
    }
    (void)close(ends[1]);
    const at_end close_pipe{[&] { (void)close(ends[0]); }};
    if (child < 0) return left_out(jobs[next], "no process"), *right = false, jobs.size();
    size_t at = next;
    double started = now(), limit = std::min<double>(jobs[at].limit, end - started) + 10; /* opening the GPU */
    for (;;) {
        pollfd from = {ends[0], POLLIN, 0};
        const int found = poll(&from, 1, static_cast<int>(std::max(0.0, started + limit - now()) * 1e3) + 1);
        if (found == 0) {
            (void)kill(child, SIGKILL);
            (void)end_of(child);
            left_out(jobs[at], "cut off after " + std::to_string(static_cast<int>(now() - started)) + " seconds");
            return *right = false, at + 1;
        }
        if (found > 0 && read(ends[0], &at, sizeof at) != sizeof at) break;
        started = now(), limit = std::min<double>(jobs[at].limit, std::max(1.0, end - started));
    }
    const int status = end_of(child);
    if (!WIFEXITED(status))
        left_out(jobs[at], std::string("ended by ") + strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) > 1 && WEXITSTATUS(status) != BROKEN) /* which has said why */
        left_out(jobs[at], "the process ended with status " + std::to_string(WEXITSTATUS(status)));
    *right &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return at + 1;
}

request read_request(int argc, char **argv)
{
    request r;
    for (int a = 1; a < argc; a++) {
        const std::string word = argv[a];
        const char *value = a + 1 < argc ? argv[a + 1] : "";
        if (word == "--small")
            r.small = true;
        else if (word == "--plan")
            r.plan = true;
        else if (word == "--round")
            r.round = std::atoi(value), a++;
        else if (word == "--seconds")
            r.seconds = std::atof(value), a++;
        else if (word == "--match")
            r.match = value, a++;
        else if (word[0] != '-' && !r.list)
            r.list = argv[a];
        else
            r.list = nullptr, a = argc;
    }
    if (!r.list) {
        (void)std::fputs(
            "usage: gpu_measure LIST [--round N] [--seconds S] [--match REGEX] [--small] [--plan]\n", stderr);
        std::exit(2);
    }
    return r;
}

std::vector<job> jobs_of(const request &r)
{
    std::vector<job> jobs;
    regex_t match;
    if (regcomp(&match, r.match && *r.match ? r.match : ".", REG_EXTENDED | REG_NOSUB)) {
        std::fprintf(stderr, "gpu_measure: '%s' is no regular expression\n", r.match);
        std::exit(2);
    }
    for (const job &j : read_list(r.list, r.small))
        if ((!r.round || j.round == r.round) && regexec(&match, j.name().c_str(), 0, nullptr, 0) == 0)
            jobs.push_back(j);
    regfree(&match);
    return jobs;
}

/* The watching process never opens the GPU. */
int without_gpu()
{
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
        int gpus = 0;
        const cudaError_t found = cudaGetDeviceCount(&gpus);
        if (found == cudaSuccess && gpus > 0) std::_Exit(0);
        std::fprintf(stderr, "gpu_measure: no GPU: %s\n", cudaGetErrorString(found));
        std::_Exit(NO_GPU);
    }
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

} // namespace

int main(int argc, char **argv)
{
    const request r = read_request(argc, argv);
    const double end = now() + r.seconds;
    const std::vector<job> jobs = jobs_of(r);
    if (r.plan) {
        for (const job &j : jobs) std::printf("%d %s\n", j.round, j.name().c_str());
        return 0;
    }
    if (without_gpu()) return NO_GPU;
    bool right = true;
    size_t next = 0;
    while (next < jobs.size() && now() < end) next = watch(jobs, next, end, &right);
    if (next < jobs.size()) std::fprintf(stderr, "gpu_measure: %zu not begun: the time is over\n", jobs.size() - next);
    return right ? 0 : 1;
}
