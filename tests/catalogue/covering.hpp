// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types, vector widths, layouts and outputs are dimensions of a covering array: of any two of them each pair of
// values stands in some row, and each specification of the catalogue is compiled for a few of the rows.
#pragma once

#include <fovea/core/half.hpp>
#include <fovea/simd/architecture.hpp>

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace catalogue {

/// The types of a call.
template <class Query, class Key = Query, class Value = Key, class Result = Query>
struct stored_in {
    using query = Query;
    using key = Key;
    using value = Value;
    using result = Result;
    static constexpr bool in_double = std::is_same_v<Query, double>;
    using real = std::conditional_t<in_double, double, float>;
};

enum class layout { dense, paged, ragged };

using attend_types = std::tuple<stored_in<float>, stored_in<double>, stored_in<fovea::bfloat16>,
                                stored_in<fovea::float16>, stored_in<float, fovea::float16, std::int8_t, float>,
                                stored_in<fovea::bfloat16, float, fovea::bfloat16, fovea::float16>>;
using gradient_types = std::tuple<stored_in<float>, stored_in<double>, stored_in<fovea::bfloat16>>;

/// Vectors of this machine, and of widths that it may not have.
#ifdef FOVEA_TEST_EMULATED
using widths = std::tuple<fovea::arch::best, fovea::arch::portable, fovea::arch::emulated<64, 32>>;
#else
using widths = std::tuple<fovea::arch::best, fovea::arch::best, fovea::arch::best>;
#endif

/// One row, by the numbers of its values.
struct covering_row {
    int types, width, at;
    bool second;  // attend also gives weights; gradient begins with saved rows
};

/// Each pair of types and widths once; the values of the other dimensions go round, so that their pairs are there, too.
template <int Types>
constexpr std::array<covering_row, Types * 3> covering_rows(bool ragged_has_second) {
    std::array<covering_row, Types * 3> rows{};
    for (int i = 0; i < Types * 3; ++i) {
        int const types = i / 3, width = i % 3, at = (types + width) % 3;
        rows[static_cast<std::size_t>(i)] = {types, width, at, i % 4 < 2 && (ragged_has_second || at != 2)};
    }
    return rows;
}

/// Whether each pair of values of any two dimensions stands in some row.
template <std::size_t Rows>
constexpr bool covers(std::array<covering_row, Rows> const& rows, int types, bool ragged_has_second) {
    auto const value = [](covering_row const& r, int dimension) {
        return dimension == 0 ? r.types : dimension == 1 ? r.width : dimension == 2 ? r.at : int{r.second};
    };
    int const counts[] = {types, 3, 3, 2};
    for (int a = 0; a < 4; ++a)
        for (int b = a + 1; b < 4; ++b)
            for (int x = 0; x < counts[a]; ++x)
                for (int y = 0; y < counts[b]; ++y) {
                    bool found = a == 2 && x == 2 && y == 1 && !ragged_has_second;
                    for (auto const& r : rows) found = found || (value(r, a) == x && value(r, b) == y);
                    if (!found) return false;
                }
    return true;
}

inline constexpr auto attend_rows = covering_rows<6>(false);  // weights of a ragged batch have no one shape
inline constexpr auto gradient_rows = covering_rows<3>(true);
static_assert(covers(attend_rows, 6, false) && covers(gradient_rows, 3, true));

}  // namespace catalogue
