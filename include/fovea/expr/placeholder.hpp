// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placeholders: the names of expressions, as types with a fixed string.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/expr/node.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// A string as a template argument: the symbol of an operation, the name of a placeholder.
template <std::size_t Size>
struct fixed_string {
    char text[Size]{};

    consteval fixed_string(char const (&characters)[Size]) {
        for (std::size_t i = 0; i < Size; ++i) text[i] = characters[i];
    }
    constexpr std::string_view view() const { return {text, Size - 1}; }
    constexpr operator std::string_view() const { return view(); }
};

/// placeholder: a name that the engine, the reference or an analysis gives a meaning.
template <fixed_string Name>
struct placeholder : detail::without_value<placeholder<Name>> {
    using expression_tag = void;
    static constexpr auto name = Name;
    using detail::without_value<placeholder>::operator=;
};

/// The names an expression may use.
namespace placeholders {
inline constexpr placeholder<"q"> q{};            // a feature of the query, inside sum()
inline constexpr placeholder<"k"> k{};            // a feature of the key, inside sum()
inline constexpr placeholder<"score"> score{};    // what has been computed so far, inside rescore()
inline constexpr placeholder<"weight"> weight{};  // what the normalizer gave, inside reweight()
inline constexpr placeholder<"out"> out{};        // a feature of the result, inside map()
inline constexpr placeholder<"q_idx"> q_idx{};    // position of the query
inline constexpr placeholder<"kv_idx"> kv_idx{};  // position of the key
inline constexpr placeholder<"edge"> edge{};      // number of the edge in a list of keys, such as a graph
inline constexpr placeholder<"head"> head{};      // query head
inline constexpr placeholder<"batch"> batch{};    // element of the batch
inline constexpr placeholder<"dim"> dim{};        // number of features that are summed
inline constexpr placeholder<"q_len"> q_len{};    // number of queries
inline constexpr placeholder<"kv_len"> kv_len{};  // number of keys
}  // namespace placeholders

namespace detail {
template <auto const& Placeholder>
using type_of = std::remove_cvref_t<decltype(Placeholder)>;
}

using q_t = detail::type_of<placeholders::q>;
using k_t = detail::type_of<placeholders::k>;
using score_t = detail::type_of<placeholders::score>;
using weight_t = detail::type_of<placeholders::weight>;
using out_t = detail::type_of<placeholders::out>;
using q_idx_t = detail::type_of<placeholders::q_idx>;
using kv_idx_t = detail::type_of<placeholders::kv_idx>;
using edge_t = detail::type_of<placeholders::edge>;
using head_t = detail::type_of<placeholders::head>;
using batch_t = detail::type_of<placeholders::batch>;
using dim_t = detail::type_of<placeholders::dim>;
using q_len_t = detail::type_of<placeholders::q_len>;
using kv_len_t = detail::type_of<placeholders::kv_len>;

template <class E>
inline constexpr bool is_placeholder = false;
template <fixed_string Name>
inline constexpr bool is_placeholder<placeholder<Name>> = true;

}  // namespace fovea::FOVEA_SET
