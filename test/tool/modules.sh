#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Folders that modules are taken from, and those that they are not: modules.sh COMMAND LIBDIR, the latter as
# installations have it beside their folder bin. A planted module is a file that cannot be loaded: the command says so if
# it took it.
set -u
. "$(dirname "$0")/tap.sh"
tulle=$(realpath "$1")
libdir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/bin" "$work/free"
cp "$tulle" "$work/bin/tulle"

plant() { mkdir -p "$1" && echo planted >"$1/tulle_planted.so"; }
# asks COMMAND...: what it says of the engine `planted`
asks() { "$@" spmm rmat:scale=4,edgefactor=2,seed=1 --comm planted 2>&1 || true; }
takes() { # NAME FOLDER COMMAND...
    name=$1 folder=$2
    shift 2
    said=$(asks "$@")
    case $said in
    *"cannot load the module $folder/tulle_planted.so"*) report 0 "$name" ;;
    *) report 1 "$name: $said" ;;
    esac
}
leaves() { # NAME COMMAND...
    name=$1
    shift
    said=$(asks "$@")
    case $said in
    *"there is no 'planted'"*) report 0 "$name" ;;
    *) report 1 "$name: $said" ;;
    esac
}

leaves 'no planted module' "$work/bin/tulle"
plant "$work/path"
takes 'TULLE_MODULE_PATH' "$work/path" env TULLE_MODULE_PATH="/nowhere::$work/path" "$work/bin/tulle"
said=$(cd "$work" && asks env TULLE_MODULE_PATH=/nowhere:path "$work/bin/tulle")
case $said in
*"TULLE_MODULE_PATH: 'path' does not begin with /"*) report 0 'a folder of TULLE_MODULE_PATH that is not absolute is named' ;;
*) report 1 "a relative TULLE_MODULE_PATH: $said" ;;
esac
plant "$work/bin/modules"
leaves 'modules beside a program outside of the build tree' "$work/bin/tulle"
plant "$work/free/tulle"
cd "$work/free"
leaves 'the current folder' "$work/bin/tulle"
cp "$tulle" "$work/free/program"
leaves 'the current folder, the program in it' ./program
cd "$work"

plant "$work/$libdir/tulle"
takes 'an installation that was moved' "$work/$libdir/tulle" "$work/bin/tulle"
chmod o+w "$work/$libdir/tulle"
leaves 'an installation in which all may write' "$work/bin/tulle"
chmod o-w "$work/$libdir/tulle"
if [ "$(id -u)" = 0 ]; then
    chown 1 "$work/$libdir/tulle"
    leaves 'a folder of somebody else' "$work/bin/tulle"
    chown 0 "$work/$libdir/tulle"
    cp "$tulle" "$work/bin/other" # the program of another user, with that user's rights
    chown 1 "$work/bin/other"
    chmod u+s "$work/bin/other"
    chmod -R a+rX "$work"
    if findmnt -no OPTIONS --target "$work" 2>/dev/null | grep -q nosuid; then
        report 0 'a setuid program # SKIP this file system has none'
    else
        leaves 'a setuid program: the installation alone' env TULLE_MODULE_PATH="$work/path" "$work/bin/other"
    fi
else
    report 0 'a folder of somebody else, a setuid program # SKIP only the superuser can make them'
fi
report_end
