// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of every part of an attention, for one's own words as for those of the library.
#pragma once

#include <fovea/testing/aggregator_laws.hpp>
#include <fovea/testing/mask_laws.hpp>
#include <fovea/testing/normalizer_laws.hpp>
#include <fovea/testing/score_laws.hpp>
#include <fovea/testing/selection_laws.hpp>
