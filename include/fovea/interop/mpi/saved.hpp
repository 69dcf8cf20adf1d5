// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// save(state) over ranks: each keeps what its own rows leave for their gradient.
#pragma once

#include <fovea/driver/copy_rows.hpp>
#include <fovea/spec/saved_rows.hpp>

#include <string_view>
#include <tuple>

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
    kept_statistics of_sequence(auto const& at) const {
        auto const some = [&](view<T, 3> rows) {
            rows.data += at.first_query;
            rows.extents[2] = at.queries;
            return rows;
        };
        return {some(max), some(sum)};
    }
};

template <class Asked>
inline constexpr bool is_save = false;
template <class T>
inline constexpr bool is_save<save_output<T>> = true;

/// The outputs of a call as parts of it write them.
template <class Asked>
auto in_parts(Asked const& asked) {
    if constexpr (is_save<Asked>) return kept_statistics{asked.state->rows().max, asked.state->rows().sum};
    else return asked;
}
template <class... Asked>
auto outputs_in_parts(std::tuple<Asked...> const& asked) {
    return std::apply([](auto const&... each) { return std::tuple(in_parts(each)...); }, asked);
}
/// After the attention on heads, with its result: saved rows are complete.
template <class Executor, class Rows, class... Asked>
void finish_saved(Executor const& executor, std::tuple<Asked...> const& asked, Rows const& result) {
    [[maybe_unused]] auto const finish = [&](auto const& each) {
        if constexpr (is_save<std::remove_cvref_t<decltype(each)>>) {
            driver::copy_rows(executor, result, each.state->rows().result);
            each.state->complete_queries(result.extent(2));
        }
    };
    std::apply([&](auto const&... each) { (finish(each), ...); }, asked);
}

}  // namespace fovea::FOVEA_SET::mpi::detail
