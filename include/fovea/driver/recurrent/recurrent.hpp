// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with a running state: the keys of one head one after the other, a state in place of all of them.
#pragma once

#include <fovea/driver/operands.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/recurrence.hpp>
#include <fovea/simd/math.hpp>
#include <fovea/spec/recurrence.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The state of each head runs in panels of columns, each as (feature of the key, panel). Several steps pass at once
/// where nothing stands between them; a head is worked on by one worker, or by several with panels of their own.
template <class T, class Arch, class Spec, class Operands>
class recurrent_loop {
    using aggregate = std::remove_cvref_t<decltype(core_of(std::declval<Spec const&>().aggregate))>;
    static constexpr bool gated = aggregate::gated, corrected = aggregate::corrected;
    static constexpr bool causal = is_causal_attention<Spec>, divided = divides_by_sum<Spec>;
    static constexpr int vectors = Arch::registers >= 32 ? 2 : 1;
    static constexpr index_t width = vectors * kernel::pack<T, Arch>::lanes;
    static constexpr index_t chunk = 16;  // steps that are prepared at once
    static constexpr int at_once = 4;     // steps, or queries, that pass over a row of the state together
    using term = decltype(detail::scaled_product(std::declval<Spec const&>().score.expression(), unit{}));

public:
    recurrent_loop(Spec const& spec, Operands const& operands)
        : term_(detail::scaled_product(spec.score.expression(), unit{})),
          rules_(core_of(spec.aggregate)),
          x_(operands) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        index_t const heads = x_.batches() * x_.key_heads();
        index_t const panels = std::max<index_t>((x_.value_features() + width - 1) / width, 1);
        index_t const shares = std::clamp<index_t>(executor.workers() / std::max<index_t>(heads, 1), 1, panels);
        index_t const of_share = (panels + shares - 1) / shares;
        T* const sums = divided ? scratch.shared().template take<T>(heads * x_.key_features()) : nullptr;
        if constexpr (divided)
            for (index_t i = 0; i < heads; ++i) begin_sum(i, sums + i * x_.key_features());
        executor.run(heads * shares, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const head = task / shares, first = task % shares * of_share;
            if (first < panels)
                run_head(memory, head, first * width, std::min((first + of_share) * width, x_.value_features()),
                         divided ? sums + head * x_.key_features() : nullptr);
        });
    }

