#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Man pages of section 3 in FOLDER/man3, one of each header, and of each call, type and constant a link to it or a page;
# and what Doxygen says of the headers, in FOLDER/site-sources/xml, for the site. Warnings are errors. man3.sh FOLDER
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$build/site-sources
rm -rf "$work" "$build/man3"
mkdir -p "$work/include/tulle" "$build/man3"
for header in include/tulle/*.h; do
    python3 doc/site/headers.py "$header" >"$work/include/tulle/${header##*/}"
done
{
    cat doc/site/Doxyfile
    echo "INPUT = $work/include/tulle"
    echo "STRIP_FROM_PATH = $work/include"
    echo "OUTPUT_DIRECTORY = $work"
} | doxygen - >"$work/doxygen.log" 2>&1 || { cat "$work/doxygen.log"; exit 1; }
# pages of members and folders have names of their own (read.3, true.3), which others' pages have too
for page in "$work"/man/man3/*.3; do
    name=${page##*/}
    case $name in
    tulle.h.3 | tulle_* | TULLE_*) ;;
    *.h.3) name=tulle_$name ;;
    *) continue ;;
    esac
    # a line that begins with a quote would be a macro; the name of a struct has nothing beside it
    sed "s|^\.so man3/\([a-z_]*\.h\.3\)|.so man3/tulle_\1|; s|^\.so man3/tulle_tulle\.h|.so man3/tulle.h|; s|^'|\\\\\&'|
        /^\.SH NAME/ { n; /\\\\-/!s/ *$/ \\\\- struct of tulle.h/; }" \
        "$page" >"$build/man3/$name"
done
if command -v mandoc >/dev/null 2>&1; then
    (cd "$build" && mandoc -W error man3/*.3 >/dev/null)
fi
