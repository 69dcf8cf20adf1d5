// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The score tiles of the dense traversals, and the sums that are carried for their rows, by themselves: however the
// keys are cut into runs, and in whatever order these come, what is left is what the definition says. Values of pairs
// that take no part never show.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/made_call.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace fovea;

namespace {

/// The definition: the softmax of scaled products of the pairs that take part, times the values, in double.
std::vector<double> attended(made::arrays const& x, index_t query, bool causal_only) {
    index_t const keys = causal_only ? std::min(query + 1, x.key.extent(2)) : x.key.extent(2);
    index_t const features = x.query.extent(3);
    std::vector<double> scores;
    for (index_t k = 0; k < keys; ++k) {
        double product = 0;
        for (index_t c = 0; c < features; ++c)
            product += static_cast<double>(x.query(0, 0, query, c)) * static_cast<double>(x.key(0, 0, k, c));
        scores.push_back(product / std::sqrt(static_cast<double>(features)));
    }
    double const most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    std::vector<double> result(static_cast<std::size_t>(x.value.extent(3)));
    for (index_t k = 0; k < keys; ++k) {
        double const weight = std::exp(scores[static_cast<std::size_t>(k)] - most);
        sum += weight;
        for (std::size_t c = 0; c < result.size(); ++c)
            result[c] += weight * static_cast<double>(x.value(0, 0, k, static_cast<index_t>(c)));
    }
    for (double& each : result) each /= sum;
    return result;
}

struct with_key_lanes {
    using shape = plan::key_lanes_blocking<float, arch::best>;
    template <class Call>
    static auto context(plan::call_plan const& plan, typename Call::spec const& spec, made::float_operands const& of) {
        return driver::context_of<Call, shape>(plan, spec, of, driver::key_lanes_scores<Call>::functions,
                                               driver::key_lanes_sums<Call>::functions);
    }
    static constexpr plan::traversal by = plan::traversal::key_lanes;
};
struct with_query_lanes {
    using shape = plan::query_lanes_blocking<float, arch::best>;
    template <class Call>
    static auto context(plan::call_plan const& plan, typename Call::spec const& spec, made::float_operands const& of) {
        return driver::context_of<Call, shape>(plan, spec, of, driver::query_lanes_scores<Call>::functions,
                                               driver::query_lanes_sums<Call>::functions);
    }
    static constexpr plan::traversal by = plan::traversal::query_lanes;
};

/// One tile on its keys, run by run.
template <class Lanes>
class lone_tile {
    using shape = typename Lanes::shape;
    using tile_type = driver::score_tile<shape>;

public:
    lone_tile(made::arrays& x, bool masks, bool packs) : x_(x), masks_(masks), packs_(packs) {}

    /// Runs all keys that any row sees, cut at random; where values are not finite, the loop asks for care.
    void run(testing::dice& random, bool finite) {
        if (masks_) run_with(random, scaled_dot | causal | softmax | weighted_sum, finite);
        else run_with(random, scaled_dot | softmax | weighted_sum, finite);
    }

private:
    template <class A>
    void run_with(testing::dice& random, A const& a, bool finite) {
        auto const spec = plan::lower_attention(a);
        auto const operands = x_.operands();
        using call = plan::dense_call<float, arch::best, std::remove_const_t<decltype(spec)>, made::float_operands>;
        plan::call_plan how{Lanes::by, plan::blocking_of<shape>};
        how.keys = packs_ && call::packs_keys ? plan::reading::packed : plan::reading::in_place;
        how.values = Lanes::by == plan::traversal::key_lanes ? call::values_in_key_lanes(operands.sizes(), !packs_)
                                                             : plan::reading::in_place;
        auto const context = Lanes::template context<call>(how, spec, operands);
        driver::block_mask<shape> const mask(context);
        arena memory;
        driver::head_pairs<shape> pairs(context, memory, mask.key_blocks());
        typename tile_type::scratch scratch(memory, context, 1);
        tile_type tile(memory, context);
        driver::row_sums<float> sums{memory.take<char>(shape::states * context.sums.state_bytes),
                                     memory.take<float>(shape::rows * context.value_width())};
        alignas(64) float rescale[shape::rows];
        pairs.begin({0, 0});
        tile.begin(context, {0, 0}, 0, context.rows);
        context.sums.begin(context, sums);
        std::vector<index_t> blocks(static_cast<std::size_t>(mask.key_blocks()));
        std::iota(blocks.begin(), blocks.end(), index_t{0});
        for (auto i = blocks.size(); i > 1; --i)
            std::swap(blocks[i - 1], blocks[static_cast<std::size_t>(random.between(0, static_cast<index_t>(i) - 1))]);
        for (index_t const block : blocks) {
            index_t const first = pairs.first(block), last = pairs.last(block);
            if (masks_ && first >= context.rows) continue;
            CHECK((first == block * shape::block_keys && last == std::min(first + shape::block_keys, context.keys)));
            pairs.prepare(block);
            if (!finite) CHECK(!pairs.values.finite(block));
            bool mixed[shape::panels];
            std::fill_n(mixed, shape::panels, masks_);
            index_t const granules = (last - first + shape::granule - 1) / shape::granule;
            mixed[(granules - 1) / shape::granules_per_panel] = true;  // padded, maybe
            for (index_t from = 0; from < granules;) {
                index_t const to = random.between(from + 1, granules);
                driver::key_run<shape> const run{block, {from, to}, mixed};
                auto const& [rows, of] = std::tie(tile.rows(), context.sums);
                auto const scores = tile.score(context, mask, pairs.keys, run, scratch, false, pairs.next);
                if (!finite) tile.mark_visible(scores);
                of.fold(context, rows, sums, scores, rescale);
                if (finite) of.add(context, rows, sums, pairs.values, scores, rescale, pairs.next);
                else of.add_visible(context, rows, sums, pairs.values, scores, rescale);
                from = to;
            }
        }
        context.sums.finish(context, tile.rows(), sums);
    }

