// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of one chunk of steps of a running state: products of matrices within it, and with the states at its
// ends.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/recurrent/backward/map_gradient.hpp>
#include <fovea/driver/recurrent/backward/recurrent_head.hpp>
#include <fovea/driver/recurrent/chunk_products.hpp>
#include <fovea/driver/recurrent/recurrent.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace fovea::FOVEA_SET::driver {

/// The gradients of numbers of steps: (batch, key head, position, feature), and (batch, key head, position).
template <class T>
struct step_number_gradients {
    T *decay = nullptr, *rate = nullptr;
};

/// The gradient of a chunk of steps. What queries of it read of its keys are products of pairs, as in attention over
/// all keys; what they read of those before it, and what its keys add to the state after it, are products with a state.
///
///     S' = diag(a_all) S + (a_end K)^T U,   O = (a_begin Q) S + (Q K^T a_between) U
///
/// Chunked linear attention (Yang et al. 2024, section 4). With a correction a key also reads, before its own step; a
/// chunk is short enough for what it adds to be found step by step.
template <class Call>
class chunk_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    static constexpr bool gated = Call::gated, corrected = Call::delta_rule, divides = Call::keeps_key_sum;
    static constexpr index_t chunk = Call::steps_at_once;
    using scratch_type = recurrent_head<Call>;
    using rows = kernel::padded_rows<T>;

public:
    /// The result among the operands is the gradient of the result.
    chunk_gradient(typename Call::spec const& spec, Operands const& x, operand_gradients<T> const& to,
                   step_number_gradients<T> const& steps)
        : operands_(spec, x), maps_(spec, x), x_(x), rows_(to), steps_(steps) {}

    /// The state after a chunk. `Corrects` finds what a correction adds, which is kept.
    template <bool Corrects>
    void advance(scratch_type const& here, index_t n, index_t steps) const {
        prepare(here, n, steps);
        if constexpr (corrected) correct<Corrects>(here, n, steps);
        kernel::multiply<T, Arch>(kernel::transposed(keys_left(here, steps)), here.features, steps, here.added,
                                  here.columns, here.state, here.decays.all);
    }
    /// The amount that the keys of a chunk add to the state, and what is left of the state before it, if they have
    /// gates.
    void add_keys(scratch_type const& here, index_t n, index_t steps, rows const& to, T* left) const {
        prepare(here, n, steps);
        kernel::multiply<T, Arch>(kernel::transposed(keys_left(here, steps)), here.features, steps, here.added,
                                  here.columns, to);
        if constexpr (gated) std::copy_n(here.decays.all, here.features, left);
    }
    /// The amount that the queries of a chunk add to the gradient of the state before it.
    void add_queries(scratch_type const& here, rows const& state, index_t n, index_t steps, rows const& to) const {
        if constexpr (gated || divides) prepare(here, n, steps);
        for (index_t t = 0; t < steps; ++t) operands_.prepare_queries(here.task, n + t, t);
        for (index_t h = 0; h < x_.group(); ++h) {
            auto const reads = queries(here, h), left = decayed(here, reads, steps);
            begin_chunk<divides>(here, state, reads, left, n, steps, h);
            add_reads(here, left, steps, to, h == 0 ? nullptr : here.ones);
        }
    }
    /// Queries of some positions read a state that does not change meanwhile.
    template <class Tables>
    void read(scratch_type const& here, rows const& state, index_t n, index_t steps, Tables const& tables) const {
        std::array<T, static_cast<std::size_t>(chunk)> inverse{};
        for (index_t t = 0; t < steps; ++t) operands_.prepare_queries(here.task, n + t, t);
        for (index_t h = 0; h < x_.group(); ++h) {
            auto const reads = queries(here, h);
            if constexpr (divides) invert_sums(here, state, reads, steps, false, inverse.data());
            begin_reads(here, n, steps, here.task.head * x_.group() + h, inverse.data());
            read_state(here, state, steps);
            if constexpr (divides) differentiate_sums(here, reads, steps, false, inverse.data());
            add_reads(here, reads, steps, here.d_state, here.ones);
            write_queries(here, n, steps, h, tables);
        }
    }
    /// The gradients of a chunk, from that of the state after it, d_state; with `Carries` this becomes that of `state`,
    /// before it.
    template <bool Carries, class Tables>
    void back(scratch_type const& here, rows const& state, rows const& d_state, index_t n, index_t steps,
              Tables const& tables) const {
        prepare(here, n, steps);
        if constexpr (corrected) correct<false>(here, n, steps);
        auto const left = keys_left(here, steps);
        kernel::multiply<T, Arch>(kernel::factors(left), chunk, here.features, d_state, here.columns, here.d_added);
        kernel::transpose<T, Arch>(here.added, chunk, here.columns, here.in_lanes);
        kernel::multiply<T, Arch>(kernel::factors(d_state), here.features, here.columns, here.in_lanes, chunk,
                                  here.of_rows);
        kernel::transpose<T, Arch>(here.of_rows, here.features, chunk, here.d_key);
        std::fill_n(here.d_key_between.first, chunk * here.features, T{0});
        if constexpr (gated) {
            kernel::multiply_elements<T, Arch>(steps, here.features, here.d_key, here.decays.until_end, here.d_key);
            kernel::products_of_rows<T, Arch>(here.features, here.columns, state, d_state, here.of_end);
            std::fill_n(here.d_decay.first, chunk * here.features, T{0});
        }
        if constexpr (Call::causal) {
            for (index_t t = 0; t < steps; ++t) operands_.prepare_queries(here.task, n + t, t);
            for (index_t h = 0; h < x_.group(); ++h) {
                read_chunk(here, state, n, steps, h);
                if constexpr (Carries) carry(here, d_state, steps, h);
                write_queries(here, n, steps, h, tables);
            }
        }
        if constexpr (corrected) differentiate_correction(here, state, d_state, n, steps);
        if constexpr (gated)
            if (steps_.decay != nullptr) write_decays(here, n, steps);
        for (index_t t = 0; t < steps; ++t) {
            T *const d = here.d_key.row(t), *const between = here.d_key_between.row(t);
            for (index_t f = 0; f < here.features; ++f)
                d[f] += corrected ? between[f] + here.d_query.row(t)[f] : between[f];
            row_place const at{here.task.batch, here.task.head, n + t};
            std::copy_n(here.d_added.row(t), x_.value_features(),
                        rows_.value.place(at.batch, at.head, n + t, index_t{0}));
            maps_.key(at, d, rows_.key.place(at.batch, at.head, n + t, index_t{0}), tables);
        }
    }

