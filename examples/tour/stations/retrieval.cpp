// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/stations.hpp"

#include "bench/yardstick/random.hpp"
#include "bench/yardstick/unfused.hpp"
#include "data/people.hpp"
#include "stations/report.hpp"

#include <cstdio>

namespace tour {
namespace {

using namespace fovea;
using namespace fovea::placeholders;

//! [retrieval]
constexpr auto exact = cosine | hardmax | weighted_sum;
constexpr auto fuzzy = cosine | rescore(16 * score) | softmax | weighted_sum;
constexpr auto given = dot | unnormalized | weighted_sum;  // the scores are the weights
//! [retrieval]

/// Values of one feature each, as (1, 1, position, 1).
tensor<float, 4> column(std::vector<float> const& values) {
    tensor<float, 4> result({1, 1, static_cast<index_t>(values.size()), 1});
    std::copy(values.begin(), values.end(), result.begin());
    return result;
}

void look_up_people() {
    std::vector<std::string_view> const asked{"Alen Turring", "Leonard Oiler", "Sofia Kowalewskaja", "Katherin Jonson"};
    std::vector<std::string_view> names;
    std::vector<float> years;
    for (auto const& [name, born] : people::all()) {
        names.push_back(name);
        years.push_back(born);
    }
    auto const query = people::character_runs(asked), key = people::character_runs(names), value = column(years);
    auto const size = static_cast<index_t>(asked.size());
    tensor<float, 4> best({1, 1, size, 1}), blend = best, shares({1, 1, size, value.extent(2)});
    attend(exact, query, key, value, best);
    attend(fuzzy, query, key, value, blend, weights(shares));

    std::printf("\n  When was ... born? %zu people, names as counts of character runs\n\n", names.size());
    std::printf("    %-22s %-8s %-8s %s\n", "asked for", "exact", "fuzzy", "because fuzzy found");
    for (index_t i = 0; i < size; ++i) {
        float const* const row = &shares(0, 0, i, 0);
        auto const found = static_cast<std::size_t>(std::max_element(row, row + names.size()) - row);
        std::printf("    %-22s %-8.0f %-8.1f %.3f %s\n", std::string(asked[static_cast<std::size_t>(i)]).c_str(),
                    static_cast<double>(best(0, 0, i, 0)), static_cast<double>(blend(0, 0, i, 0)),
                    static_cast<double>(row[found]), std::string(names[found]).c_str());
    }
}

void look_up_by_weights() {
    auto const one = column({1}), key = column({.9f, .1f, 0}), value = column({1000, 2000, 3000});
    auto result = one;
    attend(given, one, key, value, result);
    std::printf("\n  weights .9, .1, 0 on values 1000, 2000, 3000 give %.0f\n",
                static_cast<double>(result(0, 0, 0, 0)));
}

}  // namespace

void retrieval() {
    heading(1, "Look-up: the one best match, a blend of matches, given weights");
    look_up_people();
    look_up_by_weights();

    constexpr index_t asked = 512, known = 2048, size = 64;
    auto const query = yardstick::random_tensor<float, 4>({1, 1, asked, size}, 1);
    auto const key = yardstick::random_tensor<float, 4>({1, 1, known, size}, 2), value = key;
    tensor<float, 4> result({1, 1, asked, size});
    auto const unfused = [&] {
        auto const asking = unfused::unit_rows<float>(query.view()), asked_of = unfused::unit_rows<float>(key.view());
        unfused::attend<float>(asking.view(), asked_of.view(), value.view(), result.view(), {.scale = 16});
    };
    report("fuzzy, 512 queries of 64 features in 2048 keys", fuzzy, 4.0 * asked * known * size, unfused, result, query,
           key, value);
}

}  // namespace tour
