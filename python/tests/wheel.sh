#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The wheel, installed without a network: ROOT is a checkout, WORK is made anew, KERNELS is "ready" or "none". A unit that
# includes everything finds nothing but the package and the compiler's own; a kernel of the library and one that is
# compiled have the result of plain loops.
set -eu
unset PYTHONPATH FOVEA_INCLUDE FOVEA_KERNELS
rm -rf "$WORK"
mkdir -p "$WORK"
cd "$WORK"
export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 PYTHONNOUSERSITE=1
export FOVEA_CACHE="$WORK/cache"

options=
[ "$KERNELS" = ready ] || options=--without-kernels
# shellcheck disable=SC2086
python3 "$ROOT/packaging/python_wheel.py" $options .
#! [pip]
python3 -m venv --system-site-packages environment
environment/bin/pip install --no-index ./fovea-*.whl
#! [pip]

cat >program.py <<'END'
import os
import re
import subprocess
import sys

import fovea
import numpy as np
from fovea import _compile

package = os.path.dirname(os.path.realpath(fovea.__file__))
assert package.startswith(os.path.realpath("environment") + os.sep), package
headers = _compile.find_headers()
assert headers.samefile(os.path.join(package, "include"))
unit = "#include <fovea/fovea.hpp>\n#include <fovea/bindings/gradient_unit.hpp>\n"
command = [*_compile.find_compiler(), "-std=c++20", "-march=native", f"-I{headers}", "-M", "-x", "c++", "-"]
included = subprocess.run(command, input=unit, capture_output=True, text=True, check=True).stdout
for path in re.findall(r"(?:\\ |\S)+/(?:boost|xsimd|fovea)/\S+", included):
    assert os.path.realpath(path.replace("\\ ", " ")).startswith(package), path

q, k, v = np.random.default_rng(1).standard_normal((3, 2, 4, 9, 5), dtype=np.float32)
slopes, behind = np.float32([0.5, 0.25, 0.1, 0.01]), np.arange(9)[:, None] - np.arange(9)


def plain_loops(score, seen):
    weights = np.where(seen, np.exp(score), 0)
    return weights / weights.sum(-1, keepdims=True) @ v


scores = q @ k.swapaxes(-1, -2) / np.sqrt(np.float32(5))
biased = scores - slopes[:, None, None] * behind
if sys.argv[1] == "ready":
    of_heads = slopes
    found = fovea.kernel(fovea.scaled_dot | fovea.alibi(of_heads) | fovea.causal | fovea.softmax)
    window = fovea.kernel(fovea.scaled_dot | fovea.causal | fovea.sliding_window(2, 0) | fovea.softmax)
    assert np.allclose(found(q, k, v), plain_loops(biased, behind >= 0), atol=1e-5)
    assert np.allclose(window(q, k, v), plain_loops(scores, (behind >= 0) & (behind <= 2)), atol=1e-5)
    assert np.allclose(fovea.attend(q, k, v, "causal"), plain_loops(scores, behind >= 0), atol=1e-5)
    assert not os.path.exists(os.environ["FOVEA_CACHE"]), "what is ready was compiled"

    @fovea.kernel
    def compiled(score, i, j, head):
        return score - slopes[head] * abs(i - j) | fovea.where(j <= i) | fovea.softmax

    assert np.allclose(compiled(q, k, v), plain_loops(biased, behind >= 0), atol=1e-5)
    assert list(_compile.cache_folder().glob("*.so"))
    with open("calls") as calls:
        assert len(list(calls)) == 2, "what is the same in all units did not fit"
print("called from", package)
END
printf '#!/bin/sh\necho called >>calls\nexec %s "$@"\n' "${CXX:-c++}" >compiler
chmod +x compiler
CXX=./compiler environment/bin/python program.py "$KERNELS"
[ "$KERNELS" = none ] || environment/bin/python "$ROOT/python/tests/ready_values.py"
