// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arrays of a call in one piece of memory, so that each can be spoilt in every way while the rest stays.
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/view.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// How an array may differ from the extents that its call needs.
enum class fit {
    exact,   // refused when an axis is shorter or longer
    longer,  // a table of which the call reads a part
    free,    // any length has a meaning of its own
};

/// One array of a call, before it is a view.
struct call_array {
    std::string named;  // what a sentence about it says
    bool written = false;
    fit fits = fit::exact;
    std::vector<fovea::index_t> extents, strides;
    fovea::index_t element = 4;
    char* data = nullptr;

    template <class T, int Rank>
    fovea::view<T, Rank> as() const {
        REQUIRE(extents.size() == std::size_t{Rank});
        REQUIRE(static_cast<std::size_t>(element) == sizeof(T));
        fovea::view<T, Rank> v;
        v.data = reinterpret_cast<T*>(data);
        for (std::size_t axis = 0; axis < extents.size(); ++axis) {
            v.extents[axis] = extents[axis];
            v.strides[axis] = strides[axis];
        }
        return v;
    }
    fovea::index_t bytes() const {
        fovea::index_t n = element;
        for (auto extent : extents) n *= extent;
        return n;
    }
};

/// call_arrays: arrays one after the other in one allocation, and a call on them.
///
/// spoil_each runs the call with one array changed at a time and expects an exception that names the array, or one that
/// is written, and not a byte changed.
class call_arrays {
public:
    /// Adds an array; returns its number.
    template <class T>
    std::size_t add(std::string named, std::vector<fovea::index_t> extents, std::function<T(fovea::index_t)> element,
                    fit fits = fit::exact, bool written = false) {
        call_array a{std::move(named), written, fits, extents, std::vector<fovea::index_t>(extents.size(), 1),
                     sizeof(T)};
        for (auto axis = extents.size(); axis-- > 1;) a.strides[axis - 1] = a.strides[axis] * extents[axis];
        offsets_.push_back(memory_.size());
        auto const count = a.bytes() / a.element;
        memory_.resize(memory_.size() + static_cast<std::size_t>(a.bytes() + 63) / 64 * 64 + 64);
        arrays_.push_back(std::move(a));
        for (fovea::index_t i = 0; i < count; ++i) {
            T const x = element(i);
            std::memcpy(memory_.data() + offsets_.back() + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof(T));
        }
        return arrays_.size() - 1;
    }
    template <class T = float>
    std::size_t add_written(std::string named, std::vector<fovea::index_t> extents) {
        return add<T>(std::move(named), std::move(extents), [](fovea::index_t) { return T(7); }, fit::exact, true);
    }
    call_array const& operator[](std::size_t i) const { return arrays_[i]; }

    /// Other arrays that a sentence about array i may name: of two arrays that do not fit, either is to blame.
    void also_named(std::size_t i, std::string other) { others_.emplace_back(i, std::move(other)); }

    /// The written array i may be array j, element by element.
    void may_coincide(std::size_t i, std::size_t j) { coinciding_.emplace_back(i, j); }

    /// That axis of array i may have any length.
    void any_length(std::size_t i, std::size_t axis) { any_length_.emplace_back(i, axis); }

    /// `call` runs on the arrays as they are then.
    template <class Call>
    void spoil_each(Call const& call) {
        for (std::size_t i = 0; i < arrays_.size(); ++i) arrays_[i].data = memory_.data() + offsets_[i];
        CHECK_NOTHROW(call(*this));
        auto const spoilt = [&](std::size_t i, std::string const& how, auto const& change, bool must_throw = true,
                                bool any_name = false) {
            call_array const before = arrays_[i];
            auto const bytes = memory_;
            change(arrays_[i]);
            INFO(before.named << ": " << how);
            expect(call, i, must_throw, any_name);
            if (must_throw) CHECK(memory_ == bytes);
            memory_ = bytes;  // same size: the data pointers stay
            arrays_[i] = before;
        };
        for (std::size_t i = 0; i < arrays_.size(); ++i) {
            auto const fits = arrays_[i].fits;
            spoilt(i, "null", [](call_array& a) { a.data = nullptr; });
            for (std::size_t axis = 0; axis < arrays_[i].extents.size(); ++axis) {
                auto const at = " along axis " + std::to_string(axis);
                bool const any = holds(any_length_, std::pair(i, axis));
                if (fits != fit::free && !any)
                    spoilt(i, "one shorter" + at, [&](call_array& a) { --a.extents[axis]; }, true, true);
                if (fits == fit::exact && !any)
                    spoilt(i, "one longer" + at, [&](call_array& a) { ++a.extents[axis]; }, true, true);
                spoilt(i, "negative" + at, [&](call_array& a) { a.extents[axis] = -1; });
                spoilt(i, "as many as cannot be" + at,
                       [&](call_array& a) { a.extents[axis] = fovea::index_t{1} << 62; });
                if (axis + 1 < arrays_[i].extents.size() && arrays_[i].extents[axis] > 1) {
                    spoilt(i, "a stride of 2^61" + at,
                           [&](call_array& a) { a.strides[axis] = fovea::index_t{1} << 61; });
                    spoilt(i, "a stride of -2^61" + at,
                           [&](call_array& a) { a.strides[axis] = -(fovea::index_t{1} << 61); });
                    if (arrays_[i].written)
                        spoilt(i, "rows over rows" + at,
                               [&](call_array& a) { a.strides[axis] = a.strides[axis] > 1 ? 1 : 0; });
                }
            }
        }
        for (std::size_t i = 0; i < arrays_.size(); ++i)
            for (std::size_t j = 0; arrays_[i].written && j < arrays_.size(); ++j) {
                if (i == j) continue;
                auto const other = arrays_[j];
                INFO("over " << other.named);
                spoilt(
                    i, "from its first element", [&](call_array& a) { a.data = other.data; },
                    !holds(coinciding_, std::pair(i, j)));
                spoilt(i, "from its last byte", [&](call_array& a) { a.data = other.data + other.bytes() - 1; });
                spoilt(i, "to its first byte", [&](call_array& a) { a.data = other.data - a.bytes() + 1; });
            }
    }

private:
    std::vector<call_array> arrays_;
    std::vector<std::size_t> offsets_;
    std::vector<char> memory_;
    std::vector<std::pair<std::size_t, std::string>> others_;
    std::vector<std::pair<std::size_t, std::size_t>> coinciding_;
    std::vector<std::pair<std::size_t, std::size_t>> any_length_;

    template <class List, class Element>
    static bool holds(List const& list, Element const& e) {
        return std::find(list.begin(), list.end(), e) != list.end();
    }

    template <class Call>
    void expect(Call const& call, std::size_t i, bool must_throw, bool any_name) {
        std::string said;
        try {
            call(*this);
        } catch (fovea::shape_error const& e) {
            said = e.what();
        } catch (fovea::graph_error const& e) {
            said = e.what();
        }
        INFO("said: " << said);
        if (!must_throw) return;
        bool named = said.find(arrays_[i].named) != std::string::npos;
        for (auto const& [number, other] : others_)
            named = named || (number == i && said.find(other) != std::string::npos);
        // Of extents that do not agree either side may be named.
        for (auto const& a : arrays_) named = named || (any_name && said.find(a.named) != std::string::npos);
        CHECK(named);
    }
};
