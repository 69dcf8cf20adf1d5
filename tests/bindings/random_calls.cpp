// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of kernels with random arguments, most of them wrong: a call that is refused has written nothing.
#include "bound.h"
#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

namespace {

constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();

class random_call {
public:
    explicit random_call(unsigned seed) : engine_(seed) {
        for (auto& elements : elements_) elements.assign(1 << 16, 0.25f);
        table_.assign(1 << 12, 0.5f);
        for (auto& each : conditions_) each = chance(3) ? 0 : 1;
    }

    /// A call of a kernel, or of its gradients.
    void draw(fovea_kernel const& kernel, bool gradients, bool outputs = false) {
        auto const b = one_of({1, 1, 2, 0}), h = one_of({1, 2, 3, 0}), n = one_of({1, 2, 5, 17, 0}),
                   m = one_of({1, 3, 8, 16, 0}), d = one_of({1, 3, 8, 0}), e = one_of({1, 4, 5, 0});
        operands_ = {array(0, {b, h, n, d}), array(1, {b, h, m, d}), array(2, {b, h, m, e}), array(3, {b, h, n, e})};
        if (gradients)
            operands_[4] = array(4, {b, h, n, d}), operands_[5] = array(5, {b, h, m, d}),
            operands_[6] = array(6, {b, h, m, e});
        if (chance(40)) operands_[gradients ? 5 : 3].data = operands_[2].data;
        if (gradients && chance(5)) operands_[1].data = operands_[0].data;
        draw_graph(n, m);
        if (gradients) {
            operands_[7] = beside(3, 1, {b, h, n, 1});
            operands_[8] = beside(3, 2, {b, h, n, e});
            operands_[9] = beside(7, 1, {b, h, n, 1});
            if (!chance(9) && (operands_[8].data == nullptr || operands_[9].data == nullptr))
                operands_[8].data = operands_[9].data = nullptr;
        }
        for (std::size_t i = 0; outputs && i < kernel.output_count; ++i) {
            std::string_view const shape = kernel.outputs[i].shape;
            auto const has = [&](std::string_view axis) { return shape.find(axis) != std::string_view::npos; };
            auto const positions = has("edges") ? graph_.edges : has("queries") ? n : m;
            operands_[4 + i] = beside(4 + i % 3, i / 3, {b, h, positions, has("queries, keys") ? m : 1});
        }
        values_.clear();
        for (std::size_t i = 0; i < kernel.argument_count; ++i) values_.push_back(value(kernel.arguments[i], n));
        for (std::size_t i = 0; gradients && i < kernel.argument_count; ++i) {
            values_.push_back({});
            values_.back().pointer = kernel.arguments[i].has_gradient == 0 || chance(3) ? nullptr
                                   : chance(20)                                         ? operands_[4].data
                                                                                        : elements_[7].data();
        }
        values_.push_back({});  // an array of none has an address
        run_ = gradients ? kernel.gradient : outputs ? kernel.run_outputs : kernel.run;
    }

    /// Whether everything is as it was, or the call has succeeded.
    bool keeps_promise(fovea_kernel const& kernel, int& succeeded) {
        before_ = elements_;  // its memory is used again
        char message[64] = "";
        fovea_call const how{static_cast<int>(one_of({1, 0, -5, 3, 1'000'000})), nullptr, chance(9) ? nullptr : message,
                             chance(9) ? std::size_t{1} : sizeof message};
        auto const status = run_(chance(15) ? nullptr : &how, operands_.data(), values_.data());
        succeeded += status == FOVEA_OK;
        return status == FOVEA_OK
            || ((status == FOVEA_SHAPE_ERROR || status == FOVEA_GRAPH_ERROR
                 || (status == FOVEA_FAILED && has_negative_window(kernel)))
                && same_bits(before_, elements_));
    }

private:
    using all_elements = std::array<std::vector<float>, 8>;
    static bool same_bits(all_elements const& a, all_elements const& b) {
        return std::equal(a.begin(), a.end(), b.begin(), [](auto const& x, auto const& y) {
            return std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
        });
    }
    /// A number that a word refuses, after the conversion to the parameter's type; its sentence is no shape's.
    bool has_negative_window(fovea_kernel const& kernel) const {
        return std::string_view(kernel.name) == "window"
            && (static_cast<std::int32_t>(values_[0].integer) < 0 || values_[1].integer < 0);
    }
    bool chance(unsigned one_in) { return engine_() % one_in == 0; }
    std::int64_t one_of(std::initializer_list<std::int64_t> numbers) {
        return numbers.begin()[engine_() % numbers.size()];
    }

    fovea_array array(std::size_t which, std::initializer_list<std::int64_t> extents) {
        fovea_array a{elements_[which].data() + (1 << 14), {}, {}};
        std::int64_t stride = 1;
        for (int axis = 3; axis >= 0; --axis) {
            auto const extent = extents.begin()[axis];
            a.extents[axis] = chance(40) ? one_of({-1, 0, 1, 2, 3, most, least}) : extent;
            a.strides[axis] = chance(40) ? one_of({0, 1, 2, -1, 7, most, least}) : stride;
            stride *= std::max<std::int64_t>(extent, 1);
        }
        if (chance(30)) a.data = nullptr;
        return a;
    }

