#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wheels for whoever has no compiler: without this system's BLAS, HDF5 and curl, for a C library as old as 2.28. The sdist
# of the archive of a release, built where no repository is; from it one wheel a Python before 3.12 and one (abi3) for
# all later ones; each tried with the Pythons that are here, and in bare roots of Debian (debootstrap), which have no
# compiler. What cannot be tried is said. wheels.sh FOLDER [all]: all runs the tests of the package on each Python, too.
# $TULLE_PYTHONS: paths of Pythons besides those on PATH and of pyenv. Results: FOLDER/wheels.
set -eu
. "$(dirname "$0")/own_mounts.sh"
cd "$(dirname "$0")/.."
source=$PWD
mkdir -p "$1"
folder=$(cd "$1" && pwd)
tests=${2:-}
work=$folder/wheels-work
out=$folder/wheels
rm -rf "$work" "$out"
mkdir -p "$work" "$out"
. packaging/wheels/toolchain.sh
if ! python3 -c 'import venv, ensurepip' 2>/dev/null || ! make_tools "$folder"; then
    echo "wheels: python3 has no venv, or its packages could not be fetched: left out"
    exit 0
fi

# the sdist, alone
archive=$(./packaging/dist.sh "$folder")
mkdir "$work/tree"
tar xf "$archive" -C "$work/tree" --strip-components 1
(cd "$work/tree" && "$tools/bin/python" -m build --sdist --outdir "$out") >"$work/sdist.log" 2>&1 ||
    { tail -20 "$work/sdist.log"; exit 1; }
sdist=$(echo "$out"/tulle-*.tar.gz)
commit=$(git rev-parse HEAD)
tar tf "$sdist" >"$work/sdist.list"
for file in CMakeLists.txt LICENSE cmake/commit include/tulle/tulle.h src/CMakeLists.txt tool/main.c python/src/module.cpp; do
    grep -q "^[^/]*/$file\$" "$work/sdist.list" || { echo "wheels: the sdist has no $file"; exit 1; }
done
echo "sdist: $(basename "$sdist"), $(wc -l <"$work/sdist.list") files, $(($(wc -c <"$sdist") / 1024)) KiB"

# the Pythons that are here, one a version
version_of() { "$1" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
of_pyenv=$(pyenv root 2>/dev/null || echo /nowhere)
pythons= seen=
for python in ${TULLE_PYTHONS:-} python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 \
    "$of_pyenv"/versions/3.*/bin/python3; do
    version=$(version_of "$python") || continue
    case $version in 3.[0-8]) continue ;; esac
    case " $seen " in *" $version "*) continue ;; esac
    seen="$seen $version"
    pythons="$pythons $version=$python"
done
for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
    case " $seen " in *" $version "*) ;; *) echo "Python $version is not here: not tried" ;; esac
done

# the sdist with this system's compiler and libraries, as pip builds it; without kernels for GPUs, which take minutes
"$tools/bin/python" -m venv "$work/env-sdist"
env -u CC -u CXX -u AR -u RANLIB "$work/env-sdist/bin/pip" install --quiet --disable-pip-version-check "$sdist" scipy \
    -C cmake.define.TULLE_WITH_CUDA=OFF -C cmake.define.TULLE_WITH_OPENACC=OFF >"$work/alone.log" 2>&1 ||
    { tail -20 "$work/alone.log"; exit 1; }
(cd "$work" && env-sdist/bin/python "$source/packaging/wheels/try.py" --any "$commit") >"$work/alone.log" 2>&1 ||
    { tail -20 "$work/alone.log"; exit 1; }
echo "the sdist alone: $(tail -1 "$work/alone.log")"
rm -rf "$work/env-sdist"

