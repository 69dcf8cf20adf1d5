// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys as integers whose scales repeat along some axes, values of 8 bits.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

using namespace fovea;

namespace {

/// The numbers that integers and scales stand for.
tensor<float, 4> scaled(view<std::int8_t const, 4> const& integers, view<float const, 4> const& scales) {
    tensor<float, 4> numbers(integers.extents);
    auto const along = [&](int axis, index_t i) { return scales.extent(axis) == 1 ? index_t{0} : i; };
    for (index_t b = 0; b < integers.extent(0); ++b)
        for (index_t h = 0; h < integers.extent(1); ++h)
            for (index_t n = 0; n < integers.extent(2); ++n)
                for (index_t c = 0; c < integers.extent(3); ++c)
                    numbers(b, h, n, c) =
                        static_cast<float>(integers(b, h, n, c))
                        * scales(along(0, b), along(1, h), along(2, n), c * scales.extent(3) / integers.extent(3));
    return numbers;
}

}  // namespace

void fuzz::formats(bytes& in) {
    memory all(in);
    sizes const n(in);
    auto const q = all.read<float>("query", n.batches, n.heads, n.queries, n.features);
    auto const integers = all.read<std::int8_t>("key's integers", n.batches, n.key_heads, n.keys, n.features);
    auto const repeats = in.byte();
    auto const extent = [&](int axis, index_t whole) { return repeats >> axis & 1 ? index_t{1} : whole; };
    auto const scales = all.table<float>("key's scales", extent(0, n.batches), extent(1, n.key_heads),
                                         extent(2, n.keys), extent(3, n.features));
    if (integers.empty() && all.is_refused()) return;  // scales of no integers may be missing
    auto const v = all.read<fp8_e4m3>("value", n.batches, n.key_heads, n.keys, n.value_features);
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    for (std::size_t axis = 0; axis < 3; ++axis)
        all.must_refuse(scales.extents[axis] != integers.extents[axis] && scales.extents[axis] != 1,
                        "the scales do not fit the integers");
    if (integers.extent(3) > 0 && scales.extent(3) >= 0)
        all.must_refuse(scales.extent(3) == 0 || integers.extent(3) % scales.extent(3) != 0,
                        "features are no multiple of scales");
    judge_operands(all, q.extents, integers.extents, v.extents, result.extents);
    if (!all.is_refused() && is_long(q.extents, integers.extents, v.extents)) return;

    constexpr auto spec = dot | causal_at_end | softmax | weighted_sum;
    all.settle();
    tensor<float, 4> q_copy, keys;
    tensor<fp8_e4m3, 4> v_copy;
    bool const compared = !all.is_refused() && all.is_comparable();
    if (compared) q_copy = memory::copy(q), keys = scaled(integers, scales), v_copy = memory::copy(v);
    if (!all.call([&] { attend(spec, q, block_scaled(integers, scales), v, result); }) || !compared) return;
    tensor<double, 4> expected(result.extents);
    tensor<float, 4> plain(result.extents);
    reference::attend_in<double>(spec, q_copy, keys, v_copy, expected);
    reference::attend_in<float>(spec, q_copy, keys, v_copy, plain);
    all.expect("result", result, expected, plain);
}
