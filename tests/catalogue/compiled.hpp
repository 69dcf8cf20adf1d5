// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a specification to its entry in the catalogue: the definition, attend and gradient are compiled here, and
// nowhere else in the tests that loop over it.
//
//   struct capped : catalogue::specification {
//       static constexpr std::string_view name = "slopes under a cap";
//       static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_heads});
//       static auto spec(view<float const, 1> const& slopes) { return scaled_dot | alibi(slopes) | ...; }
//   };
//   bool const listed[] = {catalogue::compile<capped>()};
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/reference/gradient.hpp>

#include "catalogue/catalogue.hpp"
#include "catalogue/covering.hpp"

namespace catalogue {

/// Properties of a specification of the catalogue, unless it says otherwise.
struct specification {
    static constexpr std::tuple<> tables{};
    static constexpr limits sizes{};
    static constexpr bool in_pages = true, ragged = true, in_few_bits = true, reads_batch = false;
    static constexpr bool of_products = false;  // alone are its scores, so that they may be of any size and no numbers
    static constexpr bool differences = true;   // are what its gradients say; not those of an estimate
    static constexpr index_t chosen = 0;        // of the greatest scores, where a row depends on which these are

    /// The extents of the operands and of the result.
    static operand_extents extents(drawn_sizes const& n) {
        return {{n.batches, n.heads(), n.queries, n.features},
                {n.batches, n.key_heads, n.keys, n.features},
                {n.batches, n.key_heads, n.keys, n.value_features},
                {n.batches, n.heads(), n.queries, n.value_features}};
    }
};

namespace detail {

using namespace fovea;

template <class Of>
auto spec_of(drawn_tables const& drawn) {
    return [&]<std::size_t... N>(std::index_sequence<N...>) {
        return Of::spec(std::tuple_element_t<N, std::remove_cvref_t<decltype(Of::tables)>>::view(drawn[N])...);
    }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Of::tables)>>>());
}
template <class Of>
using attention_of = decltype(spec_of<Of>(std::declval<drawn_tables const&>()));
template <class Of>
using normalizer_type = std::remove_cvref_t<decltype(normalizer_of(std::declval<attention_of<Of>>().normalize))>;
template <class Of>
using aggregator_type = std::remove_cvref_t<decltype(core_of(std::declval<attention_of<Of>>().aggregate))>;

template <class Of>
inline constexpr bool has_sums = log_sum_normalizer<normalizer_type<Of>> && !is_recurrent<attention_of<Of>>;
template <class Of>
inline constexpr bool has_gradient_of =
    has_row_gradient<normalizer_type<Of>>
    && (linear_aggregator<aggregator_type<Of>> || recurrent_aggregator<aggregator_type<Of>>);

// --- the definition ---

inline view<double const, 4> view_of(std::vector<double> const& elements, extents_t<4> const& extents) {
    return {elements.data(), extents};
}

/// The heads of an attention, made by a projection or brought along.
index_t heads_of(numbers const& x, auto const& spec) {
    if constexpr (projection<std::remove_cvref_t<decltype(spec.project)>>)
        return std::remove_cvref_t<decltype(spec.project)>::heads_type::query;
    else return x.extents.query[1];
}

template <class Real>
answer by_reference(numbers const& x, auto const& spec) {
    using attention_type = std::remove_cvref_t<decltype(spec)>;
    constexpr bool sums = log_sum_normalizer<std::remove_cvref_t<decltype(normalizer_of(spec.normalize))>>;
    index_t const heads = heads_of(x, spec);
    index_t const rows = x.extents.result[0] * heads * x.extents.query[2], keys = x.extents.key[2];
    auto const room = [](index_t elements) { return std::vector<double>(static_cast<std::size_t>(elements)); };
    auto const& e = x.extents.result;
    answer all{room(e[0] * e[1] * e[2] * e[3]), room(rows * keys), room(rows)};
    view<double, 4> const result(all.result.data(), e), weights_of(all.weights.data(), {e[0], heads, e[2], keys});
    view<double, 3> const lse_of(all.lse.data(), {e[0], heads, e[2]});
    auto const attend_with = [&](auto const&... extra) {
        reference::attend_in<Real>(spec, view_of(x.query, x.extents.query), view_of(x.key, x.extents.key),
                                   view_of(x.value, x.extents.value), result, extra...);
    };
    if constexpr (is_recurrent<attention_type>) attend_with();
    else if constexpr (sums) attend_with(weights(weights_of), lse(lse_of));
    else attend_with(weights(weights_of));
    return all;
}

