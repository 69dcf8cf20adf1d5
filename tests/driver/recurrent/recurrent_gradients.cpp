// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// The gradients of running states in sweeps are those of the definition, with the same bits in any number of threads.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/layer_gradients.hpp"
#include "support/recurrent.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace layer_gradients;

namespace {

constexpr auto positive = feature_map(elu(q) + 1);

/// The worst difference of all gradients, at sizes around those of vectors, panels and runs of steps.
template <class T, class Check>
void at_sizes(Check const& check) {
    for (auto const& n : odd_recurrent_sizes()) {
        if (n.queries == 0) continue;
        CAPTURE(n.heads, n.key_heads, n.queries, n.features, n.value_features);
        recurrent_call<T> call(n, 7);
        testing::dice dice(8);
        tensor<T, 4> const d = testing::random_tensor<T>(dice, call.result());
        auto const through = [&](auto const& spec, auto const&... tables) {
            return worst<T>(threads(2), spec, std::tuple(call.q.elements, call.k.elements, call.v.elements, d.view()),
                            call.q.elements, call.k.elements, call.v.elements, tables...);
        };
        check(through, call, sizeof(T) == 4 ? 5e-5 : 1e-12);
    }
}

}  // namespace

TEST_CASE("gradients of a layer around a running state reach its tables, with the same bits in any number of threads",
          "[driver]") {
    arrays<float> random;
    index_t const n = 75, m = 10;
    auto const x = random(index_t{2}, n, m), d = random(index_t{2}, n, m);
    auto const wq = random(m, index_t{12}), wk = random(m, index_t{6}), wo = random(index_t{12}, m);
    auto const factors = random(index_t{3});
    auto decay = random(index_t{2});
    for (auto& each : decay.elements) each = -std::abs(each);
    auto const layer = project(wq, wk, wk, heads<4, 2>) | compare(sum(q * tanh(k) * param(factors))) | causal
                     | unnormalized | running_state | gated(decay) | output(wo) | residual;
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x, wq, wk, wo) < 2e-5);
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), factors, decay) < 2e-5);
    auto const bits = [&](int count) {
        return gradients_of<float>([&](auto... asked) { gradient(threads(count), layer, x, d, asked...); }, x, wk,
                                   factors, decay);
    };
    auto const one = bits(1), five = bits(5);
    CHECK(std::get<0>(one).elements == std::get<0>(five).elements);
    CHECK(std::get<1>(one).elements == std::get<1>(five).elements);
    CHECK(std::get<2>(one).elements == std::get<2>(five).elements);
    CHECK(std::get<3>(one).elements == std::get<3>(five).elements);
}

TEST_CASE("gradients of running states take bfloat16, and queries that have no key", "[driver]") {
    arrays<bfloat16> random;
    index_t const n = 21;
    auto const x = random(n, index_t{6}), w = random(index_t{6}, index_t{8});
    auto const d = arrays<float>()(n, index_t{8});
    auto const scores = project(w, w, w, heads<2>) | feature_map(exp(q)) | causal | proportional | running_state;
    CHECK(worst<float>(serial, scores | gated(-0.2f), std::tuple(x.view(), d.view()), x, w) < 1e-5);

    auto const query = random(index_t{3}, index_t{4}), none = random(index_t{0}, index_t{4});
    auto const of_none = arrays<float>()(index_t{3}, index_t{4});
    auto const all = std::tuple(query.view(), none.view(), none.view(), of_none.view());
    CHECK(worst<float>(serial, dot | unnormalized | running_state, all, query) == 0);
    CHECK(worst<float>(serial, positive | proportional | running_state, all, query) == 0);
}

TEST_CASE("running states of a ragged batch have their gradients in sweeps", "[driver]") {
    arrays<float> random;
    std::vector<int> const offsets{0, 1, 1, 40, 47};
    auto const x = random(index_t{47}, index_t{5}), d = random(index_t{47}, index_t{5});
    auto const decay = random(index_t{1}, index_t{1}, index_t{47});
    auto const spec = scaled_dot | causal | unnormalized | running_state | gated(decay) | delta(0.3f);
    tensor<float, 2> d_x(x.extents);
    tensor<float, 3> d_decay(decay.extents);
    tensor<double, 2> e_x(x.extents);
    tensor<double, 3> e_decay(decay.extents);
    gradient(ragged(offsets), spec, x, d, grad(x, d_x), grad(decay, d_decay));
    reference::gradient(ragged(offsets), spec, x, d, grad(x, e_x), grad(decay, e_decay));
    CHECK(difference(d_x, e_x) < 2e-5);
    CHECK(difference(d_decay, e_decay) < 2e-5);
}

TEST_CASE("each sequence of a ragged batch goes back from the state that it left to the one that it began with",
          "[driver]") {
    arrays<float> random;
    std::vector<int> const offsets{0, 1, 1, 40, 47};
    auto const x = random(index_t{47}, index_t{10}), d = random(index_t{47}, index_t{10});
    auto const past = random(index_t{4}, index_t{2}, index_t{5}, index_t{6}),
               d_present = random(index_t{4}, index_t{2}, index_t{5}, index_t{6});
    auto const spec = project(as_is, as_is, as_is, heads<2>) | positive | causal | proportional | running_state;
    tensor<float, 2> d_x(x.extents);
    tensor<float, 4> d_past(past.extents);
    gradient(ragged(offsets), spec, x, d, past_state(past), d_present_state(d_present), grad(x, d_x),
             grad(past, d_past));
    for (index_t i = 0; i < 4; ++i) {
        auto const rows = [&](auto const& all) {
            index_t const first = offsets[static_cast<std::size_t>(i)];
            return view(all.view().place(first, index_t{0}),
                        extents_t<2>{offsets[static_cast<std::size_t>(i) + 1] - first, 10});
        };
        auto const state = [&](auto const& all) {
            return view(all.view().place(i, index_t{0}, index_t{0}, index_t{0}), extents_t<3>{2, 5, 6});
        };
        tensor<double, 2> e_x(rows(x).extents);
        tensor<double, 3> e_past({2, 5, 6});
        auto const one = rows(x);
        auto const began = state(past);
        reference::gradient(spec, one, rows(d), past_state(began), d_present_state(state(d_present)), grad(one, e_x),
                            grad(began, e_past));
        auto const rows_found = rows(d_x);
        for (index_t n = 0; n < one.extent(0); ++n)
            for (index_t c = 0; c < 10; ++c) CHECK(rows_found(n, c) == Approx(e_x(n, c)).margin(2e-5));
        auto const state_found = state(d_past);
        for (index_t h = 0; h < 2; ++h)
            for (index_t f = 0; f < 5; ++f)
                for (index_t c = 0; c < 6; ++c) CHECK(state_found(h, f, c) == Approx(e_past(h, f, c)).margin(2e-5));
    }
}

TEST_CASE("the gradient of a ragged batch has a state for each sequence", "[driver]") {
    std::vector<int> const offsets{0, 1, 3};
    tensor<float, 2> const x({3, 4}), d({3, 4});
    tensor<float, 4> const past({3, 1, 4, 4});
    tensor<float, 2> d_x(x.extents);
    CHECK_THROWS_WITH(
        gradient(ragged(offsets), dot | causal | unnormalized | running_state, x, d, past_state(past), grad(x, d_x)),
        Catch::Matchers::ContainsSubstring("past_state has 3 states for 2 sequences"));
}
