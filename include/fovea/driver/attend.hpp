// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points: check the shapes, lower the specification, run the traversal that its mask calls for.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/driver/dense.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/shapes.hpp>
