// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Costs that the comment of a word states are those of its plan: which normalizers keep rows, which scores are
// matrix products or sums for each pair, which masks leave blocks out or need no masking.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

std::filesystem::path const words = std::filesystem::path(__FILE__).parent_path() / "../../include/fovea";

/// The text under Cost in the header of a word, "folder/word", on one line.
std::string stated(std::string const& word) {
    std::ifstream file(words / (word + ".hpp"));
    std::string line, cost;
    while (std::getline(file, line)) {
        if (line.starts_with("/// Cost: ")) cost = line.substr(10);
        else if (cost.empty()) continue;
        else if (line.starts_with("/// ") && line.substr(0, line.find(' ', 4)).back() != ':'
                 && line.find("cases: ") > 12)
            cost += ' ' + line.substr(4);
        else break;
    }
    return cost;
}
bool says(std::string const& cost, char const* words_of_it) { return cost.find(words_of_it) != std::string::npos; }

/// The words of a folder that have been looked at, and those that have no cost of their own to hold.
class folder {
public:
    folder(char const* name, std::set<std::string> excepted) : name_(name), left_(std::move(excepted)) {}
    /// Holds law(cost, part) of one word.
    template <class Part, class Law>
    void check(char const* word, Part const& part, Law const& law) {
        left_.insert(word);
        auto const cost = stated(name_ + "/" + word);
        INFO(name_ + "/" + word);
        CHECK(!cost.empty());
        CHECK(law(cost, part));
    }
    void require_all() const {
        for (auto const& file : std::filesystem::directory_iterator(words / name_)) {
            CAPTURE(file.path().string());
            CHECK(left_.count(file.path().stem().string()) == 1);
        }
    }

private:
    std::string name_;
    std::set<std::string> left_;
};

template <class N>
bool keeps_rows_as_said(std::string const& cost, N const&) {
    bool const kept = plan::normalizing<N, float>::whole_row, by_key = elementwise_normalizer<N>;
    return says(cost, "over all keys are kept") == kept && says(cost, "elementwise") == by_key
        && (kept || by_key || says(cost, "carried") || says(cost, "as `softmax`"));
}

template <class Score>
bool multiplies_as_said(std::string const& cost, Score const& score) {
    auto const lowered = plan::lower_for<false>(score.expression());
    using pairs = decltype(lowered.parts.pairs);
    constexpr index_t of_tables = plan::query_row_products_of<pairs> + plan::key_row_products_of<pairs>;
    return says(cost, "one matrix product") == (plan::count_of<decltype(lowered.parts.products)> > 0)
        && says(cost, "one with the vectors") == (of_tables > 0)
        && (plan::count_of<pairs> == of_tables || says(cost, "feature"));
}

/// 512 queries and keys in blocks of 32.
template <class Mask>
bool visits_as_said(std::string const& cost, Mask const& mask) {
    box const all{{0, 1}, {0, 1}, {0, 511}, {0, 511}, 512, 512};
    auto const n = plan::count_all_blocks<float>(mask.predicate(), all, {32, 32}, {32, 32}).blocks;
    return says(cost, "visited") == (n.empty > 0) && (!says(cost, "not masked") || n.full > 0)
        && (!says(cost, "no pair needs masking") || n.mixed == 0);
}

}  // namespace

TEST_CASE("normalizers keep rows where their comments say so", "[plan]") {
    // reweight depends on its factor, and a selection before a normalizer keeps rows of its own
    folder all("normalize", {"reweight"});
    auto const check = [&](char const* word, auto const& part) {
        all.check(word, part, [](auto const&... given) { return keeps_rows_as_said(given...); });
    };
    std::vector<float> const sinks{0.5f, 1};
    check("averaged", averaged(relu(score)));
    check("entmax", entmax(1.3));
    check("entmax15", entmax15);
    check("hardmax", hardmax);
    check("l1_weights", l1_weights);
    check("normalized", normalized(exp(score)));
    check("proportional", proportional);
    check("softmax", softmax);
    check("softmax_plus_one", softmax_plus_one);
    check("softmax_with_sink", softmax_with_sink(sinks));
    check("sparsemax", sparsemax);
    check("straight_through", straight_through);
    check("top_k_softmax", top_k_softmax(4));
    check("uniform", uniform);
    check("unnormalized", unnormalized);
    check("weigh", weigh(sigmoid(score)));
    all.require_all();
}

