// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of whatever computes attention against the definition: odd sizes, tails, gaps, poison.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/reference/attend.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include <limits>
#include <type_traits>
#include <vector>

namespace fovea::FOVEA_SET::testing {

/// scattered: (batch, head, position, feature) in memory that nothing prefers: rows with gaps, any order of heads and
/// positions, any alignment. Gaps hold NaN, so that what is read there shows, and what is written there is seen.
template <class T>
struct scattered {
    std::vector<T> buffer;
    view<T, 4> elements;

    scattered(dice& from, extents_t<4> const& n) {
        index_t const first = from.between(0, 3), row = n[3] + from.between(0, 3);
        bool const heads_inside = from.chance(0.5);
        index_t const head_step = heads_inside ? row : row * n[2];
        index_t const position_step = heads_inside ? row * n[1] : row;
        buffer.assign(static_cast<std::size_t>(first + n[0] * n[1] * n[2] * row), gap());
        elements = {buffer.data() + first, n, {row * n[1] * n[2], head_step, position_step, 1}};
    }
    scattered(scattered const&) = delete;

    static constexpr T gap() { return std::numeric_limits<T>::quiet_NaN(); }

    template <class F>
    void for_each(F const& f) const {
        for (index_t b = 0; b < elements.extent(0); ++b)
            for (index_t h = 0; h < elements.extent(1); ++h)
                for (index_t n = 0; n < elements.extent(2); ++n)
                    for (index_t c = 0; c < elements.extent(3); ++c) f(elements(b, h, n, c));
    }

    void fill(dice& from, double size) {
        for_each([&](T& x) { x = static_cast<T>(from.real(-size, size)); });
    }

    /// The elements in C order.
    std::vector<T> collected() const {
        std::vector<T> all;
        for_each([&](T const& x) { all.push_back(x); });
        return all;
    }

    /// Errors: law_broken when something was written between the rows.
    void check_gaps() const {
        std::vector<bool> is_element(buffer.size());
        for_each([&](T const& x) { is_element[static_cast<std::size_t>(&x - buffer.data())] = true; });
        for (std::size_t i = 0; i < buffer.size(); ++i)
            law(is_element[i] || buffer[i] != buffer[i], "nothing is written beside the elements of a view",
                [&] { return "element " + std::to_string(i) + " of the memory, " + std::to_string(buffer[i]); });
    }
};

/// The sizes of one call; a projection takes the numbers of heads and features that it makes itself.
struct call_sizes {
    index_t batches = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, features = 1, value_features = 1;
    double magnitude = 1;  // of the operands

    std::string text() const {
        return "batches " + std::to_string(batches) + ", heads " + std::to_string(heads) + "/"
             + std::to_string(key_heads) + ", queries " + std::to_string(queries) + ", keys " + std::to_string(keys)
             + ", features " + std::to_string(features) + "/" + std::to_string(value_features);
    }
};

/// Sizes around the widths of vectors and tiles, and the smallest ones.
inline std::vector<call_sizes> const& odd_sizes() {
    static std::vector<call_sizes> const sizes{
        {1, 1, 1, 1, 1, 1, 1},        {1, 1, 1, 1, 17, 8, 3},    {2, 2, 1, 3, 5, 3, 5},   {1, 2, 2, 15, 16, 16, 17},
        {1, 4, 2, 17, 33, 5, 8},      {2, 1, 1, 33, 31, 64, 33}, {1, 3, 1, 8, 130, 7, 1}, {1, 1, 1, 65, 65, 32, 24, 4},
        {1, 8, 2, 1, 200, 16, 16, 3}, {1, 1, 1, 70, 9, 4, 4},    {1, 1, 1, 5, 0, 4, 4},
    };
    return sizes;
}

namespace detail {
template <class T>
using wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// The extents of a source, so that a row map gives what the sizes say; a matrix decides by itself.
template <class M>
extents_t<4> source_extents(M const& map, index_t batches, index_t positions, index_t features) {
    if constexpr (successive_map<M>) {
        auto const between = source_extents(map.second, batches, positions, features);
        return source_extents(map.first, batches, positions, between[3]);
    } else if constexpr (linear_map<map_below<M>>) return {batches, 1, positions, inputs_of(row_map_below(map))};
    else return {batches, 1, positions, features};
}

/// The operands of one call and what its result looks like.
template <class T, attention_spec A>
struct random_call {
    A const& spec;
    extents_t<4> q_extents, k_extents, v_extents;
    scattered<T> q, k, v;
    operand_shapes operands;
    extents_t<4> result;

    random_call(A const& a, call_sizes const& n, dice& from) : random_call(a, extents_of(a, n), from, n.magnitude) {}

    void attend_plainly(auto in, auto const& result_view, auto const&... extra) const {
        reference::attend_in<decltype(in)>(spec, q.elements, k.elements, v.elements, result_view, extra...);
    }

private:
    random_call(A const& a, std::array<extents_t<4>, 3> const& e, dice& from, double magnitude)
        : spec(a),
          q_extents(e[0]),
          k_extents(e[1]),
          v_extents(e[2]),
          q(from, e[0]),
          k(from, e[1]),
          v(from, e[2]),
          operands(projected_shapes(a, e[0], e[1], e[2])),
          result(result_shape(a, operands, e[0])) {
        q.fill(from, magnitude);
        k.fill(from, magnitude);
        v.fill(from, 1);
        poison_unseen_keys();
    }

