// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change catalogue
// explain names the traversal that runs.
#include <fovea/fovea.hpp>

#include "catalogue/catalogue.hpp"
#include "catch.hpp"
#include "support/seeds.hpp"

#include <filesystem>
#include <regex>
#include <string>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;
using namespace fovea::placeholders;

namespace {

constexpr auto plain = scaled_dot | softmax | weighted_sum;
constexpr index_t lanes = plan::query_lanes_blocking<float, arch::best>::lanes;

/// True where explain says that pairs are met so.
template <class Spec>
bool says(std::string const& what, Spec const& spec, index_t heads, index_t key_heads, index_t queries) {
    tensor<float, 4> const query({1, heads, queries, 8}), key({1, key_heads, 40, 8});
    std::string const text = explain(spec, query, key, key);
    CAPTURE(text);
    return text.find(what) != std::string::npos;
}

/// The plan of a call on heads that have keys of their own.
template <class Spec>
plan::call_plan plan_of(Spec const&, index_t queries, index_t keys) {
    using all = driver::operands<float, view<float const, 4>, view<float const, 4>, float>;
    return plan::make_plan<float, arch::best, Spec, all>({queries, 1, keys, 4, 4});
}

/// Runs the plan of a call: explain prints its tiles, and so many are looked at, whatever the number of threads.
template <class Spec>
void check_plan_runs(plan::traversal by, Spec const& spec, index_t queries, index_t keys) {
    constexpr index_t heads = 2;
    auto const how = plan_of(spec, queries, keys);
    CAPTURE(queries, keys);
    CHECK(how.by == by);
    tensor<float, 4> const query({1, heads, queries, 4}, 0.5f), key({1, heads, keys, 4}, 0.25f);
    auto const text = explain(spec, query, key, key);
    CAPTURE(text);
    auto const& blocks = how.blocks;
    CHECK(text.find(std::string(plan::files_of(how).loop)) != std::string::npos);
    CHECK(text.find("tiles of " + std::to_string(how.rows) + (how.rows == 1 ? " query x " : " queries x ")
                    + std::to_string(blocks.panel_keys) + " keys, a "
                    + (by == plan::traversal::query_lanes ? "query" : "key") + " in each lane")
          != std::string::npos);
    index_t const panels = (keys + blocks.panel_keys - 1) / blocks.panel_keys,
                  tiles = (queries + blocks.tile_rows - 1) / blocks.tile_rows;
    for (int workers : {1, 3}) {
        tensor<float, 4> result({1, heads, queries, 4});
        workspace scratch;
        attend(threads(workers), scratch, spec, query, key, key, result);
        CHECK(scratch.tiles().full + scratch.tiles().mixed == heads * tiles * panels);
        CHECK(result(0, 1, queries - 1, 3) == Approx(0.25));
    }
}

}  // namespace

TEST_CASE("every specification of the catalogue is explained, by files that are there", "[driver]") {
    INFO(seeds::how_to_repeat());
    auto const headers = std::filesystem::path(__FILE__).parent_path() / "../../include/fovea";
    std::regex const file("[a-z_]+/[a-z_/]+[.]hpp");
    catalogue::call_types const in_float{catalogue::stored::float32, catalogue::stored::float32,
                                         catalogue::stored::float32, catalogue::stored::float32};
    int explained = 0;
    for (auto const& of : catalogue::all()) {
        for (unsigned trial = 0; trial < 4 && of.explain; ++trial) {
            auto from = seeds::dice_for(std::string(of.name), trial);
            auto const sizes =
                catalogue::draw_sizes(from, from.between(0, 40), from.between(0, 40), false, of.shape.of_sizes);
            catalogue::drawn_call const call(from, in_float, of.shape, sizes);
            auto const said = of.explain(call);
            INFO(of.name << "\n" << call.text() << "\n" << said);
            CHECK(said.find(of.by.text(call.tables)) != std::string::npos);
            int files = 0;
            for (std::sregex_iterator at(said.begin(), said.end(), file), end; at != end; ++at, ++files)
                CHECK(std::filesystem::exists(headers / at->str()));
            CHECK(files > 0);
            ++explained;
        }
    }
    CHECK(explained >= 200);
}

