// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels in words: the names that `takes` lists, formulas with these names, and what is written of them.
#include "bindings/kernels.hpp"
#include "catch.hpp"

#include <fovea/bindings/dispatch.hpp>
#include <fovea/bindings/source.hpp>
#include <fovea/bindings/write.hpp>
#include <fovea/simd/architecture.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::bindings;
using namespace fovea::placeholders;

namespace {
template <class Write>
std::string text_of(Write const& write) {
    std::ostringstream text;
    write(text);
    return text.str();
}
bool holds(std::string const& text, std::string const& piece) { return text.find(piece) != std::string::npos; }

library_description library() {
    library_description all{"demo", "", {"sse2", "avx512", "avx512_bf16", "avx512_amx"}, {}};
    all.kernels.push_back(describe_kernel<float>("stepped", "kernels::stepped", kernels::stepped));
    all.kernels.push_back(describe_kernel<double>("stepped", "kernels::stepped", kernels::stepped));
    all.kernels.push_back(describe_kernel<bfloat16>("neighbours", "kernels::neighbours", kernels::neighbours));
    all.kernels.push_back(describe_kernel<float>("packed", "kernels::packed", kernels::packed));
    return all;
}
}  // namespace

TEST_CASE("names and axes are read as they are written", "[bindings]") {
    using text = signature<" slopes ( heads ),cap, table(batch, 7 ,distances)  ">;
    STATIC_REQUIRE(text::is_well_formed());
    STATIC_REQUIRE(text::size == 3);
    STATIC_REQUIRE(text::extents == 1);
    CHECK(text::arguments[0].name == "slopes");
    CHECK(text::arguments[0].axes[0] == "heads");
    CHECK(text::arguments[1].rank == 0);
    CHECK(text::arguments[2].rank == 3);
    CHECK(text::arguments[2].axes[1] == "7");
    STATIC_REQUIRE(signature<"">::size == 0);
}

TEST_CASE("an axis named after another argument is no argument of its own", "[bindings]") {
    STATIC_REQUIRE(signature<"edges, bias(edges)">::extents == 0);
    STATIC_REQUIRE(signature<"n, table(n, m, m)">::extents == 1);
    STATIC_REQUIRE(!signature<"a(b), b(heads)">::is_well_formed());  // a table is no extent
}

TEST_CASE("names that C could not have are refused", "[bindings]") {
    STATIC_REQUIRE(!signature<"2nd">::is_well_formed());
    STATIC_REQUIRE(!signature<"a b">::is_well_formed());
    STATIC_REQUIRE(!signature<"a(heads), a">::is_well_formed());
    STATIC_REQUIRE(!signature<"a(b, c, d, e, f)">::is_well_formed());
    STATIC_REQUIRE(!signature<"a(x y)">::is_well_formed());
}

TEST_CASE("names of something else in a call are refused, as arguments and as axes", "[bindings]") {
    STATIC_REQUIRE(signature<"query">::takes_a_name_of_calls());
    STATIC_REQUIRE(signature<"slopes(heads), out">::takes_a_name_of_calls());
    STATIC_REQUIRE(signature<"threads">::takes_a_name_of_calls());
    STATIC_REQUIRE(signature<"table(heads, page_table)">::takes_a_name_of_calls());
    STATIC_REQUIRE(!signature<"table(heads, pages), real, int, values">::takes_a_name_of_calls());
    // One name for an extent of the call and for a number of its own.
    STATIC_REQUIRE(!signature<"heads, slopes(heads)">::is_well_formed());
    STATIC_REQUIRE(signature<"keys">::is_well_formed());
}