    static std::array<extents_t<4>, 3> extents_of(A const& a, call_sizes const& n) {
        if constexpr (projection<decltype(a.project)>) {
            using count = typename decltype(a.project)::heads_type;
            return {source_extents(a.project.query, n.batches, n.queries, count::query * n.features),
                    source_extents(a.project.key, n.batches, n.keys, count::key_value * n.features),
                    source_extents(a.project.value, n.batches, n.keys, count::key_value * n.value_features)};
        } else {
            return {extents_t<4>{n.batches, n.heads, n.queries, n.features},
                    extents_t<4>{n.batches, n.key_heads, n.keys, n.features},
                    extents_t<4>{n.batches, n.key_heads, n.keys, n.value_features}};
        }
    }

    /// A key that no query sees may hold anything.
    void poison_unseen_keys() {
        if constexpr (!projection<decltype(spec.project)> && !enumerating_mask<decltype(spec.mask)>) {
            auto const visible = visible_pairs(spec);
            reference::index_environment<double> at{
                {}, 0, 0, 0, 0, operands.queries(), operands.keys(), operands.compared()};
            for (; at.key < operands.keys(); ++at.key) {
                bool seen = false;
                for (at.batch = 0; at.batch < operands.batches(); ++at.batch)
                    for (at.head = 0; at.head < operands.heads(); ++at.head)
                        for (at.query = 0; at.query < operands.queries(); ++at.query)
                            seen = seen || evaluate(visible, at);
                if (!seen) poison(k, at.key);
                if (!seen) poison(v, at.key);
            }
        }
    }
    static void poison(scattered<T>& rows, index_t position) {
        for (index_t b = 0; b < rows.elements.extent(0); ++b)
            for (index_t h = 0; h < rows.elements.extent(1); ++h)
                for (index_t c = 0; c < rows.elements.extent(3); ++c)
                    rows.elements(b, h, position, c) =
                        c % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
    }
};

/// One result in three computations: the definition, plain loops in T, and the one that is looked at.
template <class T>
void check_result(std::string const& name, call_sizes const& n, std::vector<wider<T>> const& expected,
                  std::vector<T> const& plain, std::vector<T> const& got) {
    check_close<wider<T>, T>(name + " for " + n.text() + ": " + name, expected, got,
                             tolerance_for<T, wider<T>>(expected, plain));
}

template <class T, int Rank>
void check_result(std::string const& name, call_sizes const& n, tensor<wider<T>, Rank> const& expected,
                  tensor<T, Rank> const& plain, tensor<T, Rank> const& got) {
    check_result<T>(name, n, expected.elements, plain.elements, got.elements);
}
}  // namespace detail

/// compare_with_reference<T>: one random call of an engine on operands of type T, against the definition.
///
/// `engine(spec, query, key, value, result, extra...)` is what computes. Operands have gaps, any order of axes and
/// NaN in keys that nobody sees. The result is asked for without whole rows, with lse where there is one, and with
/// weights. Errors: law_broken naming the sizes and the worst element.
template <class T, class Engine, attention_spec A>
void compare_with_reference(Engine const& engine, A const& spec, call_sizes const& n, unsigned seed = 1) {
    using detail::check_result;
    using exact = detail::wider<T>;
    dice from(seed);
    detail::random_call<T, A> const call(spec, n, from);
    auto const& shapes = call.operands;
    constexpr bool has_log_sum = log_sum_normalizer<decltype(normalizer_of(spec.normalize))>;
    extents_t<4> const pairs{shapes.batches(), shapes.heads(), shapes.queries(), shapes.keys()};
    extents_t<3> const rows{shapes.batches(), shapes.heads(), shapes.queries()};
    tensor<exact, 4> expected(call.result), weights_expected(pairs);
    tensor<exact, 3> lse_expected(rows);
    tensor<T, 4> plain(call.result), weights_plain(pairs), weights_got(pairs, scattered<T>::gap());
    tensor<T, 3> lse_plain(rows), lse_got(rows, scattered<T>::gap());
    scattered<T> alone(from, call.result), beside_weights(from, call.result);
    auto const run = [&](auto const& target, auto const&... extra) {
        engine(spec, view<T const, 4>(call.q.elements), view<T const, 4>(call.k.elements),
               view<T const, 4>(call.v.elements), target, extra...);
    };
    // Each combination of outputs is a loop of its own to compile: without whole rows, and with them.
    if constexpr (has_log_sum) {
        call.attend_plainly(exact{}, expected.view(), weights(weights_expected), lse(lse_expected));
        call.attend_plainly(T{}, plain.view(), weights(weights_plain), lse(lse_plain));
        run(alone.elements, lse(lse_got));
        check_result<T, 3>("lse", n, lse_expected, lse_plain, lse_got);
    } else {
        call.attend_plainly(exact{}, expected.view(), weights(weights_expected));
        call.attend_plainly(T{}, plain.view(), weights(weights_plain));
        run(alone.elements);
    }
    alone.check_gaps();
    check_result<T>("result", n, expected.elements, plain.elements, alone.collected());

    run(beside_weights.elements, weights(weights_got));
    check_result<T>("result beside weights", n, expected.elements, plain.elements, beside_weights.collected());
    check_result<T, 4>("weights", n, weights_expected, weights_plain, weights_got);
    for (std::size_t i = 0; i < weights_got.elements.size(); ++i)
        law(weights_expected.elements[i] != 0 || weights_got.elements[i] == 0,
            "the weight of a pair that takes no part is exactly 0", [&] { return n.text(); });
}

/// Compares the engine with the reference for all odd sizes, twice for each, with other operands.
template <class T, class Engine, attention_spec A>
void compare_with_reference(Engine const& engine, A const& spec) {
    unsigned seed = 1;
    for (auto const& n : odd_sizes())
        for (int trial = 0; trial < 2; ++trial) compare_with_reference<T>(engine, spec, n, seed++);
}

}  // namespace fovea::FOVEA_SET::testing

#include <fovea/core/epilogue.hpp>
