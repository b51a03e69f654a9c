#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the source tree, as a TAP program: who may include whom, circles, sizes, licences, names.

house.py SOURCE_DIR LIBRARY.a
doc/design.md describes the layers; MAINTAIN.md explains the exceptions that stand in the tables below.
"""
import collections
import os
import re
import statistics
import subprocess
import sys

# A layer of src/, and the layers that it may include besides itself.
LAYERS = {
    "base": "",
    "comm": "base",
    "kernel": "base",
    "tile": "base kernel",
    "device": "base kernel tile",
    "mat": "base comm kernel tile device",
    "io": "base comm kernel tile device mat",
    "algo": "base comm kernel tile device mat",
}
# The same for the rooms of src/algo/. algo/option_values.h belongs to all of them.
ROOMS = {
    "chain": "",
    "steal": "chain",
    "model": "chain steal",
    "product": "chain steal model",
    "trisolve": "",
    "factor": "",
    "krylov": "factor trisolve",
    "stream": "krylov product",
    "matfun": "steal",
    "spectrum": "krylov matfun",
    "least_squares": "krylov spectrum",
}
# Registries name what lies in the folders below theirs. Nothing includes them.
REGISTRIES = {"src/comm/registry.c", "src/comm/launcher.c", "src/device/drivers.c", "src/algo/trisolve/methods.c"}
# Folders that nothing reads but a registry: what the paper compares with.
MODULES = ("algo/trisolve/baselines/",)
# Circles between the units (a .c and its .h) of one folder, each explained in MAINTAIN.md.
CIRCLES_MOST = 0
CIRCLES = []
FILES_MOST, LINES_MOST = 30, 600
# Writable file-scope variables: the memory account of the process, the lock of a library that is not thread-safe, and
# which teams have lowered the threads of the process's BLAS.
WRITABLE = {"process_account", "hdf5_lock", "blas_users", "control_groups"}

SOURCES = (".c", ".h", ".cu", ".cpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]*)[">]')


class House:
    def __init__(self, top):
        self.top = top
        self.number = 0
        self.faults = []
        self.bad = False

    def say(self, text):
        self.faults.append(text)

    def check(self, name):
        """Ends a check: its faults, if there are any, then one line of TAP."""
        self.number += 1
        for fault in self.faults:
            print("# " + fault)
        print("%s %d - %s" % ("not ok" if self.faults else "ok", self.number, name))
        self.bad |= bool(self.faults)
        self.faults = []

    def path(self, name):
        return os.path.join(self.top, name)

    def files(self, *folders):
        """Source files below these folders, as names from the top of the tree, but for what bench/rivals installed and built."""
        for folder in folders:
            for where, _, names in sorted(os.walk(self.path(folder))):
                if re.search(r"/(\.|build/)", os.path.relpath(where, self.top) + "/"):
                    continue
                for name in sorted(names):
                    if name.endswith(SOURCES):
                        yield os.path.relpath(os.path.join(where, name), self.top)

    def includes(self, name):
        """(kind, header) of each include of a file."""
        with open(self.path(name)) as file:
            for line in file:
                match = INCLUDE.match(line)
                if match:
                    yield match.group(1), match.group(2)


def check_layers(house):
    for name in house.files("src"):
        parts = name.split("/")
        for kind, header in house.includes(name):
            if kind == "<":
                if header.startswith("tulle/") and not header == "tulle/version.h":
                    if not os.path.exists(house.path("include/" + header)):
                        house.say("%s: there is no <%s>" % (name, header))
                elif os.path.exists(house.path("src/" + header)):
                    house.say("%s: private header in angle brackets: <%s>" % (name, header))
                continue
            if not os.path.exists(house.path("src/" + header)):
                house.say('%s: "%s" is not named from src/' % (name, header))
                continue
            seen = header.split("/")
            if seen[0] != parts[1] and seen[0] not in LAYERS[parts[1]].split():
                house.say("%s includes from %s" % (name, seen[0]))
            if parts[1] == seen[0] == "algo" and len(seen) > 2 and seen[1] != parts[2]:
                if seen[1] not in ROOMS[parts[2]].split():
                    house.say("%s includes from algo/%s" % (name, seen[1]))
            for module in MODULES:
                if header.startswith(module) and name not in REGISTRIES and not name.startswith("src/" + module):
                    house.say("%s reads %s, a module of its own" % (name, header))
    house.check("layers and the rooms of algo/ include downwards only")


def check_public(house):
    for name in house.files("include"):
        for kind, header in house.includes(name):
            if kind == '"':
                house.say('%s includes the private "%s"' % (name, header))
    for folder in ("tool", "examples"):
        for name in house.files(folder):
            for kind, header in house.includes(name):
                if kind == '"' and not os.path.exists(house.path(folder + "/" + header)):
                    house.say('%s: "%s" is not named from %s/' % (name, header, folder))
                if kind == "<" and os.path.exists(house.path("src/" + header)):
                    house.say("%s includes the private <%s>" % (name, header))
    house.check("the command and the examples see public headers only")


def circles(graph):
    """Strongly connected sets of more than one node (Tarjan)."""
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                out.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return out


def check_circles(house):
    folders, units = collections.defaultdict(set), collections.defaultdict(set)
    for root in ("src", "tool"):
        for name in house.files(root):
            if name in REGISTRIES:
                continue
            for kind, header in house.includes(name):
                if kind == '"' and os.path.exists(house.path(root + "/" + header)):
                    seen = root + "/" + header
                    if os.path.dirname(seen) != os.path.dirname(name):
                        folders[os.path.dirname(name)].add(os.path.dirname(seen))
                    units[os.path.splitext(name)[0]].add(os.path.splitext(seen)[0])
    for circle in circles(folders):
        house.say("circle of folders: " + " ".join(circle))
    house.check("no circles between folders")
    found = circles(units)
    for circle in found:
        if circle not in CIRCLES:
            house.say("circle of files: " + " ".join(circle))
    for circle in CIRCLES:
        if circle not in found:
            house.say("no circle any more, strike it from the list: " + " ".join(circle))
    if len(CIRCLES) > CIRCLES_MOST:
        house.say("%d circles of files, %d at most" % (len(CIRCLES), CIRCLES_MOST))
    house.check("no circles between files but those that MAINTAIN.md explains")


# Coupling of the product: fields of a plan, headers and their lines that a source of it sees (median), and the headers
# with the inside of a stage, which its own sources alone include; other stages' structs are in their sources.
PLAN_FIELDS_MOST = 25
SEEN_MOST, SEEN_LINES_MOST = 36, 4200
INSIDES = {"src/algo/product/stage/slice_parts.h": {"slice.c", "layer.c", "layer_sum.c"}}


def seen_by(house, name, known):
    """The project's headers that a file includes, directly or not."""
    todo, found = [name], set()
    while todo:
        at = todo.pop()
        if at not in known:
            known[at] = []
            for _, header in house.includes(at):
                known[at] += [root + header for root in ("src/", "include/") if os.path.exists(house.path(root + header))]
        for header in known[at]:
            if header not in found:
                found.add(header)
                todo.append(header)
    return found


