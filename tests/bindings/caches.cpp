// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels over keys and values in the types of caches: what plain loops give over the numbers of these, and a sentence
// for arrays that are no whole blocks, with nothing written.
#include "caches.h"
#include "catch.hpp"

#include "support/decoded.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using fovea::index_t;

/// Rows in some type, and the numbers that they stand for.
struct stored_rows {
    std::vector<std::byte> bytes;
    std::vector<double> numbers;

    stored_rows(std::string_view type, std::vector<float> const& from) {
        if (type == "f32") append<float>(from);
        if (type == "f64") append<double>(from);
        if (type == "bf16") append<fovea::bfloat16>(from);
        if (type == "f16") append<fovea::float16>(from);
        if (type == "i8") append<std::int8_t>(from);
        if (type == "fp8_e4m3") append<fovea::fp8_e4m3>(from);
        if (type == "fp8_e5m2") append<fovea::fp8_e5m2>(from);
        if (type == "q8_0") append_blocks<fovea::q8_0>(from);
        if (type == "q4_0") append_blocks<fovea::q4_0>(from);
        if (type == "q4_1") append_blocks<fovea::q4_1>(from);
    }

private:
    template <class Element>
    void append_bytes(Element const& element) {
        bytes.resize(bytes.size() + sizeof(Element));
        std::memcpy(bytes.data() + bytes.size() - sizeof(Element), &element, sizeof(Element));
    }
    template <class Element>
    void append(std::vector<float> const& from) {
        for (float const x : from) {
            auto const element = static_cast<Element>(std::is_integral_v<Element> ? std::round(20 * x) : x);
            numbers.push_back(decoded(element, 0));
            append_bytes(element);
        }
    }
    template <class Block>
    void append_blocks(std::vector<float> const& from) {
        for (std::size_t at = 0; at < from.size(); at += 32) {
            auto const block = Block::rounded(from.data() + at);
            for (index_t i = 0; i < 32; ++i) numbers.push_back(decoded(block, i));
            append_bytes(block);
        }
    }
};

/// A call of a kernel of caches.h, two query heads for each head of keys, and what plain loops in double give.
class cached_call {
public:
    static constexpr index_t heads = 4, key_heads = 2, slots = 5, features = 64, value_features = 32;

    cached_call(fovea_kernel const& kernel, index_t queries, index_t keys, bool heads_inside)
        : kernel_(kernel),
          batch_(is("packed") ? 1 : 2),
          queries_(queries),
          keys_(keys),
          heads_inside_(heads_inside),
          table_(static_cast<std::size_t>(batch_ * pages())),
          query_(kernel.types[0], random(batch_ * heads * queries * features)),
          key_(kernel.types[1], random(rows_of_keys() * features)),
          value_(kernel.types[2], random(rows_of_keys() * value_features)),
          result_(static_cast<std::size_t>(batch_ * heads * queries * value_features), untouched) {
        std::iota(table_.begin(), table_.end(), 0);
        std::shuffle(table_.begin(), table_.end(), engine_);
        auto const n = is("decode") ? batch_ * pages() : batch_, positions = is("decode") ? slots : keys;
        operands = {array(query_.bytes.data(), {batch_, heads, queries, features}, false),
                    array(key_.bytes.data(), {n, key_heads, positions, features}, heads_inside),
                    array(value_.bytes.data(), {n, key_heads, positions, value_features}, heads_inside),
                    array(result_.data(), {batch_, heads, queries, value_features}, false)};
    }

    std::array<fovea_array, 4> operands{};
    std::string message;

    fovea_status run() {
        std::vector<fovea_value> values;
        for (std::size_t i = 0; i < kernel_.argument_count; ++i) values.push_back(value_of(kernel_.arguments[i].name));
        message.assign(200, '\0');
        fovea_call const how{2, nullptr, message.data(), message.size()};
        auto const status = kernel_.run(&how, operands.data(), values.data());
        message.resize(std::strlen(message.c_str()));
        return status;
    }
    bool is_refused() {
        return run() == FOVEA_SHAPE_ERROR
            && std::all_of(result_.begin(), result_.end(), [](double x) { return x == untouched; });
    }

