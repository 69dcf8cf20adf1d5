// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dense call together with its specification and operands, which the functions of a specification are given.
#pragma once

#include <fovea/driver/dense/dense_rows.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/plan/one_sided.hpp>

namespace fovea::FOVEA_SET::driver {

/// The scores of a dense call with what they are computed of; the engine sees of it only the base, `Engine`, a
/// dense_rows.
template <class Call, class Engine>
struct score_context : Engine {
    using call = Call;
    using predicate = std::remove_const_t<decltype(Call::spec::predicate)>;
    using indices_type = decltype(plan::take_index_terms(Call::spec::score.pointwise, Call::spec::predicate));

    typename Call::spec const& spec;
    typename Call::operands const& operands;
    indices_type indices;

    template <class... Further>
    score_context(plan::call_plan const& how_run, typename Call::spec const& of, typename Call::operands const& all,
                  Further const&... further)
        : Engine(how_run, all, coverage_of_mask(), further...),
          spec(of),
          operands(all),
          indices(plan::take_index_terms(of.score.pointwise, of.predicate)) {}

private:
    static constexpr dense_rows::coverage_function coverage_of_mask() {
        if constexpr (!Call::masks) return nullptr;
        else
            return [](dense_rows const& all, box const& rows, interval<index_t> keys) {
                auto where = rows;
                where.kv_idx = keys;
                auto const& spec = static_cast<score_context const&>(all).spec;
                return plan::bound_hoisted<typename Call::number>(spec.predicate, spec.score.parts, where);
            };
    }
};

/// A dense call with its specification and its operands.
template <class Call, class Engine>
struct dense_context : score_context<Call, Engine> {
    using score_context<Call, Engine>::score_context;

    /// What a normalizer is for one row.
    decltype(auto) normalizer(kernel::row_facts const& row) const {
        return normalizer_of_row(this->spec.normalize,
                                 facts_of_row<typename Call::number, typename Call::architecture>{row});
    }
};

}  // namespace fovea::FOVEA_SET::driver