def check_coupling(house):
    known, lines, seen = {}, {}, []
    for name in house.files("src/algo/product"):
        if name.endswith(".c"):
            headers = seen_by(house, name, known)
            for header in headers - set(lines):
                with open(house.path(header)) as file:
                    lines[header] = sum(1 for _ in file)
            seen.append((len(headers), sum(lines[header] for header in headers)))
    for most, at, what in ((SEEN_MOST, 0, "headers"), (SEEN_LINES_MOST, 1, "lines of headers")):
        median = statistics.median(row[at] for row in seen)
        if median > most:
            house.say("a source of src/algo/product sees %d %s in the median, of %d at most" % (median, what, most))
    with open(house.path("src/algo/product/plan/plan.h")) as file:
        plan = re.search(r"^struct tulle_product \{\n(.*?)^\};", file.read(), re.S | re.M).group(1)
    fields = len(re.findall(r"\*?\w+(?=[,;])", re.sub(r"/\*.*?\*/", "", plan, flags=re.S)))
    if fields > PLAN_FIELDS_MOST:
        house.say("tulle_product has %d fields, of %d at most" % (fields, PLAN_FIELDS_MOST))
    for name in house.files("src", "tool", "test"):
        for _, header in house.includes(name):
            inside = INSIDES.get("src/" + header)
            if inside is not None and os.path.basename(name) not in inside:
                house.say("%s sees the inside of a stage, %s" % (name, header))
    for name in house.files("src/algo/product/stage"):
        if name.endswith(".h") and name not in INSIDES:
            with open(house.path(name)) as file:
                if re.search(r"^\s*tulle__stage stage;", file.read(), re.M):
                    house.say("%s shows the inside of a stage" % name)
    house.check("plans are narrow, and stages keep their inside to themselves")


def check_sizes(house):
    count = collections.Counter()
    for name in house.files("src", "tool", "include", "test", "bench"):
        count[os.path.dirname(name)] += 1
        with open(house.path(name)) as file:
            lines = sum(1 for _ in file)
        if lines > LINES_MOST:
            house.say("%s has %d lines, of %d at most" % (name, lines, LINES_MOST))
    for folder, files in sorted(count.items()):
        if files > FILES_MOST:
            house.say("%s has %d files, of %d at most" % (folder, files, FILES_MOST))
    house.check("folders and files are of a size to be read")


