// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of one call: a small block between pages that may not be touched, and all views of the call in it.
#pragma once

#include <fovea/core/tensor.hpp>
#include <fovea/core/view.hpp>

#include "support/area.hpp"
#include "support/bytes.hpp"
#include "support/fuzz.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuzz {

using fovea::extents_t;
using fovea::tensor;
using fovea::view;

/// memory: places views as the bytes of an input say, calls, and judges what the call did.
///
/// A view has the extents that the call needs, one after another in memory, unless the input spoils it: an extent,
/// a stride or the pointer becomes something else. What is left is a view whose elements all lie in the block, a view
/// without elements, or one that no call may accept; the last is noted as a reason to refuse. So are written views that
/// have an element twice or share one with any other view, by the addresses of all elements.
class memory {
public:
    explicit memory(bytes& in);
    memory(memory const&) = delete;
    ~memory();

    /// A view of the extents that the call needs, before the input has spoilt it.
    template <class T, std::size_t Rank>
    view<T, static_cast<int>(Rank)> place(char const* name, access how, std::array<index_t, Rank> const& needed) {
        layout l{name, how, sizeof(T), alignof(T), &typeid(T), nullptr, {needed.begin(), needed.end()}, {}, {}};
        place(l);
        view<T, static_cast<int>(Rank)> placed;
        placed.data = reinterpret_cast<T*>(l.data);
        std::copy(l.extents.begin(), l.extents.end(), placed.extents.begin());
        std::copy(l.strides.begin(), l.strides.end(), placed.strides.begin());
        if (how != access::write)
            for_elements(areas_.back(), [&](std::byte* at) { write(at, small_number<std::remove_const_t<T>>()); });
        return placed;
    }
    template <class T, class... Extent>
    auto read(char const* name, Extent... needed) {
        return place<T const>(name, access::read, std::array<index_t, sizeof...(Extent)>{needed...});
    }
    template <class T, class... Extent>
    auto table(char const* name, Extent... needed) {
        return place<T const>(name, access::table, std::array<index_t, sizeof...(Extent)>{needed...});
    }
    template <class T, class... Extent>
    auto written(char const* name, Extent... needed) {
        return place<T>(name, access::write, std::array<index_t, sizeof...(Extent)>{needed...});
    }

    /// Sets the elements of the view placed last to what `draw()` gives.
    template <class T, class Draw>
    void fill_last(Draw const& draw) {
        for_elements(areas_.back(), [&](std::byte* at) { write(at, static_cast<T>(draw())); });
    }

    /// The views placed as number a and b may be one and the same.
    void allow_same(int a, int b) { same_allowed_.emplace_back(a, b); }

    /// The first reason why the call must be refused; without one it must be accepted.
    void must_refuse(bool when, std::string const& reason) {
        if (when && reason_.empty()) reason_ = reason;
    }
    /// Nobody has said whether such a call is refused: either will do.
    void leave_open(bool when) { is_open_ = is_open_ || when; }
    bool is_refused() const { return !reason_.empty(); }
    /// Whether the reference can say what a call gives: every view has few enough elements to be copied, and none reads
    /// bytes that another fills with numbers of another type, which may be any number or none.
    bool is_comparable() const;

    /// The elements of a view in C order, as they are now.
    template <class T, int Rank>
    static tensor<std::remove_const_t<T>, Rank> copy(view<T, Rank> const& from) {
        tensor<std::remove_const_t<T>, Rank> to(from.extents);
        extents_t<Rank> at{};
        for (auto& x : to) {
            index_t offset = 0;
            for (std::size_t i = 0; i < Rank; ++i) offset += at[i] * from.strides[i];
            x = from.data[offset];
            for (std::size_t i = Rank; i-- > 0;) {
                if (++at[i] < from.extents[i]) break;
                at[i] = 0;
            }
        }
        return to;
    }

    /// Looks for overlaps, hides what belongs to no view, and remembers every byte: behind it nothing is placed or
    /// filled.
    void settle();

    /// Settles, calls, and returns whether the call was accepted; it was right to be, and wrote nothing that it should
    /// not have.
    template <class Call>
    bool call(Call const& f) {
        if (!is_settled_) settle();
        std::string refusal;
        try {
            f();
        } catch (std::invalid_argument const& error) {
            refusal = error.what();
            if (refusal.empty()) finding("a call was refused without a word");
        } catch (found const&) {
            throw;
        } catch (std::exception const& error) {
            finding(std::string("a call ended with another exception than its own: ") + error.what());
        }
        judge(refusal);
        return refusal.empty();
    }

    /// A written view against what it should hold; `plain` is what plain loops in float give.
    template <class T, int Rank>
    void expect(char const* name, view<T, Rank> const& got, tensor<double, Rank> const& expected,
                tensor<T, Rank> const& plain) const {
        auto const have = copy(got);
        compare(name, {expected.elements.begin(), expected.elements.end()},
                {plain.elements.begin(), plain.elements.end()}, {have.elements.begin(), have.elements.end()});
    }

    /// The same where plain loops would lose nothing.
    template <class T, int Rank>
    void expect(char const* name, view<T, Rank> const& got, tensor<double, Rank> const& expected) const {
        tensor<T, Rank> same(expected.extents);
        std::transform(expected.begin(), expected.end(), same.begin(), [](double x) { return static_cast<T>(x); });
        expect(name, got, expected, same);
    }

    /// Numbers that follow from the input.
    stream& random() { return random_; }

private:
    bytes& in_;
    stream random_;
    std::byte* block_;
    std::size_t next_ = 0;
    int spoilt_;
    bool interleaved_;
    bool is_settled_ = false, is_open_ = false;
    std::string reason_;
    std::vector<area> areas_;
    std::vector<std::pair<int, int>> same_allowed_;

    void place(layout& l);
    void spoil(layout& l);
    void fit(layout& l);
    void check_overlaps();
    void show() const;
    void judge(std::string const& refusal) const;
    static void compare(char const* name, std::vector<double> const& expected, std::vector<double> const& plain,
                        std::vector<double> const& got);

    template <class T>
    T small_number() {
        auto const eighths = static_cast<int>(random_.below(17)) - 8;
        if constexpr (std::is_integral_v<T>) return static_cast<T>(random_.below(4));
        else return static_cast<T>(static_cast<float>(eighths) / 8);
    }
    template <class T>
    static void write(std::byte* at, T const& x) {
        std::memcpy(at, &x, sizeof(T));
    }
    template <class F>
    static void for_elements(area const& a, F const& f) {
        for (auto* const at : a.elements) f(at);
    }
};

}  // namespace fuzz