TEST_CASE("formulas name tables and numbers, and say which number was computed before", "[bindings]") {
    auto const line = [](auto const& kernel, std::size_t i) {
        return describe_kernel<float>("", "", kernel).formula.at(i);
    };
    CHECK(line(kernels::alibi_causal, 0) == "score    sum(q * k) * rsqrt(dim) + slopes[head] * (kv_idx - q_idx)");
    CHECK(line(kernels::capped, 0) == "score    cap * tanh(sum(q * k) * rsqrt(dim) / cap)");
    CHECK(line(kernels::window, 1) == "pairs    q_idx - kv_idx <= left && kv_idx - q_idx <= right");
    CHECK(line(kernels::listed, 1) == "pairs    bits[q_idx, kv_idx] && bytes[q_idx, kv_idx]");
    auto const halved =
        takes<"cap">([](float cap) { return dot | rescore(score / (cap / 2)) | softmax | weighted_sum; });
    CHECK(line(halved, 0) == "score    sum(q * k) / (computed)");
    CHECK(line(kernels::stepped, 0) == "score    sum(q * k) * rsqrt(dim) + steps[head, (q_idx + kv_idx) % distances]");
    auto const relative = takes<"table(heads, distances)">(
        [](view<float const, 2> table) { return dot | relative_bias(table) | softmax | weighted_sum; });
    CHECK(line(relative, 0)
          == "score    sum(q * k) + table[head, min(max(kv_idx - q_idx, -(computed)), (computed)) + (computed)]");
    auto const best = takes<"k">([](index_t k) { return dot | top_k_softmax(k) | weighted_sum; });
    CHECK(line(best, 2) == "weights  keep(top_k(k)) | softmax");
}

TEST_CASE("a specification stands in its words, with the names of its tables", "[bindings]") {
    CHECK(describe_kernel<float>("", "kernels::alibi_causal", kernels::alibi_causal).specification
          == "scaled_dot | rescore(score + slopes[head] * (kv_idx - q_idx)) | causal | softmax | weighted_sum");
    auto const sunk =
        takes<"sinks(heads), shift(value_features)">([](view<float const, 1> sinks, view<float const, 1> shift) {
            return dot | softmax_with_sink(param(sinks)[head]) | weighted_sum | map(out + param(shift));
        });
    auto const all = describe_kernel<float>("", "sunk", sunk);
    CHECK(all.formula.at(2) == "weights  softmax_with_sink(sinks[head])");
    CHECK(all.specification.starts_with("dot | softmax_with_sink(sinks[head]) | weighted_sum | map(out + "));
    auto const two = takes<"a(heads), b(heads)">([](view<float const, 1> a, view<float const, 1> b) {
        return dot | rescore(score + param(a)[head]) | rescore(score * param(b)[head]) | softmax | weighted_sum;
    });
    CHECK(describe_kernel<float>("", "", two).formula.at(0) == "score    (sum(q * k) + a[head]) * b[head]");
}

TEST_CASE("a number that is no argument is a number, or was computed from some", "[bindings]") {
    auto const score_of = [](auto const& make) {
        auto const kernel = takes<"a, b">([make](float a, double b) {
            return dot | rescore(score + static_cast<float>(make(a, b))) | softmax | weighted_sum;
        });
        return describe_kernel<float>("", "", kernel).formula.at(0).substr(std::strlen("score    sum(q * k) + "));
    };
    CHECK(score_of([](double a, double) { return a; }) == "a");
    CHECK(score_of([](double, double b) { return b; }) == "b");
    CHECK(score_of([](double a, double b) { return b - a / 3; }) == "(computed)");
    CHECK(score_of([](double a, double) { return std::exp(a); }) == "(computed)");
    CHECK(score_of([](double a, double) { return std::floor(a); }) == "0");  // of all that was tried
    CHECK(score_of([](double, double) { return 1.5; }) == "1.5");
}

TEST_CASE("functions that refuse some numbers are put into words by others", "[bindings]") {
    auto const line = [](auto const& kernel, std::size_t i) {
        return describe_kernel<float>("", "", kernel).formula.at(i);
    };
    auto const require = [](bool right) {
        if (!right) throw std::invalid_argument("no");
    };
    auto const large = takes<"n">([require](index_t n) {
        require(n > 500);
        return dot | where(kv_idx < n) | softmax | weighted_sum;
    });
    CHECK(line(large, 1) == "pairs    kv_idx < n");
    auto const even = takes<"t(n)">([require](view<float const, 1> t) {
        require(t.extent(0) % 2 == 0);
        return dot | rescore(score + param(t)[kv_idx % t.extent(0)]) | softmax | weighted_sum;
    });
    CHECK(line(even, 0) == "score    sum(q * k) + t[kv_idx % n]");
    auto const none = takes<"p">([require](float p) {
        require(p < 0);
        return dot | rescore(score * p) | softmax | weighted_sum;
    });
    CHECK(describe_kernel<float>("", "", none).formula.empty());
}

