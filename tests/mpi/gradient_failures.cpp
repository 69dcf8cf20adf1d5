// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Where a call of gradient is wrong on one rank, or throws there, all throw one sentence, and nothing has been written.
#include "mpi/failing.hpp"
#include "mpi/gradients.hpp"

#include <new>
#include <stdexcept>

using namespace sequences;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

int last_rank() { return world_size() - 1; }
bool is_last() { return world_rank() == last_rank(); }
std::string of_last() { return "rank " + std::to_string(last_rank()) + ": "; }

/// A call over ranks that all hold 20 positions; its table has an element for each head.
struct even_call {
    tensor<float, 4> q{{1, 2, 20, 8}, 1}, k{{1, 2, 20, 8}, 1}, v{{1, 2, 20, 8}, 1}, d{{1, 2, 20, 8}, 1};
    tensor<float, 4> d_q{{1, 2, 20, 8}, 7}, d_k{{1, 2, 20, 8}, 7}, d_v{{1, 2, 20, 8}, 7};
    tensor<float, 1> table{{2}, 1}, d_table{{2}, 7};

    template <class D, class DK, class... Before>
    void gradient_of(D const& d_result, DK& to, Before const&... before) {
        gradient(before..., mpi::ranks(MPI_COMM_WORLD).pieces(8),
                 scaled_dot | rescore(score + param(table)[head] * kv_idx) | causal | softmax | weighted_sum, q, k, v,
                 d_result, grad(q, d_q), grad(k, to), grad(v, d_v), grad(table, d_table));
    }
    bool is_untouched() const {
        bool same = true;
        for (auto const* all : {&d_q.elements, &d_k.elements, &d_v.elements, &d_table.elements})
            for (float const x : *all) same = same && x == 7;
        return same;
    }
    /// Equal keys and values: each value has the gradients of the queries that see it, times their weights.
    void check_right() {
        gradient_of(d, d_k);
        float sum = 0;
        for (float const x : d_v.elements) sum += x;
        float all = 0;
        MPI_Allreduce(&sum, &all, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == Approx(320 * world_size()));
    }
};

struct stopped : std::runtime_error {
    stopped() : std::runtime_error("stopped") {}
};

}  // namespace

TEST_CASE("arrays of one rank that do not fit a call of gradient", "[mpi]") {
    even_call c;
    index_t const count = is_last() ? 19 : 20;
    tensor<float, 4> const d({1, 2, count, 8});
    CHECK_THROWS_AS(c.gradient_of(d, c.d_k), shape_error);
    CHECK_THROWS_WITH(c.gradient_of(d, c.d_k), of_last()
                                                   + "the gradient of the result is (1, 2, 19, 8) and must be (1, 2, "
                                                     "20, 8), (batch, head, position, feature)");
    tensor<float, 4> d_k({1, 2, count, 8});
    CHECK_THROWS_WITH(
        c.gradient_of(c.d, d_k),
        ContainsSubstring(of_last() + "the target of grad 2 is (1, 2, 19, 8), its array is (1, 2, 20, 8)"));
    tensor<float, 4> const other({1, 2, 20, 8});
    auto const ask = [&] {
        gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, c.q, c.k, c.v, c.d,
                 grad(is_last() ? other : c.k, c.d_k));
    };
    CHECK_THROWS_WITH(ask(), ContainsSubstring(of_last() + "grad names an array (1, 2, 20, 8)"));
    CHECK(c.is_untouched());
    c.check_right();
}

