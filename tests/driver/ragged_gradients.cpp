// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// The gradient of a ragged batch is the sum of the gradients of its sequences.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <vector>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;
using namespace fovea::placeholders;

namespace {

/// Five sequences, one without queries and one without keys.
struct packed {
    std::vector<index_t> q_offsets{0, 7, 7, 25, 26, 30}, k_offsets{0, 7, 19, 50, 50, 61};
    testing::dice random{43};
    tensor<float, 2> x = testing::random_tensor<float>(random, extents_t<2>{30, 8}),
                     context = testing::random_tensor<float>(random, extents_t<2>{61, 8}),
                     w = testing::random_tensor<float>(random, extents_t<2>{8, 8}),
                     d = testing::random_tensor<float>(random, extents_t<2>{30, 8});
    tensor<float, 1> slope = testing::random_tensor<float>(random, extents_t<1>{5});

    /// The gradients of x, context, w and slope.
    template <class T>
    struct gradients {
        tensor<T, 2> x, context, w;
        tensor<T, 1> slope;
        explicit gradients(packed const& p)
            : x(p.x.extents), context(p.context.extents), w(p.w.extents), slope(p.slope.extents) {}
    };

    template <class T>
    static view<T, 2> rows(view<T, 2> const& all, std::vector<index_t> const& offsets, std::size_t i) {
        return {all.place(offsets[i], index_t{0}), {offsets[i + 1] - offsets[i], all.extent(1)}, all.strides};
    }
    /// The sums of the gradients of each sequence alone, by the definition of `spec(number)`.
    template <class Spec>
    gradients<double> alone(Spec const& spec) const {
        gradients<double> all(*this);
        for (std::size_t i = 0; i < 5; ++i) {
            auto const x_i = rows(x.view(), q_offsets, i), context_i = rows(context.view(), k_offsets, i);
            gradients<double> one(*this);
            reference::gradient(spec(static_cast<index_t>(i)), queries(x_i), memory(context_i),
                                rows(d.view(), q_offsets, i), grad(x_i, rows(all.x.view(), q_offsets, i)),
                                grad(context_i, rows(all.context.view(), k_offsets, i)), grad(w, one.w),
                                grad(slope, one.slope));
            for (std::size_t n = 0; n < w.elements.size(); ++n) all.w.elements[n] += one.w.elements[n];
            for (std::size_t n = 0; n < 5; ++n) all.slope.elements[n] += one.slope.elements[n];
        }
        return all;
    }
    template <class T, class Spec>
    gradients<T> together(auto const& call, Spec const& spec) const {
        gradients<T> all(*this);
        call(ragged(q_offsets, k_offsets), spec, queries(x), memory(context), d, grad(x, all.x),
             grad(context, all.context), grad(w, all.w), grad(slope, all.slope));
        return all;
    }
};

void check_alike(auto const& found, auto const& expected, double most) {
    auto const check = [&](auto const& a, auto const& b) {
        for (std::size_t i = 0; i < a.elements.size(); ++i) CHECK(a.elements[i] == Approx(b.elements[i]).margin(most));
    };
    check(found.x, expected.x);
    check(found.context, expected.context);
    check(found.w, expected.w);
    check(found.slope, expected.slope);
}

}  // namespace

TEST_CASE("numbers of the rows of a normalizer have gradients in a ragged batch", "[driver]") {
    packed const p;
    auto const check = [&](auto const& with) {
        auto const spec = [&](auto number) {
            return project(p.w, p.w, p.w, heads<2>) | scaled_dot | causal_at_end | with(param(p.slope)[number])
                 | weighted_sum | output(p.w);
        };
        auto const expected = p.alone(spec);
        check_alike(p.together<float>([](auto const&... of) { gradient(of...); }, spec(batch)), expected, 5e-5);
        check_alike(p.together<double>([](auto const&... of) { reference::gradient(of...); }, spec(batch)), expected,
                    1e-12);
    };
    check([](auto const& number) { return softmax_with_sink(number); });
    check([](auto const& number) { return weigh(sigmoid(score - number)); });
    check([](auto const& number) { return keep(top_k(2)) | softmax_with_sink(number); });
}

