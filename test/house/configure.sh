#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What others who build Tulle ask of its configuration, without building: as a part of their project, with their flags;
# the switch of a dependency; folders given as absolute ones. configure.sh SOURCE
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/test/tool/tap.sh"
judge() { # STATUS TITLE
    report "$1" "$2"
    [ "$1" = 0 ] || tail -5 "$work/out" | sed 's/^/# /'
}
configure() { # FOLDER OPTION...: without what takes long to look for
    folder=$1
    shift
    cmake -S "$source" -B "$work/$folder" -DTULLE_TESTS=OFF -DTULLE_WITH_CUDA=OFF -DTULLE_WITH_OPENACC=OFF -DTULLE_WITH_MPI=OFF \
        -DTULLE_WITH_SHMEM=OFF -DTULLE_WITH_SIMGRID=OFF -DTULLE_WITH_SCALAPACK=OFF "$@" >"$work/out" 2>&1
}

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(user C)
foreach(name CUDA OPENACC MPI SHMEM SIMGRID SCALAPACK)
  set(TULLE_WITH_\${name} OFF)
endforeach()
set(CMAKE_C_FLAGS "-DMINE")
add_subdirectory($source tulle)
add_executable(user $source/examples/from_arrays.c)
target_link_libraries(user PRIVATE Tulle::tulle)
if(NOT CMAKE_C_FLAGS STREQUAL "-DMINE" OR CMAKE_BUILD_TYPE)
  message(FATAL_ERROR "flags of the project were changed: \${CMAKE_C_FLAGS} \${CMAKE_BUILD_TYPE}")
endif()
END
cmake -S "$work/project" -B "$work/part" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/out" 2>&1
judge $? "as a part of another project, Tulle::tulle"
grep '"command".*from_arrays' "$work/part/compile_commands.json" | grep -e -DMINE | grep -q tulle/include &&
    ! grep -q -- '-Werror' "$work/part/compile_commands.json"
judge $? "with that project's flags, and without -Werror"
grep -q '"test_' "$work/part/compile_commands.json" && status=1 || status=0
judge $status "without tests"

configure off -DTULLE_WITH_ZLIB=OFF -DTULLE_WITH_ISAL=OFF && ! grep -q TULLE_HAVE_ZLIB -r "$work/off/src/CMakeFiles" "$work/off/build.ninja" 2>/dev/null
judge $? "a dependency that is OFF is not used, though it is here"
configure on -DTULLE_WITH_ZLIB=ON -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
[ $? != 0 ] && grep -qi 'zlib' "$work/out"
judge $? "one that is ON and missing is an error that names it"
configure auto -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
judge $? "AUTO goes on without it"
configure absolute -DCMAKE_INSTALL_PREFIX=/opt/tulle -DCMAKE_INSTALL_LIBDIR=/opt/lib64 -DTULLE_WITH_BLAS=OFF &&
    grep -q '^libdir=/opt/lib64$' "$work/absolute/tulle.pc" && grep -q '^includedir=${prefix}/include$' "$work/absolute/tulle.pc"
judge $? "absolute folders in tulle.pc"
report_end
