#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the examples beside PETSc and SuiteSparse:GraphBLAS as their users would, against an installed Tulle, and runs
# them. What is not installed is named. check.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$build/neighbours
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tulle.pc)")
export PKG_CONFIG_PATH LD_LIBRARY_PATH="${PKG_CONFIG_PATH%/pkgconfig}"
flags="-O2 -Wall -Wextra"
say() { printf '%s\n' "neighbours: $*"; }
told() { # TITLE COMMAND...
    title=$1
    shift
    "$@" >"$work/out" 2>&1 || { cat "$work/out"; say "$title: FAILED"; exit 1; }
    say "$title: $(cat "$work/out")"
}

if pkg-config --exists PETSc && command -v mpicc.openmpi >/dev/null 2>&1; then
    # shellcheck disable=SC2046,SC2086
    mpicc.openmpi $flags "$here/petsc_shell.c" -o "$work/petsc_shell" $(pkg-config --cflags --libs PETSc tulle)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_osc=^rdma
    shell() { # PES ARGUMENT...
        pes=$1
        shift
        told "KSP over Tulle, $pes PEs, $*" mpirun.openmpi --oversubscribe -n "$pes" "$work/petsc_shell" "$@"
    }
    for pes in 1 2 3; do shell $pes stencil2d:n=60; done
    shell 2 stencil2d:n=60 -stream limit:mem=200K+cpu
    "$build/tulle" convert "$here/../../test/data/bcsstk16.mtx.gz" "$work/a.petsc" -q
    shell 2 "$work/a.petsc"
    # PETSc reads what Tulle wrote, and writes the same bytes again
    cat >"$work/again.c" <<'END'
#include <petscmat.h>
int main(int argc, char **argv)
{
    PetscViewer in, out;
    Mat A;
    Vec x;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, argv[1], FILE_MODE_READ, &in));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, argv[2], FILE_MODE_WRITE, &out));
    PetscCall(PetscViewerBinarySetSkipInfo(out, PETSC_TRUE));
    if (argc > 3) {
        PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
        PetscCall(VecLoad(x, in));
        PetscCall(VecView(x, out));
        PetscCall(VecDestroy(&x));
    } else {
        PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
        PetscCall(MatSetType(A, MATAIJ));
        PetscCall(MatLoad(A, in));
        PetscCall(MatView(A, out));
        PetscCall(MatDestroy(&A));
    }
    PetscCall(PetscViewerDestroy(&in));
    PetscCall(PetscViewerDestroy(&out));
    return PetscFinalize();
}
END
    # shellcheck disable=SC2046,SC2086
    mpicc.openmpi $flags "$work/again.c" -o "$work/again" $(pkg-config --cflags --libs PETSc)
    "$build/tulle" gen dense:m=500,n=1 -o "$work/v.petsc" -q
    for file in a v; do
        words="$work/$file.petsc $work/$file.again.petsc"
        [ $file = a ] || words="$words vector"
        # shellcheck disable=SC2086
        mpirun.openmpi -n 1 "$work/again" $words
        cmp "$work/$file.petsc" "$work/$file.again.petsc" || { say "PETSc writes $file.petsc otherwise: FAILED"; exit 1; }
    done
    say "PETSc reads the matrix and the vector that the command wrote, and writes the same bytes"
else
    say 'PETSc is not installed (libpetsc-real-dev): its example is left out'
fi

if [ -e /usr/include/GraphBLAS.h ]; then
    # shellcheck disable=SC2046,SC2086
    cc $flags -Wno-unused-parameter "$here/graphblas.c" -o "$work/graphblas" $(pkg-config --cflags --libs tulle) -lgraphblas
    told GraphBLAS "$work/graphblas" 10000
    told GraphBLAS "$work/graphblas" 2
else
    say 'SuiteSparse:GraphBLAS is not installed (libgraphblas-dev): its example is left out'
fi
