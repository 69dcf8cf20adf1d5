# shellcheck shell=bash
# Shared by run and the commands in scripts/: messages, packages, presets of CMake.

# `library` is what every build takes, `programs` what the tests, examples and benchmarks of a preset take beside it.
packages_for() {
    case $1 in
        library) echo cmake ninja-build libxsimd-dev libboost-dev ;;
        programs) echo catch2 nlohmann-json3-dev libcli11-dev libbenchmark-dev libeigen3-dev python3 ;;
        demo) echo g++ libeigen3-dev ;;
        package) echo g++ python3 ;;
        release | asan | tsan) echo g++ "$(packages_for programs)" ;;
        change) echo g++ python3-venv python3-setuptools python3-wheel "$(packages_for programs)" \
            "$(packages_for site)" ;;
        night) echo "$(packages_for change)" "$(packages_for webassembly)" "$(packages_for look)" ;;
        clang) echo clang-19 libc++-19-dev libc++abi-19-dev libomp-19-dev g++-mingw-w64-x86-64-posix \
            "$(packages_for programs)" ;;
        fuzz) echo clang-19 libclang-rt-19-dev "$(packages_for programs)" ;;
        neon) echo g++ g++-aarch64-linux-gnu qemu-user "$(packages_for programs)" ;;
        tests) echo valgrind qemu-user pkgconf meson python3-numpy python3-pytest mypy \
            libxtensor-dev libdlpack-dev libtbb-dev "$(packages_for mpi)" ;;
        release_archive) echo git python3 ;;
        wheel) echo g++ python3 python3-numpy python3-setuptools python3-wheel ;;
        bench) echo libopenblas-dev libdnnl-dev gnuplot-nox jq ;;
        mpi) echo libopenmpi-dev openmpi-bin libmpich-dev mpich ;;
        ranks) echo g++ "$(packages_for mpi)" "$(packages_for programs)" ;;
        kernels) echo binutils gnuplot-nox jq ;;
        for_size) echo g++ python3 binutils "$(packages_for library)" "$(packages_for webassembly)" ;;
        bare_root) echo debootstrap ;;
        fresh) echo git python3 "$(packages_for bare_root)" ;;
        site) echo python3 mkdocs mkdocs-material python3-pymdownx libjs-mathjax fonts-mathjax ;;
        webassembly) echo clang-19 lld-19 wasi-libc libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 \
            libclang-rt-19-dev-wasm32 ;;
        docs) echo "$(packages_for site)" "$(packages_for webassembly)" ;;
        look) echo chromium ;;
        toolchains) echo g++-12 clang-16 clang-19 libc++-19-dev libc++abi-19-dev pkgconf \
            g++-i686-linux-gnu g++-riscv64-linux-gnu g++-powerpc64le-linux-gnu g++-s390x-linux-gnu \
            g++-arm-linux-gnueabihf qemu-user g++-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-win32 \
            lld-19 wine64 wine \
            "$(packages_for library)" "$(packages_for programs)" "$(packages_for bare_root)" ;;
        format) echo clang-format-19 ;;
        tidy) echo clang-tidy-19 libxsimd-dev libboost-dev libdlpack-dev libopenmpi-dev ;;
    esac
}

# The sources of the tests of a word, from tests/ on down. Entries of the catalogue are none: its tests loop over them.
files_of_test() {
    find tests -mindepth 2 -name "$1.cpp" -not -path 'tests/catalogue/entries/*' | sort
}

say() {
    printf '\n== %s\n' "$*"
}

fail() {
    printf 'run: %s\n' "$*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        command -v sudo >/dev/null || fail "there is no sudo, and this takes root: $*"
        sudo "$@"
    fi
}

# Installs those of the named packages that are missing. On a system without apt, CMake says what it does not find.
need() {
    local package missing=()
    command -v apt-get >/dev/null || return 0
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "install ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}

is_preset() {
    case $1 in release | change | night | clang | asan | tsan | neon) return 0 ;; esac
    return 1
}

# configure PRESET [OPTION...]: what the preset needs is installed first.
configure() {
    # shellcheck disable=SC2046
    need $(packages_for library) $(packages_for "$1")
    say "configure $1"
    cmake --preset "$1" "${@:2}"
}

build() {
    say "build $1"
    cmake --build --preset "$1" --parallel "$(nproc)" "${@:2}"
}
