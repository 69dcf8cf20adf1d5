// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The operator Attention of the ONNX standard. Causality, windows and padding are one band of keys around each query,
// with bounds for each element of the batch; bool masks are tables in where, float masks tables in rescore.

#include "engines.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

/// (batch, position, heads * size) or (batch, head, position, size), as the latter.
template <class T>
struct heads_of_case {
    std::vector<T> elements;
    fovea::extents_t<4> sizes{}, steps{};

    heads_of_case() = default;
    heads_of_case(tensor const& stored, index_t heads) : elements(stored.as<T>()) { lay_out(stored.shape, heads); }
    heads_of_case(shape const& like, index_t heads, T fill) {
        index_t count = 1;
        for (auto const each : like) count *= each;
        elements.assign(static_cast<std::size_t>(count), fill);
        lay_out(like, heads);
    }
    fovea::view<T const, 4> view() const { return {elements.data(), sizes, steps}; }
    fovea::view<T, 4> view() { return {elements.data(), sizes, steps}; }

private:
    void lay_out(shape const& have, index_t heads) {
        if (have.size() == 4) {
            std::copy(have.begin(), have.end(), sizes.begin());
            steps = {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
        } else {
            sizes = {have.at(0), heads, have.at(1), have.at(2) / heads};
            steps = {have[1] * have[2], sizes[3], have[2], 1};
        }
    }
};

/// The past, then the new: (batch, head, position, feature) in C order.
template <class T>
fovea::tensor<T, 4> joined(test_case const& subject, std::string const& past, heads_of_case<T> const& added) {
    auto const news = added.view();
    fovea::tensor<T, 4> const before = subject.has(past)
                                         ? load<T, 4>(subject[past])
                                         : fovea::tensor<T, 4>({news.extent(0), news.extent(1), 0, news.extent(3)});
    auto const first = before.extent(2);
    auto sizes = news.extents;
    sizes[2] += first;
    fovea::tensor<T, 4> all(sizes);
    for (index_t b = 0; b < sizes[0]; ++b)
        for (index_t h = 0; h < sizes[1]; ++h)
            for (index_t n = 0; n < sizes[2]; ++n)
                for (index_t c = 0; c < sizes[3]; ++c)
                    all(b, h, n, c) = n < first ? before(b, h, n, c) : news(b, h, n - first, c);
    return all;
}

/// The mask of a case; behind its last key it goes on with `excluded`.
template <class T>
table<T, 4> load_mask(tensor const& stored, index_t keys, T excluded) {
    auto sizes = extents<4>(stored);
    auto const given = broadcast<T, 4>(stored, sizes);
    auto const have = sizes[3], rows = sizes[0] * sizes[1] * sizes[2];
    sizes[3] = keys;
    table<T, 4> mask{std::make_unique<T[]>(static_cast<std::size_t>(rows * keys)), sizes};
    for (index_t row = 0; row < rows; ++row) {
        auto* const to = mask.elements.get() + row * keys;
        auto const* const from = given.elements.get() + row * have;
        std::fill(std::copy(from, from + std::min(have, keys), to), to + keys, excluded);
    }
    return mask;
}

/// For each element of the batch: from - q_idx and to - q_idx of the first and last key, and how many keys there are.
struct band {
    std::vector<index_t> first, last, keys;
    bool everything = true;

    band(test_case const& subject, fovea::extents_t<4> const& pairs, index_t past) {
        auto const resolved = [&](std::string const& key) { return subject.at<std::int64_t>("/resolved/" + key); };
        bool const causal = resolved("is_causal") != 0, padded = subject.has("nonpad_kv_seqlen");
        auto const left = resolved("left_window_size"), right = resolved("right_window_size");
        auto const open = pairs[2] + pairs[3];
        everything = !causal && !padded && left < 0 && right < 0;
        for (index_t b = 0; b < pairs[0]; ++b) {
            auto const filled =
                padded ? subject["nonpad_kv_seqlen"].as<std::int64_t>().at(static_cast<std::size_t>(b)) : pairs[3];
            auto const offset = padded && !subject.has("past_key") ? filled - pairs[2] : past;
            first.push_back(left < 0 ? -open : offset - left);
            last.push_back(std::min(right < 0 ? open : offset + right, causal ? offset : open));
            keys.push_back(filled);
        }
    }
    auto mask() const {
        auto const distance = kv_idx - q_idx;
        return fovea::where(distance <= fovea::param(last)[batch] && distance >= fovea::param(first)[batch]
                            && kv_idx < fovea::param(keys)[batch]);
    }
};

template <class Engine>
struct onnx_call {
    using T = typename Engine::value;
    test_case const& subject;
    heads_of_case<T> query, result;
    fovea::tensor<T, 4> key, value;
    fovea::extents_t<4> pairs;
    fovea::tensor<T, 4> products;  // qk_matmul_output
    band keys;