TEST_CASE("queries stand in lanes where they fill them", "[driver]") {
    CHECK(says("driver/dense/query_lanes_scores.hpp", plain, 2, 2, lanes));
    CHECK(
        says("driver/dense/query_lanes_scores.hpp", scaled_dot | causal | softmax | weighted_sum, 2, 2, 5 * lanes + 1));
    CHECK(says("driver/dense/key_lanes_scores.hpp", plain, 2, 2, 1));
    CHECK(says("driver/dense/query_lanes_scores.hpp", plain, lanes, 1, 1));  // of as many heads with the same keys
}

TEST_CASE("explain states the rows that a tile of few queries computes", "[driver]") {
    using tile = plan::key_lanes_blocking<float, arch::best>;
    auto const tiles_of = [](index_t rows) {
        return "tiles of " + std::to_string(rows) + (rows == 1 ? " query x " : " queries x ");
    };
    auto const sums = [](index_t n) {
        return ", " + std::to_string(n) + " of " + std::to_string(arch::best::registers) + " registers hold sums";
    };
    tensor<float, 4> const keys({1, 1, 40, 8 * lanes});  // so many features that no query stands in a lane
    for (index_t const queries : {1, 2, 3, 4}) {         // of as many heads with the same keys
        tensor<float, 4> const query({1, queries, 1, 8 * lanes});
        auto const text = explain(plain, query, keys, keys);
        CAPTURE(queries, text);
        index_t const rows = queries == 1 ? 1 : std::max<index_t>(tile::rows / 3, 2);
        CHECK(text.find(tiles_of(queries > rows ? 2 * rows : rows)) != std::string::npos);
        CHECK(text.find(sums(queries == 1 ? 2 : 2 * rows)) != std::string::npos);
    }
    CHECK(says(tiles_of(lanes), plain, 2, 2, lanes));  // one vector of queries, of up to plan::query_lanes_blocking::nv
    CHECK(says(sums(plan::query_lanes_blocking<float, arch::best>::mr), plain, 2, 2, lanes));
    CHECK(says("none: of the blocks of 1 query x 40 keys 1 full", plain, 2, 2, 1));
}

TEST_CASE("operands in 16 bits are converted, or multiplied as they are stored", "[driver]") {
    tensor<float16, 4> const half({1, 2, lanes, 8});
    CHECK(explain(plain, half, half, half).find("driver/dense/query_lanes_scores.hpp") != std::string::npos);
    tensor<bfloat16, 4> const words({1, 2, lanes, 8});
    // Also where the instruction set multiplies pairs, a processor may be slow at it.
    bool const as_stored = kernel::on_usable<arch::best, float, 0, bfloat16>(
        []<class Usable>(std::type_identity<Usable>) { return arch::multiplies_bfloat16<Usable>; });
    CHECK_THAT(
        explain(plain, words, words, words),
        ContainsSubstring(as_stored ? "driver/dense/key_lanes_scores.hpp" : "driver/dense/query_lanes_scores.hpp"));
}

TEST_CASE("keys stand in lanes where something is read along them", "[driver]") {
    tensor<float, 2> const bias({3 * lanes, 40}, 0.5f);
    auto const biased = scaled_dot | rescore(score + param(bias)(q_idx, kv_idx)) | softmax | weighted_sum;
    CHECK(says("driver/dense/query_lanes_scores.hpp", biased, 2, 2, 3 * lanes));
    auto const apart = scaled_dot | rescore(score + param(bias)(q_idx, kv_idx / 2)) | softmax | weighted_sum;
    CHECK(says("driver/dense/key_lanes_scores.hpp", apart, 2, 2, 3 * lanes));
    tensor<float, 1> const distances({3 * lanes + 39});
    auto const near =
        scaled_dot | rescore(score + param(distances)[kv_idx - q_idx + 3 * lanes - 1]) | softmax | weighted_sum;
    CHECK(says("driver/dense/query_lanes_scores.hpp", near, 2, 2, 3 * lanes));
    CHECK(says("driver/dense/pass/whole_rows.hpp", scaled_dot | sparsemax | weighted_sum, 2, 2, 3 * lanes));
    CHECK(
        says("driver/dense/key_lanes_scores.hpp", compare(sum(tanh(q + k))) | softmax | weighted_sum, 2, 2, 3 * lanes));
}