def check_names(house):
    seen = collections.defaultdict(list)
    for name in house.files("src", "tool"):
        seen[os.path.basename(name)].append(name)
    for names in seen.values():
        if len(names) > 1:
            house.say("one name, several files: " + " ".join(names))
    house.check("file names are unique")


# What a header defines under a name of the library: constants and structs.
CONSTANTS = re.compile(r"\benum\s*\w*\s*\{(.*?)\}", re.S)
STRUCT = re.compile(r"^typedef struct (tulle__\w+) \{", re.M)


def check_definitions(house):
    """One name, one meaning: constants and structs of private headers are defined once."""
    seen = collections.defaultdict(set)
    for name in house.files("src"):
        if name.endswith(".h"):
            with open(house.path(name)) as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            for body in CONSTANTS.findall(text):
                for constant in re.findall(r"(?:^|,)\s*(TULLE__\w+)", body):
                    seen[constant].add(name)
            for struct in STRUCT.findall(text):
                seen[struct].add(name)
    for defined, names in sorted(seen.items()):
        if len(names) > 1:
            house.say("%s has several definitions: %s" % (defined, " ".join(sorted(names))))
    house.check("constants and structs of headers are defined once")


def check_licences(house):
    listed = subprocess.run(["git", "ls-files"], cwd=house.top, capture_output=True, text=True)
    for name in listed.stdout.split("\n"):
        if not name.endswith(SOURCES + (".sh", ".cmake", ".py")) and os.path.basename(name) not in (
                "CMakeLists.txt", "Makefile"):
            continue
        if not os.path.exists(house.path(name)):
            continue
        with open(house.path(name)) as file:
            if "SPDX-License-Identifier: Apache-2.0" not in "".join(file.readline() for _ in range(3)):
                house.say(name + " lacks its SPDX line")
    house.check("SPDX lines")


def check_planted(house):
    source, table = set(), set()
    for name in house.files("src"):
        if name.endswith(".c"):
            with open(house.path(name)) as file:
                source |= set(re.findall(r"TULLE__PLANTED\(([a-z_0-9]+)\)", file.read()))
    with open(house.path("test/planted/faults.txt")) as file:
        table = set(re.findall(r"^([a-z_0-9]+) \|", file.read(), re.M))
    for fault in sorted(source ^ table):
        house.say("planted faults and test/planted/faults.txt differ: " + fault)
    house.check("each planted fault has its test")


def check_environment(house):
    """A setuid program must not follow what its user set."""
    for name in house.files("src", "tool"):
        with open(house.path(name)) as file:
            for number, line in enumerate(file, 1):
                if re.search(r"(?<![a-z_])getenv\(", line):
                    house.say("%s:%d: secure_getenv instead of getenv" % (name, number))
    house.check("the environment is read by secure_getenv")


def check_variables(house, library):
    """.data and .bss are writable; tables of pointers lie in .data.rel.ro, thread-local variables in .tbss, .tdata."""
    try:
        table = subprocess.run(["objdump", "-t", library], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        house.number += 1
        print("ok %d - no writable file-scope variables # SKIP there is no objdump" % house.number)
        return
    for line in table.split("\n"):
        words = line.split()
        if len(words) > 3 and words[-3] in (".data", ".bss"):
            name = words[-1]
            if name not in WRITABLE and not re.match(r"\.|__(asan|tsan|sanitizer|odr_asan)", name):
                house.say("writable file-scope variable " + name)
    house.check("no writable file-scope variables")


# What reads or writes numbers with the decimal point of the program's locale.
IN_A_LOCALE = re.compile(r"\b(?:strto(?:d|f|ld)|atof|v(?:s|sn|f|d|as)?printf)\s*\(")
PRINTS = {"printf", "fprintf", "sprintf", "snprintf", "asprintf", "dprintf", "scanf", "fscanf", "sscanf"}
FRACTION = re.compile(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?(?:l|L)?[aefgAEFG]")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:[^"\\\n]|\\.)*")', re.S)


def callee(text, at):
    """The name before the parenthesis that encloses a place."""
    depth = 0
    for i in range(at - 1, -1, -1):
        if text[i] == ")":
            depth += 1
        elif text[i] == "(" and depth:
            depth -= 1
        elif text[i] == "(":
            return (re.findall(r"\w+$", text[:i].rstrip()) or [""])[0]
        elif text[i] in ";{}" and not depth:
            return ""
    return ""


