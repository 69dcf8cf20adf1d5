// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything: the language, the words, the engine and the definition it is held against.
#pragma once

#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/map.hpp>
#include <fovea/aggregate/mean_heads.hpp>
#include <fovea/aggregate/output.hpp>
#include <fovea/aggregate/residual.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/graph.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/core/view.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/driver/explain.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/causal_at_end.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/project/as_is.hpp>
#include <fovea/project/linear.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/additive.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/cosine.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/gat_score.hpp>
#include <fovea/score/gatv2_score.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>
