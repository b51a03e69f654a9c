#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make.sh SOURCE FOLDER: the locale `comma` in a folder for LOCPATH. No privileges and no packages beside the C library's
# own localedef are needed, which says by a status of 1 that it has written a locale with warnings: other categories
# are those of the C locale. 77 where there is no localedef.
command -v localedef >/dev/null || {
    echo "there is no localedef"
    exit 77
}
mkdir -p "$2"
localedef -c -i "$1" -f ANSI_X3.4-1968 "$2/comma" >"$2/log" 2>&1
[ -s "$2/comma/LC_NUMERIC" ] || {
    cat "$2/log"
    exit 1
}