    /// Whether the result is that of the definition, to a part of the greatest value and to the rounding of its type.
    bool is_right() const {
        double most = 0;
        for (double const x : value_.numbers) most = std::max(most, std::abs(x));
        double const close = is_in("f64") ? 1e-13 * most : 2e-6 * most, rounding = is_in("f16") ? 0x1p-11 : 0;
        for (index_t row = 0; row < batch_ * heads * queries_; ++row) {
            auto const expected = row_of_definition(row / queries_ / heads, row / queries_ % heads, row % queries_);
            for (index_t c = 0; c < value_features; ++c) {
                double const x = element(expected, c);
                if (!(std::abs(x - result_at(row * value_features + c)) <= close + rounding * std::abs(x)))
                    return false;
            }
        }
        return true;
    }

private:
    static constexpr double untouched = 42;

    bool is(std::string_view name) const { return kernel_.name == name; }
    bool is_in(std::string_view type) const { return kernel_.types[3] == type; }
    index_t pages() const { return (keys_ + slots - 1) / slots; }
    index_t rows_of_keys() const { return batch_ * key_heads * (is("decode") ? pages() * slots : keys_); }
    template <class T>
    static T element(std::vector<T> const& all, index_t i) {
        return all[static_cast<std::size_t>(i)];
    }

    std::vector<float> random(index_t count) {
        std::normal_distribution<float> normal;
        std::vector<float> all(static_cast<std::size_t>(count));
        for (float& x : all) x = normal(engine_);
        return all;
    }
    static fovea_array array(void* data, std::array<index_t, 4> const& n, bool heads_inside) {
        fovea_array a{data, {n[0], n[1], n[2], n[3]}, {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}};
        if (heads_inside) a.strides[1] = n[3], a.strides[2] = n[1] * n[3];
        return a;
    }
    fovea_value value_of(std::string_view name) const {
        fovea_value value{};
        if (name == "lengths") value.pointer = lengths_.data();
        else if (name == "page_table") value.pointer = table_.data();
        else if (name == "pages") value.integer = pages();
        else if (name == "query_offsets") value.pointer = query_offsets_.data();
        else if (name == "key_offsets") value.pointer = key_offsets_.data();
        else value.integer = 2;  // sequences
        return value;
    }
    double result_at(index_t i) const {
        if (is_in("f64")) return element(result_, i);
        return is_in("f16") ? result_as<fovea::float16>(i) : result_as<float>(i);
    }
    template <class Element>
    double result_as(index_t i) const {
        Element x;
        std::memcpy(&x, reinterpret_cast<std::byte const*>(result_.data()) + i * index_t{sizeof x}, sizeof x);
        return static_cast<double>(static_cast<float>(x));
    }

    /// The place of a row of keys among all of them.
    index_t key_row(index_t b, index_t h, index_t j) const {
        index_t const group = is("decode") ? element(table_, b * pages() + j / slots) : b;
        index_t const position = is("decode") ? j % slots : j, positions = is("decode") ? slots : keys_;
        return heads_inside_ ? (group * positions + position) * key_heads + h
                             : (group * key_heads + h) * positions + position;
    }
    bool sees(index_t b, index_t i, index_t j) const {
        if (is("causal")) return j <= i;
        if (is("decode")) return j < lengths_[static_cast<std::size_t>(b)];
        bool const second = i >= query_offsets_[1];
        return second == (j >= key_offsets_[1])
            && j - (second ? key_offsets_[1] : 0) <= i - (second ? query_offsets_[1] : 0);
    }
    std::vector<double> row_of_definition(index_t b, index_t h, index_t i) const {
        std::vector<double> weights, row(value_features, 0.0);
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (index_t j = 0; j < keys_; ++j) {
            double product = 0;
            for (index_t c = 0; c < features; ++c)
                product += element(query_.numbers, ((b * heads + h) * queries_ + i) * features + c)
                         * element(key_.numbers, key_row(b, h / 2, j) * features + c);
            weights.push_back(product / std::sqrt(static_cast<double>(features)));
            if (sees(b, i, j)) most = std::max(most, weights.back());
        }
        for (index_t j = 0; j < keys_; ++j) {
            double& weight = weights[static_cast<std::size_t>(j)];
            sum += weight = sees(b, i, j) ? std::exp(weight - most) : 0;
        }
        for (index_t j = 0; j < keys_ && sum > 0; ++j)
            for (index_t c = 0; c < value_features; ++c)
                row[static_cast<std::size_t>(c)] +=
                    element(weights, j) / sum * element(value_.numbers, key_row(b, h / 2, j) * value_features + c);
        return row;
    }

