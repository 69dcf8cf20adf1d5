// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Normalizers over given rows of scores, whose score function is a table that is looked up, and within an attention.

#include "engines.hpp"
#include "gradients.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

namespace conformance {
namespace {

using namespace fovea::placeholders;

/// use(scored | ... | normalizer) for the normalizer of a case.
template <class T>
void with_normalizer(test_case const& subject, auto const& scored, auto const& use) {
    auto const number = [&](std::string const& key) { return static_cast<T>(subject.attribute<double>(key)); };
    auto const name = subject.attribute<std::string>("normalizer");
    if (name == "softmax" || name == "softmax_temperature") use(scored | fovea::softmax);
    else if (name == "softmax_plus_one") use(scored | fovea::softmax_with_sink(number("sink")));
    else if (name == "sparsemax") use(scored | fovea::sparsemax);
    else if (name == "entmax15") use(scored | fovea::entmax15);
    else if (name == "entmax") use(scored | fovea::entmax(subject.attribute<double>("alpha")));
    else if (name == "hard") use(scored | fovea::hardmax);
    else if (name == "sigmoid") use(scored | fovea::weigh(sigmoid(score + number("bias"))));
    else if (name == "relu") use(scored | fovea::weigh(relu(score)));
    else if (name == "relu_over_keys") use(scored | fovea::weigh(relu(score)) | fovea::reweight(weight / kv_len));
    else if (name == "squared_relu") use(scored | fovea::weigh(square(relu(score))));
    else if (name == "squared_relu_normalized")
        use(scored | fovea::normalized(square(relu(score)), subject.attribute<double>("eps")));
    else throw malformed("there is no normalizer named " + name);
}

/// The divisor of scores.
template <class T>
T temperature_of(test_case const& subject) {
    return static_cast<T>(subject.attribute<double>("temperature", 1));
}

template <class Engine>
struct normalizer_call {
    using T = typename Engine::value;
    test_case const& subject;
    checks& all;
    fovea::tensor<T, 4> query, key, value, result, weights;

    /// `d_result` is the gradient of the result, `named` what else the case has gradients of.
    void attend(auto const& scored, auto const& d_result, auto const&... named) {
        with_normalizer<T>(subject, scored, [&](auto const& weighed) {
            auto const attention = weighed | fovea::weighted_sum;
            Engine::attend(attention, query, key, value, result.view(), fovea::weights(weights.view()));
            if (d_result.elements.empty()) return;
            if constexpr (fovea::has_row_gradient<decltype(normalizer_of(attention.normalize))>)
                compare_gradients<Engine>(subject, all, attention, query, key, value, d_result, named...);
            else attend_to_chosen(d_result, named...);
        });
    }
    /// hardmax chooses by steps: its gradients are those of values over the keys that it has chosen.
    void attend_to_chosen(auto const& d_result, auto const&... named) {
        auto const chosen = fovea::where(fovea::param(weights)(batch, head, q_idx, kv_idx) != 0);
        compare_gradients<Engine>(subject, all, fovea::dot | chosen | fovea::uniform | fovea::weighted_sum, query, key,
                                  value, d_result, named...);
    }
};

/// Rows of scores as they are; a table of a mask says where there is one.
template <class Engine>
void normalize_rows(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const scores = load<T, 2>(subject["scores"]);
    auto const rows = scores.extent(0), columns = scores.extent(1);
    fovea::tensor<T, 4> const queries({1, 1, rows, 1}), keys({1, 1, columns, 1}), weights({1, 1, rows, columns});
    fovea::tensor<T, 4> unit({1, 1, columns, columns});  // so that the result is the weights, whose gradient is given
    for (fovea::index_t j = 0; j < columns; ++j) unit(0, 0, j, j) = 1;
    normalizer_call<Engine> call{subject, all, queries, keys, unit, weights, weights};
    auto const d_weights = subject.has("d_weights") ? load<T, 4>(subject["d_weights"]) : fovea::tensor<T, 4>();
    auto const looked_up =
        fovea::compare(fovea::param(scores)(q_idx, kv_idx)) | fovea::temperature(temperature_of<T>(subject));
    if (subject.has("mask")) {
        auto const mask = broadcast<bool, 2>(subject["mask"], scores.extents);
        call.attend(looked_up | fovea::mask_tensor(mask.view()), d_weights, of_case{"d_scores", scores});
    } else {
        call.attend(looked_up, d_weights, of_case{"d_scores", scores});
    }
    all.compare(Engine::name, Engine::computes, "weights", call.weights.elements, subject["weights"].shape);
}

/// A mask that lets each pair through, in place of none: it is rows of scores that have none, and each normalizer takes
/// time to compile.
table<bool, 4> every_pair(fovea::extents_t<4> const& pairs) {
    auto const count = static_cast<std::size_t>(pairs[0] * pairs[1] * pairs[2] * pairs[3]);
    table<bool, 4> all{std::make_unique<bool[]>(count), pairs};
    std::fill_n(all.elements.get(), count, true);
    return all;
}

template <class Engine>
void attend(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const query = load<T, 4>(subject["q"]), key = load<T, 4>(subject["k"]), value = load<T, 4>(subject["v"]);
    fovea::extents_t<4> const pairs{query.extent(0), query.extent(1), query.extent(2), key.extent(2)};
    normalizer_call<Engine> call{subject,
                                 all,
                                 query,
                                 key,
                                 value,
                                 fovea::tensor<T, 4>({pairs[0], pairs[1], pairs[2], value.extent(3)}),
                                 fovea::tensor<T, 4>(pairs)};
    auto const d_out = subject.has("d_out") ? load<T, 4>(subject["d_out"]) : fovea::tensor<T, 4>();
    auto const attend = [&](auto const& masked) {
        call.attend(masked, d_out, of_case{"d_q", call.query}, of_case{"d_k", call.key}, of_case{"d_v", call.value});
    };
    auto const scored = fovea::scaled_by(static_cast<T>(subject.attribute<double>("scale")))
                      | fovea::temperature(temperature_of<T>(subject));
    auto const mask =
        subject.has("mask") ? broadcast<bool, 4>(subject["mask"], extents<4>(subject["mask"])) : every_pair(pairs);
    attend(scored | fovea::mask_tensor(mask.view()));
    all.compare(Engine::name, Engine::computes, "out", call.result);
    if (subject.has("weights")) all.compare(Engine::name, Engine::computes, "weights", call.weights);
}

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    if (subject.operation() == "normalize_rows") normalize_rows<Engine>(subject, all);
    else attend<Engine>(subject, all);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject[subject.has("scores") ? "scores" : "q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"normalizers", run};

}  // namespace
}  // namespace conformance
