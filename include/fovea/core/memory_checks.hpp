// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of core/memory.hpp.
#pragma once

#include <fovea/core/memory.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

namespace fovea::FOVEA_SET::detail {

/// The distance in bytes from the first address of a region to its first element, and from there to its last byte; not
/// known where either is more than can be counted.
struct memory_reach {
    index_t before = 0, after = 0;
    bool known = true;

    std::uint64_t bytes() const { return static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(after); }
};
FOVEA_CONTROL inline memory_reach reach_of(memory_region const& r) {
    index_t const element = std::max<index_t>(r.element, 1);
    memory_reach reach{0, element - 1};
    bool uncountable = false;
    for (std::size_t axis = 0; axis < r.rank; ++axis) {
        index_t side = 0;
        uncountable |= __builtin_mul_overflow(r.extents[axis] - 1, r.strides[axis], &side);
        uncountable |= __builtin_mul_overflow(side, element, &side);
        uncountable |= side < 0 ? __builtin_sub_overflow(reach.before, side, &reach.before)
                                : __builtin_add_overflow(reach.after, side, &reach.after);
    }
    reach.known = !uncountable;
    if (r.element == 0) {  // these were bits
        index_t const before = std::max<index_t>(reach.before - r.first_bit, 0);
        reach.before = before / 8 + (before % 8 != 0);
        reach.after = reach.after / 8 + (reach.after % 8 + r.first_bit) / 8;
    }
    return reach;
}

FOVEA_ONCE_DEFINED void require_sound(memory_region const& r) {
    if (r.data != 0 && r.packed != 0) return;
    for (std::size_t axis = 0; axis < r.rank; ++axis)
        if (r.extents[axis] < 0)
            raise_error(shape_error(r.name, r.owner, " has extent ", r.extents[axis], " along axis ", axis,
                                    ": it must be 0 or more"));
    if (r.empty()) return;
    index_t elements = 1;
    bool uncountable = false;
    for (std::size_t axis = 0; axis < r.rank; ++axis)
        uncountable = uncountable || __builtin_mul_overflow(elements, r.extents[axis], &elements);
    if (uncountable)
        raise_error(
            shape_error(r.name, r.owner, " is ", r.list(r.extents), ": it has more elements than can be counted"));
    auto const reach = reach_of(r);
    bool const too_far = !reach.known || reach.bytes() >= address_space
                      || (r.data != 0 && r.data < static_cast<std::uint64_t>(reach.before));
    if (too_far)
        raise_error(shape_error(r.name, r.owner, " is ", r.list(r.extents), " with strides ", r.list(r.strides),
                                ": it reaches outside the address space"));
    if (r.data == 0)
        raise_error(shape_error(r.name, r.owner, " is ", r.list(r.extents), " and its data is a null pointer"));
}

/// Whether sum_k steps[k] * x[k] == target for integers 0 <= x[k] <= most[k]: where two sets of strides meet.
///
/// Searches the greatest step first: what smaller steps can add up to leaves few values to try. What takes more than
/// 65536 tries counts as met.
class stride_sum {
public:
    [[gnu::cold]] void add(index_t step, index_t most) {
        if (step == 0 || most == 0) return;
        auto const at = std::find(steps_.begin(), steps_.begin() + count_, step);
        auto const i = static_cast<std::size_t>(at - steps_.begin());
        if (i == count_) steps_[count_++] = step;
        most_[i] += most;
    }

    [[gnu::cold]] bool reaches(index_t target) {
        sort_and_join();
        index_t sum = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            sum += steps_[i] * most_[i];
            sums_[i] = sum;
            divisors_[i] = i == 0 ? steps_[0] : divisor(divisors_[i - 1], steps_[i]);
        }
        return search(count_, target);
    }

private:
    static constexpr std::size_t most_terms = 2 * memory_region::most_axes + 1;
    std::array<index_t, most_terms> steps_{}, most_{}, sums_{}, divisors_{};
    std::size_t count_ = 0;
    int budget_ = 1 << 16;  // of tries

    static index_t divisor(index_t a, index_t b) {
        while (b != 0) a = std::exchange(b, a % b);
        return a;
    }

    /// Ascending; a step that continues where the smaller one ends becomes part of it.
    [[gnu::cold]] void sort_and_join() {
        for (std::size_t i = 1; i < count_; ++i)
            for (std::size_t j = i; j > 0 && steps_[j] < steps_[j - 1]; --j) {
                std::swap(steps_[j], steps_[j - 1]);
                std::swap(most_[j], most_[j - 1]);
            }
        std::size_t kept = 0;
        for (std::size_t i = 1; i < count_; ++i) {
            auto const ratio = steps_[i] / steps_[kept];
            if (steps_[i] % steps_[kept] == 0 && most_[kept] >= ratio - 1) most_[kept] += ratio * most_[i];
            else {
                ++kept;
                steps_[kept] = steps_[i];
                most_[kept] = most_[i];
            }
        }
        count_ = std::min(count_, kept + 1);
    }

