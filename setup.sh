#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh [--no-install] [--all]: installs what building and testing Tulle want from Debian's packages and is missing, and
# says before what that is. Works as root or with sudo; where it may not install, or must not (--no-install), it says
# which packages are wanted, and fails only if the build cannot do without them. --all: also what `make check-all` wants.
set -eu
install=1 all=
for word in "$@"; do
    case $word in
    --no-install) install= ;;
    --all) all=1 ;;
    *) echo "usage: $0 [--no-install] [--all]" >&2; exit 2 ;;
    esac
done

required="cmake"
# package: what is left out without it
optional="ninja-build python3 python3-venv python3-dev zlib1g-dev libisal-dev libbz2-dev liblzma-dev libzstd-dev libhdf5-dev libcjson-dev pkgconf gnuplot-nox mandoc clang libclang-rt-dev llvm
abigail-tools doxygen python3-sphinx python3-breathe python3-myst-parser libopenmpi-dev openmpi-bin libmpich-dev mpich libaec-dev iproute2 g++ libsimgrid-dev
libsuitesparse-dev libxsmm-dev libopenblas-pthread-dev liblapack-dev libscalapack-openmpi-dev libscalapack-mpich-dev"

# clean roots, checks of packages, neighbours and torch in Debian's Python
[ -z "$all" ] || optional="$optional debootstrap lintian libpetsc-real-dev libgraphblas-dev python3-torch python3-scipy python3-pytest zsh slurmctld slurmd slurm-client"

have() {
    dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

if ! command -v dpkg-query >/dev/null 2>&1; then
    if command -v cmake >/dev/null 2>&1; then
        echo "setup: not a Debian system; going on with what is here" >&2
        exit 0
    fi
    echo "setup: not a Debian system; install: a C11 compiler, make, cmake >= 3.18" >&2
    echo "setup: and, for all features: zlib, ISA-L, libbz2, liblzma, libzstd, HDF5, cJSON, gnuplot, clang" >&2
    exit 1
fi

# no package of Debian's; with it, GCC's compiler for the same GPUs (10 MB, the device openacc)
if command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ]; then
    version=$(gcc -dumpversion 2>/dev/null) || version=none
    if have "gcc-$version"; then optional="$optional gcc-$version-offload-nvptx"; fi
else
    echo "setup: no nvcc (NVIDIA's CUDA toolkit 13, which Debian does not have): the device cuda is left out" >&2
fi

# nvcc's disassembler, 5 MB, which toolkits without its tools lack: from Python's packages, into a folder of this tree
if [ -n "$install" ] && { command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ]; }; then
    command -v nvdisasm >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvdisasm ] ||
        "$(dirname "$0")/src/device/cuda/kernels/fetch_nvdisasm.sh" "$(dirname "$0")/build-nvdisasm" ||
        echo "setup: without nvdisasm the loops of kernels are not looked at (src/device/cuda/kernels/sass.sh)" >&2
fi

missing=""
for package in $required $optional; do
    # a tool that came from elsewhere does as well
    case $package in
    cmake | python3 | gnuplot-nox | mandoc | clang | g++)
        command -v "${package%-nox}" >/dev/null 2>&1 && continue ;;
    pkgconf)
        command -v pkg-config >/dev/null 2>&1 && continue ;;
    ninja-build)
        command -v ninja >/dev/null 2>&1 && continue ;;
    llvm)
        command -v llvm-symbolizer >/dev/null 2>&1 && continue ;;
    esac
    have "$package" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if [ -z "$install" ]; then
    as_root="none"
elif [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    as_root="none"
fi
if [ "$as_root" = none ]; then
    echo "setup: installs nothing here. Wanted:" >&2
    echo "    apt-get install$missing" >&2
    for package in $required; do
        case " $missing " in *" $package "*) exit 1 ;; esac
    done
    echo "setup: going on without them; \`tulle info\` and the tests say what is left out" >&2
    exit 0
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q update >/dev/null || echo "setup: apt-get update failed; trying with the old lists" >&2
# shellcheck disable=SC2086
if ! $as_root apt-get -q install -y --no-install-recommends $missing >/dev/null; then
    # one that is not there must not keep the others away
    absent=""
    for package in $missing; do
        $as_root apt-get -q install -y --no-install-recommends "$package" >/dev/null 2>&1 || absent="$absent $package"
    done
    echo "setup: could not be installed:$absent" >&2
    for tool in cc make cmake; do
        if ! command -v $tool >/dev/null 2>&1; then
            echo "setup: there is no $tool, without which nothing can be built" >&2
            exit 1
        fi
    done
    echo "setup: going on without them; \`tulle info\` and the tests say what is left out" >&2
fi
