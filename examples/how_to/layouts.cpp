// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays in other orders than (batch, head, position, feature): strides instead of copies.
#include "check.hpp"

#include <string>

using namespace fovea;
using namespace how_to;

namespace {

constexpr auto sdpa = scaled_dot | causal | softmax | weighted_sum;
constexpr index_t B = 2, H = 4, N = 9, D = 8;  // batch, heads, positions, features

tensor<float, 4> copied(view<float const, 4> v) {
    tensor<float, 4> dense(v.extents);
    for (index_t b = 0; b < B; ++b)
        for (index_t h = 0; h < H; ++h)
            for (index_t i = 0; i < N; ++i)
                for (index_t c = 0; c < D; ++c) dense(b, h, i, c) = v(b, h, i, c);
    return dense;
}

/// The result of a call on dense copies.
tensor<float, 4> on_copies(view<float const, 4> q, view<float const, 4> k, view<float const, 4> v) {
    tensor<float, 4> result({B, H, N, D});
    attend(sdpa, copied(q), copied(k), copied(v), result);
    return result;
}

void position_before_head() {
    auto const x = random_tensor<4>({B, N, H, D}), y = random_tensor<4>(x.extents), z = random_tensor<4>(x.extents);
    tensor<float, 4> to(x.extents);
    auto const *q = x.data(), *k = y.data(), *v = z.data();
    float* const result = to.data();
    //! [position_before_head]
    extents_t<4> const extents{B, H, N, D};
    extents_t<4> const strides{N * H * D, D, H * D, 1};  // of (batch, position, head, feature)
    view<float const, 4> const query(q, extents, strides), key(k, extents, strides), value(v, extents, strides);
    view<float, 4> const written(result, extents, strides);  // in that order, too
    attend(sdpa, query, key, value, written);
    //! [position_before_head]
    require(copied(written).elements == on_copies(query, key, value).elements, "(batch, position, head, feature)");
}

void other_strides() {
    auto const x = random_tensor<3>({B, N, 3 * H * D});
    auto const* const qkv = x.data();
    tensor<float, 4> result({B, H, N, D});
    //! [fused]
    auto const part = [&](index_t which) {  // (batch, position, 3, head, feature), as one product makes it
        return view<float const, 4>(qkv + which * H * D, {B, H, N, D}, {N * 3 * H * D, D, 3 * H * D, 1});
    };
    attend(sdpa, part(0), part(1), part(2), result);
    //! [fused]
    require(result.elements == on_copies(part(0), part(1), part(2)).elements, "side by side");

    auto const query = random_tensor<4>({B, H, N, D}), key = random_tensor<4>(query.extents),
               value = random_tensor<4>(query.extents);
    auto const shared = random_tensor<2>({N, D});
    //! [repeated]
    view<float const, 4> const for_all(shared.data(), {B, H, N, D}, {0, 0, D, 1});
    attend(sdpa, query, for_all, for_all, result);
    //! [repeated]
    require(result.elements == on_copies(query, for_all, for_all).elements, "one set of keys for all");

    //! [reversed]
    view<float const, 4> const last_first(query.data() + (N - 1) * D, {B, H, N, D}, {H * N * D, N * D, -D, 1});
    attend(sdpa, last_first, key, value, result);
    //! [reversed]
    require(result.elements == on_copies(last_first, key, value).elements, "from the last position to the first");
}

/// The sentence of a function that refuses.
template <class F>
std::string sentence(F const& f) {
    try {
        f();
    } catch (shape_error const& error) {
        return error.what();
    }
    return "";
}

void refused() {
    std::vector<float> x(B * H * D * N);
    auto const query = random_tensor<4>({B, H, N, D});
    //! [refused]
    std::string const apart = sentence([&] { view<float, 4>(x.data(), {B, H, N, D}, {H * D * N, D * N, 1, N}); });
    require(apart == "view: the last axis must be contiguous, its stride is 9 and must be 1: copy the elements",
            "features lie together");
    //! [refused]
    view<float, 4> const repeated(x.data(), {B, H, N, D}, {0, N * D, D, 1});
    require(sentence([&] { attend(sdpa, query, query, query, repeated); }).starts_with("result"), "written once");
}

}  // namespace

int main() {
    position_before_head();
    other_strides();
    refused();
}