private:
    term term_;
    aggregate rules_;
    Operands const& x_;

    /// The scratch of one task.
    struct room {
        index_t batch, head;  // of the keys
        index_t first, last;  // columns
        T* state;             // (panels, features, width)
        T* keys;              // (chunk, features)
        T* gates;             // (chunk, features)
        T* values;            // (chunk, width)
        T* queries;           // (chunk, group, features)
        T* results;           // (chunk, group, width)
        T* shares;            // (chunk, group): one over the sums of the weights
        T* retrieved;         // (width): the value that the state holds for a key
        T* sum;               // (features) of the keys
    };

    template <class F>
    void for_past(F const& f) const {
        for_each_output(x_.outputs, [&](auto const& output) {
            if constexpr (gives_past_state<std::remove_cvref_t<decltype(output)>>) f(output.target);
        });
    }
    template <class F>
    void for_present(F const& f) const {
        for_each_output(x_.outputs, [&](auto const& output) {
            if constexpr (takes_present_state<std::remove_cvref_t<decltype(output)>>) f(output.target);
        });
    }

    void begin_sum(index_t head, T* sum) const {
        std::fill_n(sum, x_.key_features(), T{0});
        for_past([&](auto const& past) {
            for (index_t f = 0; f < x_.key_features(); ++f)
                sum[f] = static_cast<T>(past(head / x_.key_heads(), head % x_.key_heads(), f, x_.value_features()));
        });
    }

    void run_head(arena& memory, index_t head, index_t first, index_t last, T const* sum) const {
        index_t const features = x_.key_features(), group = x_.group();
        index_t const panels = std::max<index_t>((last - first + width - 1) / width, 1);
        room r{head / x_.key_heads(),
               head % x_.key_heads(),
               first,
               last,
               memory.take<T>(panels * features * width),
               memory.take<T>(chunk * features),
               memory.take<T>(gated ? chunk * features : 0),
               memory.take<T>(chunk * width),
               memory.take<T>(chunk * group * features),
               memory.take<T>(chunk * group * width),
               memory.take<T>(chunk * group),
               memory.take<T>(width),
               memory.take<T>(features)};
        if constexpr (divided) std::copy_n(sum, features, r.sum);
        load_state(r);
        if constexpr (causal) {
            for (index_t n = 0; n < x_.keys(); n += chunk) pass(r, n, std::min(chunk, x_.keys() - n), group);
        } else {
            for (index_t n = 0; n < x_.keys(); n += chunk) pass(r, n, std::min(chunk, x_.keys() - n), 0);
            for (index_t n = 0; n < x_.queries(); n += chunk) read(r, n, std::min(chunk, x_.queries() - n));
        }
        store_state(r);
    }

    void load_state(room const& r) const {
        index_t const features = x_.key_features();
        index_t const panels = std::max<index_t>((r.last - r.first + width - 1) / width, 1);
        std::fill_n(r.state, panels * features * width, T{0});
        for_past([&](auto const& past) {
            for_columns(r, [&](index_t f, index_t c, T& s) { s = static_cast<T>(past(r.batch, r.head, f, c)); });
        });
    }
    void store_state(room const& r) const {
        for_present([&](auto const& present) {
            using element = std::remove_pointer_t<decltype(present.data)>;
            for_columns(
                r, [&](index_t f, index_t c, T const& s) { present(r.batch, r.head, f, c) = rounded_to<element>(s); });
            if (divided && r.first == 0)
                for (index_t f = 0; f < x_.key_features(); ++f)
                    present(r.batch, r.head, f, x_.value_features()) = rounded_to<element>(r.sum[f]);
        });
    }
    template <class F>
    void for_columns(room const& r, F const& f) const {
        index_t const features = x_.key_features();
        for (index_t row = 0; row < features; ++row)
            for (index_t c = r.first; c < r.last; ++c)
                f(row, c, r.state[((c - r.first) / width * features + row) * width + (c - r.first) % width]);
    }

    /// The keys of a run of positions, their gates, and the sums of the keys that `reads` queries read.
    void prepare(room const& r, index_t begin, index_t steps, index_t reads) const {
        index_t const features = x_.key_features();
        for (index_t t = 0; t < steps; ++t) {
            T* const key = r.keys + t * features;
            kernel::row_facts const row{r.batch, r.head, begin + t, x_.queries(), x_.keys(), features};
            auto const* const from = x_.key.place(r.batch, r.head, begin + t, index_t{0});
            kernel::scatter_features<T, Arch>(term_.of_key, kernel::index_environment<T, Arch, index_t>{row, begin + t},
                                              from, features, T{1}, key, 1);
            if constexpr (gated) prepare_gate(r, begin + t, r.gates + t * features);
            if constexpr (divided)
                for (index_t f = 0; f < features; ++f)
                    r.sum[f] = (gated ? r.sum[f] * r.gates[t * features + f] : r.sum[f]) + key[f];
            if (reads > 0) prepare_queries(r, begin + t, t);
        }
    }

    void prepare_gate(room const& r, index_t position, T* gate) const {
        using vector = kernel::pack<T, Arch>;
        index_t const features = x_.key_features();
        auto const* const decay = rules_.gate.decay.row(r.batch, r.head, position);
        if (rules_.gate.decay.features() == 1) {
            T const same = kernel::lanes_of<T, Arch>::to_array(kernel::exp(vector(static_cast<T>(*decay))))[0];
            std::fill_n(gate, features, same);
        } else {
            for (index_t f = 0; f < features; f += vector::lanes)
                kernel::lanes_of<T, Arch>::store(kernel::exp(kernel::load_as<T, Arch>(decay + f, features - f)),
                                                 gate + f, features - f);
        }
    }

    /// The queries of one position, of all heads that share the state.
    void prepare_queries(room const& r, index_t position, index_t t) const {
        index_t const features = x_.key_features(), group = x_.group();
        for (index_t h = 0; h < group; ++h) {
            kernel::row_facts const row{r.batch, r.head * group + h, position, x_.queries(), x_.keys(), features};
            auto const* const from = x_.query.place(r.batch, row.head, position, index_t{0});
            using element = std::remove_cvref_t<decltype(*from)>;
            kernel::single_environment<T, Arch, element, element> const here{
                {row, index_t{0}}, from, from, features, features};
            kernel::index_environment<T, Arch, index_t> const& base = here;
            T* const to = r.queries + (t * group + h) * features;
            kernel::scatter_features<T, Arch>(term_.of_query, base, from, features,
                                              static_cast<T>(evaluate(term_.scale, here)), to, 1);
            if constexpr (divided) {
                T const weights = kernel::dot_product<T, Arch>(to, r.sum, features);
                r.shares[t * group + h] = weights == 0 ? T{0} : 1 / weights;
            }
        }
    }

    /// The values of a run of positions, in the columns of one panel.
    void prepare_values(room const& r, index_t begin, index_t steps, index_t column) const {
        using vector = kernel::pack<T, Arch>;
        for (index_t t = 0; t < steps; ++t) {
            auto const* const from = x_.value.place(r.batch, r.head, begin + t, column);
            for (index_t c = 0; c < width; c += vector::lanes) {
                index_t const left = std::max<index_t>(r.last - column - c, 0);
                auto const some = left > 0 ? kernel::load_as<T, Arch>(from + c, left) : vector(T{0});
                some.store(r.values + t * width + c);
            }
        }
    }

    /// The state passes a run of positions; `reads` queries, a whole group or none, read it at each.
    void pass(room const& r, index_t begin, index_t steps, index_t reads) const {
        index_t const features = x_.key_features();
        prepare(r, begin, steps, reads);
        for_panels(r, [&](T* state, index_t column) {
            prepare_values(r, begin, steps, column);
            kernel::state_steps<T> at{r.keys, r.gates, r.values, r.queries, r.results, features, reads};
            auto const step_over = [&](index_t n) {
                at.keys += n * features;
                at.gates += gated ? n * features : 0;
                at.values += n * width;
                at.queries += n * reads * features;
                at.results += n * reads * width;
            };
            index_t t = 0;
            if constexpr (!corrected)
                for (; t + at_once <= steps && reads <= 1; t += at_once, step_over(at_once)) {
                    if (reads == 1) kernel::advance<at_once, 1, gated, vectors, T, Arch>(state, at);
                    else kernel::advance<at_once, 0, gated, vectors, T, Arch>(state, at);
                }
            for (; t < steps; ++t, step_over(1)) {
                if constexpr (corrected) correct_and_step(r, begin, t, t + 1 < steps, state, at);
                else step(state, at);
            }
            if (reads > 0) write(r, begin, steps, column);
        });
    }

    /// One step of the delta rule. The value that the state holds for the next key is read in the same pass, unless
    /// there are more queries than one pass serves: these read the state before it is gated again.
    void correct_and_step(room const& r, index_t begin, index_t t, bool has_next, T* state,
                          kernel::state_steps<T> const& at) const {
        bool const same_pass = at.heads <= at_once;
        if (t == 0 || !same_pass)
            kernel::read_state<gated, vectors, T, Arch>(state, at.keys, at.gates, at.features, r.retrieved);
        auto const rate = static_cast<T>(*rules_.correction.rate.row(r.batch, r.head, begin + t));
        kernel::correct<vectors, T, Arch>(r.retrieved, rate, r.values + t * width);
        if (!same_pass || !has_next) return step(state, at);
        with_count(at.heads, [&](auto reads) {
            kernel::advance_and_read<decltype(reads)::value, gated, vectors, T, Arch>(state, at, r.retrieved);
        });
    }

    /// One step; the first few queries read the state in the same pass, the others in passes of their own.
    static void step(T* state, kernel::state_steps<T> const& at) {
        constexpr bool gate_here = gated && !corrected;
        auto const first = std::min<index_t>(at.heads, at_once);
        with_count(first, [&](auto reads) {
            kernel::advance<1, decltype(reads)::value, gate_here, vectors, T, Arch>(state, at);
        });
        for (index_t h = first; h < at.heads; h += at_once)
            read_some(state, at.queries + h * at.features, at.features, std::min<index_t>(at.heads - h, at_once),
                      at.results + h * width);
    }
    static void read_some(T const* state, T const* queries, index_t features, index_t count, T* results) {
        with_count(count, [&](auto reads) {
            if constexpr (decltype(reads)::value > 0)
                kernel::read_state<decltype(reads)::value, vectors, T, Arch>(state, queries, features, results);
        });
    }
    /// Calls f with a number from 0 to at_once as a constant.
    template <class F>
    static void with_count(index_t n, F const& f) {
        [&]<int... I>(std::integer_sequence<int, I...>) {
            ((n == I ? f(std::integral_constant<int, I>{}) : void()), ...);
        }(std::make_integer_sequence<int, at_once + 1>{});
    }

    /// Queries that read the state of all keys.
    void read(room const& r, index_t begin, index_t steps) const {
        index_t const features = x_.key_features(), rows = steps * x_.group();
        for (index_t t = 0; t < steps; ++t) prepare_queries(r, begin + t, t);
        for_panels(r, [&](T const* state, index_t column) {
            for (index_t i = 0; i < rows; i += at_once)
                read_some(state, r.queries + i * features, features, std::min<index_t>(rows - i, at_once),
                          r.results + i * width);
            write(r, begin, steps, column);
        });
    }

    template <class F>
    void for_panels(room const& r, F const& f) const {
        index_t panel = 0;
        for (index_t c = r.first; c < r.last; c += width) f(r.state + panel++ * x_.key_features() * width, c);
    }

    void write(room const& r, index_t begin, index_t steps, index_t column) const {
        index_t const group = x_.group(), columns = std::min(width, r.last - column);
        for (index_t i = 0; i < steps * group; ++i) {
            auto* const to = x_.result.place(r.batch, r.head * group + i % group, begin + i / group, column);
            using element = std::remove_cvref_t<decltype(*to)>;
            T const share = divided ? r.shares[i] : T{1};
            for (index_t c = 0; c < columns; ++c) to[c] = rounded_to<element>(r.results[i * width + c] * share);
        }
    }
};

}  // namespace fovea::FOVEA_SET::driver
