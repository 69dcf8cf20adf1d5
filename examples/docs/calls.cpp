// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls: their forms, layouts, threads and memory, and what else they can tell.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "docs/support.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr auto sdpa = scaled_dot | softmax | weighted_sum;

template <std::size_t Rank>
auto random_tensor(unsigned seed, std::array<index_t, Rank> const& extents) {
    testing::dice dice(seed);
    return testing::random_tensor<float>(dice, extents);
}

void forms() {
    auto const query = random_tensor(1, extents_t<3>{2, 5, 16}), key = random_tensor(2, extents_t<3>{2, 9, 16}),
               value = random_tensor(3, extents_t<3>{2, 9, 4}), x = random_tensor(4, extents_t<3>{2, 5, 16}),
               context = random_tensor(5, extents_t<3>{2, 9, 16});
    tensor<float, 3> result({2, 5, 4}), y({2, 5, 16}), z({2, 5, 16}), same({2, 5, 16});
    //! [forms]
    attend(sdpa, query, key, value, result);       // sources of their own
    attend(sdpa, x, y);                            // self-attention: x is query, key and value
    attend(sdpa, queries(x), memory(context), z);  // cross attention: keys and values come from the context
    //! [forms]
    attend(sdpa, x, x, x, same);
    require(y.elements == same.elements, "self-attention takes one source thrice");
    attend(sdpa, x, context, context, same);
    require(z.elements == same.elements, "memory is key and value");
}

void layouts() {
    auto const q = random_tensor(1, extents_t<4>{2, 7, 3, 8}), k = random_tensor(2, extents_t<4>{2, 7, 3, 8}),
               v = random_tensor(3, extents_t<4>{2, 7, 3, 8});
    tensor<float, 4> out({2, 7, 3, 8}), expected({2, 3, 7, 8});
    auto const swapped = [](tensor<float, 4> const& t) {
        tensor<float, 4> s({2, 3, 7, 8});
        for (index_t b = 0; b < 2; ++b)
            for (index_t n = 0; n < 7; ++n)
                for (index_t h = 0; h < 3; ++h)
                    for (index_t c = 0; c < 8; ++c) s(b, h, n, c) = t(b, n, h, c);
        return s;
    };
    //! [layout]
    // (batch, position, head, feature) in memory, as many frameworks have it: another order of strides.
    auto const heads_first = []<class T>(T* data) {
        return view<T, 4>(data, {2, 3, 7, 8}, {7 * 3 * 8, 8, 3 * 8, 1});
    };
    attend(sdpa, heads_first(q.data()), heads_first(k.data()), heads_first(v.data()), heads_first(out.data()));
    //! [layout]
    attend(sdpa, swapped(q), swapped(k), swapped(v), expected);
    require(are_near(swapped(out), expected), "the order of axes is a matter of strides");
}

void outputs() {
    //! [outputs]
    tensor<float, 2> query({1, 1}, 1), key({3, 1}), value({3, 1}, 1), result({1, 1});
    key.elements = {0, std::log(3.f), 9};
    tensor<float, 1> log_sum({1});
    tensor<float, 2> shares({1, 3}), products({1, 3});
    attend(dot | where(kv_idx < 2) | softmax | weighted_sum, query, key, value, result,
           lse(log_sum), weights(shares), scores(products));
    // the first two keys are seen: shares 1/4, 3/4, 0; log_sum log(1 + 3); products 0, log 3, -inf
    //! [outputs]
    require(is_near(shares(0, 0), 0.25) && is_near(shares(0, 1), 0.75) && shares(0, 2) == 0, "weights");
    require(is_near(log_sum(0), std::log(4)), "lse");
    require(is_near(products(0, 1), std::log(3)) && products(0, 2) == -INFINITY, "scores");
}

void executors() {
    auto const query = random_tensor(1, extents_t<4>{2, 4, 100, 32}), key = random_tensor(2, extents_t<4>{2, 4, 90, 32}),
               value = random_tensor(3, extents_t<4>{2, 4, 90, 32});
    tensor<float, 4> result({2, 4, 100, 32}), alone({2, 4, 100, 32});
    //! [threads]
    workspace scratch;                       // one for each of your threads that calls
    for (int step = 0; step < 3; ++step)     // the third call allocates nothing
        attend(threads(4), scratch, sdpa, query, key, value, result);
    attend(sdpa, query, key, value, alone);  // in the calling thread
    require(result.elements == alone.elements, "the bits do not depend on the number of threads");
    //! [threads]
}

void definition() {
    auto const x = random_tensor(1, extents_t<3>{2, 20, 8});
    tensor<float, 3> result({2, 20, 8}), expected({2, 20, 8});
    //! [reference]
    attend(sdpa, x, result);
    reference::attend(sdpa, x, expected);  // in double, every weight written out
    require(are_near(result, expected), "the fused loop agrees with the definition");
    //! [reference]
}

void explained() {
    //! [explain]
    tensor<float, 4> const x({1, 8, 1024, 64});
    std::string const here = explain(sdpa, x, x, x);               // for the instruction set of this program
    std::string const there = explain<arch::avx2>(sdpa, x, x, x);  // for another one
    //! [explain]
    require(here.find("attention   scaled_dot | softmax | weighted_sum\n") == 0, "explain begins with the words");
    require(there.find("on avx2, 8 x float32") != std::string::npos, "explain names the instruction set");
}

void sharing_heads() {
    auto const Wq = random_tensor(1, extents_t<2>{12, 32}), Wk = random_tensor(2, extents_t<2>{12, 16}),
               Wv = random_tensor(3, extents_t<2>{12, 16});
    auto const x = random_tensor(4, extents_t<3>{1, 6, 12});
    tensor<float, 3> y({1, 6, 32});
    tensor<float, 4> shares({1, 4, 6, 6});
    //! [heads]
    // 4 query heads of 8 features: Wq is (12, 32). 2 key/value heads of 8: Wk and Wv are (12, 16).
    auto const grouped = project(Wq, Wk, Wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum;
    attend(grouped, x, y, weights(shares));  // y is (1, 6, 32), heads side by side; shares (1, 4, 6, 6)
    //! [heads]
    tensor<float, 3> expected({1, 6, 32});
    reference::attend(grouped, x, expected);
    require(are_near(y, expected), "grouped-query attention agrees with the definition");
}

}  // namespace

int main() {
    forms();
    layouts();
    outputs();
    executors();
    definition();
    explained();
    sharing_heads();
}
