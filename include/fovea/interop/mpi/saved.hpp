// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the rows of a rank leave for their gradient, where no call has saved it.
#pragma once

#include <fovea/spec/call/saved_rows.hpp>

#include <string_view>

namespace fovea::FOVEA_SET::mpi::detail {

/// The maxima and sums of the rows of a rank, as an output of which each run of its positions has a part.
template <class T>
struct kept_statistics {
    using output_tag = void;
    static constexpr std::string_view name = "save";
    view<T, 3> max, sum;  // (batch, head, query)

    struct bound {
        view<T, 3> target, sums;
        void row_state(row_place const& at, auto m, auto l) const {
            target(at.batch, at.head, at.query) = static_cast<T>(m);
            sums(at.batch, at.head, at.query) = static_cast<T>(l);
        }
    };
    template <class Shapes>
    bound bind(Shapes const&) const {
        return {max, sum};
    }
};

}  // namespace fovea::FOVEA_SET::mpi::detail