TEST_CASE("a kernel has the comment above what its expression names", "[bindings]") {
    std::string const header =
        "// About the file.\n\n/// One line,\n/// and another.\ninline constexpr auto one =\n    "
        "dot;\n\nauto const plain = one;\n/* A block\n * of text. */\ntemplate <class T>\n"
        "constexpr auto two(T x) {\n    // not this\n    return three(x);\n}\n"
        "/// Tab.\r\ninline auto four{one};\r\n";
    using lines = std::vector<std::string>;
    CHECK(comment_above(header, "one") == lines{"One line,", "and another."});
    CHECK(comment_above(header, "plain") == lines{});
    CHECK(comment_above(header, "two") == lines{"A block", "of text."});
    CHECK(comment_above(header, "three") == lines{});  // it is used, not defined
    CHECK(comment_above(header, "four") == lines{"Tab."});
    CHECK(comment_above(header, "absent") == lines{});
    std::string const path = FOVEA_BINDINGS_KERNELS;
    CHECK(comment_of("takes<\"visible\">(kernels::neighbours).over_pages()", {path})
          == lines{"A table with an element for each edge of a graph."});
    CHECK(comment_of("scaled_dot | causal | softmax", {path}).empty());
    CHECK(comment_of("kernels::neighbours", {path + "/absent"}).empty());
}

TEST_CASE("a kernel has the specification as its header has it", "[bindings]") {
    std::string const path = FOVEA_BINDINGS_KERNELS;
    CHECK(specification_of("kernels::alibi_causal", {path})
          == "scaled_dot | alibi(slopes) | causal | softmax | weighted_sum");
    CHECK(specification_of("kernels::alibi_causal.over_pages()", {path})
          == specification_of("kernels::alibi_causal", {path}));
    CHECK(specification_of("kernels::stepped", {path})
          == "scaled_dot | rescore(score + param(steps)(head, (q_idx + kv_idx) % steps.extent(1))) | softmax | weighted_sum");
    CHECK(specification_of("kernels::absent", {path}).empty());
    CHECK(specification_of("kernels::alibi_causal | map(out)", {path}).empty());
    CHECK(specification_in("inline constexpr auto plain =\n    dot | softmax | weighted_sum;\n", "plain")
          == "dot | softmax | weighted_sum");
    CHECK(specification_in("auto const two = takes<\"a\">([](float a) {\n  float b = a;\n  return dot | f(b);\n});",
                           "two")
              .empty());
    CHECK(specification_in("auto const said = takes<\"\">([] {\n  return dot  // of a\n  | softmax;\n});", "said")
              .empty());
    CHECK(describe_kernel<float>("", "", kernels::capped, {}, false, "as | it | was").specification == "as | it | was");
}

TEST_CASE("the comment of a kernel stands in header, page and list", "[bindings]") {
    library_description all{"demo", "", {"sse2"}, {}};
    all.kernels.push_back(
        describe_kernel<float>("capped", "kernels::capped", kernels::capped, {"Scores /* below */", "", "the cap."}));
    auto const header = text_of([&](std::ostream& to) { write_header(to, all); });
    CHECK(holds(header,
                "/* capped: scaled_dot | rescore(cap * tanh(score / cap)) | softmax | weighted_sum\n   Scores / * "
                "below * /\n\n   the cap.\n     score    cap * "));
    CHECK(holds(text_of([&](std::ostream& to) { write_page(to, all); }),
                "## capped\n\nScores /* below */\n\nthe cap.\n\n    scaled_dot | rescore(cap * tanh(score / cap)) | "));
    CHECK(holds(text_of([&](std::ostream& to) { write_dispatcher(to, all); }),
                " | softmax | weighted_sum\", \"Scores /* below */\\n\\nthe cap.\", \"score "));
}