template <class Of, class Real>
answer compute(numbers const& x) {
    return by_reference<Real>(x, spec_of<Of>(*x.tables));
}
/// The scores, in place of weights.
template <class Of>
answer compute_scores(numbers const& x) {
    auto const spec = spec_of<Of>(*x.tables);
    return by_reference<double>(x, attention(spec.project, spec.score, spec.mask, unnormalized, weighted_sum));
}

/// The tables that have gradients, each with a target of its own.
template <class Of, class T, class Target, class F>
void with_table_gradients(drawn_tables const& drawn, Target const& target, F const& f) {
    using tables = std::remove_cvref_t<decltype(Of::tables)>;
    [&]<std::size_t... N>(std::index_sequence<N...>) {
        [[maybe_unused]] auto const asked = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
            using table = std::tuple_element_t<I, tables>;
            if constexpr (table::trained)
                return std::tuple(grad(table::view(drawn[I]), drawn[I].template over<T, table::rank>(target(I))));
            else return std::tuple<>();
        };
        std::apply(f, std::tuple_cat(asked(std::integral_constant<std::size_t, N>())...));
    }(std::make_index_sequence<std::tuple_size_v<tables>>());
}

template <class Of>
gradients compute_gradient(numbers const& x, std::vector<double> const& d_result) {
    gradients all{std::vector<double>(x.query.size()),
                  std::vector<double>(x.key.size()),
                  std::vector<double>(x.value.size()),
                  {}};
    auto const query = view_of(x.query, x.extents.query), key = view_of(x.key, x.extents.key),
               value = view_of(x.value, x.extents.value);
    for (auto const& table : *x.tables)
        all.tables.emplace_back(static_cast<std::size_t>(drawn_table::elements(table.extents)));
    auto const to = [](std::vector<double>& elements, extents_t<4> const& extents) {
        return view<double, 4>(elements.data(), extents);
    };
    with_table_gradients<Of, double>(
        *x.tables, [&](std::size_t i) { return all.tables[i].data(); },
        [&](auto const&... of_tables) {
            reference::gradient(spec_of<Of>(*x.tables), query, key, value, view_of(d_result, x.extents.result),
                                grad(query, to(all.query, x.extents.query)), grad(key, to(all.key, x.extents.key)),
                                grad(value, to(all.value, x.extents.value)), of_tables...);
        });
    return all;
}

template <class Of>
std::vector<char> visible_pairs(drawn_sequence const& s, drawn_sizes const& n, drawn_tables const& drawn) {
    auto const spec = spec_of<Of>(drawn);
    std::vector<char> all;
    if constexpr (enumerating_mask<std::remove_cvref_t<decltype(spec.mask)>>) {
        auto const list = spec.mask.neighbor_list();
        all.resize(static_cast<std::size_t>(n.heads() * n.queries * n.keys));
        for (index_t h = 0; h < n.heads(); ++h)
            for (index_t i = 0; i < n.queries; ++i)
                for (auto const j : list.of(i)) all[static_cast<std::size_t>((h * n.queries + i) * n.keys + j)] = true;
    } else {
        auto const predicate = spec.mask.predicate();
        reference::index_environment<double> at{{}, s.batch, 0, 0, 0, n.queries, n.keys, n.features};
        for (at.head = 0; at.head < n.heads(); ++at.head)
            for (at.query = 0; at.query < n.queries; ++at.query)
                for (at.key = 0; at.key < n.keys; ++at.key) all.push_back(evaluate(predicate, at));
    }
    return all;
}

