// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which blocks of values are finite, determined on first use.
#pragma once

#include <fovea/driver/dense/dense_rows.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Whether the values of each block of keys of one head are all finite: then 0 times a value is 0. Found when it is
/// first asked and remembered for the tiles that follow. `Call`: a dense_rows with the functions of its sums.
template <class Call>
class finite_blocks {
public:
    finite_blocks(Call const& call, arena& memory, index_t blocks)
        : call_(call), blocks_(blocks), finite_(memory.take<answer>(blocks)) {}

    /// Another head: nothing is known yet.
    void begin() { std::fill_n(finite_, blocks_, answer::unknown); }

    /// `values` are the rows of the block.
    bool operator()(index_t block, row_range const& values) const {
        auto& known = finite_[block];
        if (known == answer::unknown) known = call_.sums.all_finite(call_, values) ? answer::yes : answer::no;
        return known == answer::yes;
    }

private:
    enum class answer : char { unknown, no, yes };

    Call const& call_;
    index_t blocks_;
    answer* finite_;  // (blocks)
};

}  // namespace fovea::FOVEA_SET::driver
