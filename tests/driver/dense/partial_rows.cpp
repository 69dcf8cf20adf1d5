// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Partial results over pieces, computed by several owners and sent to where the queries are, give what all keys give.
#include <fovea/fovea.hpp>
#include <fovea/parts/partial_rows.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using runs = std::vector<position_run>;

template <class Spec>
struct sequence_of_holders {
    static constexpr index_t longest = 48;
    using asked = decltype(lse(std::declval<tensor<float, 3>&>()));
    using rows_type = driver::partial_rows<float, arch::best, Spec, float, float, float, float, asked>;

    Spec const& spec;
    index_t queries;
    testing::dice random{17};
    tensor<float, 4> q = testing::random_tensor<float>(random, extents_t<4>{2, 4, queries, 12});
    tensor<float, 4> k = testing::random_tensor<float>(random, extents_t<4>{2, 2, 333, 12});
    tensor<float, 4> v = testing::random_tensor<float>(random, extents_t<4>{2, 2, 333, 9});
    tensor<float, 4> got{{2, 4, queries, 9}, 7};
    tensor<float, 3> got_sums{{2, 4, queries}, 7};

    /// Holder h has the pieces p with p % owners == h, and computes them for all queries.
    void run(int owners, runs const& own_queries) {
        operand_shapes const whole{q.extents, k.extents, v.extents};
        runs pieces;
        std::vector<int> holder_of;
        for (index_t first = 0; first < 333; first += longest) {
            pieces.push_back({first, std::min(longest, index_t{333} - first), first});
            bool const seen = driver::sees<float>(spec, whole, {0, queries, 0}, pieces.back());
            holder_of.push_back(seen ? static_cast<int>(pieces.size()) % owners : driver::no_owner);
        }
        workspace scratch;
        scratch.prepare(2);
        auto const trees = driver::subtrees_of(holder_of);
        rows_type own(spec, whole, view<float const, 4>(q.view()), own_queries, longest);
        own.allocate(scratch.shared(), std::max<std::size_t>(trees.size(), 1));
        std::vector<std::size_t> received;
        for (auto const& tree : trees) {
            rows_type all(spec, whole, view<float const, 4>(q.view()), {{0, queries, 0}}, longest);
            runs in_tree;
            std::vector<std::size_t> firsts;
            for (std::size_t p = tree.first; p < std::min(tree.first + tree.size, pieces.size()); ++p)
                if (holder_of[p] != driver::no_owner) {
                    in_tree.push_back(pieces[p]);
                    firsts.push_back(p);
                }
            std::vector<driver::merge_step> steps;
            driver::add_merges(firsts, tree.first, tree.size, steps);
            all.allocate(scratch.shared(), in_tree.size());
            all.compute(threads(2), scratch, 0, in_tree, view<float const, 4>(k.view()),
                        view<float const, 4>(v.view()));
            all.merge(threads(2), scratch, steps);
            std::vector<std::byte> message(static_cast<std::size_t>(own.bytes_for(queries)));
            auto* to = message.data();
            for (auto const& run : own_queries) to = all.pack(0, run.first, run.count, to);
            CHECK(to == message.data() + message.size());
            auto const* from = message.data();
            for (auto const& run : own_queries) from = own.unpack(received.size(), run.place, run.count, from);
            received.push_back(tree.first);
        }
        std::vector<driver::merge_step> steps;
        driver::add_merges(received, 0, std::bit_ceil(pieces.size()), steps);
        own.merge(threads(2), scratch, steps);
        if (trees.empty()) own.clear();
        own.finish(threads(2), scratch, got.view(), std::tuple<asked>(lse(got_sums)));
    }
    void check() {
        tensor<float, 4> whole{{2, 4, queries, 9}};
        tensor<float, 3> sums{{2, 4, queries}};
        attend(spec, q, k, v, whole, lse(sums));
        run(1, {{0, queries, 0}});
        auto const one = got.elements;
        for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] == Approx(whole.elements[i]).margin(1e-5));
        for (std::size_t i = 0; i < sums.elements.size(); ++i)
            CHECK((got_sums.elements[i] == Approx(sums.elements[i]).margin(1e-5)
                   || (std::isinf(got_sums.elements[i]) && got_sums.elements[i] == sums.elements[i])));
        for (int owners : {2, 3}) {
            std::fill(got.elements.begin(), got.elements.end(), 7.0f);
            run(owners, {{0, 1, 0}, {1, queries - 1, 1}});
            CHECK(got.elements == one);
        }
    }
};
template <class Spec>
void check(Spec const& spec, index_t queries) {
    sequence_of_holders<Spec>{spec, queries}.check();
}

}  // namespace

TEST_CASE("partial results of any owners give what all keys give, with the same bits", "[driver]") {
    auto const slopes = alibi_slopes(4);
    auto const spec = scaled_dot | alibi(slopes) | causal_at_end | softmax_with_sink(q_idx / 20.0) | weighted_sum;
    check(spec, 3);
    check(spec, 41);  // several tiles of rows, whose keys are packed
}

TEST_CASE("partial results where nothing is seen", "[driver]") {
    check(scaled_dot | where(kv_idx > 1000 + q_idx) | softmax | weighted_sum, 2);
}
