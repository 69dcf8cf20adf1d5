// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that calls read: views, tensors, tables, pages, graphs, and numbers drawn for each pair.
#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>

#include "docs/support.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

void views() {
    //! [view]
    std::vector<float> numbers(2 * 3 * 4);
    view const rows(numbers, {6, 4});                                      // (position, feature) over a container
    view const heads(numbers.data(), {2, 3, 4});                           // a pointer and extents
    view const steps(numbers.data(), {3, 2, 4}, {4, 3 * 4, 1});            // the same with the first axes swapped
    view<float const, 2> const same_row(numbers.data(), {6, 4}, {0, 1});   // one row for all positions: stride 0

    heads(1, 2, 3) = 5;
    require(rows(5, 3) == 5 && steps(2, 1, 3) == 5, "views share elements");
    require(rows.size() == 24 && rows.extent(1) == 4 && steps.stride(0) == 4, "extents and strides count elements");
    //! [view]
    require(same_row(4, 0) == numbers[0], "a stride of 0 repeats");
    bool refused = false;
    try {
        view<float, 2>(numbers.data(), {4, 6}, {1, 4});
    } catch (shape_error const& error) {
        refused = error.what()
               == std::string("view: the last axis must be contiguous, its stride is 4 and must be 1: copy the elements");
    }
    require(refused, "the last axis is contiguous");
}

void tensors() {
    //! [tensor]
    tensor<float, 2> x({3, 2}, 0.5f);  // extents, and what all elements are; 0 without it
    x.elements = {1, 2, 3, 4, 5, 6};   // a std::vector in C order
    x(2, 1) = 60;
    require(x(1, 0) == 3 && x.elements[5] == 60 && x.size() == 6, "elements lie in C order");

    float sum = 0;
    for (float const element : x) sum += element;
    view<float, 2> const seen = x;  // or x.view()
    require(sum == 75 && &seen(0, 0) == x.data(), "a tensor gives a view of itself");
    //! [tensor]
}

void parameters() {
    tensor<float, 4> const x({1, 2, 3, 4});
    tensor<float, 4> y(x.extents), w({1, 2, 3, 3});
    //! [param]
    std::vector<float> slopes{1, 0};                  // (head)
    tensor<std::int32_t, 2> const bucket({3, 3}, 1);  // (query, key)
    float const scale = 2;
    auto const spec = dot
                    | rescore(param(scale) * score + param(slopes)[head] * param(bucket)(q_idx, kv_idx) * kv_idx)
                    | softmax | weighted_sum;
    attend(spec, x, x, x, y, weights(w));
    slopes[0] = 0;  // the next call sees it: param keeps a view
    attend(spec, x, x, x, y, weights(w));
    //! [param]
    require(is_near(w(0, 0, 0, 2), 1.0 / 3), "without a slope all keys weigh the same");
    slopes[0] = 1;
    attend(spec, x, x, x, y, weights(w));
    require(is_near(w(0, 0, 0, 2) / w(0, 0, 0, 1), std::exp(1)), "a slope of 1 is a factor of e from key to key");
}

void bits() {
    tensor<float, 2> const x({3, 2}, 1);
    tensor<float, 2> result({3, 2}), shares({3, 3});
    //! [packed_bits]
    std::vector<std::uint8_t> const bytes{0b10111101, 1};  // 101, 111 and 011, the least bit first
    auto const visible = packed_bits(bytes, {3, 3});       // (query, key)
    attend(dot | mask_tensor(visible) | softmax | weighted_sum, x, result, weights(shares));

    tensor<std::uint8_t, 2> rows({3, 1}, 0b101);  // each row begins in a byte
    auto const as_well = where(param(packed_bits(rows, 3))(q_idx, kv_idx) || q_idx == kv_idx);
    //! [packed_bits]
    require(!visible(2, 0) && visible(2, 2) && is_near(shares(2, 1), 0.5) && shares(0, 1) == 0, "a bit for each pair");
    require(!bound(as_well.predicate(), box{0, 0, 0, 1, 3, 3}).may_hold, "key 1 is hidden from query 0");
}

