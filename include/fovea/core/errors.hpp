// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace fovea::FOVEA_SET {

// Text is joined by functions of the library's own: those of the standard library have one name in all units. They take
// texts by value, so that none of the standard library fits better.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
inline std::string operator+(std::string a, std::string b) { return std::move(a.append(b)); }
inline std::string operator+(std::string a, char const* b) { return std::move(a.append(b)); }
inline std::string operator+(char const* a, std::string b) { return std::string(a) + std::move(b); }

namespace detail {
/// A piece of a message: text, an integer, a count with its noun, or extents as "(2, 8, 128, 64)".
class message_part {
public:
    message_part(char const* text) : message_part(std::string_view(text)) {}
    message_part(std::string_view text) : kind_(kind::text), at_(text.data()), number_(text.size()) {}
    message_part(std::string const& text) : message_part(std::string_view(text)) {}
    template <std::integral Number>
    message_part(Number n)
        : kind_(n < Number{0} ? kind::negative : kind::number), number_(static_cast<unsigned long long>(n)) {}
    template <std::size_t Rank>
    message_part(std::array<index_t, Rank> const& extents) : message_part(extents.data(), Rank) {}
    message_part(index_t const* extents, std::size_t rank) : kind_(kind::extents), at_(extents), number_(rank) {}

    /// "1 axis", "3 axes"; or "there is 1 axis", "there are 3 axes". The noun is in the singular.
    static message_part counted(index_t n, char const* noun) { return {kind::counted, n, noun}; }
    static message_part there_are(index_t n, char const* noun) { return {kind::there_are, n, noun}; }

    [[gnu::cold]] FOVEA_ONCE void append_to(std::string& message) const;

private:
    enum class kind { text, number, negative, extents, counted, there_are };
    message_part(kind what, index_t n, char const* noun)
        : kind_(what), at_(noun), number_(static_cast<unsigned long long>(n)) {}
    [[gnu::cold]] FOVEA_ONCE void append_count_to(std::string& message) const;

    kind kind_;
    void const* at_ = nullptr;   // of a text, or of extents
    unsigned long long number_;  // or how many there are
};

[[gnu::cold]] FOVEA_ONCE std::string message_of(std::initializer_list<message_part> parts);

/// Counts with their nouns, in messages.
inline message_part counted(std::integral auto n, char const* noun) {
    return message_part::counted(static_cast<index_t>(n), noun);
}
inline message_part there_are(std::integral auto n, char const* noun) {
    return message_part::there_are(static_cast<index_t>(n), noun);
}

/// A real number in 6 digits, as streams write it.
[[gnu::cold]] FOVEA_ONCE std::string text_of_real(double x);

/// Throws std::invalid_argument: "softcap: the cap is -1, it must be above 0".
[[noreturn, gnu::cold]] FOVEA_ONCE void refuse_number(char const* named, double x, char const* needed);
}  // namespace detail

}  // namespace fovea::FOVEA_SET

namespace fovea {

/// A view, table or length does not fit: the message names the argument, what it has and what was needed.
struct shape_error : std::invalid_argument {
    template <class... Parts>
    FOVEA_TAGGED FOVEA_INLINE explicit shape_error(Parts const&... parts)
        : std::invalid_argument(detail::message_of({parts...})) {}
};

/// A graph is not a valid neighbour list: the message names the offending offset or index.
struct graph_error : std::invalid_argument {
    template <class... Parts>
    FOVEA_TAGGED FOVEA_INLINE explicit graph_error(Parts const&... parts)
        : std::invalid_argument(detail::message_of({parts...})) {}
};

#ifndef __cpp_exceptions
/// on_error: where exceptions are off, the function that is told what is wrong instead; before it is set, a sentence is
/// written to stderr. It may leave by longjmp, which destroys nothing of a call; where it returns, the program aborts.
///
/// Returns the function before. There is none where exceptions are on, so that nobody waits for it.
using error_handler = void (*)(char const* message);
inline constinit std::atomic<error_handler> handler_of_errors{nullptr};
FOVEA_TAGGED inline error_handler on_error(error_handler handler) { return handler_of_errors.exchange(handler); }
#endif

}  // namespace fovea

namespace fovea::FOVEA_SET {

/// Throws an error, or tells it to the handler where exceptions are off.
template <class Error>
[[noreturn, gnu::cold, gnu::noinline]] void raise_error(Error const& error) {
#ifdef __cpp_exceptions
    throw error;
#else
    if (error_handler const handler = handler_of_errors) handler(error.what());
    else std::fprintf(stderr, "fovea: %s\n", error.what());
    std::abort();
#endif
}

}  // namespace fovea::FOVEA_SET

#ifndef FOVEA_COMPILED
#include <fovea/core/messages.hpp>
#endif
