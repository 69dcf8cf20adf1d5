// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element types of kernels, as C names them.
#pragma once

#include <fovea/core/bits.hpp>
#include <fovea/core/blocks.hpp>
#include <fovea/core/fp8.hpp>
#include <fovea/core/half.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fovea::FOVEA_SET::bindings {

/// The elements of kernels, as C names them.
template <class Element>
inline constexpr std::string_view type_name = "";
template <>
inline constexpr std::string_view type_name<float> = "f32";
template <>
inline constexpr std::string_view type_name<double> = "f64";
template <>
inline constexpr std::string_view type_name<bfloat16> = "bf16";
template <>
inline constexpr std::string_view type_name<float16> = "f16";
template <>
inline constexpr std::string_view type_name<std::int8_t> = "i8";
template <>
inline constexpr std::string_view type_name<std::int64_t> = "i64";
template <>
inline constexpr std::string_view type_name<fp8_e4m3> = "fp8_e4m3";
template <>
inline constexpr std::string_view type_name<fp8_e5m2> = "fp8_e5m2";
template <>
inline constexpr std::string_view type_name<q8_0> = "q8_0";
template <>
inline constexpr std::string_view type_name<q4_0> = "q4_0";
template <>
inline constexpr std::string_view type_name<q4_1> = "q4_1";
template <>
inline constexpr std::string_view type_name<bit> = "bits";  // of tables, eight in each

/// The elements of query, key, value and result: of one type, or each of its own.
template <class Query, class Key = Query, class Value = Query, class Result = Query>
struct element_types {
    using query = Query;
    using key = Key;
    using value = Value;
    using result = Result;
    using number = compute_type<Query, Key, Value, Result>;  // of the arithmetic
    static constexpr std::array<std::string_view, 4> names{type_name<Query>, type_name<Key>, type_name<Value>,
                                                           type_name<Result>};

    /// "f32"; where they differ "f32_q8_0_q4_0", of query, key and value, and the result's where it is not the query's.
    static std::string name() {
        std::string text(names[0]);
        if (std::count(names.begin(), names.end(), names[0]) == 4) return text;
        for (std::size_t i = 1; i < (names[3] == names[0] ? 3 : 4); ++i) text += "_" + std::string(names[i]);
        return text;
    }
};

}  // namespace fovea::FOVEA_SET::bindings
