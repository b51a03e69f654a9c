# SPDX-License-Identifier: Apache-2.0
"""Makes Doxygen's comments of a public header's: headers.py HEADER prints the header.

A comment before a group of declarations belongs to all of them, up to an empty line or the next
comment, so it is repeated before each; one within a group belongs to its declaration. The first
comment of a file is the file's; comments of fields are theirs.
"""
import re
import sys


def text_of(comment):
    """The lines of a comment, without its stars; commands of Doxygen's that we do not use escaped."""
    body = comment[2:-2]
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in body.split("\n")]
    text = "\n".join(lines).strip()
    return re.sub(r"([@\\<>&#%])", r"\\\1", text)


def doxygen(comment, command="", after=False):
    return "/**" + ("< " if after else " ") + command + text_of(comment).replace("\n", "\n * ") + " */"


def declarations(block):
    """Splits text without comments at the margin into its declarations."""
    parts, current, depth, macro = [], [], 0, False
    for line in block.split("\n"):
        current.append(line)
        if line.startswith("#") or macro:
            macro = line.endswith("\\")
            if not macro and depth == 0:
                parts.append("\n".join(current))
                current = []
            continue
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
        if depth == 0 and line.rstrip().endswith((";", "}")):
            parts.append("\n".join(current))
            current = []
    if current:
        parts.append("\n".join(current))
    return parts


def fields(declaration):
    """Comments inside of a declaration: behind a field on its line, or before it."""
    def convert(match):
        before = declaration[:match.start()].rsplit("\n", 1)[-1]
        return doxygen(match.group(0), after=bool(before.strip()))
    return re.sub(r"/\*.*?\*/", convert, declaration, flags=re.S)


def convert(source, name):
    source = re.sub(r"^/\* SPDX.*?\*/\n", "", source)
    head = re.match(r"\s*(/\*.*?\*/)", source, flags=re.S)
    out = []
    if head:
        out.append("/** @file " + name + "\n * " + text_of(head.group(1)).replace("\n", "\n * ") + " */")
        source = source[head.end():]
    for block in re.split(r"\n\s*\n", source):
        match = re.match(r"\s*(/\*.*?\*/)\s*\n", block, flags=re.S)
        comment = None
        if match and not block.lstrip().startswith("/*)"):
            comment, block = match.group(1), block[match.end():]
        for declaration in declarations(block):
            nested = re.match(r"(/\*.*?\*/)\s*\n", declaration, flags=re.S)
            if nested:
                comment, declaration = nested.group(1), declaration[nested.end():]
            if not declaration.strip():
                continue
            if comment and not declaration.startswith(("#include", "#if", "#endif")):
                out.append(doxygen(comment))
            if nested:
                comment = None  # of this declaration alone
            out.append(fields(declaration))
        out.append("")
    return "\n".join(out)


if __name__ == "__main__":
    path = sys.argv[1]
    print(convert(open(path).read(), "tulle/" + path.rsplit("/", 1)[-1]))
