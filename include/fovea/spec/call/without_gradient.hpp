// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sentence for a program that has forgotten fovea/gradient.hpp.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/call/arguments.hpp>

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
/// That header, known once the arguments are.
template <class...>
struct header_of_call {
    using type = gradient_header;
};
}  // namespace detail

template <class... Arrays>
    requires(((viewable<Arrays> || is_ill_formed<Arrays>) && ...) && detail::forgotten<detail::grad_header, Arrays...>)
constexpr ill_formed grad(Arrays const&...) {
    return detail::tell_forgotten<typename detail::header_of_call<Arrays...>::type>();
}
template <class Target>
    requires(viewable<Target> && detail::forgotten<detail::grad_header, Target>)
constexpr ill_formed add_to(Target const&) {
    return detail::tell_forgotten<typename detail::header_of_call<Target>::type>();
}
template <attention_spec A, class... Arrays>
    requires(detail::forgotten<detail::gradient_header, A>)
constexpr ill_formed explain_gradient(A const&, Arrays const&...) {
    return detail::tell_forgotten<typename detail::header_of_call<A>::type>();
}
template <class First, class... Further>
    requires(detail::begins_well<First, Further...>() && detail::forgotten<detail::gradient_header, First>)
constexpr ill_formed gradient(First&&, Further&&...) {
    return detail::tell_forgotten<typename detail::header_of_call<First>::type>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