def check_locale(house):
    for name in house.files("src"):
        # programs of their own; and what sees the public interface alone, and prints no fractions
        if name == "src/base/decimal.c" or "/faults/" in name or name.startswith("src/scalapack/"):
            continue
        with open(house.path(name)) as file:
            # comments become blanks, so that lines stay what they are
            text = COMMENT.sub(lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), file.read())
        code = LITERAL.sub(lambda m: '"' + "_" * (len(m.group(0)) - 2) + '"', text)
        for match in IN_A_LOCALE.finditer(code):
            house.say("%s:%d: %s knows the locale: base/decimal.h" % (name, code.count("\n", 0, match.start()) + 1, match.group(0)))
        for match in LITERAL.finditer(text):
            if FRACTION.search(match.group(0).replace("%%", "")) and callee(code, match.start()) in PRINTS:
                house.say("%s:%d: a fraction in the locale's way: base/decimal.h" % (name, text.count("\n", 0, match.start()) + 1))
    house.check("numbers are read and written with a decimal point in any locale")


# A row, column, block or entry in a message by a plain number: from 0 or from 1, one cannot know.
PLACES = re.compile(r'\b(?:row|column|block|entry) \(?(?:%(?:lld|d|zu)|%" ?PRI\w+)')
FROM_FILES = {"src/io/mtx/mtx_line.c", "src/scalapack/pgemr2d.c", "src/mat/cyclic/cyclic.c"}  # as the file counts; descriptors


def check_places(house):
    for name in house.files("src"):
        if name in FROM_FILES:
            continue
        with open(house.path(name)) as file:
            for number, line in enumerate(file, 1):
                if PLACES.search(line):
                    house.say("%s:%d: a place without TULLE__AT (base/error.h)" % (name, number))
    house.check("rows, columns and blocks in messages are marked, and count from one number for all")


# A plan's device is the PE's, which retains what the process opens once (mat/pe_device.h).
OPENS_DEVICE = re.compile(r"\btulle__device_open\s*\(")
OPENERS = {"src/mat/pe_device.c", "src/mat/pe_device.h"}


def check_devices(house):
    for name in house.files("src"):
        if name.startswith("src/device/") or name in OPENERS:
            continue
        with open(house.path(name)) as file:
            if OPENS_DEVICE.search(file.read()):
                house.say("%s: opens a device without its PE: mat/pe_device.h" % name)
    house.check("devices of plans are opened by their PE")


ROOT = {"CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE", "MAINTAIN.md", "Makefile",
        "README.md", "SECURITY.md", "pyproject.toml", "setup.sh"}


def check_root(house):
    """A test that writes where it is started leaves files there, which a commit then takes along."""
    names = os.listdir(house.top)
    if ".git" in names:
        listed = subprocess.run(["git", "-C", house.top, "ls-files"], capture_output=True, text=True)
        names = listed.stdout.split("\n") if listed.returncode == 0 else names
    for name in names:
        if name and "/" not in name and name[0] != "." and os.path.isfile(house.path(name)) and name not in ROOT:
            house.say("%s: a file in the top folder that is none of the project's" % name)
    house.check("the top folder holds what belongs there")


# A comment begins with a noun or a verb: no preposition, no question, no pronoun.
VAGUE = re.compile(r"/\*[*!]?\s*(?:\*\s*)?(Of|What|Whether|Where|How|Who|Whom|Whose|Which|Why|It|Its|They|Their|That"
                   r"|Those|Such)\b")


def check_comments(house):
    for name in house.files("src", "include", "tool", "python/src", "examples", "bench", "test"):
        with open(house.path(name)) as file:
            text = file.read()
        for match in VAGUE.finditer(text):
            house.say("%s:%d: a comment begins with '%s'" % (name, text.count("\n", 0, match.start()) + 1, match.group(1)))
    house.check("comments begin with a noun or a verb")


# a real number in a text of JSON, which is null where it is not finite: json_printf prints it
JSON_NUMBER = re.compile(r'\\":\[?[^"]*%[-.0-9]*[efg]')


def check_json(house):
    for name in house.files("tool"):
        with open(house.path(name)) as file:
            text = file.read()
        for match in JSON_NUMBER.finditer(text):
            if not text[: text.rfind("printf(", 0, match.start())].endswith("json_"):
                house.say("%s:%d: a number of JSON that json_printf does not print" % (name, text.count("\n", 0, match.start()) + 1))
    house.check("real numbers of JSON are printed by json_printf")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    house = House(sys.argv[1])
    check_root(house)
    check_layers(house)
    check_public(house)
    check_circles(house)
    check_coupling(house)
    check_sizes(house)
    check_names(house)
    check_definitions(house)
    check_licences(house)
    check_planted(house)
    check_environment(house)
    check_locale(house)
    check_places(house)
    check_comments(house)
    check_json(house)
    check_devices(house)
    check_variables(house, sys.argv[2])
    print("1..%d" % house.number)
    sys.exit(house.bad)


if __name__ == "__main__":
    main()
