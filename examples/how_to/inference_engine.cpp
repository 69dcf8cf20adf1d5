// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small inference engine with tensors, memory, threads and errors of its own, and attention among its operations.
#include "check.hpp"
#include "pool.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <string_view>

namespace engine {

//! [tensor]
/// Four axes, the one of neighbouring elements first; steps in bytes.
struct tensor {
    float* data = nullptr;
    std::array<std::int64_t, 4> size{};
    std::array<std::int64_t, 4> step{};
};
//! [tensor]

/// One allocation, given out piece by piece until it is used up.
class memory {
public:
    explicit memory(std::size_t elements) : elements_(elements) {}
    tensor take(std::array<std::int64_t, 4> size) {
        tensor t{elements_.data() + used_, size, {sizeof(float)}};
        for (std::size_t axis = 1; axis < 4; ++axis) t.step[axis] = t.step[axis - 1] * size[axis - 1];
        used_ += static_cast<std::size_t>(t.step[3] * size[3]) / sizeof(float);
        if (used_ > elements_.size()) throw std::bad_alloc();
        return t;
    }

private:
    std::vector<float> elements_;
    std::size_t used_ = 0;
};

enum class status { ok, bad_shape, no_memory, unknown_operation };

/// Shared by all operations: threads, scratch memory, and room for a sentence about the last error.
struct context {
    how_to::pool threads{2};
    fovea::workspace scratch;
    std::array<char, 200> message{};

    //! [executor]
    auto executor() {
        auto const run = [this](fovea::index_t n, auto const& f) { threads.bulk(static_cast<int>(n), f); };
        return fovea::bulk_executor(threads.size(), run);
    }
    //! [executor]
};

struct node {
    std::string_view operation;
    std::array<tensor, 3> inputs;
    tensor output;
    float parameter = 0;
};
using operation = status (*)(context&, node const&);

//! [view]
/// A tensor of the engine as fovea has it: the slowest axis first, strides in elements.
template <class T>
fovea::view<T, 4> view_of(tensor const& t) {
    fovea::extents_t<4> extents, strides;
    for (std::size_t axis = 0; axis < 4; ++axis) {
        extents[axis] = t.size[3 - axis];
        strides[axis] = t.step[3 - axis] / std::int64_t{sizeof(float)};
    }
    return {t.data, extents, strides};
}
//! [view]

//! [attention]
template <class Spec>
status run_attention(context& c, node const& n, Spec const& spec) {
    try {
        auto const& [query, key, value] = n.inputs;
        attend(c.executor(), c.scratch, spec, view_of<float const>(query), view_of<float const>(key),
               view_of<float const>(value), view_of<float>(n.output));
        return status::ok;
    } catch (fovea::shape_error const& error) {  // nothing has been written
        std::snprintf(c.message.data(), c.message.size(), "%s", error.what());
        return status::bad_shape;
    } catch (std::bad_alloc const&) {
        return status::no_memory;
    }
}

status attention(context& c, node const& n) {
    using namespace fovea;
    return run_attention(c, n, scaled_dot | causal_at_end | softmax | weighted_sum);
}
status capped_attention(context& c, node const& n) {
    using namespace fovea;
    return run_attention(c, n, scaled_dot | softcap(n.parameter) | causal_at_end | softmax | weighted_sum);
}
//! [attention]

status copy(context&, node const& n) {
    auto const from = view_of<float const>(n.inputs[0]);
    auto const to = view_of<float>(n.output);
    if (from.extents != to.extents) return status::bad_shape;
    for (fovea::index_t b = 0; b < to.extent(0); ++b)
        for (fovea::index_t h = 0; h < to.extent(1); ++h)
            for (fovea::index_t i = 0; i < to.extent(2); ++i)
                for (fovea::index_t c = 0; c < to.extent(3); ++c) to(b, h, i, c) = from(b, h, i, c);
    return status::ok;
}

//! [operations]
std::map<std::string_view, operation> const operations{
    {"copy", copy}, {"attention", attention}, {"capped_attention", capped_attention}};
//! [operations]

status run(context& c, std::vector<node> const& graph) {
    for (auto const& n : graph) {
        auto const found = operations.find(n.operation);
        if (found == operations.end()) return status::unknown_operation;
        if (auto const result = found->second(c, n); result != status::ok) return result;
    }
    return status::ok;
}

/// Positions first to first + count of a tensor (feature, position, head, batch): memory stays where it is.
tensor positions(tensor t, std::int64_t first, std::int64_t count) {
    t.data += first * t.step[1] / std::int64_t{sizeof(float)};
    t.size[1] = count;
    return t;
}

//! [layer]
/// The attention of one layer for the tokens from `first` on, after those in the cache.
std::vector<node> layer(tensor query, tensor key, tensor value, tensor keys, tensor values, tensor result,
                        std::int64_t first) {
    std::int64_t const count = query.size[1];
    return {{"copy", {key}, positions(keys, first, count)},
            {"copy", {value}, positions(values, first, count)},
            {"capped_attention", {query, positions(keys, 0, first + count), positions(values, 0, first + count)},
             result, 30}};
}
//! [layer]

}  // namespace engine

