/* SPDX-License-Identifier: Apache-2.0 */
/* The list of measurements as jobs, and their lines of JSON. */
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <unistd.h>

#include "measure.h"

namespace
{

struct input {
    std::string spec, small;
};

std::vector<std::string> words_of(const std::string &text, char between)
{
    std::vector<std::string> words;
    std::istringstream from(text);
    for (std::string word; std::getline(from, word, between);)
        if (!word.empty()) words.push_back(word);
    return words;
}

[[noreturn]] void give_up(const std::string &path, int number, const char *why)
{
    std::fprintf(stderr, "%s, line %d: %s\n", path.c_str(), number, why);
    std::exit(2);
}

/* More columns say nothing of a smoke test. */
std::string at_most(const std::string &variant, int most)
{
    const bool number = variant.find_first_not_of("0123456789") == std::string::npos;
    return number && std::atoi(variant.c_str()) > most ? std::to_string(most) : variant;
}

} // namespace

std::vector<job> read_list(const char *path, bool small)
{
    std::map<std::string, input> inputs;
    std::vector<job> jobs;
    std::ifstream file(path);
    int number = 0;
    for (std::string text; std::getline(file, text);) {
        number++;
        text.resize(std::min(text.find('#'), text.size()));
        const std::vector<std::string> w = words_of(text, ' ');
        if (w.empty()) continue;
        if (w[0] == "input") {
            if (w.size() != 4) give_up(path, number, "write: input NAME SPEC SMALL");
            inputs[w[1]] = {w[2], w[3]};
            continue;
        }
        if (w.size() != 6 || !inputs.count(w[2]))
            give_up(path, number, "write: ROUND PART INPUT VARIANTS TYPES SECONDS");
        const input &of = inputs[w[2]];
        if (small && of.small == "-") continue;
        for (const std::string &type : words_of(w[4], ','))
            for (const std::string &variant : words_of(w[3], ',')) {
                job j;
                j.round = std::atoi(w[0].c_str()), j.limit = std::atoi(w[5].c_str());
                j.part = w[1], j.input = w[2], j.type = type, j.small = small;
                j.spec = small ? of.small : of.spec;
                j.variant = small ? at_most(variant, 24) : variant;
                if (j.round < 1 || j.limit < 1) give_up(path, number, "rounds and seconds begin at 1");
                const auto same = [&](const job &other) { return other.name() == j.name(); };
                if (std::none_of(jobs.begin(), jobs.end(), same)) jobs.push_back(j);
            }
    }
    if (jobs.empty()) give_up(path, number, "there is nothing to measure");
    return jobs;
}

/* ---- lines ---- */

namespace
{

std::string quoted(const std::string &text)
{
    std::string to = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') to += '\\';
        to += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return to + '"';
}

std::string setting(const char *name)
{
    const char *is = std::getenv(name);
    return is ? is : "";
}

} // namespace

line::line(const job &of, const char *rival)
{
    text = "{\"kind\":\"measurement\"";
    add("card", setting("GPU_CARD")).add("commit", setting("GPU_COMMIT")).add("round", static_cast<int64_t>(of.round));
    add("part", of.part).add("operand", of.input).add("spec", of.spec).add("variant", of.variant).add("type", of.type);
    if (rival) add("rival", rival);
}

line &line::add(const char *key, double value)
{
    char digits[40];
    (void)std::snprintf(digits, sizeof digits, std::isfinite(value) ? "%.12g" : "null", value);
    text += std::string(",\"") + key + "\":" + digits;
    return *this;
}

line &line::add(const char *key, int64_t value)
{
    text += std::string(",\"") + key + "\":" + std::to_string(value);
    return *this;
}

line &line::add(const char *key, const std::string &value)
{
    text += std::string(",\"") + key + "\":" + quoted(value);
    return *this;
}

/* One write: a process that is killed leaves whole lines. */
void line::print() const
{
    const std::string all = text + "}\n";
    if (write(STDOUT_FILENO, all.data(), all.size()) != static_cast<ssize_t>(all.size())) std::_Exit(1);
}
