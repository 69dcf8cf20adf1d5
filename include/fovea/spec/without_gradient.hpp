// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is said where fovea/gradient.hpp has been forgotten.
#pragma once

#include <fovea/core/diagnose.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
/// Defined where gradient is, and where grad is.
struct gradient_header;
struct grad_header;

/// True where it is not; `Arguments` are those of a call, so that this is asked where the call stands.
template <class Header, class... Arguments>
concept forgotten = sizeof...(Arguments) > 0 && !requires { sizeof(Header); };

/// Said once for all calls.
template <class Header>
constexpr ill_formed tell_forgotten() {
    static_assert(never<Header>, "fovea: gradient and grad are in another header: #include <fovea/gradient.hpp>");
    return {};
}
}  // namespace detail

template <class... Arguments>
    requires detail::forgotten<detail::grad_header, Arguments...>
constexpr ill_formed grad(Arguments const&...) {
    return detail::tell_forgotten<detail::gradient_header>();
}
template <class... Arguments>
    requires detail::forgotten<detail::gradient_header, Arguments...>
constexpr ill_formed gradient(Arguments const&...) {
    return detail::tell_forgotten<detail::gradient_header>();
}

}  // namespace fovea::FOVEA_SET
