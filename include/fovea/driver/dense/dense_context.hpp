// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dense call together with its specification and operands, which the functions of a specification are given.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/dense/block_functions.hpp>
#include <fovea/driver/dense/table_extremes.hpp>
#include <fovea/plan/one_sided.hpp>

namespace fovea::FOVEA_SET::driver {

template <class Call>
class key_lanes_scores;
template <class Call>
class key_lanes_sums;
template <class Call>
class query_lanes_scores;
template <class Call>
class query_lanes_sums;
/// The function tables of a specification for a blocking.
template <class Call, class Blocking>
using scores_of = std::conditional_t<Blocking::queries_in_lanes, query_lanes_scores<Call>, key_lanes_scores<Call>>;
template <class Call, class Blocking>
using sums_of = std::conditional_t<Blocking::queries_in_lanes, query_lanes_sums<Call>, key_lanes_sums<Call>>;

/// The scores of a dense call with what they are computed of; the engine sees of it only the base, `Engine`, a
/// dense_rows.
template <class Call, class Blocking, class Engine = score_call<Blocking>>
struct score_context : Engine {
    using predicate = std::remove_const_t<decltype(Call::spec::predicate)>;
    static constexpr bool takes_pairs = Blocking::queries_in_lanes && Call::transposes_tables;
    using indices_type =
        decltype(plan::take_index_terms<takes_pairs>(Call::spec::score.pointwise, Call::spec::predicate));

    typename Call::spec const& spec;
    typename Call::operands const& operands;
    indices_type indices;
    known_extremes<predicate> const* known = &nothing_known;  // of the tables of the mask

    template <class... Sums>
    score_context(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& of_call,
                  Sums const&... sums)
        : Engine(plan, of_call, coverage_of_mask(), scores_of<Call, Blocking>::functions, sums...),
          spec(of),
          operands(of_call),
          indices(plan::take_index_terms<takes_pairs>(of.score.pointwise, of.predicate)) {
        this->summed = plan::features_of_parts(of.score.parts, of_call.features(), of_call.key_features());
    }

private:
    static inline known_extremes<predicate> const nothing_known{};

    static constexpr dense_rows::coverage_function coverage_of_mask() {
        if constexpr (!Call::masks) return nullptr;
        else
            return [](dense_rows const& call, box const& rows, interval<index_t> keys) {
                auto where = rows;
                where.kv_idx = keys;
                auto const& of = static_cast<score_context const&>(call);
                return plan::bound_hoisted<typename Call::number>(of.spec.predicate, of.spec.score.parts, where,
                                                                  *of.known);
            };
    }
};

/// A dense call with its specification and its operands.
template <class Call, class Blocking>
struct dense_context : score_context<Call, Blocking, attention_call<Blocking>> {
    dense_context(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& of_call)
        : score_context<Call, Blocking, attention_call<Blocking>>(plan, of, of_call,
                                                                  sums_of<Call, Blocking>::functions) {}

    /// The normalizer of one row.
    decltype(auto) normalizer(kernel::row_coordinates const& row) const {
        return normalizer_of_row(this->spec.normalize,
                                 coordinates_of_row<typename Call::number, typename Call::architecture>{row});
    }
};

/// True for an attention, false for scores alone.
template <class Call>
inline constexpr bool has_weights = requires { typename Call::normalizer; };
/// A call as the functions of its specification see it.
template <class Call, class Blocking>
using context_of = std::conditional_t<has_weights<Call>, dense_context<Call, Blocking>, score_context<Call, Blocking>>;
/// The blockings that a call may have.
template <class Call>
using key_lanes_of = plan::key_lanes_blocking<typename Call::number, typename Call::architecture>;
template <class Call>
using query_lanes_of = typename Call::query_lanes;

}  // namespace fovea::FOVEA_SET::driver
