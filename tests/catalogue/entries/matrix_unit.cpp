// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bfloat16 by a matrix unit, or an emulation of it, whatever the scores become and the layout is.
#include "support/matrix_unit.hpp"
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct with_lse : catalogue::specification {
    static constexpr std::string_view name = "matrix unit: temperature, a key of score 0 beside the others";
    static constexpr bool of_products = true;
    static auto spec() { return scaled_dot | temperature(0.5) | softmax_plus_one | weighted_sum; }
};

struct with_noise : catalogue::specification {
    static constexpr std::string_view name = "matrix unit: noise, causal at the end";
    static constexpr bool reads_batch = true;  // as random numbers do
    static auto spec() { return scaled_dot | gumbel(7) | causal_at_end | softmax | weighted_sum; }
};

struct in_chunks : catalogue::specification {
    static constexpr std::string_view name = "matrix unit: a cap, chunks";
    static auto spec() { return scaled_dot | softcap(5) | chunked(8) | softmax | weighted_sum; }
};

/// A call of the catalogue on rows in bfloat16 alone; the machine's own instruction set has the unit.
template <class Of, class Result, catalogue::layout At>
bool compile_for_unit() {
#if FOVEA_TEST_LEVEL > 0 && defined(FOVEA_TEST_EMULATED)
    catalogue::entry e = catalogue::detail::entry_of<Of>();
    catalogue::detail::add_attend<Of, catalogue::stored_in<bfloat16, bfloat16, bfloat16, Result>, with_matrix_unit, At>(
        e);
    return catalogue::add(std::move(e));
#else
    return false;
#endif
}

[[maybe_unused]] bool const listed[] = {
    compile_for_unit<with_lse, float16, catalogue::layout::dense>(),
    compile_for_unit<with_noise, float, catalogue::layout::ragged>(),
    compile_for_unit<in_chunks, bfloat16, catalogue::layout::paged>(),
};

}  // namespace
