#!/bin/sh
# One compiler command, with what pkg-config says of a tree, or with a folder that has the single header.
#
#   without_cmake.sh MAIN WORK EXPECTED pkg_config|bundle FOLDER CXX FLAGS...
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
else
    "$@" -I"$folder" "$main" -o "$work/client" -pthread
fi
"$work/client" > "$work/said"
cmp "$work/said" "$expected"