TEST_CASE("explain says how the heads of listed keys are normalized", "[driver]") {
    graph::edge const pairs[] = {{0, 1}, {1, 0}};
    graph const edges(2, pairs);
    tensor<float, 4> const x({1, 2, 2, 8});
    auto const text_of = [&](auto const& spec) { return explain(spec, x, x, x); };
    CHECK_THAT(text_of(scaled_dot | neighbors(edges) | softmax | weighted_sum),
               ContainsSubstring("driver/graph/listed_loop.hpp")
                   && ContainsSubstring("one query at a time, heads innermost, normalized a head in each lane\n"));
    CHECK_THAT(text_of(scaled_dot | neighbors(edges) | sparsemax | weighted_sum),
               ContainsSubstring("one query at a time, heads innermost, normalized one after the other\n"));
}

TEST_CASE("explain names the files that run the products and the rest of the score", "[driver]") {
    auto const capped = scaled_dot | softcap(30) | softmax | weighted_sum;
    CHECK(says("kernel/product/lane_products.hpp", capped, 2, 2, lanes));
    CHECK(says("kernel/transform.hpp", capped, 2, 2, lanes));
    CHECK(says("kernel/product/contract_rows.hpp", capped, 2, 2, 1));  // keys are met where they lie
    CHECK(says("kernel/transform.hpp", capped, 2, 2, 1));
    auto const sparse = scaled_dot | sparsemax | weighted_sum;
    CHECK(says("driver/call/products.hpp", sparse, 2, 2,
               1 + plan::key_lanes_blocking<float, arch::best>::rows));  // keys are packed
    CHECK(says("kernel/product/contract_rows.hpp", sparse, 2, 2, 2));
}

TEST_CASE("explain says what squares of differences are taken apart into", "[driver]") {
    tensor<float, 1> const m({8}, 2);
    std::string const parts =
        "1 matrix product (kernel/product/lane_products.hpp); 1 term for each query (kernel/"
        "environment.hpp); 1 term for each key (kernel/environment.hpp); the rest on the tile";
    CHECK(says(parts, compare(-sum(square(q - k))) | softmax | weighted_sum, 2, 2, lanes));
    CHECK(says(parts, compare(-sum(param(m) * square(q - k))) | softmax | weighted_sum, 2, 2, lanes));
    CHECK(says("1 sum for each pair", compare(-sqrt(sum(square(q - k)))) | softmax | weighted_sum, 2, 2, lanes));
}

TEST_CASE("explain counts the parts of a score, one or two of each kind", "[driver]") {
    auto const sums_of_pairs = compare(sum(tanh(q * k)) + sum(exp(q * k + 1))) | softmax | weighted_sum;
    CHECK(says("2 sums for each pair (driver/dense/pairwise.hpp)", sums_of_pairs, 2, 2, lanes));
    auto const of_one_side =
        compare(sum(q * k) + sum(q) * sum(tanh(k)) / (2 + cos(sum(q * q))) - tanh(sum(k))) | softmax | weighted_sum;
    CHECK(says("1 matrix product (", of_one_side, 2, 2, lanes));
    CHECK(says("2 terms for each query (kernel/environment.hpp); 2 terms for each key (kernel/environment.hpp)",
               of_one_side, 2, 2, lanes));
    auto const two_products = compare(sum(q * k) * tanh(sum(exp(q) * exp(k)))) | softmax | weighted_sum;
    CHECK(says("2 matrix products (", two_products, 2, 2, lanes));
}

TEST_CASE("blocks of a mask that differs by head are counted over all heads", "[driver]") {
    constexpr index_t n = 2048;
    tensor<float, 4> const x({2, 1, n, 4});
    auto const first_alone = scaled_dot | where(batch == 0 || kv_idx < 0) | softmax | weighted_sum;
    auto const text = explain(first_alone, x, x, x);
    CAPTURE(text);
    using tile = plan::query_lanes_blocking<float, arch::best>;
    index_t const blocks =
        ((n + tile::block_rows - 1) / tile::block_rows) * ((n + tile::block_keys - 1) / tile::block_keys);
    CHECK(text.find(std::to_string(blocks) + " full, 0 mixed, " + std::to_string(blocks) + " skipped over all heads")
          != std::string::npos);
}

