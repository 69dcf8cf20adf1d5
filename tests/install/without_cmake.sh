#!/bin/sh
# One compiler command, with what pkg-config says of a tree, or with a folder that has the single header; or a project of
# Meson, which asks pkg-config.
#
#   without_cmake.sh MAIN WORK EXPECTED pkg_config|bundle|meson FOLDER CXX FLAGS...
set -eu
main=$1 work=$2 expected=$3 way=$4 folder=$5
shift 5
mkdir -p "$work"
if [ "$way" = pkg_config ]; then
    PKG_CONFIG_PATH=$folder/share/pkgconfig
    export PKG_CONFIG_PATH
    pkg-config --atleast-version=0.1 fovea
    # xargs reads backslashes as a shell does, and takes nothing else in the name of a folder for syntax.
    test -f "$(pkg-config --variable=compiled fovea | xargs printf %s)"
    package=$(pkg-config --modversion fovea)
    pkg-config --cflags --libs fovea | xargs "$@" -DPACKAGE="\"$package\"" "$main" -o "$work/client"
elif [ "$way" = meson ]; then
    project=$(dirname "$0")/../../examples/app
    export PKG_CONFIG_PATH="$folder/share/pkgconfig" CXX="$1"
    shift
    rm -rf "$work/project" "$work/build"
    mkdir "$work/project"
    cp "$project/meson.build" "$project/app.cpp" "$work/project"
    CXXFLAGS=$* meson setup "$work/build" "$work/project"
    meson compile -C "$work/build"
    sed -n 's,^// \([0-9].*\),\1,p' "$project/app.cpp" > "$work/expected"
    "$work/build/app" > "$work/said"
    cmp "$work/said" "$work/expected"
    exit
else
    "$@" -I"$folder" "$main" -o "$work/client" -pthread
fi
"$work/client" > "$work/said"
cmp "$work/said" "$expected"
