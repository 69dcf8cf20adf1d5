// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/half.hpp>
#include <fovea/testing/random.hpp>

#include "support/guarded.hpp"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace catalogue {

/// How elements are stored, as a value.
enum class stored { float32, float64, bfloat16, float16, int8 };

template <class T>
inline constexpr stored stored_as = std::is_same_v<T, float>           ? stored::float32
                                  : std::is_same_v<T, double>          ? stored::float64
                                  : std::is_same_v<T, fovea::bfloat16> ? stored::bfloat16
                                  : std::is_same_v<T, fovea::float16>  ? stored::float16
                                                                       : stored::int8;

/// Calls f(std::type_identity<T>{}) for the type that is stored.
template <class F>
decltype(auto) with_type(stored kind, F const& f) {
    switch (kind) {
        case stored::float64:
            return f(std::type_identity<double>{});
        case stored::bfloat16:
            return f(std::type_identity<fovea::bfloat16>{});
        case stored::float16:
            return f(std::type_identity<fovea::float16>{});
        case stored::int8:
            return f(std::type_identity<std::int8_t>{});
        case stored::float32:
            break;
    }
    return f(std::type_identity<float>{});
}

inline fovea::index_t bytes_of(stored kind) {
    return with_type(kind, []<class T>(std::type_identity<T>) { return static_cast<fovea::index_t>(sizeof(T)); });
}

/// drawn_rows: (batch, head, position, feature) of any type in memory that nobody would choose: the outer axes in any
/// order and direction, rows with gaps, axes that repeat or overlap where they are only read, and a page that may not
/// be touched right behind the last element or right before the first. What is no element holds NaN, or -1.
class drawn_rows {
public:
    using index_t = fovea::index_t;
    static constexpr unsigned char unused = 0xff;

    enum class use { read, written };

    drawn_rows(fovea::testing::dice& from, stored kind, fovea::extents_t<4> const& n, use as)
        : kind_(kind), extents_(n), strides_(strides(from, n, as)) {
        index_t low = 0, high = 0;
        bool empty = false;
        for (std::size_t i = 0; i < 4; ++i) {
            empty = empty || n[i] == 0;
            index_t const reach = (n[i] - 1) * strides_[i];
            (reach < 0 ? low : high) += reach;
        }
        size_ = empty ? 0 : high - low + 1;
        first_ = empty ? 0 : -low;
        auto const wall =
            from.chance(0.5) ? guarded<unsigned char>::wall::behind : guarded<unsigned char>::wall::before;
        index_t const beside = from.chance(0.7) ? 0 : from.between(1, 9);  // more that is no element, off the wall
        if (wall == guarded<unsigned char>::wall::behind) first_ += beside;
        size_ += beside;
        memory_ = std::make_unique<guarded<unsigned char>>(size_ * bytes_of(kind), unused, wall);
        at_end_ = wall == guarded<unsigned char>::wall::behind;
    }

    stored kind() const { return kind_; }
    fovea::extents_t<4> const& extents() const { return extents_; }
    index_t extent(std::size_t axis) const { return extents_[axis]; }
    index_t elements() const { return size_; }  // of the memory

    /// Which element of the memory it is.
    index_t place(index_t b, index_t h, index_t n, index_t c) const {
        return first_ + b * strides_[0] + h * strides_[1] + n * strides_[2] + c;
    }
    template <class T>
    fovea::view<T, 4> as() const {
        return {reinterpret_cast<T*>(memory_->data()) + first_, extents_, strides_};
    }
    double get(index_t place) const {
        return with_type(kind_, [&]<class T>(std::type_identity<T>) {
            return static_cast<double>(static_cast<wide<T>>(reinterpret_cast<T const*>(memory_->data())[place]));
        });
    }
    void set(index_t place, double x) const {
        with_type(kind_, [&]<class T>(std::type_identity<T>) {
            reinterpret_cast<T*>(memory_->data())[place] = static_cast<T>(x);
        });
    }

