#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks NVSHMEM out of NVIDIA's Python package, about 180 MB, for TULLE_NVSHMEM: fetch.sh FOLDER
set -eu
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
command -v python3 >/dev/null || { echo "$0: there is no python3" >&2; exit 1; }
mkdir -p "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work" nvidia-nvshmem-cu13 || {
    echo "$0: the package nvidia-nvshmem-cu13 could not be fetched" >&2
    exit 1
}
python3 -m zipfile -e "$work"/*.whl "$1"
echo "cmake -DTULLE_NVSHMEM=$(cd "$1" && pwd)/nvidia/nvshmem"
