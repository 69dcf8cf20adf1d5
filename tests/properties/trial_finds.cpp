// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The comparison itself: what is wrong on purpose must be found.
#include "support/seeds.hpp"
#include "support/trial.hpp"

#include "catch.hpp"

using fovea::index_t;

namespace {

/// The mean of all values, by its definition.
answer mean(numbers const& x) {
    auto const& q = x.query_extents;
    auto const& v = x.value_extents;
    index_t const group = v[1] > 0 ? q[1] / v[1] : 1;
    answer all;
    for (index_t b = 0; b < q[0]; ++b)
        for (index_t h = 0; h < q[1]; ++h)
            for (index_t i = 0; i < q[2]; ++i) {
                all.weights.insert(all.weights.end(), static_cast<std::size_t>(v[2]),
                                   1.0L / static_cast<long double>(v[2]));
                for (index_t c = 0; c < v[3]; ++c) {
                    long double sum = 0;
                    for (index_t j = 0; j < v[2]; ++j)
                        sum += x.value[static_cast<std::size_t>(((b * v[1] + h / group) * v[2] + j) * v[3] + c)];
                    all.result.push_back(v[2] > 0 ? sum / static_cast<long double>(v[2]) : 0);
                }
            }
    return all;
}

std::vector<bool> all_pairs(drawn_sequence const& s, index_t heads, index_t) {
    return std::vector<bool>(static_cast<std::size_t>(heads * s.queries * s.keys), true);
}

enum class fault { none, value, gap, threads, company, operand };

/// The mean of all values by an engine that may have a fault.
template <fault Fault>
void run_mean(engine_call const& c) {
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

/// What was found in some calls.
template <fault Fault>
std::string found() {
    definition const by{"mean", false, false, true, 0, mean, mean, mean, nullptr, all_pairs};
    engine const e{"by hand", {stored::float32, stored::float32, stored::float32, stored::float32},
                   false,     false,
                   false,     run_mean<Fault>};
    fovea::workspace scratch;
    std::string all;
    for (unsigned trial = 0; trial < 60; ++trial) {
        auto from = seeds::dice_for("mean", trial);
        drawn_call call(from, e.types, {2, 2, 2, from.between(1, 9), from.between(1, 20), 8, from.between(32, 70)});
        all += broken_law(by, e, call, from, scratch);
    }
    return all;
}

}  // namespace

TEST_CASE("what is wrong on purpose is found in drawn calls", "[driver]") {
    using Catch::Matchers::ContainsSubstring;
    INFO(seeds::how_to_repeat());
    CHECK(found<fault::none>() == "");
    CHECK_THAT(found<fault::value>(), ContainsSubstring("the definition has"));
    CHECK_THAT(found<fault::threads>(), ContainsSubstring("other bits on"));
    CHECK_THAT(found<fault::company>(), ContainsSubstring("is alone"));
    CHECK_THAT(found<fault::gap>(), ContainsSubstring("lies between the rows"));
    CHECK_THAT(found<fault::operand>(), ContainsSubstring("an operand was written"));
}