# the library once, and around it the wheels
./packaging/wheels/libraries.sh "$folder"
libraries=$folder/libraries
# The list of exported names has those of all builds. What processors can do, and division of 128 bits, are the system
# compiler's: zig's own say that this one can do nothing, and bring slow memcpy, memset and exp in place of the C library's.
support=$(cc -print-libgcc-file-name)
linker="-Wl,--undefined-version $support"
static() { echo "-D$1=$libraries/lib/lib$2.a"; }
# shellcheck disable=SC2046
if ! { cmake -G Ninja -S "$work/tree" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$work/prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_SYSCONFDIR=/etc -DTULLE_RELOCATED=ON -DTULLE_BUILD_TREE=OFF -DTULLE_TESTS=OFF \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_AR="$AR" -DCMAKE_RANLIB="$RANLIB" \
    -DCMAKE_SHARED_LINKER_FLAGS="$linker" -DCMAKE_EXE_LINKER_FLAGS="$linker" -DTULLE_SCIPY_OPENBLAS="$openblas" \
    -DHDF5_ROOT="$libraries" -DHDF5_USE_STATIC_LIBRARIES=ON -DHDF5_NO_FIND_PACKAGE_CONFIG_FILE=ON \
    $(static ZLIB_LIBRARY z) $(static BZIP2_LIBRARIES bz2) $(static LIBLZMA_LIBRARY lzma) $(static ZSTD_LIBRARY zstd) \
    $(static CJSON_LIBRARY cjson) -DLIBLZMA_HAS_AUTO_DECODER=ON -DLIBLZMA_HAS_EASY_ENCODER=ON -DLIBLZMA_HAS_LZMA_PRESET=ON \
    $(for name in ZLIB_INCLUDE_DIR BZIP2_INCLUDE_DIR LIBLZMA_INCLUDE_DIR ZSTD_INCLUDE CJSON_INCLUDE; do
        echo "-D$name=$libraries/include"
    done) \
    $(for part in ZLIB BZIP2 LZMA ZSTD BLAS LAPACK CJSON HDF5; do echo "-DTULLE_WITH_$part=ON"; done) \
    $(for part in ISAL MPI SHMEM SIMGRID SUITESPARSE LIBXSMM CUDA OPENACC NVSHMEM SCALAPACK; do
        echo "-DTULLE_WITH_$part=OFF"
    done) && cmake --build "$work/build" && cmake --install "$work/build" --strip; } >"$work/build.log" 2>&1; then
    grep -E -A3 'FAILED|rror' "$work/build.log" | head -20 || true
    tail -5 "$work/build.log"
    exit 1
fi

# threads that Python ends are unwound by the system's library, which must not meet another one's frames
unwinder=$(cc -print-file-name=libgcc_s.so.1)

make_wheel() { # PYTHON VERSION
    env=$work/build-$2
    "$1" -m venv "$env"
    "$env/bin/pip" install --quiet --disable-pip-version-check --upgrade pip # older ones know no -C
    PATH=$env/bin:$PATH "$env/bin/pip" wheel --quiet --disable-pip-version-check --no-deps "$sdist" -w "$work/made-$2" \
        -C cmake.define.CMAKE_C_COMPILER="$CC" -C cmake.define.CMAKE_CXX_COMPILER="$CXX" \
        -C cmake.define.CMAKE_AR="$AR" -C cmake.define.CMAKE_RANLIB="$RANLIB" \
        -C cmake.define.CMAKE_MODULE_LINKER_FLAGS="$unwinder $support" -C cmake.define.TULLE_INSTALLED=ON -C cmake.define.Tulle_ROOT="$work/prefix" \
        -C cmake.define.TULLE_LICENSES="$libraries/licenses" >"$work/wheel-$2.log" 2>&1 ||
        { tail -30 "$work/wheel-$2.log"; exit 1; }
    # the BLAS goes into the wheel, and the names say which C library it needs
    LD_LIBRARY_PATH=$openblas/lib PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair \
        --plat "manylinux_$(echo $glibc | tr . _)_$machine" -w "$out" "$work/made-$2"/tulle-*.whl \
        >"$work/repair-$2.log" 2>&1 || { tail -20 "$work/repair-$2.log"; exit 1; }
    rm -rf "$env" "$work/made-$2"
}

