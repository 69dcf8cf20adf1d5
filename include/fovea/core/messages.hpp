// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of errors, put together from its parts.
#pragma once

#include <fovea/core/errors.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace fovea::FOVEA_SET::detail {

FOVEA_ONCE_DEFINED void message_part::append_to(std::string& message) const {
    if (kind_ == kind::counted || kind_ == kind::there_are) {
        append_count_to(message);
    } else if (kind_ == kind::text) {
        message.append(static_cast<char const*>(at_), static_cast<std::size_t>(number_));
    } else if (kind_ == kind::extents) {
        for (std::size_t i = 0; i < number_; ++i) {
            message.append(i == 0 ? "(" : ", ");
            message_part(static_cast<index_t const*>(at_)[i]).append_to(message);
        }
        message.append(")");
    } else {
        if (kind_ == kind::negative) message.append("-");
        message.append(std::to_string(kind_ == kind::negative ? -number_ : number_));
    }
}

FOVEA_ONCE_DEFINED void message_part::append_count_to(std::string& message) const {
    auto const n = static_cast<index_t>(number_);
    if (kind_ == kind::there_are) message.append(n == 1 ? "there is " : "there are ");
    message_part(n).append_to(message);
    std::string_view const noun = static_cast<char const*>(at_);
    bool const is = n != 1 && noun.ends_with("is"),                  // axis
        y = n != 1 && noun.ends_with("y") && !noun.ends_with("ey");  // entry, but not key
    message.append(" ").append(noun.data(), noun.size() - (is ? 2 : y ? 1 : 0));
    if (n != 1) message.append(is ? "es" : y ? "ies" : "s");
}

FOVEA_ONCE_DEFINED std::string message_of(std::initializer_list<message_part> parts) {
    std::string message;
    for (auto const& each : parts) each.append_to(message);
    return message;
}

FOVEA_ONCE_DEFINED std::string text_of_real(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", x);
    return text;
}

FOVEA_ONCE_DEFINED void refuse_number(char const* named, double x, char const* needed) {
    raise_error(std::invalid_argument(message_of({named, " is ", text_of_real(x), ", it must be ", needed})));
}

}  // namespace fovea::FOVEA_SET::detail
