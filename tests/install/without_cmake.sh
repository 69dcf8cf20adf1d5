#!/bin/sh
# One compiler command, with what pkg-config says of a tree, or with a folder that has the single header; or a project of
# Meson, which asks pkg-config, or of Bazel, which is told the folder.
#
#   without_cmake.sh MAIN WORK EXPECTED pkg_config|bundle|meson|bazel FOLDER CXX FLAGS...
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
elif [ "$way" = meson ] || [ "$way" = bazel ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    app=$here/../../examples/app
    export PKG_CONFIG_PATH="$folder/share/pkgconfig" CXX="$1"
    shift
    [ ! -e "$work/build" ] || chmod -R u+w "$work/build"  # Bazel takes it away
    rm -rf "$work/project" "$work/build"
    mkdir "$work/project"
    cp "$app/app.cpp" "$work/project"
    cd "$work/project"
    if [ "$way" = meson ]; then
        cp "$app/meson.build" .
        CXXFLAGS=$* meson setup ../build
        meson compile -C ../build
        program=../build/app
    else
        cp "$app/BUILD.bazel" "$app/fovea.BUILD" .
        sed "s,/usr/local/include,$folder/include," "$app/WORKSPACE.bazel" > WORKSPACE.bazel
        # Nothing is fetched: Debian has the rules that its Bazel takes, but those for C++ are newer than it.
        rules=/usr/share/bazel/rules
        bazel --batch --output_user_root="$work/build" build --jobs=1 \
            --override_repository=rules_cc="$here/bazel_rules_cc" --override_repository=rules_java=$rules/java \
            --override_repository=rules_proto=$rules/proto //:app
        program=bazel-bin/app
    fi
    sed -n 's,^// \([0-9].*\),\1,p' "$app/app.cpp" > expected
    "$program" > said
    cmp said expected
    exit
else
    "$@" -I"$folder" "$main" -o "$work/client" -pthread
fi
"$work/client" > "$work/said"
cmp "$work/said" "$expected"