private:
    rows keys(scratch_type const& here) const { return {here.task.keys, here.features}; }
    rows gates(scratch_type const& here) const { return {here.task.gates, here.features}; }
    rows queries(scratch_type const& here, index_t h) const {
        return {here.task.queries + h * here.features, x_.group() * here.features};
    }
    rows residuals(scratch_type const& here, index_t n) const {
        return {here.residuals.row(corrected ? n : 0), here.columns};
    }

    /// The keys, the decays and the values of a chunk.
    void prepare(scratch_type const& here, index_t n, index_t steps) const {
        for (index_t t = 0; t < steps; ++t) {
            operands_.prepare_key(here.task, n + t, t);
            T* const value = here.added.row(t);
            auto const* const from = x_.value.place(here.task.batch, here.task.head, n + t, index_t{0});
            kernel::convert_row<T, Arch>(from, x_.value_features(), value);
            if constexpr (divides) value[x_.value_features()] = T{1};
        }
        if constexpr (gated)
            kernel::decay_chunk<T, Arch>(gates(here), steps, here.features, operands_.has_one_gate(), here.decays);
    }

    /// The products of keys and queries of a chunk, with what is left of the key: weights[s][t].
    void weigh(scratch_type const& here, rows const& reads, index_t steps) const {
        if (gated && !operands_.has_one_gate())
            return kernel::pair_products<T, Arch>(keys(here), reads, gates(here), steps, here.features, here.weights);
        kernel::transpose<T, Arch>(reads, chunk, here.features, here.in_lanes);
        kernel::multiply<T, Arch>(kernel::factors(keys(here)), chunk, here.features, here.in_lanes, chunk,
                                  here.weights);
        if (gated) kernel::multiply_elements<T, Arch>(chunk, chunk, here.weights, here.decays.between, here.weights);
    }
    /// The factors of the same, decayed since the beginning of the chunk.
    rows decayed(scratch_type const& here, rows const& reads, index_t steps) const {
        if constexpr (!gated) return reads;
        else {
            kernel::multiply_elements<T, Arch>(steps, here.features, reads, here.decays.since_begin, here.queries_left);
            return here.queries_left;
        }
    }
    /// Keys, decayed until the end of the chunk.
    rows keys_left(scratch_type const& here, index_t steps) const {
        if constexpr (!gated) return keys(here);
        else {
            kernel::multiply_elements<T, Arch>(steps, here.features, keys(here), here.decays.until_end, here.keys_left);
            return here.keys_left;
        }
    }

    /// The residuals v - S^T k of a chunk, and u = rate (v - S^T k) in place of v.
    template <bool Finds>
    void correct(scratch_type const& here, index_t n, index_t steps) const {
        auto const left = residuals(here, n);
        if constexpr (Finds) {
            weigh(here, keys(here), steps);
            kernel::multiply<T, Arch>(kernel::factors(decayed(here, keys(here), steps)), chunk, here.features,
                                      here.state, here.columns, left);
        }
        for (index_t t = 0; t < steps; ++t) {
            T const rate = operands_.rate(here.task, n + t);
            T *const of = left.row(t), *const added = here.added.row(t);
            if constexpr (Finds) {
                kernel::add_products_of_row<T, Arch>(kernel::transposed(here.weights), t, 0, t, here.added,
                                                     here.columns, of);
                for (index_t c = 0; c < here.columns; ++c) of[c] = added[c] - of[c];
            }
            for (index_t c = 0; c < here.columns; ++c) added[c] = rate * of[c];
        }
    }

    /// The gradients of what queries of some positions read, over the sums of their weights.
    void begin_reads(scratch_type const& here, index_t n, index_t steps, index_t head, T const* inverse) const {
        for (index_t t = 0; t < steps; ++t) {
            auto const* const from = x_.result.place(here.task.batch, head, n + t, index_t{0});
            T* const to = here.e.row(t);
            kernel::convert_row<T, Arch>(from, x_.value_features(), to);
            if constexpr (divides) {
                for (index_t c = 0; c < x_.value_features(); ++c) to[c] *= inverse[t];
                to[x_.value_features()] = 0;
            }
        }
    }

    /// The gradients of queries of a chunk by what they read of the state before it, with e.
    void read_state(scratch_type const& here, rows const& state, index_t steps) const {
        kernel::transpose<T, Arch>(here.e, chunk, here.columns, here.in_lanes);
        kernel::multiply<T, Arch>(kernel::factors(state), here.features, here.columns, here.in_lanes, chunk,
                                  here.of_rows);
        kernel::transpose<T, Arch>(here.of_rows, here.features, chunk, here.d_query);
        if constexpr (gated)
            kernel::multiply_elements<T, Arch>(steps, here.features, here.d_query, here.decays.since_begin,
                                               here.d_query);
    }
    /// The gradients of weights[s][t]: here.in_lanes has e.
    void differentiate_weights(scratch_type const& here) const {
        kernel::multiply<T, Arch>(kernel::factors(here.added), chunk, here.columns, here.in_lanes, chunk,
                                  here.d_weights);
    }
    /// From the gradients of weights to those of queries, or of keys that read, and of keys.
    template <bool Before>
    void differentiate_pairs(scratch_type const& here, rows const& reads, index_t steps) const {
        using kernel::chunk_part;
        if (gated && !operands_.has_one_gate())
            return kernel::pair_gradients<T, Arch>(here.d_weights, keys(here), reads, gates(here), steps, here.features,
                                                   Before ? 1 : 0, here.d_query, here.d_key_between);
        if (gated)
            kernel::multiply_elements<T, Arch>(chunk, chunk, here.d_weights, here.decays.between, here.d_weights);
        kernel::add_triangle<Before ? chunk_part::before : chunk_part::up_to, T, Arch>(
            kernel::transposed(here.d_weights), steps, keys(here), here.features, here.d_query);
        kernel::add_triangle<Before ? chunk_part::after : chunk_part::from, T, Arch>(
            kernel::factors(here.d_weights), steps, reads, here.features, here.d_key_between);
    }
    /// The gradient of a state grows by what has been read of it, or becomes that.
    void add_reads(scratch_type const& here, rows const& reads, index_t steps, rows const& to, T const* scale) const {
        kernel::multiply<T, Arch>(kernel::transposed(reads), here.features, steps, here.e, here.columns, to, scale);
    }

    /// The sums of the weights of queries, over which their results are divided: 1 over each.
    void invert_sums(scratch_type const& here, rows const& state, rows const& reads, index_t steps, bool pairs,
                     T* inverse) const {
        for (index_t f = 0; f < here.features; ++f) here.sum_of_keys[f] = state.row(f)[x_.value_features()];
        for (index_t t = 0; t < steps; ++t) {
            T sum = kernel::dot_product<T, Arch>(reads.row(t), here.sum_of_keys, here.features);
            for (index_t s = 0; pairs && s <= t; ++s) sum += here.weights.row(s)[t];
            inverse[t] = sum == 0 ? T{0} : 1 / sum;
        }
    }
    /// The gradients of these sums: the last column of e, and what they add to the gradients of queries and weights.
    void differentiate_sums(scratch_type const& here, rows const& reads, index_t steps, bool pairs,
                            T const* inverse) const {
        for (index_t t = 0; t < steps; ++t) {
            T of = kernel::dot_product<T, Arch>(reads.row(t), here.d_query.row(t), here.features);
            for (index_t s = 0; pairs && s <= t; ++s) of += here.weights.row(s)[t] * here.d_weights.row(s)[t];
            of *= -inverse[t];
            here.e.row(t)[x_.value_features()] = of;
            for (index_t f = 0; f < here.features; ++f)
                here.d_query.row(t)[f] += of * (gated ? here.decays.since_begin.row(t)[f] : T{1}) * here.sum_of_keys[f];
            for (index_t s = 0; pairs && s <= t; ++s) here.d_weights.row(s)[t] += of;
        }
    }

    template <class Tables>
    void write_queries(scratch_type const& here, index_t n, index_t steps, index_t h, Tables const& tables) const {
        index_t const head = here.task.head * x_.group() + h;
        for (index_t t = 0; t < steps; ++t)
            maps_.query({here.task.batch, head, n + t}, here.d_query.row(t),
                        rows_.query.place(here.task.batch, head, n + t, index_t{0}), tables);
    }

    /// The gradients of what the queries of a chunk read, and with `Weighs` of the weights of its pairs.
    template <bool Weighs>
    void begin_chunk(scratch_type const& here, rows const& state, rows const& reads, rows const& left, index_t n,
                     index_t steps, index_t h) const {
        std::array<T, static_cast<std::size_t>(chunk)> inverse{};
        if constexpr (Weighs) weigh(here, reads, steps);
        if constexpr (divides) invert_sums(here, state, left, steps, true, inverse.data());
        begin_reads(here, n, steps, here.task.head * x_.group() + h, inverse.data());
        if constexpr (Weighs) {
            read_state(here, state, steps);
            differentiate_weights(here);
        }
        if constexpr (divides) differentiate_sums(here, reads, steps, true, inverse.data());
    }
    /// The queries of a chunk read the state before it, and the keys of the chunk up to their own.
    void read_chunk(scratch_type const& here, rows const& state, index_t n, index_t steps, index_t h) const {
        auto const reads = queries(here, h);
        begin_chunk<true>(here, state, reads, decayed(here, reads, steps), n, steps, h);
        kernel::add_triangle<kernel::chunk_part::from, T, Arch>(kernel::factors(here.weights), steps, here.e,
                                                                here.columns, here.d_added);
        differentiate_pairs<false>(here, reads, steps);
        if constexpr (gated) kernel::add_elements<T, Arch>(steps, here.features, reads, here.d_query, here.d_decay);
    }
    /// The gradient of the state before a chunk: what all heads have read is added up first, as where chunks are
    /// computed apart.
    void carry(scratch_type const& here, rows const& d_state, index_t steps, index_t h) const {
        auto const left = gated ? here.queries_left : queries(here, h);
        if (x_.group() == 1) return add_reads(here, left, steps, d_state, here.decays.all);
        add_reads(here, left, steps, here.reads, h == 0 ? nullptr : here.ones);
        if (h + 1 == x_.group())
            kernel::scale_and_add<T, Arch>(here.features, here.columns, here.decays.all, here.reads, d_state);
    }

    /// From the gradients of what steps have added to those of values, of rates, and of keys as they read: d_query.
    void differentiate_correction(scratch_type const& here, rows const& state, rows const& d_state, index_t n,
                                  index_t steps) const {
        auto const left = residuals(here, n), reads = keys(here);
        weigh(here, reads, steps);
        for (index_t t = steps - 1; t >= 0; --t) {  // e is minus the gradient of the value
            T *const d = here.d_added.row(t), *const e = here.e.row(t);
            kernel::add_products_of_row<T, Arch>(kernel::factors(here.weights), t, t + 1, steps, here.e, here.columns,
                                                 d);
            if (steps_.rate != nullptr)
                steps_.rate[place(here, n + t)] = kernel::dot_product<T, Arch>(d, left.row(t), here.columns);
            T const rate = operands_.rate(here.task, n + t);
            for (index_t c = 0; c < here.columns; ++c) {
                d[c] *= rate;
                e[c] = -d[c];
            }
        }
        read_state(here, state, steps);
        differentiate_weights(here);
        differentiate_pairs<true>(here, reads, steps);
        add_reads(here, decayed(here, reads, steps), steps, d_state, here.ones);
        if constexpr (gated) kernel::add_elements<T, Arch>(steps, here.features, reads, here.d_query, here.d_decay);
    }

    /// The gradients of decays: what each step leaves of what is read after it. d_decay has the products of reads and
    /// their gradients.
    void write_decays(scratch_type const& here, index_t n, index_t steps) const {
        using vector = kernel::pack<T, Arch>;
        auto const at = [&](rows const& of, index_t t, index_t f) { return vector::load(of.row(t) + f); };
        auto const& before = here.queries_left;
        for (index_t f = 0; f < here.features; f += vector::lanes) {
            auto sum = vector::load(here.of_end + f) * vector::load(here.decays.all + f);
            for (index_t t = 0; t < steps; ++t) {
                sum.store(before.row(t) + f);
                sum = fma(at(keys(here), t, f), at(here.d_key, t, f), sum);
            }
            sum = vector(T{0});
            for (index_t t = steps - 1; t >= 0; --t) {
                sum = sum + at(here.d_decay, t, f) - at(keys(here), t, f) * at(here.d_key_between, t, f);
                auto const gate = at(gates(here), t, f);
                select(gate == vector(T{0}), vector(T{0}), sum + at(before, t, f)).store(before.row(t) + f);
            }
        }
        index_t const features = x_.key_features();
        for (index_t t = 0; t < steps; ++t)
            if (operands_.has_one_gate())
                steps_.decay[place(here, n + t)] = std::accumulate(before.row(t), before.row(t) + features, T{0});
            else std::copy_n(before.row(t), features, steps_.decay + place(here, n + t) * features);
    }

    index_t place(scratch_type const& here, index_t n) const {
        return (here.task.batch * x_.key_heads() + here.task.head) * x_.keys() + n;
    }

    step_operands<Call> operands_;
    map_gradient<Call> maps_;
    Operands const& x_;
    operand_gradients<T> rows_;
    step_number_gradients<T> steps_;
};

}  // namespace fovea::FOVEA_SET::driver