TEST_CASE("operands of a ragged batch that begin at one address have gradients of their own", "[driver]") {
    testing::dice random{44};
    auto x = testing::random_tensor<double>(random, extents_t<2>{10, 4});
    auto const values = testing::random_tensor<double>(random, extents_t<2>{10, 3}),
               d = testing::random_tensor<double>(random, extents_t<2>{8, 3});
    std::vector<index_t> const of_queries{0, 5, 8}, of_keys{0, 5, 10};
    view<double, 2> const rows(x.elements.data(), {8, 4}), keys(x.elements.data(), {10, 4});
    auto const spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<double, 2> d_rows({8, 4}), d_keys({10, 4}), out({8, 3});
    auto const loss = [&](auto const& q, auto const& k) {
        attend(ragged(of_queries, of_keys), spec, q, k, values, out);
        double sum = 0;
        for (std::size_t i = 0; i < out.elements.size(); ++i) sum += out.elements[i] * d.elements[i];
        return sum;
    };
    // Differences of one operand alone, in memory of its own.
    auto const check = [&](view<double, 2> const& of, tensor<double, 2> const& found, auto const& loss_of) {
        tensor<double, 2> alone(of.extents);
        constexpr double width = 1e-6;
        for (index_t i = 0; i < of.extent(0); ++i)
            for (index_t c = 0; c < of.extent(1); ++c) {
                std::copy_n(x.elements.begin(), alone.elements.size(), alone.elements.begin());
                alone(i, c) += width;
                double const above = loss_of(alone);
                alone(i, c) -= 2 * width;
                CHECK(found(i, c) == Approx((above - loss_of(alone)) / (2 * width)).margin(1e-8));
            }
    };
    auto const check_both = [&] {
        check(rows, d_rows, [&](auto const& alone) { return loss(alone, keys); });
        check(keys, d_keys, [&](auto const& alone) { return loss(rows, alone); });
    };
    gradient(ragged(of_queries, of_keys), spec, rows, keys, values, d, grad(rows, d_rows), grad(keys, d_keys));
    check_both();
    reference::gradient(ragged(of_queries, of_keys), spec, rows, keys, values, d, grad(rows, d_rows),
                        grad(keys, d_keys));
    check_both();
}

TEST_CASE("selections of rows are those of the sequence in a ragged batch", "[driver]") {
    packed const p;
    tensor<float, 2> found(p.d.extents), expected(p.d.extents);
    auto const spec = [&](auto number) {
        return scaled_dot | keep(threshold(param(p.slope)[number])) | softmax | weighted_sum;
    };
    attend(ragged(p.q_offsets), spec(batch), p.x, found);
    for (std::size_t i = 0; i < 5; ++i)
        attend(spec(static_cast<index_t>(i)), packed::rows(p.x.view(), p.q_offsets, i),
               packed::rows(expected.view(), p.q_offsets, i));
    for (std::size_t i = 0; i < found.elements.size(); ++i)
        CHECK(found.elements[i] == Approx(expected.elements[i]).margin(1e-5));
}

TEST_CASE("a ragged call saves the rows of all sequences, and its gradient goes back from them", "[driver]") {
    packed const p;
    saved_rows<float> rows;
    tensor<float, 2> out(p.x.extents), with_rows(p.x.extents), without(p.x.extents);
    auto const checked = [&](auto const& executor, auto const& spec, auto const& offsets, auto const& keys) {
        attend(executor, ragged(offsets, keys), spec, p.x, p.context, p.context, out, save(rows));
        REQUIRE(rows.complete());
        auto const found = [&](auto const&... saved) {
            tensor<float, 2> d(p.x.extents);
            gradient(executor, ragged(offsets, keys), spec, p.x, p.context, p.context, p.d, saved..., grad(p.x, d));
            return d;
        };
        with_rows = found(rows);
        without = found();
        for (std::size_t i = 0; i < out.elements.size(); ++i)
            CHECK(with_rows.elements[i] == Approx(without.elements[i]).margin(1e-5));
    };
    auto const spec = scaled_dot | rescore(score - param(p.slope)[batch] * abs(q_idx - kv_idx)) | causal_at_end
                    | softmax | weighted_sum;
    checked(serial, spec, p.q_offsets, p.k_offsets);
    CHECK(rows.result().extents == extents_t<4>{1, 1, 30, 8});
    checked(threads(3), spec, p.q_offsets, p.k_offsets);
    auto const layer = project(p.w, p.w, p.w, heads<2>) | scaled_dot | softmax | weighted_sum | output(p.w) | residual;
    checked(threads(2), layer, p.q_offsets, p.k_offsets);
    CHECK(rows.result().extents == extents_t<4>{1, 2, 30, 4});

    SECTION("rows of other lengths are refused, and those of a call that saves none are left out") {
        std::vector<index_t> const fewer{0, 7, 29};
        tensor<float, 2> const short_x({29, 8}), short_d({29, 8});
        tensor<float, 2> d_x({29, 8});
        CHECK_THROWS_WITH(
            gradient(ragged(fewer), scaled_dot | softmax | weighted_sum, short_x, short_d, rows, grad(short_x, d_x)),
            ContainsSubstring("the saved rows are those of a result (1, 2, 30, 4)"));
        attend(ragged(p.q_offsets), scaled_dot | sparsemax | weighted_sum, p.x, out, save(rows));
        CHECK(!rows.complete());
    }
}

TEST_CASE("the gradient of a ragged batch refuses what does not fit, before anything is written", "[driver]") {
    packed p;
    auto const a = scaled_dot | softmax | weighted_sum;
    tensor<float, 2> d_x(p.x.extents, 3.f), short_rows({29, 8});
    CHECK_THROWS_WITH(gradient(ragged(p.q_offsets), a, p.x, short_rows, grad(p.x, d_x)),
                      ContainsSubstring("the gradient of the result has 29 positions, query has 30"));
    CHECK_THROWS_WITH(gradient(ragged(p.k_offsets), a, p.x, p.d, grad(p.x, d_x)), ContainsSubstring("end at 61"));
    CHECK_THROWS_WITH(gradient(ragged(p.q_offsets), a, p.x, p.d, grad(p.w, d_x)), ContainsSubstring("target of grad"));
    CHECK(d_x(0, 0) == 3.f);
}