wheel_for() { # VERSION: its wheel, if it is made
    case $1 in
    3.9 | 3.10 | 3.11) find "$out" -name "tulle-*-cp3${1#3.}-cp3${1#3.}-*.whl" ;;
    *) find "$out" -name 'tulle-*-abi3-*.whl' ;;
    esac
}

mkdir "$work/pickles" # of each Python, which the next ones read
for entry in $pythons; do
    version=${entry%%=*} python=${entry#*=}
    [ -n "$(wheel_for "$version")" ] || make_wheel "$python" "$version"
    wheel=$(wheel_for "$version")
    env=$work/env-$version
    "$python" -m venv "$env"
    "$env/bin/pip" install --quiet --disable-pip-version-check "$wheel" scipy ${tests:+pytest hypothesis h5py threadpoolctl}
    (cd "$work" && TULLE_PICKLES=$work/pickles "$env/bin/python" "$source/packaging/wheels/try.py" "$commit") >"$work/try-$version.log" 2>&1 ||
        { tail -20 "$work/try-$version.log"; exit 1; }
    echo "$(basename "$wheel"), $(($(wc -c <"$wheel") / 1048576)) MiB: $(tail -1 "$work/try-$version.log")"
    [ -z "$tests" ] || (cd "$work/tree" && TULLE_COMMAND=$env/bin/tulle "$env/bin/python" -m pytest -q -p no:cacheprovider -m 'not long')
    rm -rf "$env"
done

# bare roots: the oldest C library that has a Python for a wheel, and the newest Debian
bare_root() { # SUITE VERSION
    wheel=$(wheel_for "$2")
    [ -n "$wheel" ] || { echo "$1: no wheel for its Python $2: not tried"; return; }
    root=$folder/bare-$1
    if [ ! -e "$root/made" ]; then
        rm -rf "$root"
        debootstrap --variant=minbase "$1" "$root" ${mirror:+"$mirror"} >"$work/bare-$1.log" 2>&1 ||
            { tail -3 "$work/bare-$1.log"; echo "$1: its packages cannot be fetched: not tried"; return; }
        cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true # how this machine reaches packages
        inside "$root" apt-get -q install -y --no-install-recommends python3-venv >"$work/bare-$1.log" 2>&1
        : >"$root/made"
    fi
    mkdir -p "$root/wheels"
    cp "$wheel" packaging/wheels/try.py "$root/wheels/"
    "$tools/bin/pip" download --quiet --disable-pip-version-check --only-binary=:all: --python-version "$2" \
        --implementation cp --platform "manylinux2014_$machine" --platform "manylinux_2_17_$machine" \
        --platform "manylinux_2_27_$machine" --platform "manylinux_2_28_$machine" -d "$root/wheels" numpy scipy
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
    status=0
    inside "$root" sh -eu -c 'if command -v cc || command -v gcc; then echo "there is a compiler"; exit 1; fi
        rm -rf /root/env; python3 -m venv /root/env
        /root/env/bin/pip install --quiet --no-index --find-links /wheels tulle scipy
        cd /root; env/bin/python /wheels/try.py '"$commit" >"$work/bare-$1.log" 2>&1 || status=$?
    umount "$root/proc"
    [ "$status" = 0 ] || { tail -20 "$work/bare-$1.log"; echo "$1: FAILED"; exit 1; }
    echo "bare root of $1: $(tail -1 "$work/bare-$1.log")"
    rm -rf "$root/wheels" "$root/root/env"
}
inside() { # ROOT COMMAND...
    at=$1
    shift
    chroot "$at" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root "$@"
}
if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null 2>&1; then
    mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
    bare_root bullseye 3.9
    bare_root trixie 3.13
else
    echo 'wheels: no debootstrap, or not root: bare roots are not tried'
fi
rm -rf "$work"