TEST_CASE("saved rows of another call, on one rank", "[mpi]") {
    even_call c;
    auto const spec = scaled_dot | softmax | weighted_sum;
    saved_rows<float> state;
    tensor<float, 4> out({1, 2, 20, 8}), q({1, 2, 3, 8}), few({1, 2, 3, 8});
    attend(mpi::ranks(MPI_COMM_WORLD), spec, c.q, c.k, c.v, out, save(state));
    if (is_last()) attend(spec, q, c.k, c.v, few, save(state));
    CHECK_THROWS_WITH(gradient(mpi::ranks(MPI_COMM_WORLD), spec, c.q, c.k, c.v, c.d, state, grad(c.q, c.d_q)),
                      of_last() + "the saved rows are those of a result (1, 2, 3, 8), this call has (1, 2, 20, 8)");
    // Where one rank has none, all compute them.
    attend(mpi::ranks(MPI_COMM_WORLD), spec, c.q, c.k, c.v, out, save(state));
    saved_rows<float> const none;
    tensor<float, 4> d_v({1, 2, 20, 8});
    gradient(mpi::ranks(MPI_COMM_WORLD), spec, c.q, c.k, c.v, c.d, state, grad(c.v, c.d_v));
    gradient(mpi::ranks(MPI_COMM_WORLD), spec, c.q, c.k, c.v, c.d, is_last() ? none : state, grad(c.v, d_v));
    CHECK(d_v.elements == c.d_v.elements);
}

TEST_CASE("ranks that ask for the gradients of other tables", "[mpi]") {
    if (world_size() == 1) return;  // there is no other rank
    even_call c;
    tensor<float, 2> const table({2, is_last() ? 5 : 4}, 1);
    tensor<float, 2> d_table(table.extents, 7);
    CHECK_THROWS_WITH(
        gradient(mpi::ranks(MPI_COMM_WORLD),
                 scaled_dot | rescore(score + param(table)[head][min(kv_idx, 3)]) | softmax | weighted_sum, c.q, c.k,
                 c.v, c.d, grad(table, d_table)),
        ContainsSubstring("the number of elements of tables and matrices whose gradients are asked for is 10, and of "
                          "rank 0 it is 8"));
    CHECK(d_table.elements == std::vector<float>(d_table.elements.size(), 7));
}

TEST_CASE("a rank that throws amid the tasks of a gradient", "[mpi]") {
    even_call c;
    int tasks = 1 << 20;
    c.gradient_of(c.d, c.d_k, failing<stopped>{&tasks});
    tasks = (1 << 20) - tasks;  // of this rank
    for (int const part : {0, 1, 2, 4, 5, 7}) {
        even_call fails;
        int left = is_last() ? tasks * part / 8 : 1 << 20;
        CHECK_THROWS_WITH(fails.gradient_of(fails.d, fails.d_k, failing<stopped>{&left}), of_last() + "stopped");
        left = is_last() ? tasks * part / 8 : 1 << 20;
        CHECK_THROWS_AS(fails.gradient_of(fails.d, fails.d_k, failing<std::bad_alloc>{&left}), std::runtime_error);
        CHECK(fails.is_untouched());
    }
    c.check_right();
}

TEST_CASE("a rank that throws amid the tasks of the gradient of a layer", "[mpi]") {
    tensor<float, 2> const x({20, 8}, 1), d({20, 8}, 1), wo({8, 8}, 0.5f);
    tensor<float, 2> d_x({20, 8}, 7), d_wo({8, 8}, 7);
    auto const spec = project(as_is | rotary, as_is, as_is, heads<2>) | scaled_dot | causal | softmax | weighted_sum
                    | concat_heads | output(wo);
    auto const differentiate = [&](int& left) {
        gradient(failing<stopped>{&left}, mpi::ranks(MPI_COMM_WORLD).pieces(8), spec, x, d, grad(x, d_x),
                 grad(wo, d_wo));
    };
    int tasks = 1 << 20;
    differentiate(tasks);
    tasks = (1 << 20) - tasks;  // of this rank
    auto const right_x = d_x.elements, right_wo = d_wo.elements;
    for (int part = 0; part < 12; ++part) {
        int left = is_last() ? tasks * part / 12 : 1 << 20;
        CHECK_THROWS_WITH(differentiate(left), of_last() + "stopped");
    }
    int left = 1 << 20;
    differentiate(left);
    CHECK(d_x.elements == right_x);
    CHECK(d_wo.elements == right_wo);
}
