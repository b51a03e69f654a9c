# SPDX-License-Identifier: Apache-2.0
"""Runs every code block of the documents: blocks.py SOURCE BUILD CC [PYTHON [DOCUMENT]].

c       a program: compiled, linked and run; without a main: compiled as the body of a function
sh      run line by line, with the command in PATH
python  the blocks of a document are one program; names that a document takes for granted are given;
        blocks with torch are left out where it is not, which the line says
none    lines that the program before prints, in this order; numbers within a tenth, and at the end ... for the rest

Commands that are shown without being run, on files or machines that are not here, have verbs and options that exist.
"""
import itertools
import math
import os
import re
import subprocess
import sys
import tempfile

GIVEN = """
import numpy as np, scipy.sparse as sp, tulle
A = B = sp.csr_matrix(sp.diags([-np.ones(59), 4 * np.ones(60), -np.ones(59)], [-1, 0, 1]))
adjacency, X, b = A, np.ones((60, 4)), np.ones(60)
tulle.write("A.bsp.h5", A)
"""
GIVEN_TORCH = """
import torch, tulle.torch
X = torch.ones(60, 4, dtype=torch.float64)
"""


def blocks(path):
    """(language, text, line) of each block."""
    found, language, text, begun = [], None, [], 0
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        fence = re.match(r"```(\w*)\s*$", line)
        if language is None and fence and fence.group(1):
            language, text, begun = fence.group(1), [], number
        elif language is not None and line.startswith("```"):
            found.append((language, "".join(text), begun))
            language = None
        elif language is not None:
            text.append(line)
    return found


def run(command, folder, text=None, **environment):
    done = subprocess.run(command, cwd=folder, input=text, text=True, capture_output=True, check=False,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def alike(shown, printed):
    """Whether two lines are the same, but for the last digits of numbers, and for what ... leaves out at the end."""
    for a, b in itertools.zip_longest(shown.split(), printed.split(), fillvalue=""):
        if a == "...":
            return True
        try:
            same = math.isclose(float(a.rstrip(",;")), float(b.rstrip(",;")), rel_tol=0.1)
        except ValueError:
            same = a == b
        if not same:
            return False
    return True


def prints(status, said, shown):
    """The outcome of a program that ought to print the shown lines."""
    lines = iter(said.splitlines())
    for line in shown.splitlines():
        if status == 0 and not any(alike(line, other) for other in lines):
            return 1, f"{said}\nthis is not printed, or not there: {line}"
    return status, said


def c_block(text, folder, source, build, compiler):
    program = "int main(" in text
    if not program:
        text = ("#include <tulle/tulle.h>\ntulle_status body(tulle_comm *, void *);\nvoid fragment(void *argument);\n"
                "void fragment(void *argument)\n{\n" + text + "}\n")
    open(os.path.join(folder, "block.c"), "w", encoding="utf-8").write(text)
    flags = ["-std=c11", "-Wall", "-I" + source + "/include", "-I" + build + "/include", "block.c"]
    link = ["-L" + build + "/src", "-ltulle", "-o", "block"] if program else ["-c", "-o", "block.o"]
    status, said = run([compiler] + flags + link, folder)
    if status == 0 and program:
        status, said = run(["./block"], folder, LD_LIBRARY_PATH=build + "/src")
    return status, said


def sh_block(text, folder, build):
    os.symlink(os.path.join(build, "tulle"), os.path.join(folder, "tulle"))
    return run(["sh", "-e"], folder, text, PATH=folder + ":" + os.environ["PATH"], TULLE_MODULE_PATH=build + "/modules")


def commands(path):
    """(words, line) of each command line of `tulle`, in indented blocks and in the text; a backslash joins lines."""
    found, begun, text = [], 0, ""
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        begun = begun if text else number
        text += line.rstrip("\n")
        if text.endswith("\\"):
            text = text[:-1]
            continue
        shown = re.findall(r"`(tulle [a-z]+ [^`]*)`", text)
        if text.startswith("    "):
            shown += re.findall(r"(?:^|\s)(tulle [a-z]+ .*)", text.split("  #")[0])
        found += [(command.split("|")[0].split(), begun) for command in shown]
        text = ""
    return found


def unknown_words(words, helps, tulle):
    """What the command of these words does not know."""
    verb = words[1]
    if verb not in helps:
        status, said = run([tulle, verb, "--help"], "/")
        helps[verb] = set(re.findall(r"--[A-Za-z0-9-]+", said)) if status == 0 else None
    if helps[verb] is None:
        return [verb]
    given = [word.split("=")[0] for word in words[2:] if re.match(r"--[a-z]", word)]
    return [word for word in given if word not in helps[verb]]


def main():
    source, build, compiler = sys.argv[1:4]
    python = sys.argv[4] if len(sys.argv) > 4 else None
    torch = python and run([python, "-c", "import torch"], "/")[0] == 0
    documents = [source + "/README.md", source + "/python/README.md"]
    for folder in (source + "/doc", source + "/doc/site"):
        documents += sorted(folder + "/" + name for name in os.listdir(folder) if name.endswith(".md"))
    documents = [source + "/" + sys.argv[5]] if len(sys.argv) > 5 else documents
    count = failed = 0

    def report(status, said, what):
        nonlocal count, failed
        count += 1
        if status:
            failed += 1
            print("".join("# " + line + "\n" for line in said.splitlines()[-15:]), end="")
        print(f"{'not ok' if status else 'ok'} {count} - {what}")

    helps = {}
    for path in documents:
        shown = [(" ".join(words), line, unknown_words(words, helps, build + "/tulle")) for words, line in commands(path)]
        wrong = [f"line {line}: {', '.join(unknown)}: {text}" for text, line, unknown in shown if unknown]
        if shown:
            report(bool(wrong), "\n".join(wrong), f"{os.path.relpath(path, source)}: {len(shown)} commands shown")
        name, whole, without, printed = os.path.relpath(path, source), [], [], ""
        found = blocks(path)
        for (language, text, line), (after, shown, _) in zip(found, found[1:] + [("", "", 0)]):
            shown = shown if after == "none" else ""
            with tempfile.TemporaryDirectory() as folder:
                if language == "c":
                    report(*prints(*c_block(text, folder, source, build, compiler), shown), f"{name}:{line}: C")
                elif language == "sh":
                    report(*prints(*sh_block(text, folder, build), shown), f"{name}:{line}: commands")
                elif language == "python" and "tulle.torch" in text and not torch:
                    without.append(f"; without torch line {line} is left out")
                elif language == "python":
                    whole.append(text)
                    printed += shown
        if whole and python:
            with tempfile.TemporaryDirectory() as folder:
                text = GIVEN + "\n".join(whole).replace("import tulle.torch", GIVEN_TORCH)
                report(*prints(*run([python, "-"], folder, text), printed), f"{name}: Python, {len(whole)} blocks{''.join(without)}")
    print(f"1..{count}")
    return failed > 0


sys.exit(main())
