// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rest of a score and the mask, applied to vectors of scores, whichever operand lies in lanes. With queries in
// lanes rows of tables are transposed for it, for some keys at a time.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/spec/row.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// Vectors of scores: of one row and adjacent keys, or, with queries in lanes, of a vector of rows and one key after
/// the other. Terms are those of the (first) row, and of the first key.
template <class T, bool QueriesInLanes>
struct score_vectors {
    T* scores;              // the first plane; the result goes here too
    index_t stride, count;  // from vector to vector, and how many
    index_t first_key;      // its position
    index_t plane_stride;
    index_t products;    // planes of products; those of pairwise terms follow
    T const* row_terms;  // (terms, row_stride)
    index_t row_stride;
    T const* key_terms;  // (terms, key_stride)
    index_t key_stride;
    term_index<T, QueriesInLanes> const* row_indices;   // index terms: (terms, row_stride)
    term_index<T, !QueriesInLanes> const* key_indices;  // (terms, key_stride)
    T* row_max;  // with queries in lanes the maximum of each row so far: raised to that of these scores

    /// The vectors from the nth on, with queries in lanes.
    FOVEA_INLINE score_vectors part(index_t n, index_t vectors) const {
        auto some = *this;
        some.scores += n * stride;
        some.count = vectors;
        some.first_key += n;
        some.key_terms += n;
        some.key_indices += n;
        return some;
    }

    /// The names of an expression at a vector that begins `key` keys after the first. `row` is the (first) row, `pairs`
    /// are the elements of tables of pairs from the first key on.
    template <class Arch, class Rows>
    FOVEA_INLINE auto names(row_coordinates const& row, Rows const& rows, T const* vector_of_scores, index_t key,
                            T const* const* pairs = nullptr) const {
        using keys = std::conditional_t<QueriesInLanes, index_t, positions<T, Arch>>;
        return score_environment<T, Arch, keys, Rows>{{row, keys{first_key + key}},
                                                      rows,
                                                      vector_of_scores,
                                                      plane_stride,
                                                      products,
                                                      row_terms,
                                                      row_stride,
                                                      key_terms + key,
                                                      key_stride,
                                                      row_indices,
                                                      key_indices + key,
                                                      pairs,
                                                      key * pack<T, Arch>::lanes};
    }
};

/// Rows of a table, one in each lane, from the table's first key on.
template <class T, class Arch, class Element>
struct rows_in_lanes {
    std::array<typename view<Element const, 1>::pointer, static_cast<std::size_t>(pack<T, Arch>::lanes)> first;
    index_t keys, stride;  // of each row

    bool operator==(rows_in_lanes const&) const = default;
    template <class Other>
    bool operator==(Other const&) const {
        return false;
    }
};

/// Keys whose elements are transposed at once, at most.
inline constexpr index_t keys_of_tile = 64;

/// The elements of rows at some keys: (keys, lanes). Integers keep their bits, and true is 1. A key outside of the
/// table stands for the nearest one inside.
template <class T, class Arch, class Element>
[[gnu::noinline]] void transpose_keys(rows_in_lanes<T, Arch, Element> const& rows, index_t first_key, index_t count,
                                      T* to) {
    using vector = pack<T, Arch>;
    constexpr bool conditions = fovea::detail::is_truth<Element>,
                   integers = !fovea::detail::is_real_number<Element> && !conditions;
    auto const load = [&](index_t i, index_t k, index_t left) FOVEA_LAMBDA -> vector {
        auto const from = rows.first[static_cast<std::size_t>(i)] + (first_key + k);
        if constexpr (integers) {
            auto const last = static_cast<std::size_t>(left - 1);
            auto const elements =
                collect<T, Arch, Element, false>([&](std::size_t lane) { return from[std::min(lane, last)]; });
            return {registers<T, Arch>::as_reals(elements.value)};
        } else if constexpr (conditions) {
            return select(load_mask<T, Arch>(from, left), vector(T{1}), vector(T{0}));
        } else {
            prefetch_to_l2<vector::lanes>(from + keys_of_tile);  // of the next tile: rows are pages apart
            return load_as<T, Arch>(from, left);
        }
    };
    if (rows.stride == 1 && first_key + count <= rows.keys) {
        auto const as_it_is = [](vector const& of_key) FOVEA_LAMBDA { return of_key; };
        return transpose_rows<T, Arch>(load, []() FOVEA_LAMBDA {}, as_it_is, count, to, vector::lanes);
    }
    for (index_t k = first_key; k < first_key + count; ++k)
        for (auto const& row : rows.first) {
            auto const element = row[clamped_index(k, rows.keys) * rows.stride];
            if constexpr (integers) *to++ = std::bit_cast<T>(static_cast<integer_like<T>>(element));
            else *to++ = static_cast<T>(element);
        }
}

/// The elements that `Count` reads of tables of pairs have at some keys: (reads, keys, lanes).
template <class T, class Arch, index_t Count>
struct pair_tiles {
    static constexpr index_t lanes = pack<T, Arch>::lanes;
    using places = std::array<T const*, static_cast<std::size_t>(Count)>;  // of each read

    alignas(64) T elements[std::size_t{Count * keys_of_tile * lanes}];