template <class Of>
std::string text_of(drawn_tables const& drawn) {
    return text(spec_of<Of>(drawn));
}

template <class Of>
drawn_tables draw_tables(testing::dice& from, drawn_sizes const& n) {
    drawn_tables all;
    std::apply([&](auto const&... of) { (all.push_back(of.draw(from, n)), ...); }, Of::tables);
    return all;
}

template <class Of>
std::string explain_call(drawn_call const& c) {
    return explain(spec_of<Of>(c.tables), c.query->as<float const>(), c.key->as<float const>(),
                   c.value->as<float const>());
}

template <class Of>
definition definition_of() {
    using spec = attention_of<Of>;
    definition by{text_of<Of>,
                  std::apply([](auto const&... of) { return std::vector<char>{of.trained...}; }, Of::tables),
                  has_sums<Of>,
                  !is_recurrent<spec>,
                  Of::reads_batch,
                  Of::of_products,
                  Of::differences,
                  linear_aggregator<aggregator_type<Of>>,
                  Of::chosen,
                  compute<Of, float>,
                  compute<Of, double>,
                  nullptr,
                  nullptr,
                  visible_pairs<Of>};
    if constexpr (Of::chosen > 0) by.scores = compute_scores<Of>;
    if constexpr (has_gradient_of<Of>) by.gradient = compute_gradient<Of>;
    return by;
}

// --- engines ---

template <class T>
auto pages_of(drawn_rows const& rows, drawn_pages const& pages, index_t batches, index_t batch) {
    view<std::int32_t const, 2> table(pages.table->data(), {batches, pages.per_sequence});
    if (batch >= 0) table = {table.data + batch * pages.per_sequence, {1, pages.per_sequence}};
    return paged(view<T const, 4>(rows.as<T>()), table);
}

/// f(keys, values) for the layout of a call; f(before..., keys, values) is what it becomes for a ragged batch.
template <class Types, layout At, class F>
void with_rows(drawn_call const& x, index_t batch, F const& f) {
    using key = typename Types::key;
    using value = typename Types::value;
    view<typename Types::query const, 4> const query = batch_of(x.query->as<typename Types::query>(), batch);
    if constexpr (At == layout::paged) {
        f(std::tuple<>(), query, pages_of<key>(*x.key, x.key_pages, x.n.batches, batch),
          pages_of<value>(*x.value, x.value_pages, x.n.batches, batch));
    } else {
        view<key const, 4> const keys(batch_of(x.key->as<key>(), batch));
        view<value const, 4> const values(batch_of(x.value->as<value>(), batch));
        if constexpr (At == layout::ragged) {
            auto const offsets = [](guarded<index_t> const& of) {
                return view<index_t const, 1>(of.data(), {of.size()});
            };
            auto const queries = offsets(*x.query_offsets), of_keys = offsets(*x.key_offsets);
            f(std::tuple(ragged(queries, of_keys)), query, keys, values);
        } else {
            f(std::tuple<>(), query, keys, values);
        }
    }
}

template <class Of, class Types, class Arch, layout At, bool Weights>
void run_attend(attend_call const& c) {
    using real = typename Types::real;
    threads const workers(c.workers);
    auto const spec = spec_of<Of>(c.operands.tables);
    auto const result = batch_of(c.result.as<typename Types::result>(), c.batch);
    with_rows<Types, At>(
        c.operands, c.batch, [&](auto const& before, auto const& query, auto const& keys, auto const& values) {
            auto const attend_with = [&](auto const&... extra) {
                std::apply(
                    [&](auto const&... offsets) {
                        attend_on<Arch>(workers, c.scratch, offsets..., spec, query, keys, values, result, extra...);
                    },
                    before);
            };
            if constexpr (Weights) {
                attend_with(weights(batch_of(c.weights->as<real>(), c.batch)));
            } else if constexpr (has_sums<Of>) {
                auto const rows = batch_of(c.lse->as<real>(), c.batch);
                attend_with(lse(view<real, 3>(rows.data, {rows.extent(0), rows.extent(1), rows.extent(3)},
                                              {rows.stride(0), rows.stride(1), 1})));
            } else {
                attend_with();
            }
        });
}

