// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native change
// Gradients that are added up from pairs of pieces, those of queries and those of keys apart, are those of one call;
// slopes of heads and weights that go by key are, over ranks (tests/mpi/gradients.cpp).
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/parts/chunked_gradient.hpp>
#include <fovea/parts/exact_sink.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The gradients of a call: of queries, keys, values and one table.
struct gradients {
    tensor<float, 4> query, key, value;
    tensor<float, 2> table;

    void check_close_to(gradients const& other) const {
        auto const check = [](auto const& a, auto const& b) {
            bool close = a.elements.size() == b.elements.size();
            for (std::size_t i = 0; close && i < a.elements.size(); ++i)
                close = a.elements[i] == Approx(b.elements[i]).epsilon(2e-4).margin(2e-5);
            CHECK(close);
        };
        check(query, other.query);
        check(key, other.key);
        check(value, other.value);
        check(table, other.table);
    }
    bool operator==(gradients const& other) const {
        return query.elements == other.query.elements && key.elements == other.key.elements
            && value.elements == other.value.elements && table.elements == other.table.elements;
    }
};

struct sequence {
    testing::dice random{31};
    tensor<float, 4> q, k, v, d;

    explicit sequence(index_t positions)
        : q(testing::random_tensor<float>(random, extents_t<4>{2, 4, positions, 16}, 2)),
          k(testing::random_tensor<float>(random, extents_t<4>{2, 2, positions, 16})),
          v(testing::random_tensor<float>(random, extents_t<4>{2, 2, positions, 11})),
          d(testing::random_tensor<float>(random, extents_t<4>{2, 4, positions, 11})) {}

    gradients zeros(tensor<float, 2> const& table) const {
        return {tensor<float, 4>(q.extents), tensor<float, 4>(k.extents), tensor<float, 4>(v.extents),
                tensor<float, 2>(table.extents)};
    }
    template <class Spec>
    gradients at_once(Spec const& spec, tensor<float, 2> const& table) const {
        auto of = zeros(table);
        gradient(spec, q, k, v, d, grad(q, of.query), grad(k, of.key), grad(v, of.value), grad(table, of.table));
        return of;
    }

    /// Pieces of queries are taken in order where those of keys are, and the other way round.
    template <class Spec, class Executor>
    gradients by_pieces(Spec const& spec, tensor<float, 2> const& table, index_t piece, Executor const& executor,
                        bool turned) const {
        using piecewise = driver::piecewise_gradient<float, arch::best, Spec, float, float, float, float>;
        auto of = zeros(table);
        auto const asked = grad(table, of.table);
        tensor<float, 4> out(d.extents);
        saved_rows<float> saved;
        attend(spec, q, k, v, out, save(saved));
        operand_shapes const shapes{q.extents, k.extents, v.extents};
        driver::exact_sink<float, std::remove_const_t<decltype(asked)>> totals(spec, asked);
        piecewise const pass(spec, shapes);
        workspace scratch;
        scratch.prepare(executor.workers());
        scratch.prepare_nested(1);
        std::vector<position_run> pieces;
        for (index_t n = 0; n < q.extent(2); n += piece) pieces.push_back({n, std::min(piece, q.extent(2) - n), n});
        auto const of_queries = [&](position_run const& run) {
            driver::saved_statistics<float> known;
            if (saved.complete()) {
                auto const at = [&](view<float const, 3> all) {
                    all.data += run.place;
                    return all;
                };
                known.max = at(saved.max());
                known.sum = at(saved.sum());
                known.result = driver::rows_at(saved.result(), run);
            }
            return typename piecewise::queries{run.first, driver::rows_at(view<float const, 4>(q.view()), run),
                                               driver::rows_at(view<float const, 4>(d.view()), run), known,
                                               driver::rows_at(of.query.view(), run)};
        };
        auto const of_keys = [&](position_run const& run) {
            return typename piecewise::keys{run.first, driver::rows_at(view<float const, 4>(k.view()), run),
                                            driver::rows_at(view<float const, 4>(v.view()), run),
                                            driver::rows_at(of.key.view(), run), driver::rows_at(of.value.view(), run)};
        };
        auto const add = [&](position_run const& queries, position_run const& keys, driver::wanted_gradients makes) {
            if (pass.sees(queries, keys))
                pass.add(executor, scratch, of_queries(queries), of_keys(keys), makes, totals, asked);
        };
        auto others = pieces;
        if (turned) std::reverse(others.begin(), others.end());
        for (auto const& keys : pieces)
            for (auto const& queries : others) add(queries, keys, {.of_queries = true, .of_keys = false});
        for (auto const& queries : pieces)
            for (auto const& keys : others) add(queries, keys, {.of_queries = false, .of_keys = true});
        gradient_sink<float, std::remove_const_t<decltype(asked)>> sums(asked);
        totals.add_to(sums);
        sums.write();
        return of;
    }

    template <class Spec>
    void check(Spec const& spec, tensor<float, 2> const& table, index_t piece) const {
        INFO(text(spec) << ", pieces of " << piece);
        auto const got = by_pieces(spec, table, piece, serial, false);
        got.check_close_to(at_once(spec, table));
        CHECK(got == by_pieces(spec, table, piece, threads(3), true));
    }
};

}  // namespace

TEST_CASE("softmax by pieces", "[driver]") {
    for (auto const& [positions, piece] : {std::pair{70, 16}, {150, 64}}) {
        sequence const all(positions);
        auto random = all.random;
        auto const by_pair = testing::random_tensor<float>(random, extents_t<2>{positions, positions});
        auto const by_key = testing::random_tensor<float>(random, extents_t<2>{4, positions});
        auto const features = testing::random_tensor<float>(random, extents_t<2>{4, 16});
        all.check(scaled_dot | bias(by_pair) | causal | softmax | weighted_sum, by_pair, piece);
        all.check(
            scaled_dot | rescore(score * param(by_key)[head][kv_idx]) | sliding_window(40, 8) | softmax | weighted_sum,
            by_key, piece);
        all.check(
            compare(sum(param(features)[head] * tanh(q + k)) + sum(param(features)[head] * k)) | softmax | weighted_sum,
            features, piece);
    }
}