    [[gnu::cold]] bool search(std::size_t terms, index_t target) {
        if (target == 0) return true;
        if (target < 0 || terms == 0 || target > sums_[terms - 1] || target % divisors_[terms - 1] != 0) return false;
        if (--budget_ < 0) return true;
        auto const step = steps_[terms - 1];
        auto const below = terms > 1 ? sums_[terms - 2] : 0;
        auto const last = std::min(target / step, most_[terms - 1]);
        auto const first = target > below ? ceil_div(target - below, step) : index_t{0};
        for (auto x = last; x >= first; --x) {
            if (search(terms - 1, target - x * step)) return true;
            if (budget_ < 0) return true;
        }
        return false;
    }
};

inline index_t magnitude(index_t x) { return x < 0 ? -x : x; }

FOVEA_ONCE_DEFINED bool shares_elements(memory_region const& a, memory_region const& b) {
    if (a.packed != 0 && b.packed != 0) return a.data - b.data < b.packed || b.data - a.data < a.packed;
    if (a.empty() || b.empty()) return false;
    auto const reach_a = reach_of(a), reach_b = reach_of(b);
    // From the first byte of a up, and from the last byte of b down, one address is met. A distance below zero is a
    // number beyond all sums.
    std::uint64_t const target = b.data - a.data + static_cast<std::uint64_t>(reach_b.after + reach_a.before);
    if (target > reach_a.bytes() + reach_b.bytes()) return false;
    stride_sum sum;
    auto const add = [&](memory_region const& r, memory_reach const& reach) {
        if (r.element == 0) return sum.add(1, static_cast<index_t>(reach.bytes()));  // bits: all bytes from end to end
        sum.add(1, r.element - 1);
        for (std::size_t axis = 0; axis < r.rank; ++axis)
            if (r.extents[axis] > 1) sum.add(magnitude(r.strides[axis] * r.element), r.extents[axis] - 1);
    };
    add(a, reach_a);
    add(b, reach_b);
    return sum.reaches(static_cast<index_t>(target));
}

FOVEA_ONCE_DEFINED bool repeats_elements(memory_region const& r) {
    if (r.packed != 0 || r.empty()) return false;
    struct steps {
        index_t stride = 0, most = 0;  // the greatest index
    };
    std::array<steps, memory_region::most_axes> axes{};  // ascending strides
    std::size_t count = 0;
    for (std::size_t axis = 0; axis < r.rank; ++axis) {
        if (r.extents[axis] <= 1) continue;
        steps const added{magnitude(r.strides[axis]), r.extents[axis] - 1};
        std::size_t at = count++;
        for (; at > 0 && axes[at - 1].stride > added.stride; --at) axes[at] = axes[at - 1];
        axes[at] = added;
    }
    // Of two indices that meet, the longest stride in which they differ is made up by shorter ones.
    index_t shorter = 0;
    for (std::size_t k = 0; k < count; ++k) {
        auto const [stride, most] = axes[k];
        if (stride <= shorter) {
            stride_sum sum;
            sum.add(stride, most - 1);
            for (std::size_t j = 0; j < k; ++j) sum.add(axes[j].stride, 2 * axes[j].most);
            if (stride == 0 || sum.reaches(shorter - stride)) return true;
        }
        shorter += stride * most;
    }
    return false;
}

FOVEA_ONCE_DEFINED void require_distinct_elements(memory_region const& written) {
    if (written.packed != 0 || written.empty()) return;
    for (std::size_t axis = 0; axis < written.rank; ++axis)
        if (written.extents[axis] > 1 && written.strides[axis] == 0)
            raise_error(shape_error(written.name, written.owner, " has stride 0 along axis ", axis,
                                    ": its elements would be written twice"));
    if (repeats_elements(written))
        raise_error(shape_error(written.name, written.owner, " is ", written.list(written.extents), " with strides ",
                                written.list(written.strides), ": its elements overlap and would be written twice"));
}

FOVEA_ONCE_DEFINED void require_apart(memory_region const& written, memory_region const& other) {
    if (written.twin != 0 && written.twin == other.twin && written.same_as(other)) return;
    if (shares_elements(written, other))
        raise_error(shape_error(written.name, written.owner, " overlaps ", other.name, other.owner,
                                " in memory: it would be overwritten while it is read"));
}

}  // namespace fovea::FOVEA_SET::detail
