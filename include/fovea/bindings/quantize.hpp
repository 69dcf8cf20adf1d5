// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers rounded to the types of a cache, for C. Compiled for the least of the architectures of a library.
#pragma once

#include <fovea/bindings/elements.hpp>
#include <fovea/bindings/status.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fovea::FOVEA_SET::bindings {

/// Numbers rounded to elements, or blocks of them, if `type` is the name of these.
///
/// Errors: shape_error for numbers that are no whole blocks, and for null pointers.
template <class Element>
bool round_numbers(std::string_view type, float const* from, index_t count, Element* to) {
    if (type != type_name<Element>) return false;
    constexpr index_t size = fovea::detail::features_of_element<Element>;
    if (count < 0 || count % size != 0)
        throw shape_error("count is ", count, ", it must be a multiple of ", size, ": the numbers in a block of ",
                          type);
    if (count > 0 && (from == nullptr || to == nullptr))
        throw shape_error(from == nullptr ? "from" : "to", " is null, it must be the address of ", count, " numbers");
    round_numbers(from, count, to);
    return true;
}

template <class... Elements>
bool round_numbers_to(std::string_view type, float const* from, index_t count, void* to) {
    return (round_numbers(type, from, count, static_cast<Elements*>(to)) || ...);
}

/// The same for the type of any cache.
inline fovea_status quantize(fovea_call const* call, char const* type, float const* from, std::int64_t count,
                             void* to) {
    return status_of(call, [&] {
        std::string_view const name = type == nullptr ? "" : type;
        if (!round_numbers_to<bfloat16, float16, fp8_e4m3, fp8_e5m2, q8_0, q4_0, q4_1>(name, from, count, to))
            throw std::invalid_argument("type is '" + std::string(name)
                                        + "', it must be one of bf16, f16, fp8_e4m3, fp8_e5m2, q8_0, q4_0, q4_1");
    });
}

}  // namespace fovea::FOVEA_SET::bindings
