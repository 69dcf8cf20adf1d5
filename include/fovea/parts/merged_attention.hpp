// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some queries of a sequence against keys of it that come piece by piece, where nothing can be carried into a piece:
// each piece is computed by itself, and merged with those before it.
#pragma once

#include <fovea/parts/partial_rows.hpp>

#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// What parts/piecewise.hpp has, by partial results: 0 is that of all pieces so far, 1 that of the last one.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class merged_attention {
    using rows_type = partial_rows<T, Arch, A, Q, K, V, Out, Asked...>;

public:
    using call = typename rows_type::call;

    merged_attention(A const& a, operand_shapes const& whole, view<Q const, 4> const& query, view<Out, 4> const& out,
                     std::tuple<Asked...> const& asked, std::vector<position_run> const& runs, index_t longest)
        : out_(out), asked_(asked), rows_(a, whole, query, runs, longest) {}

    template <class Executor>
    void take(Executor const& executor, workspace& scratch, index_t first, view<K const, 4> const& key,
              view<V const, 4> const& value) {
        begin(scratch);
        if (key.extent(2) == 0) return;
        std::vector<position_run> const piece{{first, key.extent(2), 0}};
        for (std::size_t i = 0; i < rows_.runs().size(); ++i) {
            if (!rows_.sees(rows_.runs()[i], piece.front())) continue;
            rows_.compute(executor, scratch, i, piece, key, value, 1);
            rows_.merge(executor, scratch, {{0, 1}}, i, i + 1);
        }
    }

    template <class Executor>
    void finish(Executor const& executor, workspace& scratch) {
        begin(scratch);
        rows_.finish(executor, scratch, out_, asked_);
    }

private:
    void begin(workspace& scratch) {
        if (begun_) return;
        begun_ = true;
        rows_.make_room(scratch.shared(), 2);
        rows_.clear();
    }

    view<Out, 4> out_;
    std::tuple<Asked...> asked_;
    rows_type rows_;
    bool begun_ = false;
};

}  // namespace fovea::FOVEA_SET::driver
