#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The package as the README installs it, each way without a network: BUILD is a build folder, PREFIX and WORK are made
# anew, KERNELS is a library of kernels, WAYS are among "path" and "pip".
set -eu
unset PYTHONPATH
rm -rf "$PREFIX" "$WORK"
mkdir -p "$WORK"
cd "$WORK"
export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 PYTHONNOUSERSITE=1

cat >program.py <<'END'
import os
import numpy as np
import fovea

place = os.path.realpath(fovea.__file__)
assert place.startswith(os.path.realpath(os.environ["WANTED"]) + os.sep), place
fovea.load(os.environ["KERNELS"])
q = np.ones((3, 4), np.float32)
assert np.all(fovea.attend(q, q, q, "causal") == 1)
assert all(os.path.exists(os.path.join(os.path.dirname(place), name)) for name in ("py.typed", "_words.pyi"))
print("called from", place)
END

#! [component]
cmake --install "$BUILD" --component python --prefix "$PREFIX"
#! [component]
installed=$(find "$PREFIX" -type f | sed "s|^$PREFIX/||" | sort)
[ -n "$installed" ] || { echo "the component has no files" >&2 && exit 1; }
for file in $installed; do
    case $file in
        share/fovea/python/fovea/*.py | share/fovea/python/fovea/py.typed | share/fovea/python/fovea/_words.pyi) ;;
        share/fovea/python/pyproject.toml | share/fovea/python/README.md) ;;
        *) echo "the component has $file" >&2 && exit 1 ;;
    esac
done

for way in $WAYS; do
    if [ "$way" = path ]; then
        export WANTED="$PREFIX/share/fovea/python"
        #! [path]
        PYTHONPATH="$PREFIX/share/fovea/python" python3 program.py
        #! [path]
    else
        export WANTED="$WORK/environment"
        #! [pip]
        python3 -m venv --system-site-packages environment
        environment/bin/pip install --no-index --no-build-isolation "$PREFIX/share/fovea/python"
        environment/bin/python program.py
        #! [pip]
    fi
done
