// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels in words: the names that `takes` lists, formulas with these names, and what is written of them.
#include "bindings/kernels.hpp"
#include "catch.hpp"

#include <fovea/bindings/write.hpp>

#include <sstream>

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
    library_description all{"demo", "", {"sse2", "avx512", "avx512_bf16"}, {}};
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
    STATIC_REQUIRE(!signature<"query">::is_well_formed());
    STATIC_REQUIRE(!signature<"a(b, c, d, e, f)">::is_well_formed());
    STATIC_REQUIRE(!signature<"a(x y)">::is_well_formed());
}

TEST_CASE("formulas name tables and numbers, and say where a number was changed before", "[bindings]") {
    auto const line = [](auto const& kernel, std::size_t i) {
        return describe_kernel<float>("", "", kernel).formula.at(i);
    };
    CHECK(line(kernels::alibi_causal, 0) == "score    sum(q * k) * rsqrt(dim) + slopes[head] * (kv_idx - q_idx)");
    CHECK(line(kernels::capped, 0) == "score    cap * tanh(sum(q * k) * rsqrt(dim) / cap)");
    CHECK(line(kernels::window, 1) == "pairs    q_idx - kv_idx <= left && kv_idx - q_idx <= right");
    auto const halved =
        takes<"cap">([](float cap) { return dot | rescore(score / (cap / 2)) | softmax | weighted_sum; });
    CHECK(line(halved, 0) == "score    (computed from arguments)");
    CHECK(line(kernels::stepped, 0) == "score    (computed from arguments)");  // of an extent
    auto const best = takes<"k">([](index_t k) { return dot | top_k_softmax(k) | weighted_sum; });
    CHECK(line(best, 2) == "weights  top_k_softmax(k)");
}

TEST_CASE("the header declares each argument with its shape", "[bindings]") {
    auto const header = text_of([](std::ostream& to) { write_header(to, library()); });
    CHECK(holds(header, "demo_stepped_f32(fovea_call const* call, fovea_input_f32 query,"));
    CHECK(holds(header, "float const* steps /* (heads, distances) */, int64_t distances);"));
    CHECK(holds(header, "double const* steps /* (heads, distances) */, int64_t distances);"));
    CHECK(holds(header, "fovea_graph const* edges, float const* bias /* (edges) */);"));
    CHECK(holds(header, "int64_t const* query_offsets /* (sequences + 1) */"));
}

TEST_CASE("kernels of 16 bits alone have an architecture of their own", "[bindings]") {
    auto const dispatcher = text_of([](std::ostream& to) { write_dispatcher(to, library()); });
    CHECK(holds(dispatcher, "demo_neighbours_bf16_avx512_bf16"));
    CHECK(!holds(dispatcher, "demo_stepped_f32_avx512_bf16"));
    auto const page = text_of([](std::ostream& to) { write_page(to, library()); });
    CHECK(holds(page, "| bias | float | (edges) |"));
    CHECK(holds(page, "`demo_stepped_f64`"));
}

TEST_CASE("text of a user stands in literals and comments as it is", "[bindings]") {
    CHECK(quoted("a \"b\" \\ \n") == "\"a \\\"b\\\" \\\\ \\n\"");
    CHECK(commented("a */ b") == "a * / b");
}
