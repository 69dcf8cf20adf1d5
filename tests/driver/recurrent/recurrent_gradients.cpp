// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// The gradients of running states in sweeps are those of the definition, with the same bits in any number of threads.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/layer_gradients.hpp"
#include "support/recurrent.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;
using namespace layer_gradients;

namespace {

constexpr auto positive = feature_map(elu(q) + 1);

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

namespace {
/// The gradients of one call, with states at both ends, in vectors of one width, against the definition.
template <class T, class Arch, class Spec, class... Tables>
void check_gradients_of(recurrent_call<T> const& call, Spec const& spec, Tables const&... tables) {
    auto const& n = call.n;
    extents_t<4> const of_state{n.batches, n.key_heads, n.features, n.value_features + (divides_by_sum<Spec> ? 1 : 0)};
    testing::dice dice(8);
    auto const d = testing::random_tensor<T>(dice, call.result());
    auto past = testing::random_tensor<T>(dice, of_state), d_present = testing::random_tensor<T>(dice, of_state);
    if (divides_by_sum<Spec>)  // the sum of positive features is positive
        for (index_t i = 1; i <= past.size() / of_state[3]; ++i)
            past.elements[static_cast<std::size_t>(i * of_state[3] - 1)] = 2;
    auto const gradients = [&]<class Real>(std::type_identity<Real>, auto const& run) {
        std::tuple<tensor<Real, 4>, tensor<Real, 4>, tensor<Real, 4>, tensor<Real, 4>,
                   tensor<Real, std::tuple_size_v<decltype(tables.extents)>>...>
            all{call.q.elements.extents, call.k.elements.extents, call.v.elements.extents, of_state, tables.extents...};
        std::apply(
            [&](auto& d_q, auto& d_k, auto& d_v, auto& d_past, auto&... d_tables) {
                run(spec, call.q.elements, call.k.elements, call.v.elements, d, past_state(past),
                    d_present_state(d_present), grad(call.q.elements, d_q), grad(call.k.elements, d_k),
                    grad(call.v.elements, d_v), grad(past, d_past), grad(tables, d_tables)...);
            },
            all);
        return all;
    };
    auto const expected =
        gradients(std::type_identity<double>(), [](auto const&... all) { reference::gradient(all...); });
    workspace scratch;
    auto const found =
        gradients(std::type_identity<T>(), [&](auto const&... all) { gradient_on<Arch>(serial, scratch, all...); });
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        auto const check = [](auto const& got, auto const& want) {
            CHECK(difference(got, want) < (sizeof(T) == 4 ? 3e-5 : 1e-12));
        };
        (check(std::get<I>(found), std::get<I>(expected)), ...);
    }(std::make_index_sequence<4 + sizeof...(Tables)>());
}

/// The same at sizes around those of vectors and chunks, `make(call, check)` calls check(spec, tables...).
template <class T, class Make>
void check_gradients_at_all_widths(Make const& make) {
    auto sizes = odd_recurrent_sizes();
    for (index_t const n : {15, 17, 31, 32, 33}) sizes.push_back({1, 2, 1, n, n, 7, 9});
    unsigned seed = 1;
    for (auto const& n : sizes) {
        if (n.queries == 0) continue;
        CAPTURE(n.heads, n.key_heads, n.keys, n.features, n.value_features);
        recurrent_call<T> call(n, seed++);
        make(call, [&](auto const& spec, auto const&... tables) {
            [&]<class... Arch>(std::type_identity<std::tuple<Arch...>>) {
                (check_gradients_of<T, Arch>(call, spec, tables...), ...);
            }(std::type_identity<lane_widths>{});
        });
    }
}
constexpr auto plain = scaled_dot | causal | unnormalized | running_state;
}  // namespace

TEST_CASE("gradients in chunks are those of the definition", "[driver]") {
    check_gradients_at_all_widths<float>([](auto const&, auto const& check) { check(plain); });
    check_gradients_at_all_widths<float>(
        [](auto const&, auto const& check) { check(positive | causal | proportional | running_state); });
    check_gradients_at_all_widths<float>(
        [](auto const&, auto const& check) { check(positive | proportional | running_state); });
    check_gradients_at_all_widths<double>(
        [](auto const& call, auto const& check) { check(plain | delta(call.rate), call.rate); });
}

