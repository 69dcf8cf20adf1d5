// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification for part of a sequence gives for it what the whole one gives.
#include <fovea/fovea.hpp>
#include <fovea/spec/part/of_part.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

template <class T>
view<T, 4> some(view<T, 4> const& all, index_t first, index_t count) {
    return {all.place(index_t{0}, index_t{0}, first, index_t{0}),
            {all.extent(0), all.extent(1), count, all.extent(3)},
            all.strides};
}

}  // namespace

TEST_CASE("indices and lengths are those of the whole sequence", "[spec]") {
    testing::dice random{8};
    auto const q = testing::random_tensor<float>(random, extents_t<4>{2, 2, 40, 6});
    auto const k = testing::random_tensor<float>(random, extents_t<4>{2, 2, 50, 6});
    auto const v = testing::random_tensor<float>(random, extents_t<4>{2, 2, 50, 3});
    auto const table = testing::random_tensor<float>(random, extents_t<2>{40, 50});
    auto const slopes = alibi_slopes(2);
    auto const scores = scaled_dot | bias(table) | alibi(slopes) | causal_at_end;
    // Expressions of q_idx after the heads, of the rows that a normalizer weighs, and of both lengths.
    auto const spec =
        scores | softmax_with_sink(q_idx / 20.0 - kv_len / 50.0) | weighted_sum | map(out * (q_idx + q_len));
    tensor<float, 4> whole({2, 2, 40, 3}), part({2, 2, 40, 3});
    reference::attend(spec, q, k, v, whole);
    for (index_t first : {0, 7, 31})
        reference::attend(of_part(spec, {first, 0, 40, 50}), some(q.view(), first, first == 31 ? 9 : 24), k, v,
                          some(part.view(), first, first == 31 ? 9 : 24));
    CHECK(part.elements == whole.elements);

    // A part of the keys is what a mask leaves that shows no others.
    auto const late = scores | where(kv_idx >= 17) | unnormalized | weighted_sum;
    reference::attend(late, q, k, v, whole);
    reference::attend(of_part(scores | unnormalized | weighted_sum, {0, 17, 40, 50}), q, some(k.view(), 17, 33),
                      some(v.view(), 17, 33), part);
    for (std::size_t i = 0; i < whole.elements.size(); ++i)
        CHECK(part.elements[i] == Approx(whole.elements[i]).margin(1e-5));
}