TEST_CASE("explain names tables that are read element by element, and the axis that would mend it", "[driver]") {
    tensor<float, 2> const bias({128, 128});
    tensor<int, 2> const groups({128, 128});
    auto const b = param(bias);
    auto const ids = param(groups);
    auto const with = [](auto const& e) { return scaled_dot | rescore(score + e) | softmax | weighted_sum; };
    std::string const mend = " last, it would be read in vectors\n";
    std::string const loads =
        " is read element by element for each pair, " + std::to_string(lanes) + " loads where a vector is 1: ";
    CHECK(says("slow        param[kv_idx, head]" + loads + "with the index that has kv_idx" + mend,
               with(b(kv_idx, head)), 2, 2, 1));
    CHECK(says("slow        param[q_idx, param[kv_idx, 0]] is read element by element", with(b(q_idx, ids(kv_idx, 0))),
               2, 2, 1));
    CHECK_FALSE(
        says("element by element", scaled_dot | rescore(score + b(kv_idx, head)) | sparsemax | weighted_sum, 2, 2, 1));
    CHECK(says("slow        param[kv_idx - q_idx + 60, head]" + loads + "with the index that has q_idx" + mend,
               with(b(kv_idx - q_idx + 60, head)), 2, 2, 3 * lanes));
    CHECK(says("slow        param[0, 2 * (kv_idx + q_idx)]" + loads
                   + "elements for adjacent kv_idx are not adjacent; a "
                     "table by (q_idx, kv_idx), made before, would be\n",
               with(b(0, 2 * (kv_idx + q_idx))), 2, 2, 1));
    for (index_t const queries : {index_t{1}, 3 * lanes}) {
        CHECK_FALSE(says("slow", with(b(q_idx, kv_idx)), 2, 2, queries));
        CHECK_FALSE(says("slow", with(b(kv_idx, 0) * b(q_idx, 1)), 2, 2, queries));  // read once for each side
        CHECK_FALSE(says("slow", with(0.5f * ids(kv_idx, 0) * ids(q_idx, 1)), 2, 2, queries));
        CHECK_FALSE(says("slow", with(b(head, kv_idx - q_idx + 60)), 2, 2, queries));
        CHECK_FALSE(says("slow", with(b(head, max(min(kv_idx - q_idx, 9), -9) + 9)), 2, 2, queries));
        CHECK_FALSE(says("slow", scaled_dot | causal | softmax | weighted_sum, 2, 2, queries));
    }
}

TEST_CASE("explain names sums for each pair, and what they cost beside a product", "[driver]") {
    CHECK(
        says("slow        sum((q - k) * (q - k)) is added up for each pair, with 4 operations for each feature where "
             "a matrix product has 1: factors of q times factors of k, and square(q - k), are products\n",
             compare(-sum((q - k) * (q - k))) | softmax | weighted_sum, 2, 2, lanes));
    CHECK_FALSE(says("slow", compare(-sum(square(q - k))) | softmax | weighted_sum, 2, 2, lanes));
    tensor<float, 2> const of_distances({39 + lanes, 8});
    auto const row = param(of_distances)[kv_idx - q_idx + lanes - 1];
    auto const multiplied = compare(sum(q * (k + row))) | softmax | weighted_sum;
    CHECK_FALSE(says("slow", multiplied, 2, 2, lanes));
    CHECK(says("1 sum with rows of a table, from a matrix product (driver/dense/table_products.hpp)", multiplied, 2, 2,
               lanes));
    CHECK(
        says("operations for each feature where a matrix product has 1: what is of the query, or of the key, times a "
             "row that the pair chooses along one axis of a table, is a product: how_to/relative_positions.md\n",
             compare(sum(q * tanh(k + row))) | softmax | weighted_sum, 2, 2, lanes));
    auto const keys_multiplied = compare(sum(q * k) + sum(k * row)) | softmax | weighted_sum;
    CHECK(says("1 sum of keys with rows of a table, from a matrix product (driver/dense/key_table_products.hpp)",
               keys_multiplied, 2, 2, lanes));
    CHECK(says("keys are multiplied with rows of a table where many queries share them", keys_multiplied, 2, 2, 2));
    tensor<float, 3> const of_heads({2, 39 + lanes, 8});
    auto const by_head =
        compare(sum(q * k) + sum(q * param(of_heads)(head, kv_idx - q_idx + lanes - 1))) | softmax | weighted_sum;
    CHECK_FALSE(says("slow", by_head, 2, 2, lanes));
    CHECK(says("heads that share keys share the rows of a product, too, where its table has no index by head\n",
               by_head, 2, 1, lanes));
}

