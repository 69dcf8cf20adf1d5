// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which calls take which traversal, for every architecture: a plan is made of types and sizes, and runs nothing.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <set>
#include <tuple>
#include <utility>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using plan::traversal;

namespace {

using architectures = std::tuple<arch::avx512, arch::avx512_bf16, arch::avx2, arch::sse2, arch::neon, arch::portable,
                                 arch::emulated<64, 32>>;

template <class Arch>
constexpr index_t lanes_of = plan::query_lanes_blocking<float, Arch>::lanes;

template <class T, class... Outputs>
using operands_of = driver::operands<T, view<T const, 4>, view<T const, 4>, T, std::tuple<Outputs...>>;
using plain_operands = operands_of<float>;
/// The operands of a call that gives the matrix of its weights, too.
using with_weights =
    operands_of<float, std::remove_cvref_t<decltype(weights(std::declval<tensor<float, 4>&>())
                                                        .bind(std::declval<operand_shapes const&>()))>>;

template <class Arch, class Operands = plain_operands, class A>
plan::call_plan plan_of(A const&, plan::call_sizes const& n) {
    return plan::make_plan<float, Arch, A, Operands>(n);
}

/// Sizes around which plans change: numbers of queries, of keys, of features, and of heads with the same keys.
template <class Arch>
std::vector<plan::call_sizes> many_sizes() {
    constexpr index_t lanes = lanes_of<Arch>;
    std::vector<plan::call_sizes> all;
    for (index_t queries : {index_t{0}, index_t{1}, lanes / 2, lanes, 50 * lanes + 1})
        for (index_t group : {1, 3})
            for (index_t keys : {0, 1, 40, 100000})
                for (index_t features : {index_t{0}, index_t{1}, lanes, 20 * lanes})
                    all.push_back({queries, group, keys, features, features});
    return all;
}

/// The traversals of calls of all sizes: those that their types take, and no others.
template <class Arch, class Operands = plain_operands, class A>
std::set<traversal> traversals_of(A const& a) {
    using call = plan::call_of<float, Arch, A, Operands>;
    std::set<traversal> taken, named;
    for (auto by : {traversal::query_lanes, traversal::key_lanes, traversal::whole_rows, traversal::split_keys,
                    traversal::listed_keys, traversal::running_state})
        if (call::takes(by)) taken.insert(by);
    for (auto const& n : many_sizes<Arch>()) named.insert(plan_of<Arch, Operands>(a, n).by);
    CHECK(named == taken);
    return named;
}

using traversals = std::set<traversal>;
traversals const any_lanes{traversal::query_lanes, traversal::key_lanes, traversal::split_keys};
traversals const lanes_of_keys{traversal::key_lanes, traversal::split_keys};
traversals const rows_as_a_whole{traversal::whole_rows};

constexpr auto plain = scaled_dot | softmax | weighted_sum;

struct two_nodes {
    graph edges{2, std::vector<graph::edge>{{0, 1}, {1, 0}}};
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("sizes choose lanes where the score is one product and rows are normalized in lanes", "[plan]",
                        architectures) {
    CHECK(traversals_of<TestType>(plain) == any_lanes);
    CHECK(traversals_of<TestType>(scaled_dot | softcap(30) | causal | unnormalized | weighted_sum) == any_lanes);
    CHECK(traversals_of<TestType>(compare(-sum(square(q - k))) | softmax | weighted_sum) == any_lanes);
    tensor<float, 1> const of_distance({100});
    auto const near = scaled_dot | rescore(score + param(of_distance)[kv_idx - q_idx]) | softmax | weighted_sum;
    CHECK(traversals_of<TestType>(near) == any_lanes);
    tensor<float16, 3> const bias({4, 10, 10});
    tensor<std::int32_t, 2> const seen({10, 10});
    auto const biased = scaled_dot | rescore(score + param(bias)(head, q_idx / 2, kv_idx)) | softmax | weighted_sum;
    CHECK(traversals_of<TestType>(biased) == any_lanes);
    CHECK(traversals_of<TestType>(scaled_dot | where(param(seen)(q_idx, kv_idx) > 0) | softmax | weighted_sum)
          == any_lanes);
    std::vector<float> const sinks(2);
    CHECK(traversals_of<TestType>(scaled_dot | softmax_with_sink(sinks) | weighted_sum) == any_lanes);
}

namespace {
/// A normalizer of which rows fold with numbers of their own, as far as its type tells.
struct softmax_of_head : stage<role::normalizer> {
    struct of_row : softmax_t {
        template <class T, class Row>
        constexpr T fold(state<T>& s, Row const& row) const {
            return softmax_t::fold(s, row);
        }
    };
    template <class Facts>
    constexpr auto for_row(Facts const&) const {
        return of_row{};
    }
};
}  // namespace

TEMPLATE_LIST_TEST_CASE("keys stand in lanes where something is read or computed along them", "[plan]", architectures) {
    CHECK(traversals_of<TestType>(compare(sum(tanh(q + k))) | softmax | weighted_sum) == lanes_of_keys);
    tensor<float, 2> const bias({10, 20});
    auto const biased = scaled_dot | rescore(score + param(bias)(q_idx, 2 * kv_idx)) | softmax | weighted_sum;
    CHECK(traversals_of<TestType>(biased) == lanes_of_keys);
    tensor<std::int32_t, 2> const seen({10, 10});
    CHECK(traversals_of<TestType>(scaled_dot | where(param(seen)(q_idx, kv_idx / 2) > 0) | softmax | weighted_sum)
          == lanes_of_keys);
    CHECK(traversals_of<TestType>(scaled_dot | softmax_of_head{} | weighted_sum) == lanes_of_keys);
    CHECK(traversals_of<TestType>(scaled_dot | softmax | reweight(2 * weight) | weighted_sum) == lanes_of_keys);
}

TEMPLATE_LIST_TEST_CASE("keys are not split where results of parts are not added", "[plan]", architectures) {
    traversals const one_part{traversal::key_lanes};
    CHECK(traversals_of<TestType>(scaled_dot | hardmax | weighted_sum) == one_part);
    CHECK(traversals_of<TestType>(scaled_dot | softmax | max_pool) == one_part);
}

TEMPLATE_LIST_TEST_CASE("rows are kept where something reads them as a whole", "[plan]", architectures) {
    CHECK(traversals_of<TestType>(scaled_dot | sparsemax | weighted_sum) == rows_as_a_whole);
    CHECK(traversals_of<TestType>(scaled_dot | softmax | reweight(weight * weight) | weighted_sum) == rows_as_a_whole);
    CHECK(traversals_of<TestType>(scaled_dot | hardmax | reweight(2 * weight) | weighted_sum) == rows_as_a_whole);
    CHECK(traversals_of<TestType, with_weights>(plain) == rows_as_a_whole);
}

TEMPLATE_LIST_TEST_CASE("listed keys are a traversal of their own, whatever is done with them", "[plan]",
                        architectures) {
    traversals const listed{traversal::listed_keys};
    two_nodes const nodes;
    auto const scores = scaled_dot | neighbors(nodes.edges);
    CHECK(traversals_of<TestType>(scores | softmax | weighted_sum) == listed);
    CHECK(traversals_of<TestType>(scores | sparsemax | weighted_sum) == listed);
    CHECK(traversals_of<TestType>(scores | hardmax | max_pool) == listed);
    CHECK(traversals_of<TestType>(scaled_dot | (neighbors(nodes.edges) && causal) | softmax | weighted_sum) == listed);
    CHECK(traversals_of<TestType, with_weights>(scores | softmax | weighted_sum) == listed);
}

TEMPLATE_LIST_TEST_CASE("heads are normalized in lanes where no row is read as a whole or differs", "[plan]",
                        architectures) {
    two_nodes const nodes;
    auto const scores = scaled_dot | neighbors(nodes.edges);
    auto const in_lanes = [](auto const& spec) {
        std::set<bool> found;
        for (auto const& n : many_sizes<TestType>()) found.insert(plan_of<TestType>(spec, n).heads_in_lanes);
        REQUIRE(found.size() == 1);
        return found.contains(true);
    };
    CHECK(in_lanes(scores | softmax | weighted_sum));
    CHECK(in_lanes(scores | unnormalized | weighted_sum));
    CHECK(in_lanes(scores | softmax | max_pool));
    CHECK_FALSE(in_lanes(scores | sparsemax | weighted_sum));
    CHECK_FALSE(in_lanes(scores | hardmax | weighted_sum));
    CHECK_FALSE(in_lanes(scores | softmax | reweight(2 * weight) | weighted_sum));
    std::vector<float> const sinks(2);
    CHECK_FALSE(in_lanes(scores | softmax_with_sink(sinks) | weighted_sum));
    CHECK_FALSE(plan_of<TestType, with_weights>(scores | softmax | weighted_sum, {2, 1, 2, 4, 4}).heads_in_lanes);
}

TEMPLATE_LIST_TEST_CASE("running states are a traversal of their own, several keys to a pass where none waits",
                        "[plan]", architectures) {
    traversals const state{traversal::running_state};
    auto const steps = [](auto const& spec, index_t group) {
        return plan_of<TestType>(spec, {30, group, 30, 8, 8}).steps_per_pass;
    };
    constexpr auto scores = scaled_dot | causal | unnormalized | running_state;
    CHECK(traversals_of<TestType>(scores) == state);
    CHECK(traversals_of<TestType>(scores | gated(-0.1f) | delta(0.5f)) == state);
    CHECK(traversals_of<TestType>(scaled_dot | proportional | running_state) == state);
    CHECK(steps(scores, 1) > 1);
    CHECK(steps(scores | gated(-0.1f), 1) == steps(scores, 1));
    CHECK(steps(scores, 2) == 1);  // each of two heads reads the state after each key
    for (index_t group : {1, 2}) {
        CHECK(steps(scaled_dot | unnormalized | running_state, group) > 1);  // read after the last key
        CHECK(steps(scores | delta(0.5f), group) == 1);                      // corrected by what is read of it
    }
}

TEMPLATE_LIST_TEST_CASE("queries stand in lanes where they fill them, few of them where features do so even less",
                        "[plan]", architectures) {
    constexpr index_t lanes = lanes_of<TestType>, half = lanes / 2;
    auto const by = [](index_t queries, index_t keys, index_t features) {
        return plan_of<TestType>(plain, {queries, 1, keys, features, features}).by;
    };
    CHECK(by(lanes, 20, 20 * lanes) == traversal::query_lanes);
    CHECK(by(half, 20, lanes) == traversal::key_lanes);
    CHECK(by(half, 20, half) == traversal::query_lanes);
    CHECK(by(half, 20, lanes + 1) == traversal::query_lanes);  // two vectors of features, half of them empty
    CHECK(by(half, 100000, half) == traversal::split_keys);
}

TEMPLATE_LIST_TEST_CASE("the parts of split keys are all keys, each once", "[plan]", architectures) {
    for (auto const& n : many_sizes<TestType>()) {
        auto const how = plan_of<TestType>(plain, n);
        CAPTURE(n.queries, n.group, n.keys, n.features);
        CHECK((how.splits.count() > 1) == (how.by == traversal::split_keys));
        if (how.by != traversal::split_keys) continue;
        CHECK(n.queries * n.group <= how.blocks.block_rows);
        index_t covered = 0;
        for (index_t split = 0; split < how.splits.count(); ++split) {
            CHECK(how.splits.first(split) == covered);
            covered = how.splits.last(split);
        }
        CHECK(covered == (n.keys + how.blocks.block_keys - 1) / how.blocks.block_keys);
    }
}

TEMPLATE_LIST_TEST_CASE("keys are read in place but for whole rows of many queries, and runs that hold no tile",
                        "[plan]", architectures) {
    constexpr index_t queries = 2 * lanes_of<TestType>;
    plan::call_sizes n{queries, 1, 100, 4, 4};
    CHECK(plan_of<TestType>(plain, n).keys == plan::reading::in_place);
    CHECK(plan_of<TestType>(scaled_dot | sparsemax | weighted_sum, n).keys
          == (queries > plan::key_lanes_blocking<float, TestType>::rows ? plan::reading::packed
                                                                        : plan::reading::in_place));
    n.keys_per_run = 1;
    CHECK(plan_of<TestType>(plain, n).keys == plan::reading::copied);
    CHECK(plan_of<TestType>(plain, n).values == plan::reading::in_place);
}

TEST_CASE("operands that are multiplied as they are stored have keys in lanes", "[plan]") {
    auto const by = [](auto architecture, auto element) {
        using all = operands_of<decltype(element)>;
        using spec = std::remove_const_t<decltype(plain)>;
        return plan::make_plan<float, decltype(architecture), spec, all>({100, 1, 100, 64, 64}).by;
    };
    CHECK(by(arch::avx512_bf16{}, bfloat16{}) == traversal::key_lanes);
    CHECK(by(arch::avx512{}, bfloat16{}) == traversal::query_lanes);
    CHECK(by(arch::avx512_bf16{}, float16{}) == traversal::query_lanes);
}

TEST_CASE("a tile has the smallest height that its rows fit in", "[plan]") {
    using tile = plan::key_lanes_blocking<float, arch::best>;
    for (index_t rows = 1; rows <= tile::rows; ++rows) {
        index_t const height = tile::height_for(rows);
        CAPTURE(rows, height);
        CHECK(height >= rows);
        CHECK((height == 1 || height - tile::rows / tile::last_height < rows));
    }
    CHECK(tile::height_for(tile::rows + 1) == tile::rows);
}

TEST_CASE("heads that have the same keys share vectors until the queries of one fill a tile", "[plan]") {
    constexpr index_t lanes = lanes_of<arch::best>;
    using tile = plan::query_lanes_blocking<float, arch::best>;
    CHECK(tile::sharing(tile::rows - 1, 4, 40, false) == 4);
    CHECK(tile::sharing(tile::rows, 4, 40, false) == 1);
    CHECK(tile::sharing(lanes, 4, 40, true) == 1);
    CHECK(tile::sharing(lanes / 2, 4, 40, true) == 4);
    using two_lanes = plan::query_lanes_blocking<double, arch::portable>;
    CHECK(two_lanes::sharing(1, 4, 40, true) == 4);
    CHECK(two_lanes::sharing(2, 4, 40, true) == 1);
}

TEMPLATE_LIST_TEST_CASE("sums in a fixed order have one traversal, one cut into blocks and no splits", "[plan]",
                        architectures) {
    constexpr auto spec = scaled_dot | causal_at_end | softmax | weighted_sum | batch_invariant;
    CHECK(traversals_of<TestType>(spec) == traversals{traversal::key_lanes});
    std::set<index_t> blocks;
    for (auto const& n : many_sizes<TestType>()) {
        auto const how = plan_of<TestType>(spec, n);
        CHECK(how.fixed_order);
        CHECK(how.splits.count() == 1);
        blocks.insert(how.blocks.block_keys);
    }
    CHECK(blocks.size() == 1);
    CHECK(*blocks.begin() % (kernel::chains * plan::key_lanes_blocking<float, TestType>::lanes) == 0);
    CHECK(plan_of<TestType>(spec, {1, 1, 5000, 64, 64}).keys == plan::reading::in_place);
    CHECK(plan_of<TestType>(spec, {500, 1, 5000, 64, 64}).keys == plan::reading::packed);
    CHECK(!plan_of<TestType>(plain, {500, 1, 5000, 64, 64}).fixed_order);
}