void pages() {
    tensor<float, 4> const query({1, 2, 1, 4}, 1);
    tensor<float, 4> result({1, 2, 1, 4});
    //! [paged]
    tensor<float, 4> key_pages({8, 2, 16, 4}), value_pages({8, 2, 16, 4});  // (page, head, slot, feature)
    tensor<std::int32_t, 2> table({1, 3}, -1);                              // (batch, pages): -1 is not there yet
    table(0, 0) = 5;                                                        // positions 0 ... 15 are in page 5,
    table(0, 1) = 2;                                                        // 16 ... 31 in page 2
    std::vector<int> const lengths{20};                                     // of which 20 positions are filled
    value_pages(2, 0, 3, 0) = 20;                                           // position 19 of head 0

    auto const decode = scaled_dot | key_lengths(lengths) | softmax | weighted_sum;
    attend(decode, query, paged(key_pages, table), paged(value_pages, table), result);
    //! [paged]
    require(is_near(result(0, 0, 0, 0), 1), "a twentieth of the last value");
}

//! [own_source]
/// Rows of which only the signs are stored, with one size for all.
struct signs {
    using value_type = float;
    view<std::uint8_t const, 4> bits;  // (batch, head, position, feature / 8)
    float size;
    extents_t<4> extents{bits.extent(0), bits.extent(1), bits.extent(2), 8 * bits.extent(3)};

    index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    float operator()(index_t b, index_t h, index_t n, index_t c) const {
        return bits(b, h, n, c / 8) >> c % 8 & 1 ? -size : size;
    }
    void load(row_range const& rows, auto* to, index_t stride) const {  // (rows, stride)
        for (index_t n = rows.first; n < rows.last; ++n, to += stride)
            for (index_t c = 0; c < extents[3]; ++c) to[c] = (*this)(rows.batch, rows.head, n, c);
    }
    bool finite(row_range const&) const { return true; }
    void for_each_array(auto const& visit) const { visit(bits, "'s bits"); }
};
//! [own_source]

void loaded_sources() {
    constexpr auto spec = scaled_dot | softmax | weighted_sum;
    tensor<float, 4> const query({1, 2, 1, 64}, 1), values({1, 2, 20, 4}, 5);
    tensor<float, 4> result({1, 2, 1, 4});
    //! [block_scaled]
    tensor<std::int8_t, 4> const keys({1, 2, 20, 64}, 3);     // (batch, head, position, feature)
    tensor<float, 4> const key_scales({1, 2, 20, 2}, 0.25f);  // (batch, head, position, block): blocks of 32 features
    attend(spec, query, block_scaled(keys, key_scales), values, result);
    //! [block_scaled]
    require(is_near(result(0, 0, 0, 0), 5), "all keys weigh the same");
    tensor<float, 4> const rows({1, 2, 20, 64}, 0.5f);
    tensor<std::int8_t, 4> calibrated({1, 2, 20, 64});
    //! [stored]
    tensor<std::uint8_t, 4> integers({1, 2, 20, 64});
    tensor<float, 4> scales({1, 2, 20, 1}), zeros({1, 2, 20, 1});         // of each position
    store(integers.view(), scales.view(), zeros.view(), rows.view(), 0);  // rows of float, from position 0 on
    attend(spec, query, block_scaled(integers, scales, zeros), values, result);

    tensor<float, 4> const of_channels({1, 2, 1, 64}, 0.01f);      // of each head and feature
    store(calibrated.view(), of_channels.view(), rows.view(), 0);  // with these scales
    //! [stored]
    require(is_near(block_scaled(integers, scales, zeros)(0, 1, 7, 63), 0.5f), "rows of equal numbers have no error");
    require(is_near(block_scaled(calibrated, of_channels)(0, 1, 7, 63), 0.5f), "50 steps of 0.01");
    //! [quantized]
    std::vector<q8_0> memory(2 * 20 * 2);
    view<q8_0, 4> const cache(memory.data(), {1, 2, 20, 2});  // (batch, head, position, block of 32 features)
    store(cache, rows.view(), 0);                             // rows of float, from position 0 on
    attend(spec, query, quantized(cache), values, result);
    //! [quantized]
    require(std::abs(quantized(cache)(0, 1, 7, 63) - 0.5f) <= 0.5f / 2048, "equal numbers have the error of their scale");
    tensor<std::uint8_t, 4> bits({1, 2, 20, 8}, 255);
    bits(0, 1, 7, 0) = bits(0, 1, 7, 3) = 0;  // of key 7 some signs are positive
    tensor<float, 4> weighed({1, 2, 1, 20});
    attend(spec, query, signs{bits, 0.5f}, values, result, weights(weighed));
    require(is_near(weighed(0, 1, 0, 7) / weighed(0, 1, 0, 6), std::exp(2)), "16 of 64 features are larger by 1, and the root of 64 is 8");
}