TEST_CASE("explain says where a squared distance inside a function is made of a product", "[driver]") {
    auto const text_of = [](index_t queries, index_t features) {
        tensor<float, 4> const query({1, 2, queries, features}), key({1, 2, 40, features});
        return explain(compare(-log(1 + squared_distance(q, k))) | softmax | weighted_sum, query, key, key);
    };
    constexpr int rows = plan::key_lanes_blocking<float, arch::best>::rows;
    CHECK_THAT(text_of(40, 16),
               ContainsSubstring("1 squared distance from a matrix product (driver/dense/stored_keys.hpp); the rest")
                   && !ContainsSubstring("slow"));
    tensor<float, 1> const widths({16}, 2);
    tensor<float, 2> const of_heads({2, 16}, 2);
    tensor<float, 4> const x({1, 2, 40, 16});
    auto const parts_of = [&](auto const& e) {
        return explain(compare(-log(1 + e)) | softmax | weighted_sum, x, x, x);
    };
    for (auto const& text : {parts_of(sum(square(q - k) / param(widths))),
                             parts_of(sum(square((q - k) / param(widths)))), parts_of(sum(0.5f * square(k + q)))})
        CHECK_THAT(text, ContainsSubstring("1 squared distance from a matrix product ("));
    for (auto const& text : {parts_of(sum(param(of_heads)[head] * square(q - k))), parts_of(sum(q * square(q - k))),
                             parts_of(sum(square(q - k) * square(k)))})
        CHECK_THAT(text, ContainsSubstring("1 sum for each pair ("));
    CHECK_THAT(text_of(40, 15), ContainsSubstring("1 sum for each pair (") && !ContainsSubstring("slow"));
    CHECK_THAT(text_of(1, 16), ContainsSubstring("1 sum for each pair (")
                                   && ContainsSubstring("slow        sum(square(q - k)) is added up for each pair: "
                                                        "with more than "
                                                        + std::to_string(rows)
                                                        + " queries for the same keys, it is made of a matrix "
                                                          "product\n"));
}

TEST_CASE("explain names a mask that decides few blocks, with the share of visible pairs", "[driver]") {
    tensor<float, 4> const x({1, 1, 1000, 8});
    auto const text_of = [&](auto const& mask) { return explain(scaled_dot | mask | softmax | weighted_sum, x, x, x); };
    auto const every_tenth = text_of(where((q_idx * 7 + kv_idx) % 10 == 0));
    CHECK_THAT(every_tenth,
               ContainsSubstring(
                   "slow        the mask decides 0 % of the tiles: in the others it is evaluated for each pair, "));
    CHECK_THAT(every_tenth, ContainsSubstring("about 10 % of all pairs are visible; neighbors(graph) computes only the "
                                              "pairs that it lists\n"));
    auto const half = text_of(where((q_idx + kv_idx) % 2 == 0));
    CHECK_THAT(half, ContainsSubstring("about 50 % of all pairs are visible; a table of it, made before, takes one "
                                       "read\n"));
    for (auto const& text : {text_of(causal), text_of(sliding_window(50, 50)), text_of(everything)})
        CHECK_THAT(text, !ContainsSubstring("slow"));
}

TEST_CASE("explain counts the tiles of a mask whose blocks no bound decides", "[driver]") {
    constexpr index_t n = 1000;
    tensor<float, 4> const x({1, 1, n, 8});
    std::vector<unsigned char> table(static_cast<std::size_t>(n * n));
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j <= i; ++j) table[static_cast<std::size_t>(i * n + j)] = 1;
    view<unsigned char const, 2> const seen(table.data(), {n, n});
    auto const spec = scaled_dot | where(param(seen)(q_idx, kv_idx) != 0) | softmax | weighted_sum;
    auto const text = explain(spec, x, x, x);
    CAPTURE(text);
    std::smatch found;
    REQUIRE(std::regex_search(text, found,
                              std::regex("([0-9]+) full, ([0-9]+) mixed, [0-9]+ skipped; of the tiles of mixed blocks "
                                         "([0-9]+) % are skipped, ([0-9]+) % not masked")));
    CHECK_THAT(text, !ContainsSubstring("slow"));
    workspace scratch;
    tensor<float, 4> result({1, 1, n, 8});
    attend(scratch, spec, x, x, x, result);
    auto const done = scratch.tiles();
    CAPTURE(done.full, done.mixed);
    double const full = 100 * std::stod(found[1]), mixed = std::stod(found[2]);
    double const computed = full + mixed * (100 - std::stod(found[3])), not_masked = full + mixed * std::stod(found[4]);
    CHECK(not_masked / computed
          == Approx(static_cast<double>(done.full) / static_cast<double>(done.full + done.mixed)).margin(0.1));
}