template <class Of, class Types, class Arch, layout At, bool Saves>
void run_gradient(gradient_call const& c) {
    using real = typename Types::real;
    threads const workers(c.workers);
    auto const& x = c.operands;
    auto const spec = spec_of<Of>(x.tables);
    view<typename Types::result const, 4> const d_result = c.d_result.as<typename Types::result>();
    with_rows<Types, At>(x, -1, [&](auto const& before, auto const& query, auto const& keys, auto const& values) {
        auto const call = [&](auto const&... saved) {
            with_table_gradients<Of, real>(
                x.tables, [&](std::size_t i) { return c.d_tables[i]->template as<real>().data; },
                [&](auto const&... of_tables) {
                    std::apply(
                        [&](auto const&... offsets) {
                            auto const d_query = grad(query, c.d_query->as<real>());
                            if constexpr (At == layout::paged)
                                gradient_on<Arch>(workers, c.scratch, offsets..., spec, query, keys, values, d_result,
                                                  saved..., d_query, of_tables...);
                            else
                                gradient_on<Arch>(workers, c.scratch, offsets..., spec, query, keys, values, d_result,
                                                  saved..., d_query, grad(keys, c.d_key->as<real>()),
                                                  grad(values, c.d_value->as<real>()), of_tables...);
                        },
                        before);
                });
        };
        if constexpr (Saves) {
            saved_rows<real> rows;
            tensor<typename Types::result, 4> result(d_result.extents);
            std::apply(
                [&](auto const&... offsets) {
                    attend_on<Arch>(workers, c.scratch, offsets..., spec, query, keys, values, result, save(rows));
                },
                before);
            call(rows);
        } else {
            call();
        }
    });
}

template <class T>
std::string name_of() {
    constexpr char const* names[] = {"float32", "float64", "bfloat16", "float16", "int8"};
    return names[static_cast<int>(stored_as<T>)];
}
template <class Types, class Arch, layout At>
std::string text_of_engine(char const* second) {
    std::string const query = name_of<typename Types::query>(), key = name_of<typename Types::key>(),
                      value = name_of<typename Types::value>(), result = name_of<typename Types::result>();
    std::string const types =
        query == key && key == value && value == result ? query : query + ", " + key + ", " + value + " to " + result;
    return types + " on " + std::string(Arch::name)
         + (At == layout::paged    ? ", paged"
            : At == layout::ragged ? ", ragged"
                                   : "")
         + second;
}
template <class Types, layout At>
constexpr call_types types_of() {
    return {stored_as<typename Types::query>,
            stored_as<typename Types::key>,
            stored_as<typename Types::value>,
            stored_as<typename Types::result>,
            At == layout::paged,
            At == layout::ragged};
}

template <class Of, class Types, class Arch = arch::best, layout At = layout::dense, bool Weights = false>
void add_attend(entry& to) {
    to.engines.push_back({text_of_engine<Types, Arch, At>(Weights        ? ", with weights"
                                                          : has_sums<Of> ? ", with lse"
                                                                         : ""),
                          types_of<Types, At>(), Types::in_double, has_sums<Of> && !Weights, Weights,
                          run_attend<Of, Types, Arch, At, Weights>});
}
template <class Of, class Types, class Arch = arch::best, layout At = layout::dense, bool Saves = false>
void add_gradient(entry& to) {
    to.gradients.push_back({text_of_engine<Types, Arch, At>(Saves ? ", from saved rows" : ""), types_of<Types, At>(),
                            Types::in_double, Saves, run_gradient<Of, Types, Arch, At, Saves>});
}

