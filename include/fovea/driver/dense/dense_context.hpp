// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dense call together with its specification and operands, which the functions of a specification are given.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/dense/block_functions.hpp>
#include <fovea/plan/one_sided.hpp>

namespace fovea::FOVEA_SET::driver {

/// The scores of a dense call with what they are computed of; the engine sees of it only the base, `Engine`, a
/// dense_rows.
template <class Call, class Engine>
struct score_context : Engine {
    using predicate = std::remove_const_t<decltype(Call::spec::predicate)>;
    using indices_type = decltype(plan::take_index_terms(Call::spec::score.pointwise, Call::spec::predicate));

    typename Call::spec const& spec;
    typename Call::operands const& operands;
    indices_type indices;

    template <class... Functions>
    score_context(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& of_call,
                  Functions const&... functions)
        : Engine(plan, of_call, coverage_of_mask(), functions...),
          spec(of),
          operands(of_call),
          indices(plan::take_index_terms(of.score.pointwise, of.predicate)) {
        this->summed = plan::features_of_parts(of.score.parts, of_call.features(), of_call.key_features());
    }

private:
    static constexpr dense_rows::coverage_function coverage_of_mask() {
        if constexpr (!Call::masks) return nullptr;
        else
            return [](dense_rows const& call, box const& rows, interval<index_t> keys) {
                auto where = rows;
                where.kv_idx = keys;
                auto const& spec = static_cast<score_context const&>(call).spec;
                return plan::bound_hoisted<typename Call::number>(spec.predicate, spec.score.parts, where);
            };
    }
};

/// A dense call with its specification and its operands.
template <class Call, class Engine>
struct dense_context : score_context<Call, Engine> {
    using score_context<Call, Engine>::score_context;

    /// The normalizer of one row.
    decltype(auto) normalizer(kernel::row_coordinates const& row) const {
        return normalizer_of_row(this->spec.normalize,
                                 coordinates_of_row<typename Call::number, typename Call::architecture>{row});
    }
};

template <class Call, class Blocking>
struct type_of_context {
    using type = score_context<Call, score_call<Blocking>>;
};
template <class Call, class Blocking>
    requires requires { typename Call::normalizer; }
struct type_of_context<Call, Blocking> {
    using type = dense_context<Call, attention_call<Blocking>>;
};
/// A call as the functions of its specification see it: an attention, or scores alone.
template <class Call, class Blocking>
using context_of = typename type_of_context<Call, Blocking>::type;
/// The blockings that a call may have.
template <class Call>
using key_lanes_of = plan::key_lanes_blocking<typename Call::number, typename Call::architecture>;
template <class Call>
using query_lanes_of = typename Call::query_lanes;

}  // namespace fovea::FOVEA_SET::driver