    /// Rows that are equal share their elements: a table that is added to a score may also exclude pairs.
    template <class Pairs, class Rows>
    FOVEA_INLINE places fill(Pairs const& pairs, row_coordinates const& row, Rows const& rows, index_t first_key,
                             index_t count) {
        places filled{};
        T* to = elements;
        auto const fill_next = [&](auto const& self, auto const&... before) FOVEA_LAMBDA {
            constexpr std::size_t n = sizeof...(before);
            if constexpr (n < std::size_t{Count}) {
                auto const own = rows_of(boost::hana::at_c<n>(pairs), row, rows);
                std::size_t i = 0;
                ((filled[n] = own == before ? filled[i] : filled[n], ++i), ...);
                if (filled[n] == nullptr) {
                    transpose_keys(own, first_key, count, to);
                    filled[n] = to;
                    to += keys_of_tile * lanes;
                }
                self(self, before..., own);
            }
        };
        fill_next(fill_next);
        return filled;
    }

private:
    template <class Read, class Rows>
    FOVEA_INLINE static auto rows_of(Read const& read, row_coordinates const& row, Rows const& rows) {
        return with_children(read, [&](auto const& parameter, auto const&... index) FOVEA_LAMBDA {
            auto const& table = parameter.table;
            using table_type = std::remove_cvref_t<decltype(table)>;
            rows_in_lanes<T, Arch, typename table_type::value_type> of{
                {}, table.extent(table_type::rank - 1), table.stride(table_type::rank - 1)};
            for (index_t i = 0; i < lanes; ++i) {
                auto const at = rows.row(row, i);
                index_environment<T, Arch, index_t> const first_key{at, 0};
                of.first[static_cast<std::size_t>(i)] =
                    table.data + clamped_offset(table, evaluate(index, first_key)...);
            }
            return of;
        });
    }
};

namespace detail {
template <bool Masked, bool Exact, class T, class Arch, class Pointwise, class Predicate, class Rows, bool InLanes,
          std::size_t Pairs = 0>
FOVEA_INLINE void transform_vectors(Pointwise const pointwise, Predicate const predicate, row_coordinates const row,
                                    Rows const rows, score_vectors<T, InLanes> const at,
                                    std::array<T const*, Pairs> const pairs = {}) {
    using vector = pack<T, Arch>;
    vector maximum(excluded<T>);
    if constexpr (InLanes) maximum = vector::load(at.row_max);
    T* scores = at.scores;
    for (index_t n = 0; n < at.count; ++n, scores += at.stride) {
        index_t const key = InLanes ? n : n * vector::lanes;
        auto const here = at.template names<Arch>(row, rows, scores, key, pairs.data());
        auto score = as_pack<T, Arch>(evaluate_in_lanes<T, Arch, Exact>(pointwise, here));
        if constexpr (Masked) {
            auto const exists = [&] {  // keys after the last fill vectors
                if constexpr (InLanes) return lane_mask<T, Arch>::all();
                else return here.keys < row.kv_len;
            }();
            score = select(exists && evaluate_in_lanes<T, Arch, Exact>(predicate, here), score, vector(excluded<T>));
        }
        if constexpr (Masked || !plan::is_bare_product<Pointwise>) score.store(scores);
        if constexpr (InLanes) maximum = max(maximum, score);
    }
    if constexpr (InLanes) maximum.store(at.row_max);
}
template <bool Masked, class T, class Arch, class Pointwise, class Predicate, class Rows, bool InLanes>
[[gnu::noinline]] void transform_exactly(Pointwise const& pointwise, Predicate const& predicate,
                                         row_coordinates const& row, Rows const& rows,
                                         score_vectors<T, InLanes> const& at) {
    transform_vectors<Masked, true, T, Arch>(pointwise, predicate, row, rows, at);
}
}  // namespace detail

/// transform: the rest of the score, pointwise, and the mask where a pair may be excluded. `indices` holds both
/// expressions with references to index terms that have been computed before.
///
/// Expressions and coordinates are passed by value: stores of vectors might alias a referenced one, and what is the
/// same for the whole row would be computed again for each vector.
template <bool Masked, class T, class Arch, class Pointwise, class Predicate, class Indices, class Rows, bool InLanes>
FOVEA_INLINE void transform(Pointwise const& pointwise, Predicate const& predicate, Indices const& indices,
                            row_coordinates const row, Rows const rows, score_vectors<T, InLanes> const at) {
    if constexpr (!Masked && !InLanes && plan::is_bare_product<Pointwise>) return;
    if constexpr (asks_for_exact<T, Pointwise> || (Masked && asks_for_exact<T, Predicate>))
        if (row.exact) return detail::transform_exactly<Masked, T, Arch>(pointwise, predicate, row, rows, at);
    constexpr index_t pairs = Masked ? Indices::pairs_of_both : Indices::pairs_of_pointwise;
    if constexpr (pairs == 0) {
        detail::transform_vectors<Masked, false, T, Arch>(indices.pointwise, indices.predicate, row, rows, at);
    } else {
        pair_tiles<T, Arch, pairs> tiles;
        for (index_t n = 0; n < at.count; n += keys_of_tile) {
            auto const some = at.part(n, std::min(at.count - n, keys_of_tile));
            auto const elements = tiles.fill(indices.pairs, row, rows, some.first_key, some.count);
            detail::transform_vectors<Masked, false, T, Arch>(indices.pointwise, indices.predicate, row, rows, some,
                                                              elements);
        }
    }
}

}  // namespace fovea::FOVEA_SET::kernel