TEST_CASE("scores are products where their comments say so", "[plan]") {
    // these say what they add to another score, what parts of an expression of one's own cost, or what edges of a graph
    // do; general is a projection of the queries
    folder all("score", {"alibi", "bias", "compare", "decay", "gumbel", "relative_bias", "rescore", "softcap",
                         "t5_bias", "temperature", "gat_score", "gatv2_score", "general"});
    auto const check = [&](char const* word, auto const& part) {
        all.check(word, part, [](auto const&... given) { return multiplies_as_said(given...); });
    };
    tensor<float, 2> const table({31, 4});
    std::vector<float> const vector(4);
    check("additive", additive(vector));
    check("concat", concat(vector));
    check("cosine", cosine);
    check("dot", dot);
    check("feature_map", feature_map(elu(q) + 1));
    check("gaussian", gaussian(2.0));
    check("key_only", key_only(vector));
    check("l1_distance", l1_distance(2));
    check("location", location(table));
    check("relative_keys", relative_keys(table));
    check("scaled_by", scaled_by(0.5));
    check("scaled_dot", scaled_dot);
    check("squared_distance", compare(-squared_distance(q, k)));
    all.require_all();
}

TEST_CASE("masks leave blocks out where their comments say so", "[plan]") {
    // a graph's edges are listed, and there are no blocks
    folder all("mask", {"neighbors"});
    auto const check = [&](char const* word, auto const& part) {
        all.check(word, part, [](auto const&... given) { return visits_as_said(given...); });
    };
    std::vector<index_t> const lengths{200, 300};
    std::vector<int> ids(512);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>(i / 150);
    tensor<std::uint8_t, 2> band({512, 512}), blocks({16, 16}), ancestors({512, 512});
    for (index_t i = 0; i < 512; ++i) {
        band(i, i) = 1;
        ancestors(i, i) = 1;
        blocks(i / 32, i / 32) = 1;
    }
    check("block_list", block_list(blocks, 32, 32));
    check("causal", causal);
    check("causal_at_end", causal_at_end);
    check("causal_from", causal_from(-3));
    check("chunked", chunked(128));
    check("dilated_window", dilated_window(60, 2));
    check("document", document(ids));
    check("everything", everything);
    check("global_tokens", global_tokens(4));
    check("key_lengths", key_lengths(lengths));
    check("logic", causal && document(ids));
    check("mask_tensor", mask_tensor(band));
    check("neighborhood", neighborhood({30}, {512}));
    check("prefix_lm", prefix_lm(100));
    check("shared_prefix", shared_prefix(64, ids));
    check("sliding_tiles", sliding_tiles({3, 3}, {4, 8}, {16, 32}));
    check("sliding_window", sliding_window(100, 0));
    check("tree", tree(64, ancestors));
    check("where", where(q_idx / 128 == kv_idx / 128));
    all.require_all();
}

TEST_CASE("a comment that says something else is found", "[plan]") {
    CHECK_FALSE(keeps_rows_as_said("streaming: the sum is carried", sparsemax));
    CHECK_FALSE(keeps_rows_as_said("the scores of a few queries over all keys are kept", softmax));
    CHECK_FALSE(keeps_rows_as_said("streaming: the sum is carried", unnormalized));
    CHECK_FALSE(multiplies_as_said("one multiply-add for each pair", dot));
    CHECK_FALSE(multiplies_as_said("one matrix product", l1_distance(2)));
    CHECK_FALSE(visits_as_said("every pair is masked", causal));
    CHECK_FALSE(visits_as_said("empty tiles are never visited", everything));
    CHECK_FALSE(
        visits_as_said("tiles of the band are visited; others are not masked", where((q_idx - kv_idx) % 2 == 0)));
}