    explicit onnx_call(test_case const& c)
        : subject(c),
          query(c["Q"], size("q_num_heads")),
          result(c["Y"].shape, size("q_num_heads"), T(0)),
          key(joined<T>(c, "past_key", {c["K"], size("kv_num_heads")})),
          value(joined<T>(c, "past_value", {c["V"], size("kv_num_heads")})),
          pairs{query.sizes[0], query.sizes[1], query.sizes[2], key.extent(2)},
          products(pairs),
          keys(c, pairs, size("past_len")) {}

    index_t size(std::string const& name) const { return subject.at<std::int64_t>("/resolved/" + name); }

    void run(auto const& scored, auto const&... asked) {
        Engine::attend(scored | fovea::softmax | fovea::weighted_sum, std::as_const(query).view(), key.view(),
                       value.view(), result.view(), asked...);
    }
    /// Only what a case asks for is compiled: with RawScores, the scores of compare.
    template <bool RawScores>
    void attend_in_band(auto const& scored) {
        if constexpr (RawScores) {
            run(scored | keys.mask(), fovea::scores<fovea::score_stage::raw>(products.view()));
        } else if (!subject.has("qk_matmul_output")) {
            if (keys.everything) run(scored);
            else run(scored | keys.mask());
        } else {
            auto const mode = size("qk_matmul_output_mode");
            if (mode <= 1) attend_in_band<true>(scored);
            else if (mode == 2) run(scored | keys.mask(), fovea::scores(products.view()));
            else run(scored | keys.mask(), fovea::weights(products.view()));
        }
    }
    template <bool RawScores>
    void attend_with_mask(auto const& scored) {
        if (!subject.has("attn_mask")) {
            attend_in_band<RawScores>(scored);
        } else if (subject["attn_mask"].dtype == dtype::boolean) {
            auto const mask = load_mask<bool>(subject["attn_mask"], pairs[3], false);
            attend_in_band<RawScores>(scored | fovea::mask_tensor(mask.view()));
        } else {
            auto const mask = load_mask<T>(subject["attn_mask"], pairs[3], -std::numeric_limits<T>::infinity());
            attend_in_band<RawScores>(scored | fovea::bias(mask.view()));
        }
    }
    /// Scores behind the softcap and before the masks are asked for as those of compare: the softcap stands inside it.
    void attend() {
        auto const scale = static_cast<T>(subject.at<double>("/resolved/scale"));
        auto const cap = static_cast<T>(subject.at<double>("/resolved/softcap"));
        auto const scaled = fovea::scaled_by(scale);
        bool const capped_only = size("qk_matmul_output_mode") == 1 && subject.has("qk_matmul_output");
        if (cap <= 0) attend_with_mask<false>(scaled);
        else if (capped_only) attend_with_mask<true>(fovea::compare(cap * tanh(scaled.expression() / cap)));
        else attend_with_mask<false>(scaled | fovea::softcap(cap));
    }
};

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    onnx_call<Engine> call(subject);
    call.attend();
    auto const compare = [&](std::string const& name, auto const& elements, shape const& sizes) {
        if (subject.has(name)) all.compare(Engine::name, Engine::computes, name, elements, sizes);
    };
    compare("Y", call.result.elements, subject["Y"].shape);
    compare("present_key", call.key.elements, shape(call.key.extents.begin(), call.key.extents.end()));
    compare("present_value", call.value.elements, shape(call.value.extents.begin(), call.value.extents.end()));
    compare("qk_matmul_output", call.products.elements, shape(call.pairs.begin(), call.pairs.end()));
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject["Q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"onnx_attention", run};

}  // namespace
}  // namespace conformance