    /// An output beside the result, or its gradient, which may be left out; several lie in one array.
    fovea_array beside(std::size_t which, std::size_t place, std::initializer_list<std::int64_t> extents) {
        auto a = array(which, extents);
        if (a.data != nullptr) a.data = static_cast<float*>(a.data) + (place << 13);
        if (chance(2)) a.data = nullptr;
        if (chance(60)) a.data = operands_[chance(2) ? 0 : 3].data;
        return a;
    }

    void draw_graph(std::int64_t queries, std::int64_t keys) {
        listed_.clear();
        offsets_.assign(1, 0);
        for (std::int64_t i = 0; i < queries; ++i) {
            for (auto edges = one_of({0, 1, 2}); edges > 0; --edges)
                listed_.push_back(static_cast<std::int32_t>(chance(100) ? keys : one_of({0, keys - 1, keys / 2})));
            offsets_.push_back(static_cast<std::int64_t>(listed_.size()));
        }
        auto const edges = static_cast<std::int64_t>(listed_.size());
        graph_ = {chance(20) ? one_of({-1, 0, least}) : queries, chance(20) ? one_of({-1, 0}) : edges, offsets_.data(),
                  chance(20) ? nullptr : listed_.data(), nullptr};
    }

    fovea_value value(fovea_argument const& of, std::int64_t queries) {
        std::string_view const type = of.type, name = of.name;
        fovea_value v{};
        if (type == "fovea_graph") v.pointer = chance(20) ? nullptr : &graph_;
        else if (type == "double") v.real = static_cast<double>(one_of({0, 1, 50, -3}));
        else if (*of.shape == '\0') v.integer = integer(name);
        else v.pointer = chance(20) ? nullptr : table(type, queries);
        return v;
    }
    std::int64_t integer(std::string_view name) {
        bool const extent = name == "pages" || name == "sequences" || name == "distances";
        if (extent && !chance(10)) return one_of({1, 2, 3});
        return extent ? one_of({-1, 0, most, least}) : one_of({0, 1, 2, 5, -1, most, least});
    }
    void const* table(std::string_view type, std::int64_t queries) {
        if (type == "float") return table_.data();
        if (type == "bool" || type == "fovea_bits") return conditions_.data();
        numbers_.resize(64);
        pages_.resize(1 << 12);
        for (auto& page : pages_) page = static_cast<std::int32_t>(chance(9) ? one_of({-2, 4}) : one_of({0, 1, 2}));
        for (std::size_t i = 0; i < numbers_.size(); ++i)
            numbers_[i] = static_cast<std::int64_t>(i) * (chance(30) ? one_of({-1, 1}) : queries);
        return type == "int32_t" ? static_cast<void const*>(pages_.data()) : numbers_.data();
    }

    std::mt19937 engine_;
    all_elements elements_, before_;
    std::vector<float> table_;
    std::array<unsigned char, 1 << 12> conditions_{};
    std::vector<std::int32_t> pages_, listed_;
    std::vector<std::int64_t> numbers_, offsets_;
    std::array<fovea_array, 10> operands_{};
    std::vector<fovea_value> values_;
    fovea_graph graph_{};
    decltype(fovea_kernel::run) run_ = nullptr;
};

}  // namespace

TEST_CASE("a call that is refused has written nothing", "[bindings]") {
    std::size_t count = 0;
    auto const* const kernels = bound_kernels(&count);
    REQUIRE(kernels[0].architecture != nullptr);
    random_call call(2026);
    int broken = 0, succeeded = 0;
    for (int i = 0; i < 8000; ++i) {
        auto const& kernel = kernels[static_cast<std::size_t>(i) % count];
        call.draw(kernel, false);
        if (!call.keeps_promise(kernel, succeeded)) {
            ++broken;
            UNSCOPED_INFO("call " << i << ", of " << kernel.name);
        }
    }
    CHECK(broken == 0);
    CHECK(succeeded > 500);  // not everything is refused
}

TEST_CASE("a call with outputs that is refused has written nothing", "[bindings]") {
    std::size_t count = 0;
    auto const* const kernels = bound_kernels(&count);
    random_call call(2028);
    int broken = 0, succeeded = 0;
    for (int i = 0; i < 8000; ++i) {
        auto const& kernel = kernels[static_cast<std::size_t>(i) % count];
        if (kernel.run_outputs == nullptr) continue;
        call.draw(kernel, false, true);
        if (!call.keeps_promise(kernel, succeeded)) {
            ++broken;
            UNSCOPED_INFO("call " << i << ", of " << kernel.name);
        }
    }
    CHECK(broken == 0);
    CHECK(succeeded > 500);
}

TEST_CASE("a call of gradients that is refused has written nothing", "[bindings]") {
    std::size_t count = 0;
    auto const* const kernels = bound_kernels(&count);
    random_call call(2027);
    int broken = 0, succeeded = 0;
    for (int i = 0; i < 8000; ++i) {
        auto const& kernel = kernels[static_cast<std::size_t>(i) % count];
        if (kernel.gradient == nullptr) continue;
        call.draw(kernel, true);
        if (!call.keeps_promise(kernel, succeeded)) {
            ++broken;
            UNSCOPED_INFO("call " << i << ", of " << kernel.name);
        }
    }
    CHECK(broken == 0);
    CHECK(succeeded > 500);
}