int main() {
    using namespace engine;
    using how_to::require;
    constexpr std::int64_t d = 16, heads = 8, key_heads = 2, tokens = 21, capacity = 64;
    memory weights(1 << 16);
    context c;
    // Tokens one after another, each with all of its heads: the axes are stored as (feature, head, position, batch).
    auto const take = [&](std::int64_t heads_of, std::int64_t count) {
        tensor t = weights.take({d, heads_of, count, 1});
        std::swap(t.size[1], t.size[2]);
        std::swap(t.step[1], t.step[2]);
        return t;
    };
    tensor const query = take(heads, tokens), key = take(key_heads, tokens), value = take(key_heads, tokens);
    tensor const keys = take(key_heads, capacity), values = take(key_heads, capacity), result = take(heads, tokens);
    for (auto const& [t, n] : {std::pair(query, heads), {key, key_heads}, {value, key_heads}}) {
        auto const numbers = how_to::random_tensor<1>({d * n * tokens});
        std::memcpy(t.data, numbers.data(), sizeof(float) * numbers.elements.size());
    }

    std::int64_t first = 0;
    for (std::int64_t const count : {16, 1, 3, 1}) {  // the prompt, then token by token, or a few drafts at once
        auto const graph = layer(positions(query, first, count), positions(key, first, count),
                                 positions(value, first, count), keys, values, positions(result, first, count), first);
        require(run(c, graph) == status::ok, "a step succeeds");
        first += count;
    }

    auto const q = view_of<float const>(query), k = view_of<float const>(key);
    auto const score = [&](fovea::index_t b, fovea::index_t h, fovea::index_t i, fovea::index_t j) {
        return j > i ? how_to::minus_infinity : 30 * std::tanh(how_to::product(q, k, b, h, i, j) / 4 / 30);
    };
    auto const expected = how_to::plain_attention(score, heads, tokens, view_of<float const>(value));
    auto const computed = view_of<float>(result);
    float worst = 0;
    for (fovea::index_t h = 0; h < heads; ++h)
        for (fovea::index_t i = 0; i < tokens; ++i)
            for (fovea::index_t x = 0; x < d; ++x)
                worst = std::max(worst, std::abs(computed(0, h, i, x) - expected(0, h, i, x)));
    require(worst < 1e-6f, "prompt and tokens get what one causal call gives");

    //! [errors]
    float const before = result.data[0];
    status const refused = run(c, {{"attention", {query, keys, values}, positions(result, 0, 5)}});
    require(refused == status::bad_shape, "a call that does not fit is refused");
    require(std::string_view(c.message.data()).starts_with("result is (1, 8, 5, 16)"), "it says why");
    require(result.data[0] == before, "and has written nothing");
    //! [errors]
    require(run(c, {{"convolution", {}, {}}}) == status::unknown_operation, "an operation that is not there");
}
