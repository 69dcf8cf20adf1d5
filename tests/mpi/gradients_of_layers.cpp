// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of layers over ranks: back through what follows the heads, and through projections with rotary positions.
#include "mpi/gradients.hpp"

using namespace sequences;
using namespace fovea::placeholders;

namespace {

/// The rows of (batch, position, feature) that some runs name.
tensor<float, 3> positions_of(tensor<float, 3> const& all, mpi::runs const& held) {
    tensor<float, 3> some({all.extent(0), mpi::detail::positions_in(held), all.extent(2)});
    for (auto const& run : held)
        for (index_t b = 0; b < all.extent(0); ++b)
            for (index_t n = 0; n < run.count; ++n)
                for (index_t c = 0; c < all.extent(2); ++c) some(b, run.place + n, c) = all(b, run.first + n, c);
    return some;
}

struct layer_case {
    static constexpr index_t positions = 101, width = 24;
    testing::dice random{3};
    tensor<float, 3> x = testing::random_tensor<float>(random, extents_t<3>{2, positions, width}),
                     d = testing::random_tensor<float>(random, extents_t<3>{2, positions, width});

    tensor<float, 2> matrix(index_t rows, index_t columns) {
        return testing::random_tensor<float>(random, extents_t<2>{rows, columns}, 0.4);
    }

    /// The gradients of the input and of three arrays, on the ranks of a communicator.
    template <class A, class B, class C>
    struct gradients {
        tensor<float, 3> d_x;
        A a;
        B b;
        C c;
    };
    template <class Ranks, class Spec, class A, class B, class C>
    auto over(Ranks const& ranks, mpi::runs const& held, bool saves, Spec const& spec, A const& a, B const& b,
              C const& c) const {
        auto const own_x = positions_of(x, held), own_d = positions_of(d, held);
        gradients<A, B, C> of{tensor<float, 3>(own_x.extents, 7), A(a.extents, 7), B(b.extents, 7), C(c.extents, 7)};
        saved_rows<float> state;
        if (saves) {
            tensor<float, 3> out(own_d.extents);
            attend(threads(2), ranks, spec, own_x, out, save(state));
        }
        gradient(threads(2), ranks, spec, own_x, own_d, state, grad(own_x, of.d_x), grad(a, of.a), grad(b, of.b),
                 grad(c, of.c));
        return of;
    }

    template <class Layout, class Spec, class A, class B, class C>
    void check(Layout const& layout, Spec const& spec, A const& a, B const& b, C const& c) const {
        INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text() << ", " << text(spec));
        gradients<A, B, C> plain{tensor<float, 3>(x.extents), A(a.extents), B(b.extents), C(c.extents)};
        gradient(spec, x, d, grad(x, plain.d_x), grad(a, plain.a), grad(b, plain.b), grad(c, plain.c));
        mpi::runs const all{{0, positions, 0}};
        auto const alone = over(mpi::ranks(MPI_COMM_SELF).pieces(16), all, false, spec, a, b, c);
        auto const held = layout.held(positions, world_rank(), world_size());
        for (bool const saves : {false, true}) {
            auto const got = over(mpi::ranks(MPI_COMM_WORLD, layout).pieces(16), held, saves, spec, a, b, c);
            CHECK(are_close(got.d_x, positions_of(plain.d_x, held)));
            CHECK(are_close(got.a, plain.a));
            CHECK(are_close(got.b, plain.b));
            CHECK(are_close(got.c, plain.c));
            CHECK(got.d_x.elements == positions_of(alone.d_x, held).elements);
            CHECK(got.a.elements == alone.a.elements);
            CHECK(got.b.elements == alone.b.elements);
            CHECK(got.c.elements == alone.c.elements);
        }
    }
};

}  // namespace

TEST_CASE("the gradients of a layer with normalized rows and heads, rotary positions and what follows", "[mpi]") {
    layer_case c;
    auto const wq = c.matrix(24, 32), wk = c.matrix(24, 16), wv = c.matrix(24, 16), wo = c.matrix(32, 24);
    auto const scale = testing::random_tensor<float>(c.random, extents_t<1>{c.positions});
    auto const gain = testing::random_tensor<float>(c.random, extents_t<1>{24});
    auto const further = testing::random_tensor<float>(c.random, c.x.extents);
    auto const spec =
        project(layer_normalized(gain, 1) | wq | rms_normalized | rotary, wk | l2_normalized | rotary, wv, heads<4, 2>)
        | scaled_dot | causal | softmax | weighted_sum | concat_heads | output(wo) | residual | residual(further)
        | map(out * param(scale)[q_idx] + out);
    c.check(mpi::striped(16), spec, wk, gain, scale);
    c.check(mpi::striped(32), spec, wq, wv, further);
}

TEST_CASE("a layer of weights that go by key, without matrices", "[mpi]") {
    layer_case c;
    tensor<float, 1> const slopes({4}, 0.1f), offset({4}, -1);
    auto const spec = project(as_is | rotary, as_is | rotary, as_is, heads<4>) | scaled_dot | alibi(slopes)
                    | rescore(score + param(offset)[head]) | causal | weigh(sigmoid(score)) | weighted_sum
                    | concat_heads | map(out * out);
    c.check(mpi::striped(16), spec, slopes, offset, offset);
}
