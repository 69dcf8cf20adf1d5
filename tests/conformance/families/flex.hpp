// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by the two files of the flex family: operands, results and their comparison.
#pragma once

#include "common_masks.hpp"
#include "engines.hpp"
#include "gradients.hpp"
#include "load.hpp"
#include "outcome.hpp"

namespace conformance {

template <class Engine>
struct flex_call {
    using value = typename Engine::value;
    fovea::tensor<value, 4> query, key, values, result;
    fovea::tensor<value, 3> log_sums;
    fovea::extents_t<4> pairs;
    value scale;

    explicit flex_call(test_case const& subject)
        : query(load<value, 4>(subject["q"])),
          key(load<value, 4>(subject["k"])),
          values(load<value, 4>(subject["v"])),
          result({query.extent(0), query.extent(1), query.extent(2), values.extent(3)}),
          log_sums({query.extent(0), query.extent(1), query.extent(2)}),
          pairs{query.extent(0), query.extent(1), query.extent(2), key.extent(2)},
          scale(static_cast<value>(subject.attribute<double>("scale"))) {}

    /// `scored` is a score with its mask.
    void attend(auto const& scored) {
        Engine::attend(scored | fovea::softmax | fovea::weighted_sum, query.view(), key.view(), values.view(),
                       result.view(), fovea::lse(log_sums.view()));
    }
    /// The same where the scores have no log-sum-exp.
    void attend_without_sums(auto const& weighed) {
        Engine::attend(weighed | fovea::weighted_sum, query.view(), key.view(), values.view(), result.view());
    }
    /// Compares the gradients of queries, keys and values, and of tables.
    template <composed... Masks>
    void differentiate(test_case const& subject, checks& all, auto const& scored, auto const& normalizer,
                       auto const&... tables) const;

    void compare(test_case const& subject, checks& all) const {
        all.compare(Engine::name, Engine::computes, "out", result);
        if (subject.has("lse")) all.compare(Engine::name, Engine::computes, "lse", log_sums);
    }
};

/// use(mask) with the mask of a case, as one composes it where it is one of these, each of which takes time to compile.
/// Any other, and none, is asked for every pair first, and is a table.
template <composed... Masks, class Use>
void with_composed_mask(test_case const& subject, fovea::extents_t<4> const& pairs, Use const& use) {
    constexpr auto composes = [](composed mask) { return ((mask == Masks) || ...); };
    auto const name = subject.contains("/mask_mod/name") ? subject.at<std::string>("/mask_mod/name") : "";
    if constexpr (composes(composed::no_mask))
        if (name.empty()) return use(no_mask{});
    if (with_common_mask<Masks...>(name, mask_parameters(subject, "/mask_mod", pairs), use)) return;
    use(verdicts_of_mask(subject, pairs).mask());
}

template <class Engine>
template <composed... Masks>
void flex_call<Engine>::differentiate(test_case const& subject, checks& all, auto const& scored, auto const& normalizer,
                                      auto const&... tables) const {
    if constexpr (has_gradients<Engine>)
        with_composed_mask<Masks...>(subject, pairs, [&](auto const& mask) {
            compare_gradients<Engine>(subject, all, masked(scored, mask) | normalizer | fovea::weighted_sum, query, key,
                                      values, load<value, 4>(subject["d_out"]), of_case{"d_q", query},
                                      of_case{"d_k", key}, of_case{"d_v", values}, tables...);
        });
}

/// `scored` with the mask of a case.
template <composed... Masks, class Engine>
void attend_with_mask(test_case const& subject, flex_call<Engine>& call, auto const& scored) {
    with_composed_mask<Masks...>(subject, call.pairs, [&](auto const& mask) { call.attend(masked(scored, mask)); });
}

/// A number that the change of the score has.
inline double score_parameter(test_case const& subject, std::string const& key) {
    return subject.at<double>("/score_mod/params/" + key);
}

/// Runs a case whose score is changed, in every engine; a score that is read from tables of the case.
outcome run_rescored(test_case const& subject);
outcome run_rescored_by_tables(test_case const& subject, std::string const& name);

}  // namespace conformance