void graphs() {
    tensor<float, 2> const x({3, 4});
    tensor<float, 2> y({3, 4}), w({3, 3});
    //! [graph]
    std::vector<graph::edge> const edges{{2, 0}, {0, 1}, {2, 1}};  // {who looks, at whom}
    std::vector<float> const lengths{0, 7, std::log(3.f)};         // one number for each edge, in their order
    graph const roads(3, edges);
    auto const spec = dot | rescore(score + param(lengths)[edge]) | neighbors(roads) | softmax | weighted_sum;
    attend(spec, x, y, weights(w));
    // node 2 looks at node 0 by edge 0 and at node 1 by edge 2: its weights are 1/4, 3/4, 0; node 1 looks at nobody
    //! [graph]
    require(is_near(w(2, 0), 0.25) && is_near(w(2, 1), 0.75) && w(2, 2) == 0 && w(1, 0) == 0, "edges are numbered");

    //! [rows]
    std::array<index_t, 4> const offsets{0, 1, 1, 3};  // the same as compressed sparse rows, which are kept as views
    std::array<std::int32_t, 3> const keys{1, 0, 1};
    std::array<index_t, 3> const numbers{1, 0, 2};     // the number of each edge; without it, its place in keys
    graph_view const rows{offsets, keys, numbers};
    attend(dot | rescore(score + param(lengths)[edge]) | neighbors(rows) | softmax | weighted_sum, x, y, weights(w));
    //! [rows]
    require(is_near(w(2, 0), 0.25) && is_near(w(2, 1), 0.75) && w(0, 1) == 1, "numbers are those of the edges");
}

void drawn_numbers() {
    tensor<float, 3> const x({2, 50, 8}, 0.1f);
    tensor<float, 3> first(x.extents), second(x.extents);
    tensor<float, 3> w({2, 50, 50});
    index_t const seed = 42;
    //! [random]
    float const rate = 0.25f;
    auto const dropped = scaled_dot | softmax
                       | reweight(weight * select(random(seed) < rate, 0, 1 / (1 - rate)))  // dropout
                       | weighted_sum;
    attend(dropped, x, first);
    attend(threads(3), dropped, x, second);
    require(first.elements == second.elements, "the same numbers, however the work is divided");
    //! [random]
    attend(dropped, x, first, weights(w));
    index_t zeros = 0;
    for (float const weight : w) zeros += weight == 0;
    require(std::abs(static_cast<double>(zeros) / 5000 - 0.25) < 0.03, "a quarter is dropped");
}

void kernels() {
    tensor<float, 3> const x({2, 5, 4});
    tensor<float, 3> y(x.extents);
    //! [takes]
    auto const biased = takes<"slopes(heads), window">([](view<float const, 1> slopes, index_t window) {
        return scaled_dot | alibi(slopes) | where(q_idx - kv_idx < window) | causal | softmax | weighted_sum;
    });
    std::vector<float> const slopes{1};
    attend(biased.make(view(slopes, {1}), 3), x, y);  // in C++ it is a function that makes a specification
    //! [takes]
}

}  // namespace

int main() {
    views();
    tensors();
    parameters();
    bits();
    pages();
    loaded_sources();
    graphs();
    drawn_numbers();
    kernels();
}
