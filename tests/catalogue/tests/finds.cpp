// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: catalogue
// The comparison itself: what is wrong on purpose must be found, in calls of attend and in gradients.
#include "catalogue/catalogue.hpp"
#include "catch.hpp"
#include "support/seeds.hpp"

using namespace catalogue;

namespace {

/// The mean of all values, by its definition.
answer mean(numbers const& x) {
    auto const& q = x.extents.query;
    auto const& v = x.extents.value;
    index_t const group = v[1] > 0 ? q[1] / v[1] : 1;
    answer all;
    for (index_t b = 0; b < q[0]; ++b)
        for (index_t h = 0; h < q[1]; ++h)
            for (index_t i = 0; i < q[2]; ++i) {
                all.weights.insert(all.weights.end(), static_cast<std::size_t>(v[2]), 1.0 / static_cast<double>(v[2]));
                for (index_t c = 0; c < v[3]; ++c) {
                    double sum = 0;
                    for (index_t j = 0; j < v[2]; ++j)
                        sum += x.value[static_cast<std::size_t>(((b * v[1] + h / group) * v[2] + j) * v[3] + c)];
                    all.result.push_back(v[2] > 0 ? sum / static_cast<double>(v[2]) : 0);
                }
            }
    return all;
}

/// Its gradients: of values alone.
gradients mean_gradient(numbers const& x, std::vector<double> const& d_result) {
    auto const& q = x.extents.query;
    auto const& v = x.extents.value;
    index_t const group = v[1] > 0 ? q[1] / v[1] : 1;
    gradients all{std::vector<double>(x.query.size()),
                  std::vector<double>(x.key.size()),
                  std::vector<double>(x.value.size()),
                  {}};
    for (index_t b = 0; b < q[0]; ++b)
        for (index_t h = 0; h < q[1]; ++h)
            for (index_t i = 0; i < q[2]; ++i)
                for (index_t j = 0; j < v[2]; ++j)
                    for (index_t c = 0; c < v[3]; ++c)
                        all.value[static_cast<std::size_t>(((b * v[1] + h / group) * v[2] + j) * v[3] + c)] +=
                            d_result[static_cast<std::size_t>(((b * q[1] + h) * q[2] + i) * v[3] + c)]
                            / static_cast<double>(v[2]);
    return all;
}

std::vector<char> all_pairs(drawn_sequence const& s, drawn_sizes const& n, drawn_tables const&) {
    return std::vector<char>(static_cast<std::size_t>(n.heads() * s.queries * s.keys), true);
}

operand_extents extents(drawn_sizes const& n) {
    return {{n.batches, n.heads(), n.queries, n.features},
            {n.batches, n.key_heads, n.keys, n.features},
            {n.batches, n.key_heads, n.keys, n.value_features},
            {n.batches, n.heads(), n.queries, n.value_features}};
}
drawn_tables no_tables(fovea::testing::dice&, drawn_sizes const&) { return {}; }

definition by_hand() {
    definition by;
    by.in_float = by.in_double = mean;
    by.gradient = mean_gradient;
    by.visible = all_pairs;
    return by;
}
call_shape const shape{{}, extents, no_tables};
call_types const in_float{stored::float32, stored::float32, stored::float32, stored::float32};

enum class fault { none, value, gap, threads, company, operand, place };

/// The mean of all values by an engine that may have a fault.
template <fault Fault>
void run_mean(attend_call const& c) {
    auto const& n = c.operands.n;
    for (index_t b = std::max<index_t>(c.batch, 0); b < (c.batch < 0 ? n.batches : c.batch + 1); ++b)
        for (index_t h = 0; h < n.heads(); ++h)
            for (index_t i = 0; i < n.queries; ++i)
                for (index_t d = 0; d < n.value_features; ++d) {
                    double sum = 0;
                    for (index_t j = 0; j < n.keys; ++j)
                        sum += c.operands.value->get(c.operands.value_place(b, h / n.group, j, d));
                    double mean = n.keys > 0 ? sum / static_cast<double>(n.keys) : 0;
                    if (Fault == fault::value && d % 32 == 31) mean += 0.01;
                    if (Fault == fault::threads && c.workers == 3) mean *= 1 + 0x1p-22;
                    if (Fault == fault::company && c.batch >= 0) mean *= 1 + 0x1p-22;
                    c.result.set(c.result.place(b, h, i, d), mean);
                }
    if (Fault == fault::operand && c.operands.value->elements() > 0) c.operands.value->set(0, 5);
    for (index_t at = 0; Fault == fault::gap && at < c.result.elements(); ++at)
        if (std::isnan(c.result.get(at))) return c.result.set(at, 1);  // all elements are written: between them
}

/// Its gradients, likewise.
template <fault Fault>
void run_mean_gradient(gradient_call const& c) {
    auto const& n = c.operands.n;
    auto const zeros = [](drawn_rows const& rows) { rows.for_each([&](index_t at) { rows.set(at, 0); }); };
    zeros(*c.d_query);
    zeros(*c.d_key);
    for (index_t b = 0; b < n.batches; ++b)
        for (index_t h = 0; h < n.key_heads; ++h)
            for (index_t j = 0; j < n.keys; ++j)
                for (index_t d = 0; d < n.value_features; ++d) {
                    double sum = 0;
                    for (index_t g = 0; g < n.group; ++g)
                        for (index_t i = 0; i < n.queries; ++i)
                            sum += c.d_result.get(c.d_result.place(b, h * n.group + g, i, d));
                    double mean = sum / static_cast<double>(n.keys);
                    if (Fault == fault::value && j + 1 == n.keys) mean += 0.01;
                    if (Fault == fault::threads && c.workers == 2) mean *= 1 + 0x1p-22;
                    index_t const to = Fault == fault::place ? (j + 1) % n.keys : j;
                    c.d_value->set(c.d_value->place(b, h, to, d), mean);
                    if (Fault == fault::place && j + 1 == n.keys) c.d_value->set(c.d_value->place(b, h, 0, d), 0.5);
                }
}

/// The findings in some calls.
template <class Engine>
std::string found(definition const& by, Engine const& e) {
    fovea::workspace scratch;
    std::string all;
    for (unsigned trial = 0; trial < 60; ++trial) {
        auto from = seeds::dice_for("mean", trial);
        drawn_call call(from, e.types, shape,
                        {2, 2, 2, from.between(1, 9), from.between(1, 20), 8, from.between(32, 70)});
        all += broken_law(by, e, call, from, scratch);
    }
    return all;
}
template <fault Fault>
std::string found() {
    return found(by_hand(), attend_engine{"by hand", in_float, false, false, false, run_mean<Fault>});
}
template <fault Fault>
std::string found_in_gradients(definition const& by = by_hand()) {
    return found(by, gradient_engine{"by hand", in_float, false, false, run_mean_gradient<Fault>});
}

}  // namespace

