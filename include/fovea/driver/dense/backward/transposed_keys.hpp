// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys of one head as a gradient adds them up for its queries.
#pragma once

#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/dense/head_rows.hpp>
#include <fovea/driver/dense/query_lanes_products.hpp>

namespace fovea::FOVEA_SET::driver {

/// Keys stand for values in dQ^T += K^T dS^T: as they are read for scores.
template <class Shape>
class transposed_keys {
public:
    transposed_keys(score_call<Shape> const&, arena&) {}
    void begin(head_group) {}
    template <class Rows>
    static auto run(Rows const&, head_keys<Shape> const& keys, index_t position, index_t count) {
        return keys(position, count);
    }
};

/// Packed as values are for a product that packs them, block by block, when a block is first asked for.
template <class Shape>
    requires(Shape::queries_in_lanes && Shape::packs_values)
class transposed_keys<Shape> : public head_rows<Shape> {
    using base = head_rows<Shape>;
    using product = lane_products_of<Shape>;

public:
    transposed_keys(score_call<Shape> const& call, arena& memory) : base(call, call.key, memory, wanted(call)) {}

    template <class Rows>
    row_run<typename base::element> run(Rows const& rows, head_keys<Shape> const&, index_t position, index_t count) {
        index_t const block = position / Shape::block_keys;
        row_lines read;  // with the keys of scores
        if (this->put(block, read)) {
            auto const all = this->range(block);
            product::pack_values(row_addresses<Rows, Shape::block_keys>(rows, all), all.last - all.first,
                                 rows.extent(3), this->copies(block));
        }
        return (*this)(position, count);
    }

private:
    static typename base::memory_for wanted(score_call<Shape> const& call) {
        index_t const stride = base::copied_stride(call.features, Shape::parts::value),
                      elements = Shape::block_keys * stride / base::elements_per_number;
        return {elements, base::kept(call, elements), stride, 0};
    }
};
}  // namespace fovea::FOVEA_SET::driver