/// Whether a specification can be called so.
template <class Of, class Types>
constexpr bool takes(layout at) {
    constexpr bool few_bits = sizeof(typename Types::query) < 4 || sizeof(typename Types::value) < 4;
    return (at != layout::paged || Of::in_pages) && (at != layout::ragged || Of::ragged)
        && (!few_bits || Of::in_few_bits);
}

/// A number for each name, which decides by what rows it is compiled.
constexpr int number_of(std::string_view name) {
    unsigned hash = 2166136261U;
    for (char const c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return static_cast<int>(hash % 1009);
}

/// Some of the rows that a specification takes, from row number First on.
template <class Of, int First, int Some>
void add_attend_rows(entry& to) {
    constexpr auto rows = static_cast<int>(attend_rows.size());
    auto const from = [&]<int Tried, int Left>(auto const& self, std::integral_constant<int, Tried>,
                                               std::integral_constant<int, Left>) {
        if constexpr (Left > 0 && Tried < rows) {
            constexpr covering_row row = attend_rows[static_cast<std::size_t>((First + 7 * Tried) % rows)];
            using types = std::tuple_element_t<row.types, attend_types>;
            constexpr bool taken = takes<Of, types>(layout{row.at});
            if constexpr (taken)
                add_attend<Of, types, std::tuple_element_t<row.width, widths>, layout{row.at},
                           row.second && !is_recurrent<attention_of<Of>>>(to);
            self(self, std::integral_constant<int, Tried + 1>(), std::integral_constant<int, Left - taken>());
        }
    };
    from(from, std::integral_constant<int, 0>(), std::integral_constant<int, Some>());
}
template <class Of, int First, int Some>
void add_gradient_rows(entry& to) {
    constexpr auto rows = static_cast<int>(gradient_rows.size());
    auto const from = [&]<int Tried, int Left>(auto const& self, std::integral_constant<int, Tried>,
                                               std::integral_constant<int, Left>) {
        if constexpr (Left > 0 && Tried < rows) {
            constexpr covering_row row = gradient_rows[static_cast<std::size_t>((First + 4 * Tried) % rows)];
            using types = std::tuple_element_t<row.types, gradient_types>;
            constexpr bool taken = takes<Of, types>(layout{row.at});
            if constexpr (taken)
                add_gradient<Of, types, std::tuple_element_t<row.width, widths>, layout{row.at},
                             row.second && !is_recurrent<attention_of<Of>>>(to);
            self(self, std::integral_constant<int, Tried + 1>(), std::integral_constant<int, Left - taken>());
        }
    };
    from(from, std::integral_constant<int, 0>(), std::integral_constant<int, Some>());
}

template <class Of>
entry entry_of() {
    return {Of::name, {Of::sizes, Of::extents, draw_tables<Of>}, definition_of<Of>(), {}, {}, nullptr};
}

}  // namespace detail

/// Adds a specification to the catalogue: in `./run test` for one call of attend and of gradient, in a change also on
/// float32, and for every other one its gradient in float64, at night for all rows of the covering array.
template <class Of>
bool compile() {
    constexpr int number = detail::number_of(Of::name), level = FOVEA_TEST_LEVEL;
    constexpr int attend_count = level == 0 ? number % 2 : level == 1 ? 1 : 18, gradient_count = level < 2 ? 1 : 9;
    entry e = detail::entry_of<Of>();
    if constexpr (level > 0 || attend_count == 0) detail::add_attend<Of, stored_in<float>>(e);
    detail::add_attend_rows<Of, number, attend_count>(e);
    if constexpr (level > 0) e.explain = detail::explain_call<Of>;
    if constexpr (detail::has_gradient_of<Of>) {
        if constexpr (level > 1 || (level == 1 && number % 2 == 1)) detail::add_gradient<Of, stored_in<double>>(e);
        detail::add_gradient_rows<Of, number, gradient_count>(e);
    }
    return add(std::move(e));
}

}  // namespace catalogue
