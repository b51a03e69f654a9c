#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks nvdisasm out of NVIDIA's Python package, 5 MB, for sass.sh: fetch_nvdisasm.sh FOLDER. It then is
# FOLDER/nvidia/cu13/bin/nvdisasm; what is there already is not fetched again.
set -eu
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
program=$1/nvidia/cu13/bin/nvdisasm
[ -x "$program" ] && "$program" --version >/dev/null 2>&1 && exit 0
command -v python3 >/dev/null || { echo "$0: there is no python3" >&2; exit 1; }
mkdir -p "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" >/dev/null 2>&1 && python=$work/venv/bin/python || python=python3
"$python" -m pip download --quiet --disable-pip-version-check --retries 1 --timeout 15 --no-deps --only-binary :all: --dest "$work" nvidia-cuda-nvdisasm || {
    echo "$0: the package nvidia-cuda-nvdisasm could not be fetched" >&2
    exit 1
}
python3 -m zipfile -e "$work"/*.whl "$1"
chmod +x "$program"
"$program" --version >/dev/null