    made::arrays& x_;
    bool masks_, packs_;
};

template <class Lanes>
void check_tile(testing::dice& random, made::arrays& x, bool masks, bool packs, bool finite) {
    lone_tile<Lanes>(x, masks, packs).run(random, finite);
    double worst = 0;
    for (index_t q = 0; q < x.query.extent(2); ++q) {
        auto const expected = attended(x, q, masks);
        for (std::size_t c = 0; c < expected.size(); ++c) {
            double const off = std::abs(static_cast<double>(x.result(0, 0, q, static_cast<index_t>(c))) - expected[c]);
            worst = off <= worst ? worst : off;  // also where it is not a number
        }
    }
    CHECK(worst < 1e-5);
}

}  // namespace

TEMPLATE_TEST_CASE("a tile leaves what the definition says, however its keys are cut into runs", "[driver]",
                   with_key_lanes, with_query_lanes) {
    testing::dice random(17);
    using shape = typename TestType::shape;
    for (index_t rows : {index_t{1}, index_t{shape::rows - 1}, index_t{shape::rows}})
        for (index_t keys : {index_t{1}, index_t{shape::granule}, shape::block_keys - 1, 2 * shape::block_keys + 3})
            for (index_t features : {1, 8, 33})
                for (bool const masks : {false, true})
                    for (bool const packs : {false, true}) {
                        CAPTURE(rows, keys, features, masks, packs);
                        made::arrays x(random, rows, keys, features, features + 2);
                        check_tile<TestType>(random, x, masks, packs, true);
                    }
}

TEMPLATE_TEST_CASE("a tile never shows values of pairs that take no part", "[driver]", with_key_lanes,
                   with_query_lanes) {
    testing::dice random(23);
    using shape = typename TestType::shape;
    index_t const rows = shape::rows - 1, keys = rows + 5;
    for (bool const packs : {false, true}) {
        made::arrays x(random, rows, keys, 4, 3);
        for (index_t k = rows; k < keys; ++k) {  // after the last query
            x.value(0, 0, k, 0) = std::numeric_limits<float>::quiet_NaN();
            x.value(0, 0, k, 1) = std::numeric_limits<float>::infinity();
        }
        check_tile<TestType>(random, x, true, packs, false);
    }
}

TEST_CASE("packed values are those of the call, with rows of whole vectors", "[driver]") {
    testing::dice random(29);
    using shape = plan::key_lanes_blocking<float, arch::best>;
    made::arrays x(random, 3, 2 * shape::block_keys + 5, 7, 5);
    auto const a = scaled_dot | softmax | weighted_sum;
    auto const spec = plan::lower_attention(a);
    auto const operands = x.operands();
    using call = plan::dense_call<float, arch::best, std::remove_const_t<decltype(spec)>, made::float_operands>;
    plan::call_plan how{plan::traversal::key_lanes, plan::blocking_of<shape>};
    how.keys = how.values = plan::reading::packed;
    auto const context = with_key_lanes::context<call>(how, spec, operands);
    for (index_t slots : {1, 2, 3}) {
        arena memory;
        driver::head_values<shape> values(context, memory, slots);
        driver::next_lines next;
        values.begin({0, 0});
        REQUIRE_FALSE(values.in_place());  // 5 features fill no vectors
        CHECK(values.stride() == round_up(5, shape::lanes));
        bool right = true;
        for (index_t block : {0, 1, 2, 0, 1}) {
            values.prepare(block, next);
            CHECK(values.finite(block));
            for (index_t k = values.first(block); k < values.last(block); ++k) {
                for (index_t c = 0; c < 5; ++c) right = right && values.copy(k)[c] == x.value(0, 0, k, c);
            }
        }
        CHECK(right);
    }
}
