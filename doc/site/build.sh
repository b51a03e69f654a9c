#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The site in FOLDER/site and the man pages of section 3 in FOLDER/man3, from the headers, the verbs' help, doc/ and
# doc/site. Warnings are errors. build.sh BUILD-FOLDER
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
for program in doxygen sphinx-build; do
    if ! command -v $program >/dev/null 2>&1; then
        echo "site: $program is not installed (doxygen, python3-sphinx, python3-breathe, python3-myst-parser): left out"
        exit 0
    fi
done
work=$build/site-sources
rm -rf "$build/site"
./doc/site/man3.sh "$build"
mkdir -p "$work/reference" "$work/verbs" "$work/guides"

cp doc/site/*.md "$work/"
cp doc/site/conf.py "$work/"
cp doc/*.md "$work/guides/"
cp python/README.md "$work/guides/python.md"
cp -r doc/images "$work/guides/" 2>/dev/null || true
# a page for each header, and for each verb
{
    printf '# Reference of C\n\nEvery public call, by header; `#include <tulle/tulle.h>` has all of them.\n\n'
    printf '```{toctree}\n:maxdepth: 1\n\n'
    for header in include/tulle/*.h; do
        name=${header##*/}
        [ "$name" = tulle.h ] || echo "reference/${name%.h}"
    done
    printf '```\n'
} >"$work/reference.md"
for header in include/tulle/*.h; do
    name=${header##*/}
    [ "$name" = tulle.h ] && continue
    printf '# tulle/%s\n\n```{doxygenfile} %s\n```\n' "$name" "$name" >"$work/reference/${name%.h}.md"
done
{
    printf '# The command\n\n```{toctree}\n:maxdepth: 1\n\n'
    "$build/tulle" --completion bash | sed -n 's/^    \([a-z]*\))$/verbs\/\1/p'
    printf '```\n\n```none\n'
    "$build/tulle" --help
    printf '```\n'
} >"$work/verbs.md"
for verb in $("$build/tulle" --completion bash | sed -n 's/^    \([a-z]*\))$/\1/p'); do
    { printf '# tulle %s\n\n```none\n' "$verb"; "$build/tulle" "$verb" --help; printf '```\n'; } >"$work/verbs/$verb.md"
done
TULLE_VERSION=$("$build/tulle" --version | sed 's/tulle //') TULLE_XML=$work/xml TULLE_PYTHON=$PWD/python \
    sphinx-build -q -b html "$work" "$build/site" >"$work/sphinx.log" 2>&1 || { cat "$work/sphinx.log"; exit 1; }
# a struct and its typedef of one name are two declarations for Sphinx
if grep -v 'Duplicate C declaration\|^Declaration is ' "$work/sphinx.log"; then exit 1; fi
calls=$(grep -hoE 'TULLE_(PBLAS_)?API [^;]*' include/tulle/*.h | grep -o 'tulle_[a-z0-9_]*(' | sort -u | tr -d '(')
absent=
for call in $calls; do
    grep -q "c.$call\"" "$build"/site/reference/*.html || absent="$absent $call"
done
names=$(python3 -c 'import ast
for module, lists in ("__init__", ["__all__"]), ("torch", ["_OPERATORS"]), ("geometric", ["__all__"]):
    prefix = "" if module == "__init__" else module + "."
    for node in ast.parse(open("python/tulle/" + module + ".py").read()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in lists:
            print(*(prefix + name for name in ast.literal_eval(node.value)))')
for name in $names torch.Sparse; do
    grep -q "id=\"tulle.$name\"" "$build/site/reference-python.html" || absent="$absent tulle.$name"
done
[ -z "$absent" ] || { echo "site: calls without a place in the reference:$absent"; exit 1; }
pages=$(find "$build/site" -name '*.html' | wc -l)
echo "site: $pages pages, $(echo "$calls" | wc -w) calls of C, $(echo "$names" | wc -w) names of Python, $(ls "$build/man3" | wc -l) man pages of section 3"