TEST_CASE("what is wrong on purpose is found in drawn calls", "[catalogue]") {
    using Catch::Matchers::ContainsSubstring;
    INFO(seeds::how_to_repeat());
    CHECK(found<fault::none>() == "");
    CHECK_THAT(found<fault::value>(), ContainsSubstring("the definition has"));
    CHECK_THAT(found<fault::threads>(), ContainsSubstring("other bits on"));
    CHECK_THAT(found<fault::company>(), ContainsSubstring("is alone"));
    CHECK_THAT(found<fault::gap>(), ContainsSubstring("lies between the rows"));
    CHECK_THAT(found<fault::operand>(), ContainsSubstring("an operand was written"));
}

TEST_CASE("what is wrong on purpose is found in gradients", "[catalogue]") {
    using Catch::Matchers::ContainsSubstring;
    INFO(seeds::how_to_repeat());
    CHECK(found_in_gradients<fault::none>() == "");
    CHECK_THAT(found_in_gradients<fault::value>(), ContainsSubstring("d_value"));
    CHECK_THAT(found_in_gradients<fault::place>(), ContainsSubstring("d_value"));
    CHECK_THAT(found_in_gradients<fault::threads>(), ContainsSubstring("other bits on"));
}

TEST_CASE("a definition whose gradient is wrong is found by differences", "[catalogue]") {
    INFO(seeds::how_to_repeat());
    auto by = by_hand();
    by.gradient = [](numbers const& x, std::vector<double> const& d_result) {
        auto all = mean_gradient(x, d_result);
        for (double& d : all.value) d *= 1.01;
        return all;
    };
    std::string sentence;
    for (unsigned trial = 0; trial < 40; ++trial) {
        auto from = seeds::dice_for("a wrong definition", trial);
        drawn_call call(from, in_float, shape, {1, 1, 1, 3, 4, 2, 2});
        sentence += broken_difference(by, call, from);
    }
    CHECK_THAT(sentence, Catch::Matchers::ContainsSubstring("differences say"));
}