TEST_CASE("the header declares each argument with its shape", "[bindings]") {
    auto const header = text_of([](std::ostream& to) { write_header(to, library()); });
    CHECK(holds(header, "demo_stepped_f32(fovea_call const* call, fovea_input_f32 query,"));
    CHECK(holds(header, "float const* arg_steps /* (heads, distances) */, int64_t arg_distances);"));
    CHECK(holds(header, "double const* arg_steps /* (heads, distances) */, int64_t arg_distances);"));
    CHECK(holds(header, "fovea_graph const* arg_edges, float const* arg_bias /* (edges) */);"));
    CHECK(holds(header, "int64_t const* arg_query_offsets /* (sequences + 1) */"));
}

TEST_CASE("a kernel with gradients has those of the tables that its score reads", "[bindings]") {
    auto const gradients_of = [](auto const& kernel) {
        std::vector<bool> all;
        for (auto const& a : describe_kernel<double>("", "", kernel, {}, true).arguments) all.push_back(a.has_gradient);
        return all;
    };
    CHECK(gradients_of(kernels::stepped) == std::vector<bool>{true, false});
    CHECK(gradients_of(kernels::neighbours) == std::vector<bool>{false, true});
    auto const two = takes<"limits(queries), bias(keys), ids(keys)">(
        [](view<float const, 1> limits, view<float const, 1> bias, view<std::int32_t const, 1> ids) {
            return dot | rescore(score + param(bias)[kv_idx] + param(ids)[kv_idx]) | where(param(limits)[q_idx] < 1)
                 | softmax | weighted_sum;
        });
    CHECK(gradients_of(two) == std::vector<bool>{false, true, false});
    // Where no numbers suit the function nothing is known of its tables.
    auto const none =
        takes<"p, t(keys), ids(keys)">([](float p, view<float const, 1> t, view<std::int32_t const, 1> ids) {
            if (!(p < 0)) throw std::invalid_argument("no");
            return dot | rescore(score + param(t)[kv_idx] + param(ids)[kv_idx]) | softmax | weighted_sum;
        });
    CHECK(gradients_of(none) == std::vector<bool>{false, true, false});
}

TEST_CASE("gradients are functions beside those of their kernels", "[bindings]") {
    auto all = library();
    CHECK(!holds(text_of([&](std::ostream& to) { write_header(to, all); }), "_gradient("));
    all.kernels.front() = describe_kernel<float>("stepped", "kernels::stepped", kernels::stepped, {}, true);
    auto const header = text_of([&](std::ostream& to) { write_header(to, all); });
    CHECK(holds(header, "fovea_status demo_stepped_f32_gradient(fovea_call const* call, fovea_input_f32 query,"));
    CHECK(holds(header,
                "fovea_input_f32 d_result, fovea_output_f32 d_query, fovea_output_f32 d_key, fovea_output_f32 "
                "d_value, float const* arg_steps /* (heads, distances) */, int64_t arg_distances, float* "
                "d_steps /* (heads, distances) */);"));
    CHECK(!holds(header, "demo_stepped_f64_gradient"));
    auto const dispatcher = text_of([&](std::ostream& to) { write_dispatcher(to, all); });
    CHECK(holds(dispatcher, "{pointer(arg_steps), integer(arg_distances), pointer(d_steps), pointer(nullptr)}"));
    CHECK(holds(dispatcher, "demo_stepped_f32_gradient_avx512(fovea_call const*,"));
    CHECK(holds(text_of([&](std::ostream& to) { write_page(to, all); }), "`demo_stepped_f32_gradient`"));
}