    template <class F>
    void for_each(F const& f) const {
        for (index_t b = 0; b < extents_[0]; ++b)
            for (index_t h = 0; h < extents_[1]; ++h)
                for (index_t n = 0; n < extents_[2]; ++n)
                    for (index_t c = 0; c < extents_[3]; ++c) f(place(b, h, n, c));
    }
    void fill(fovea::testing::dice& from, double size) const {
        for_each([&](index_t at) {
            double const x = from.real(-size, size);
            set(at, kind_ == stored::int8 ? std::nearbyint(x) : x);
        });
    }
    void fill_with(unsigned char byte) const { std::memset(memory_->data(), byte, bytes()); }

    /// Every byte, to see what changes.
    std::vector<unsigned char> snapshot() const { return {memory_->data(), memory_->data() + bytes()}; }

    /// The bytes of the elements of one batch, or of all, in C order.
    std::vector<unsigned char> element_bytes(index_t batch = -1) const {
        std::vector<unsigned char> all;
        auto const step = static_cast<std::size_t>(bytes_of(kind_));
        for (index_t b = batch < 0 ? 0 : batch; b < (batch < 0 ? extents_[0] : batch + 1); ++b)
            for (index_t h = 0; h < extents_[1]; ++h)
                for (index_t n = 0; n < extents_[2]; ++n) {
                    auto const* const row = memory_->data() + static_cast<std::size_t>(place(b, h, n, 0)) * step;
                    all.insert(all.end(), row, row + static_cast<std::size_t>(extents_[3]) * step);
                }
        return all;
    }

    /// The first element of the memory that is not in a view and no longer holds `byte`, or -1.
    index_t touched(unsigned char byte) const {
        auto const step = static_cast<std::size_t>(bytes_of(kind_));
        std::vector<bool> is_element(static_cast<std::size_t>(size_));
        for_each([&](index_t at) { is_element[static_cast<std::size_t>(at)] = true; });
        for (std::size_t i = 0; i < is_element.size(); ++i)
            for (std::size_t n = i * step; n < (i + 1) * step && !is_element[i]; ++n)
                if (memory_->data()[n] != byte) return static_cast<index_t>(i);
        return -1;
    }

    std::string text() const {
        return fovea::to_text(extents_) + " with strides " + fovea::to_text(strides_) + ", element "
             + std::to_string(first_) + " of " + std::to_string(size_) + (at_end_ ? ", wall behind" : ", wall before");
    }

private:
    template <class T>
    using wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

    std::size_t bytes() const { return static_cast<std::size_t>(size_ * bytes_of(kind_)); }

    static fovea::extents_t<4> strides(fovea::testing::dice& from, fovea::extents_t<4> const& n, use as) {
        std::array<std::size_t, 3> order{0, 1, 2};
        for (std::size_t i = 2; i > 0; --i)
            std::swap(order[i], order[static_cast<std::size_t>(from.between(0, static_cast<index_t>(i)))]);
        if (from.chance(0.4)) order = {2, 1, 0};  // innermost first: C order
        fovea::extents_t<4> result{0, 0, 0, 1};
        index_t step = std::max<index_t>(n[3], 1);
        if (from.chance(0.4)) step += from.between(1, 5);
        else if (from.chance(0.3)) step = (step + 63) / 64 * 64;
        for (auto const axis : order) {
            result[axis] = step;
            step *= std::max<index_t>(n[axis], 1);
            if (from.chance(0.2)) step += from.between(1, 9);
        }
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (from.chance(0.15)) result[axis] = -result[axis];
        if (as == use::read && from.chance(0.2)) result[static_cast<std::size_t>(from.between(0, 2))] = 0;
        else if (as == use::read && from.chance(0.1)) result[2] = from.between(-n[3], n[3]);  // rows over one another
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (n[axis] == 1 && from.chance(0.2)) result[axis] = from.between(-1000, 1000);  // never stepped along
        return result;
    }

    stored kind_;
    fovea::extents_t<4> extents_, strides_;
    index_t first_ = 0, size_ = 0;
    bool at_end_ = false;
    std::unique_ptr<guarded<unsigned char>> memory_;
};

}  // namespace catalogue
