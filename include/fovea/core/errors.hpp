// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <array>
#include <concepts>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace fovea::FOVEA_SET {

// Text is joined by functions of the library's own: those of the standard library have one name in all units.
inline std::string operator+(std::string a, std::string b) { return std::move(a.append(b)); }
inline std::string operator+(std::string a, char const* b) { return std::move(a.append(b)); }
inline std::string operator+(char const* a, std::string b) { return std::move(b.insert(0, a)); }

namespace detail {
/// A piece of a message: text, an integer, or extents as "(2, 8, 128, 64)".
class message_part {
public:
    message_part(char const* text) : text_(text) {}
    message_part(std::string_view text) : text_(text) {}
    message_part(std::string const& text) : text_(text) {}
    template <std::integral Number>
    message_part(Number n)
        : is_number_(true), number_(static_cast<unsigned long long>(n)), is_negative_(n < Number{0}) {}
    template <std::size_t Rank>
    message_part(std::array<index_t, Rank> const& extents) : extents_(extents.data()), rank_(Rank) {}
    message_part(index_t const* extents, std::size_t rank) : extents_(extents), rank_(rank) {}

    [[gnu::cold]] void append_to(std::string& message) const {
        if (!text_.empty()) {
            message.append(text_);
        } else if (extents_) {
            for (std::size_t i = 0; i < rank_; ++i) {
                message.append(i == 0 ? "(" : ", ");
                message_part(extents_[i]).append_to(message);
            }
            message.append(")");
        } else if (is_number_) {
            if (is_negative_) message.append("-");
            message.append(std::to_string(is_negative_ ? -number_ : number_));
        }
    }

private:
    std::string_view text_;
    bool is_number_ = false;
    index_t const* extents_ = nullptr;
    std::size_t rank_ = 0;
    unsigned long long number_ = 0;
    bool is_negative_ = false;
};

[[gnu::cold, gnu::noinline]] inline std::string message_of(std::initializer_list<message_part> parts) {
    std::string message;
    for (auto const& each : parts) each.append_to(message);
    return message;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET

namespace fovea {

/// A view, table or length does not fit: the message names the argument, what it has and what was needed.
struct shape_error : std::invalid_argument {
    template <class... Parts>
    FOVEA_TAGGED explicit shape_error(Parts const&... parts) : std::invalid_argument(detail::message_of({parts...})) {}
};

/// A graph is not a valid neighbour list: the message names the offending offset or index.
struct graph_error : std::invalid_argument {
    template <class... Parts>
    FOVEA_TAGGED explicit graph_error(Parts const&... parts) : std::invalid_argument(detail::message_of({parts...})) {}
};

}  // namespace fovea