    std::mt19937 engine_{7};
    fovea_kernel const& kernel_;
    index_t batch_, queries_, keys_;
    bool heads_inside_;
    std::vector<std::int32_t> table_;
    std::array<std::int32_t, 2> lengths_{static_cast<std::int32_t>(keys_), static_cast<std::int32_t>(keys_ / 2)};
    std::array<index_t, 3> query_offsets_{0, queries_ / 3, queries_}, key_offsets_{0, keys_ / 2, keys_};
    stored_rows query_, key_, value_;
    std::vector<double> result_;
};

template <class Check>
void for_each_kernel(Check const& check) {
    std::size_t count = 0;
    auto const* const kernels = caches_kernels(&count);
    for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(kernels[i].name, kernels[i].type);
        check(kernels[i]);
    }
}

}  // namespace

TEST_CASE("kernels over the types of caches give what the numbers of these give", "[bindings]") {
    for_each_kernel([](fovea_kernel const& kernel) {
        for (index_t const queries : {1, 4, 19})
            for (index_t const keys : {1, 12, 71})
                for (bool const heads_inside : {false, true}) {
                    cached_call call(kernel, queries, keys, heads_inside);
                    CAPTURE(queries, keys, heads_inside);
                    CHECK(call.run() == FOVEA_OK);
                    CHECK(call.message.empty());
                    CHECK(call.is_right());
                }
    });
}

TEST_CASE("arrays that are no whole blocks are refused by a sentence", "[bindings]") {
    for_each_kernel([](fovea_kernel const& kernel) {
        for (std::size_t const operand : {1u, 2u}) {
            std::string const type = kernel.types[operand], name = operand == 1 ? "key" : "value";
            auto const refused = [&](auto const& change, std::string const& what) {
                cached_call call(kernel, 3, 12, false);
                change(call.operands[operand]);
                CHECK(call.is_refused());
                CHECK(call.message.find(what) != std::string::npos);
            };
            refused([](fovea_array& a) { a.data = nullptr; }, name);
            if (!type.starts_with("q")) continue;
            auto const end = ", it must be a multiple of 32: the numbers in a block of " + type;
            refused([](fovea_array& a) { a.extents[3] = 40; }, name + " has 40 features" + end);
            refused([](fovea_array& a) { a.extents[3] = -1; }, name + " has -1 features" + end);
            refused([](fovea_array& a) { a.strides[2] = 34; }, name + " has stride 34 along axis 2" + end);
            refused([](fovea_array& a) { a.strides[3] = 2; }, "contiguous");
            refused([](fovea_array& a) { a.extents[3] = std::numeric_limits<index_t>::min(); }, name);
            refused([](fovea_array& a) { a.strides[1] = index_t{1} << 62; }, name);
        }
    });
}

TEST_CASE("numbers are rounded to the types of caches, whole blocks alone", "[bindings]") {
    std::vector<float> numbers(64);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i * i));
    for (std::string const type : {"bf16", "f16", "fp8_e4m3", "fp8_e5m2", "q8_0", "q4_0", "q4_1"}) {
        CAPTURE(type);
        stored_rows const expected(type, numbers);
        std::vector<std::byte> got(expected.bytes.size() + 1, std::byte{42});
        char message[100] = "";
        fovea_call const how{1, nullptr, message, sizeof message};
        auto const rounds = [&](float const* from, index_t count, void* to) {
            return caches_quantize(&how, type.c_str(), from, count, to);
        };
        CHECK(rounds(numbers.data(), -32, got.data()) == FOVEA_SHAPE_ERROR);
        CHECK(rounds(nullptr, 64, got.data()) == FOVEA_SHAPE_ERROR);
        CHECK(rounds(numbers.data(), 64, nullptr) == FOVEA_SHAPE_ERROR);
        if (type.starts_with("q")) {
            CHECK(rounds(numbers.data(), 63, got.data()) == FOVEA_SHAPE_ERROR);
            CHECK(message == "count is 63, it must be a multiple of 32: the numbers in a block of " + type);
        }
        CHECK(rounds(nullptr, 0, nullptr) == FOVEA_OK);
        CHECK(std::count(got.begin(), got.end(), std::byte{42}) == static_cast<index_t>(got.size()));
        CHECK(rounds(numbers.data(), 64, got.data()) == FOVEA_OK);
        CHECK(got.back() == std::byte{42});
        got.pop_back();
        CHECK(got == expected.bytes);
    }
    CHECK(caches_quantize(nullptr, "q5_0", nullptr, 0, nullptr) == FOVEA_FAILED);
    CHECK(caches_quantize(nullptr, nullptr, nullptr, 0, nullptr) == FOVEA_FAILED);
}
