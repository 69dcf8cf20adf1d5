// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catalogue/drawn_call.hpp"

namespace catalogue {

using fovea::testing::dice;

namespace {

using wall = guarded<index_t>::wall;

/// Where sequences end that share so many positions; some are empty.
std::unique_ptr<guarded<index_t>> drawn_offsets(dice& from, index_t sequences, index_t positions) {
    auto offsets =
        std::make_unique<guarded<index_t>>(sequences + 1, index_t{0}, from.chance(0.5) ? wall::behind : wall::before);
    for (index_t i = 1; i < sequences; ++i) (*offsets)[i] = from.between(0, positions);
    if (sequences > 0) (*offsets)[sequences] = positions;
    std::sort(offsets->begin(), offsets->end());
    return offsets;
}

/// Pages in any order; with more of them than are needed, or with some that several sequences share.
index_t draw_pages(dice& from, drawn_pages& pages, index_t batches, index_t keys) {
    index_t const usual[] = {1, 4, 8, 16, 32};
    pages.slots = from.chance(0.5) ? usual[from.between(0, 4)] : from.between(1, 20);
    pages.per_sequence = keys / pages.slots;
    index_t const needed = batches * pages.per_sequence;
    index_t const count = from.chance(0.3) ? std::max<index_t>(needed / 2, 1) : needed + from.between(1, 4);
    pages.table = std::make_unique<guarded<std::int32_t>>(
        needed, 0, from.chance(0.5) ? guarded<std::int32_t>::wall::behind : guarded<std::int32_t>::wall::before);
    std::vector<std::int32_t> order(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    for (std::size_t i = order.size(); i-- > 1;)
        std::swap(order[i], order[static_cast<std::size_t>(from.between(0, static_cast<index_t>(i)))]);
    for (index_t i = 0; i < needed; ++i) (*pages.table)[i] = order[static_cast<std::size_t>(i % count)];
    return count;
}

}  // namespace

drawn_call::drawn_call(dice& from, call_types const& t, call_shape const& shape, drawn_sizes const& sizes)
    : types(t), n(sizes) {
    using use = drawn_rows::use;
    if (types.paged) {
        draw_pages(from, key_pages, n.batches, n.keys);
        n.keys = key_pages.per_sequence * key_pages.slots;
        // Values have pages of their own, of another size where the number of keys allows it.
        index_t const value_count = draw_pages(from, value_pages, n.batches, n.keys);
        index_t key_count = n.batches * key_pages.per_sequence + 1;
        if (value_pages.per_sequence * value_pages.slots != n.keys) {
            value_pages.slots = key_pages.slots;
            value_pages.per_sequence = key_pages.per_sequence;
            value_pages.table = std::make_unique<guarded<std::int32_t>>(n.batches * key_pages.per_sequence);
            for (index_t i = 0; i < value_pages.table->size(); ++i)
                (*value_pages.table)[i] = static_cast<std::int32_t>(i * 7 % std::max<index_t>(value_count, 1));
        }
        for (auto const page : *key_pages.table) key_count = std::max<index_t>(key_count, page + 1);
        extents = shape.extents(n);
        auto const pages = [&](stored kind, fovea::extents_t<4> const& e, index_t count, index_t slots) {
            return std::make_unique<drawn_rows>(from, kind, fovea::extents_t<4>{count, e[1], slots, e[3]}, use::read);
        };
        key = pages(types.key, extents.key, key_count, key_pages.slots);
        value = pages(types.value, extents.value, std::max<index_t>(value_count, 1), value_pages.slots);
    } else {
        extents = shape.extents(n);
        key = std::make_unique<drawn_rows>(from, types.key, extents.key, use::read);
        value = std::make_unique<drawn_rows>(from, types.value, extents.value, use::read);
    }
    query = std::make_unique<drawn_rows>(from, types.query, extents.query, use::read);
    if (types.ragged) {
        index_t const count = from.chance(0.5) ? from.between(1, 3) : from.between(4, 10);
        query_offsets = drawn_offsets(from, count, n.queries);
        key_offsets = drawn_offsets(from, count, n.keys);
        if (shape.of_sizes.square) std::copy(query_offsets->begin(), query_offsets->end(), key_offsets->begin());
        for (index_t i = 0; i < count; ++i) {
            index_t const q = (*query_offsets)[i], k = (*key_offsets)[i];
            sequences.push_back({i, q, (*query_offsets)[i + 1] - q, k, (*key_offsets)[i + 1] - k});
        }
    } else {
        for (index_t b = 0; b < n.batches; ++b) sequences.push_back({b, 0, n.queries, 0, n.keys});
    }
    drawn_sizes of_tables = n;  // one row of a table for each sequence
    of_tables.batches = static_cast<index_t>(sequences.size());
    tables = shape.draw_tables(from, of_tables);
    double const greatest = shape.of_sizes.greatest;
    double const size = greatest > 3 && from.chance(0.4) ? from.real(3, greatest) : from.real(0.3, 3);
    auto const whole = [&](stored kind, double great) { return kind == stored::int8 ? great : size; };
    query->fill(from, whole(types.query, 3));
    key->fill(from, whole(types.key, from.chance(0.5) ? 3 : 12));
    value->fill(from, types.value == stored::int8 ? (from.chance(0.5) ? 3 : 127) : 1);
}

std::string drawn_call::text() const {
    std::string result = "batches " + std::to_string(n.batches) + ", heads " + std::to_string(n.heads()) + "/"
                       + std::to_string(n.key_heads) + ", queries " + std::to_string(n.queries) + ", keys "
                       + std::to_string(n.keys) + ", features " + std::to_string(n.features) + "/"
                       + std::to_string(n.value_features) + "\n  query " + query->text() + "\n  key " + key->text()
                       + "\n  value " + value->text();
    if (types.paged)
        result += "\n  pages of " + std::to_string(key_pages.slots) + " keys, " + std::to_string(value_pages.slots)
                + " values";
    for (auto const& s : sequences)
        if (types.ragged)
            result += "\n  sequence " + std::to_string(s.batch) + ": queries " + std::to_string(s.queries) + ", keys "
                    + std::to_string(s.keys);
    return result;
}

drawn_sizes draw_sizes(dice& from, index_t features, index_t value_features, bool ragged, limits const& of_sizes) {
    auto const chosen = [](index_t fixed, index_t drawn) { return fixed > 0 ? fixed : drawn; };
    auto const at_most = [](index_t most, index_t drawn) { return most > 0 ? std::min(most, drawn) : drawn; };
    drawn_sizes n;
    auto const take_features = [&](index_t row, index_t value_row) {
        n.features = std::max(chosen(of_sizes.features, row), of_sizes.least_features);
        n.value_features = std::max(chosen(of_sizes.value_features, value_row), of_sizes.least_features);
    };
    take_features(features, value_features);
    n.batches = ragged ? 1 : from.between(1, 3);
    n.key_heads = chosen(of_sizes.key_heads, from.between(1, 3));
    n.group = of_sizes.heads > 0 ? of_sizes.heads / n.key_heads : from.between(1, 4);
    double const kind = from.real(0, of_sizes.square || of_sizes.lists_keys ? 0.65 : 1);
    constexpr index_t most_work = 120'000;
    if (kind < 0.5) {
        n.queries = from.between(0, 40);
        n.keys = from.between(0, 70);
    } else if (kind < 0.65) {
        n.queries = from.between(50, 300);
        n.keys = from.between(1, 300);
    } else if (kind < 0.85) {
        n.queries = from.between(1, 3);
        n.keys = from.between(1, 600);
    } else {
        n.batches = std::min<index_t>(n.batches, 2);
        n.queries = 1;
        n.keys = from.chance(0.5) ? from.between(2049, 5500) : from.between(8193, 18000);
        // Of long rows with many features the definition takes longer than all other calls.
        if (from.chance(0.75)) take_features(features % 32, value_features % 32);
    }
    n.queries = at_most(of_sizes.most_queries, n.queries);
    n.keys = of_sizes.square ? n.queries : at_most(of_sizes.most_keys, n.keys);
    // Smaller until the definition is soon computed: first in what repeats, then in what is long.
    while (n.work() > most_work) {
        if (n.group > 1 && of_sizes.heads == 0) --n.group;
        else if (n.key_heads > 1 && of_sizes.key_heads == 0) --n.key_heads;
        else if (n.batches > 1) --n.batches;
        else if (n.queries > 1) n.queries = n.queries * 3 / 4;
        else break;
        if (of_sizes.square) n.keys = n.queries;
    }
    if (of_sizes.lists_keys && n.queries > 0 && n.keys > 0) n.edges = from.between(0, 4 * n.queries);
    return n;
}

}  // namespace catalogue