TEST_CASE("explain counts the operations of a call, and the bytes that it reads and writes once", "[driver]") {
    tensor<float, 4> const q({1, 4, 50, 16}), k({1, 2, 100, 16}), v({1, 2, 100, 8});
    auto const work_of = [](std::string const& text) {
        auto const begin = text.find("work        ");
        return text.substr(begin, text.find('\n', begin) - begin);
    };
    // 4 * 50 * 100 pairs of 2 * (16 + 8) operations; 3200 + 3200 + 1600 numbers read, 1600 written
    CHECK(work_of(explain(plain, q, k, v))
          == "work        960 kflop in sums over features; 32.0 kB read, 6.40 kB written");
    // (q - k) * (q - k) and its sum are 4 operations for each feature
    CHECK(work_of(explain(compare(-sum((q_t{} - k_t{}) * (q_t{} - k_t{}))) | softmax | weighted_sum, q, k, v))
          == "work        1.60 Mflop in sums over features; 32.0 kB read, 6.40 kB written");
    tensor<float, 2> const x({50, 32}), w({32, 32});
    CHECK(work_of(explain(project(w, w, w, heads<2>) | plain | output(w), x))
          == "work        730 kflop in sums over features; 10.5 kB read, 6.40 kB written");
    graph::edge const pairs[] = {{0, 1}, {1, 0}, {2, 1}};
    graph const edges(50, pairs);
    CHECK(work_of(explain(scaled_dot | neighbors(edges) | softmax | weighted_sum, x))
              .starts_with("work        384 flop"));
}

TEST_CASE("explain says what whole rows take", "[driver]") {
    tensor<float, 4> const x({1, 1, 1000, 8});
    using tile = plan::key_lanes_blocking<float, arch::best>;
    constexpr index_t rows = tile::rows, blocks = (1000 + tile::block_keys - 1) / tile::block_keys;
    CHECK_THAT(explain(scaled_dot | sparsemax | weighted_sum, x, x, x),
               ContainsSubstring("slow        whole rows are kept: up to " + std::to_string(rows) + " x 1000 scores, "
                                 + std::to_string((rows * 4000 + 1023) / 1024) + " KiB for each thread, "
                                 + std::to_string(blocks)
                                 + " blocks of keys where an online normalizer, such as softmax, keeps 1\n"));
    tensor<float, 4> const few({1, 1, 10, 8});
    CHECK_THAT(explain(scaled_dot | sparsemax | weighted_sum, few, few, few),
               ContainsSubstring("KiB for each thread, 1 block of keys, as an online normalizer keeps\n"));
}

TEST_CASE("explain takes what attend takes, and says what that call runs", "[driver]") {
    tensor<float, 4> const x({1, 2, 50, 8}, 0.5f);
    tensor<float, 4> result({1, 2, 50, 8}), probabilities({1, 2, 50, 50});
    auto const without = explain(plain, x, x, x);
    CHECK(explain(plain, x, x, x, result) == without);
    CHECK(explain(plain, x, result) == without);
    workspace scratch;
    CHECK(explain(threads(2), scratch, plain, x, x, x, result) == without);
    CHECK(explain(plain, queries(x), memory(x), result) == without);
    // Weights are read off whole rows.
    CHECK(without.find("whole_rows") == std::string::npos);
    CHECK(explain(plain, x, x, x, result, weights(probabilities)).find("whole_rows") != std::string::npos);
    CHECK(result.elements[0] == 0);
    tensor<double, 4> in_double({1, 2, 50, 8});
    CHECK(explain(plain, x, x, x, in_double).find("float64") != std::string::npos);
    tensor<float, 4> too_short({1, 2, 49, 8});
    CHECK_THROWS_AS(explain(plain, x, x, x, too_short), shape_error);
}

TEST_CASE("the plan that is explained is the plan that runs", "[driver]") {
    using plan::traversal;
    for (index_t keys : {1, 40, 129, 700}) {
        for (index_t queries : {lanes, 3 * lanes + 1, 20 * lanes - 1})
            check_plan_runs(traversal::query_lanes, plain, queries, keys);
        check_plan_runs(traversal::key_lanes, plain, 1, keys);
        for (index_t queries : {1, 2, 13, 200}) {
            check_plan_runs(traversal::key_lanes, compare(sum(tanh(q + k))) | softmax | weighted_sum, queries, keys);
            check_plan_runs(traversal::whole_rows, scaled_dot | sparsemax | weighted_sum, queries, keys);
        }
    }
    check_plan_runs(traversal::split_keys, plain, 1, 40000);
}
