// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/row_run.hpp>
#include <fovea/testing/random.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace fovea::FOVEA_SET::testing {

/// check_source: the laws of a source of rows of one's own (loaded_rows): what it loads are its numbers, wherever rows
/// begin and whatever the stride, nothing is written beside them, and finite says whether they are.
///
/// Errors: law_broken naming the law and the row.
template <loaded_rows Source>
void check_source(Source const& source, unsigned seed = 1) {
    dice random(seed);
    auto const at = [](index_t b, index_t h, index_t n) {
        return "batch " + std::to_string(b) + ", head " + std::to_string(h) + ", position " + std::to_string(n);
    };
    auto const [batches, heads, positions, features] = source.extents;
    if (batches == 0 || heads == 0 || positions == 0) return;
    for (int round = 0; round < 64; ++round) {
        index_t const b = random.between(0, batches - 1), h = random.between(0, heads - 1),
                      first = random.between(0, positions - 1), last = random.between(first + 1, positions),
                      stride = features + random.between(0, 9);
        row_range const rows{b, h, first, last};
        float const untouched = -12345.5f;
        std::vector<float> loaded(static_cast<std::size_t>((last - first) * stride + 8), untouched);
        source.load(rows, loaded.data(), stride);
        bool finite = true;
        for (index_t i = 0; i < static_cast<index_t>(loaded.size()); ++i) {
            index_t const n = stride == 0 ? last : first + i / stride, c = stride == 0 ? 0 : i % stride;
            float const got = loaded[static_cast<std::size_t>(i)];
            if (n >= last || c >= features) {
                if (got != untouched)
                    raise_error(law_broken("load writes beside its rows, after " + at(b, h, std::min(n, last - 1))));
                continue;
            }
            auto const number = static_cast<float>(source(b, h, n, c));
            finite = finite && std::isfinite(number);
            if (got != number && !(std::isnan(got) && std::isnan(number)))
                raise_error(law_broken("load gives " + std::to_string(got) + " at " + at(b, h, n) + ", feature "
                                       + std::to_string(c) + ", where the source has " + std::to_string(number)));
        }
        if (static_cast<bool>(source.finite(rows)) != finite)
            raise_error(law_broken("finite is wrong from " + at(b, h, first) + " on"));
    }
}

}  // namespace fovea::FOVEA_SET::testing

#include <fovea/core/epilogue.hpp>