TEST_CASE("gradients of decays lose nothing where little is left, or all", "[driver]") {
    constexpr float none = -std::numeric_limits<float>::infinity();
    check_gradients_at_all_widths<float>([](auto& call, auto const& check) {
        index_t i = 0;
        for (auto& x : call.decay.elements) x = std::array{x, -80.f, x, 0.f, x, x, none, -1e-6f, x}[++i % 9];
        check(positive | causal | proportional | running_state | gated(call.decay), call.decay);
        check(plain | gated(call.decay) | delta(call.rate), call.decay, call.rate);
    });
    check_gradients_at_all_widths<float>([](auto& call, auto const& check) {
        tensor<float, 3> decay(call.rate.extents);
        index_t i = 0;
        for (auto& x : decay.elements) x = std::array{-0.3f, -80.f, -0.01f, 0.f, none, -1e-6f, -2.f}[++i % 7];
        check(plain | gated(decay), decay);
        check(plain | gated(decay) | delta(call.rate), decay, call.rate);
    });
}

TEST_CASE("chunks that are computed at once have the bits of those one after the other", "[driver]") {
    for (auto const& n : {recurrent_sizes{1, 2, 1, 75, 75, 9, 20}, recurrent_sizes{2, 1, 1, 33, 33, 17, 5}}) {
        recurrent_call<float> call(n, 3);
        testing::dice dice(8);
        auto const d = testing::random_tensor<float>(dice, call.result());
        auto const check = [&](auto const& spec) {
            extents_t<4> const of_state{
                n.batches, n.key_heads, n.features,
                n.value_features + (divides_by_sum<std::remove_cvref_t<decltype(spec)>> ? 1 : 0)};
            tensor<float, 4> const past(of_state, 0.5f), d_present(of_state, 0.25f);
            auto const bits = [&](int count) {
                return gradients_of<float>(
                    [&](auto... asked) {
                        gradient(threads(count), spec, call.q.elements, call.k.elements, call.v.elements, d,
                                 past_state(past), d_present_state(d_present), asked...);
                    },
                    call.q.elements, call.k.elements, call.v.elements, past, call.decay);
            };
            auto const one = bits(1), some = bits(7);
            CHECK(std::get<0>(one).elements == std::get<0>(some).elements);
            CHECK(std::get<1>(one).elements == std::get<1>(some).elements);
            CHECK(std::get<2>(one).elements == std::get<2>(some).elements);
            CHECK(std::get<3>(one).elements == std::get<3>(some).elements);
            CHECK(std::get<4>(one).elements == std::get<4>(some).elements);
        };
        check(plain | gated(call.decay));
        check(positive | causal | proportional | running_state | gated(call.decay));
    }
}

TEST_CASE("what is not finite reaches the gradients that depend on it", "[driver]") {
    recurrent_call<float> call({1, 1, 1, 40, 40, 5, 6}, 3);
    testing::dice dice(8);
    auto d = testing::random_tensor<float>(dice, call.result());
    auto const check = [&](auto const& spec) {
        tensor<float, 4> d_q(call.q.elements.extents), d_k(d_q.extents), d_v(d.extents);
        d(0, 0, 20, 2) = std::numeric_limits<float>::infinity();
        gradient(spec, call.q.elements, call.k.elements, call.v.elements, d, grad(call.q.elements, d_q),
                 grad(call.k.elements, d_k), grad(call.v.elements, d_v));
        for (index_t n = 0; n < 40; ++n) {
            CHECK(std::isfinite(d_q(0, 0, n, 1)) == (n != 20));
            CHECK(std::isfinite(d_k(0, 0, n, 1)) == (n > 20));
            CHECK(std::isfinite(d_v(0, 0, n, 2)) == (n > 20));
        }
    };
    check(plain);
    check(plain | gated(call.decay));
    check(plain | gated(-0.1f));
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