TEST_CASE("outputs beside the result are functions beside those of their kernels", "[bindings]") {
    auto all = library();
    CHECK(!holds(text_of([&](std::ostream& to) { write_header(to, all); }), "_outputs("));
    all.kernels.front() = describe_kernel<bfloat16>("stepped", "", kernels::stepped, {}, true, {},
                                                    outputs<"lse", "best_key", "column_sums">{});
    all.kernels[2] =
        describe_kernel<double>("neighbours", "", kernels::neighbours, {}, false, {}, outputs<"weights">{});
    auto const header = text_of([&](std::ostream& to) { write_header(to, all); });
    CHECK(holds(header,
                "demo_stepped_bf16_outputs(fovea_call const* call, fovea_input_bf16 query, fovea_input_bf16 key, "
                "fovea_input_bf16 value, fovea_output_bf16 result, fovea_output_f32 lse, fovea_output_i64 best_key, "
                "fovea_output_f32 column_sums, float const* arg_steps"));
    CHECK(holds(header, "fovea_output_bf16 d_value, fovea_input_f32 gradient_of_lse, float const* arg_steps"));
    CHECK(holds(header, "   Beside the result: column_sums (batch, heads, keys)\n"));
    CHECK(holds(header, "fovea_output_f64 result, fovea_output_f64 weights, fovea_graph const* arg_edges"));
    auto const dispatcher = text_of([&](std::ostream& to) { write_dispatcher(to, all); });
    CHECK(holds(dispatcher, "{{\"weights\", \"f64\", \"(batch, heads, edges)\", 0}, };"));
    CHECK(holds(dispatcher,
                "run_demo_stepped_bf16_gradient, outputs_demo_stepped_bf16, 3, run_demo_stepped_bf16_outputs, 0}"));
    CHECK(holds(dispatcher, "operand_of(d_value), operand_of(gradient_of_lse)};"));
    CHECK(holds(dispatcher, "nullptr, nullptr, 0, nullptr, 0},"));
    CHECK(holds(text_of([&](std::ostream& to) { write_page(to, all); }),
                "| best_key | i64, written where it is asked for | (batch, heads, queries) |"));
}

TEST_CASE("heads of outputs are those that a projection makes", "[bindings]") {
    auto const layer =
        takes<"weights(features, rows), bias(rows)">([](view<float const, 2> weights, view<float const, 1>) {
            return project(weights, weights, weights, heads<4, 2>) | dot | softmax | weighted_sum;
        });
    auto const described = describe_kernel<float>("", "", layer, {}, true, {}, outputs<"lse", "entropy">{}).outputs;
    auto const forward_taken = [](auto const& kernel, auto names) {
        return describe_kernel<float>("", "", kernel, {}, true, {}, names).takes_forward;
    };
    CHECK(forward_taken(kernels::stepped, outputs<"lse">{}));
    CHECK(!forward_taken(kernels::stepped, outputs<"weights">{}));
    CHECK(!forward_taken(kernels::neighbours, outputs<"lse">{}));
    CHECK(!forward_taken(layer, outputs<"lse">{}));
    CHECK(described[0].shape == "(batch, 4, queries)");
    CHECK(described[0].has_gradient);
    CHECK(!described[1].has_gradient);
    auto const thinned = takes<"weights(heads)">([](view<float const, 1> weights) {
        return dot | softmax | reweight(weight * param(weights)[head]) | weighted_sum;
    });
    CHECK(!describe_kernel<float>("", "", thinned, {}, true, {}, outputs<"lse">{}).outputs[0].has_gradient);
}

TEST_CASE("kernels of 16 bits alone have an architecture of their own", "[bindings]") {
    auto const dispatcher = text_of([](std::ostream& to) { write_dispatcher(to, library()); });
    CHECK(holds(dispatcher, "demo_neighbours_bf16_avx512_bf16"));
    CHECK(!holds(dispatcher, "demo_stepped_f32_avx512_bf16"));
    CHECK(holds(dispatcher, "demo_neighbours_bf16_avx512_amx"));
    CHECK(!holds(dispatcher, "demo_stepped_f32_avx512_amx"));
    auto const page = text_of([](std::ostream& to) { write_page(to, library()); });
    CHECK(holds(page, "| bias | float | (edges) |"));
    CHECK(holds(page, "`demo_stepped_f64`"));
}

TEST_CASE("kernels for C call architectures what explain calls them", "[bindings]") {
    constexpr std::array names{arch::sse2::name,        arch::avx2::name,       arch::avx512::name,
                               arch::avx512_bf16::name, arch::avx512_amx::name, arch::neon::name};
    for (auto const& each : architectures) CHECK(std::find(names.begin(), names.end(), each.name) != names.end());
    CHECK(rank_of_architecture(arch::best::name) < architectures.size());
}

TEST_CASE("text of a user stands in literals and comments as it is", "[bindings]") {
    CHECK(quoted("a \"b\" \\ \n") == "\"a \\\"b\\\" \\\\ \\n\"");
    CHECK(commented("a */ b /* c") == "a * / b / * c");
    CHECK(commented("/*/") == "/ * /");
}
