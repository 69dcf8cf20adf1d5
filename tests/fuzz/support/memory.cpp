// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/memory.hpp"

#include <fovea/testing/tolerance.hpp>

#include "support/guarded.hpp"
#include "support/sanitizer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace fuzz {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 16;
constexpr std::size_t most_elements = std::size_t{1} << 15;  // of a view whose results are compared

guarded<std::byte>& block() {
    static guarded<std::byte> all(block_size);
    return all;
}

std::vector<std::byte>& before() {
    static std::vector<std::byte> all(block_size);
    return all;
}

/// Marks what is marked again at `count - 1` further places, each a stride after the one before.
void repeat_along(std::vector<bool>& marked, index_t stride, index_t count) {
    auto const size = static_cast<index_t>(marked.size());
    std::vector<index_t> left(marked.size());  // further places of the chain that a place belongs to
    for (index_t n = 0; n < size; ++n) {
        auto const at = static_cast<std::size_t>(stride > 0 ? n : size - 1 - n);
        index_t const from = static_cast<index_t>(at) - stride;
        if (marked[at]) left[at] = count - 1;
        else if (from >= 0 && from < size && left[static_cast<std::size_t>(from)] > 0) {
            left[at] = left[static_cast<std::size_t>(from)] - 1;
            marked[at] = true;
        }
    }
}

bool is_empty(layout const& l) { return std::find(l.extents.begin(), l.extents.end(), 0) != l.extents.end(); }

}  // namespace

bool reach(layout const& l, index_t& below, index_t& above) {
    __extension__ using wide = __int128;
    constexpr wide most = std::numeric_limits<index_t>::max();
    wide low = 0, high = 0;
    for (std::size_t i = 0; i < l.extents.size(); ++i) {
        auto const side = static_cast<wide>(l.extents[i] - 1) * l.strides[i];
        if (side < -most || side > most) return false;
        (side < 0 ? low : high) += side;
    }
    auto const size = static_cast<wide>(l.element);
    if ((high - low + 1) * size > most) return false;
    below = static_cast<index_t>(-low);
    above = static_cast<index_t>(high);
    return true;
}

area placed(layout const& l) {
    area a{l.name, l.how, l.element, {}, false, l};
    index_t below = 0, above = 0;
    if (!l.unsound.empty() || is_empty(l) || !reach(l, below, above)) return a;
    auto const size = static_cast<std::size_t>(below + above + 1);
    std::vector<bool> is_element(size);
    is_element[static_cast<std::size_t>(below)] = true;
    index_t indices = 1;
    for (std::size_t i = 0; i < l.extents.size(); ++i) {
        if (l.extents[i] == 1) continue;
        a.repeats = a.repeats || l.strides[i] == 0;
        if (l.strides[i] == 0) continue;
        indices *= l.extents[i];
        repeat_along(is_element, l.strides[i], l.extents[i]);
    }
    for (std::size_t i = 0; i < size; ++i)
        if (is_element[i])
            a.elements.push_back(l.data + (static_cast<index_t>(i) - below) * static_cast<index_t>(l.element));
    a.repeats = a.repeats || indices > static_cast<index_t>(a.elements.size());
    return a;
}

memory::memory(bytes& in) : in_(in), random_(in.byte()), block_(block().data()) {
    auto const mode = in.byte();
    spoilt_ = mode % 3 == 0 ? -1 : mode % 3 == 1 ? in.below(8) : -2;  // nobody, one view, or each as it likes
    interleaved_ = mode / 3 % 4 == 1;
    fuzz::show(block_, block_size);
    std::memset(block_, 0xff, block_size);
}

memory::~memory() { fuzz::show(block_, block_size); }

bool memory::is_comparable() const {
    std::vector<std::type_info const*> types(block_size);
    for (auto const& a : areas_) {
        double all = 1;
        for (auto const n : a.described.extents) all *= static_cast<double>(n);
        if (all > static_cast<double>(most_elements)) return false;
        for (auto* const element : a.elements)
            for (auto* byte = element; byte != element + a.element; ++byte) {
                auto*& type = types[static_cast<std::size_t>(byte - block_)];
                if (type && *type != *a.described.type) {
                    count("calls not compared, whose views read numbers of one type as another");
                    return false;
                }
                type = a.described.type;
            }
    }
    return true;
}

void memory::place(layout& l) {
    auto const rank = l.extents.size();
    l.strides.assign(rank, 1);
    // The order of the axes but the last, from the inside, and room between them.
    auto const order = in_.byte();
    std::vector<std::size_t> axes;
    for (std::size_t i = rank - 1; i-- > 0;) axes.push_back(i);
    if (order % 4 == 1 && axes.size() > 1) std::swap(axes[0], axes[1]);
    index_t step = std::max<index_t>(l.extents[rank - 1], 1) + (order % 4 == 2 ? order / 64 : 0);
    for (auto const axis : axes) {
        l.strides[axis] = step;
        if (__builtin_mul_overflow(step, std::max<index_t>(l.extents[axis], 1), &step) || step > index_t{1} << 40)
            step = 0;
    }
    if (order % 4 == 3 && rank > 1) l.strides[rank - 2] = -l.strides[rank - 2];
    auto const number = static_cast<int>(areas_.size());
    index_t below = 0, above = 0;
    for (auto const n : l.extents)
        if (n > 1 << 20) std::fill(l.strides.begin(), l.strides.end() - 1, 0);  // honest and huge: one row for all
    if (interleaved_ && rank == 4) {  // rows of all views of this rank side by side
        l.strides[2] = 128;
        l.strides[1] = std::max<index_t>(l.extents[3], 1);
        l.strides[0] = 128 * std::max<index_t>(l.extents[2], 1);
    }
    fit(l);
    if (!is_empty(l) && reach(l, below, above)) {
        auto const size = static_cast<index_t>(l.element);
        if (interleaved_ && rank == 4) {
            l.data = block_ + next_;
            next_ += static_cast<std::size_t>((l.extents[1] * l.extents[3] * size + 7) / 8 * 8);
        } else {
            next_ = (next_ + l.alignment - 1) / l.alignment * l.alignment;
            l.data = block_ + next_ + static_cast<std::size_t>(below * size);
            next_ += static_cast<std::size_t>((below + above + 1) * size);
        }
        next_ %= block_size / 2;
    }
    if (spoilt_ == -2 || spoilt_ == number) spoil(l);
    fit(l);
    for (std::size_t i = 0; i < rank && l.unsound.empty(); ++i)
        if (l.extents[i] < 0) l.unsound = l.name + " has a negative extent";
    if (l.unsound.empty() && !is_empty(l)) {
        index_t elements = 1;
        bool uncountable = false;
        for (std::size_t i = 0; i < rank; ++i)
            uncountable = uncountable
                       || (!(l.how == access::table && l.strides[i] == 0)
                           && __builtin_mul_overflow(elements, l.extents[i], &elements));
        if (uncountable) l.unsound = l.name + " has more elements than can be counted";
        else if (!reach(l, below, above)) l.unsound = l.name + " reaches further than memory";
        else if (l.data == nullptr) l.unsound = l.name + " has no memory";
        else {  // into the block
            auto const size = static_cast<index_t>(l.element);
            auto const at = std::clamp<index_t>(l.data - block_, below * size,
                                                static_cast<index_t>(block_size) - (above + 1) * size);
            l.data = block_
                   + (at - below * size) / static_cast<index_t>(l.alignment) * static_cast<index_t>(l.alignment)
                   + below * size;
        }
    }
    must_refuse(!l.unsound.empty(), l.unsound);
    areas_.push_back(placed(l));
}

/// Changes one thing of a view, or two.
void memory::spoil(layout& l) {
    auto const rank = static_cast<int>(l.extents.size());
    auto const axis = [&](int count) { return static_cast<std::size_t>(in_.below(count)); };
    switch (auto const what = in_.byte(); what % 16) {
        case 0:
            break;
        case 1:
            ++l.extents[axis(rank)];
            break;
        case 2:
            --l.extents[axis(rank)];
            break;
        case 3:
            l.extents[axis(rank)] = 0;
            break;
        case 4:
            l.extents[axis(rank)] = in_.integer();
            break;
        case 5:
            l.extents[axis(rank)] = 1;
            break;
        case 6:
            if (rank > 1) l.strides[axis(rank - 1)] = 0;
            break;
        case 7:
            if (rank > 1) l.strides[axis(rank - 1)] = in_.between(-8, 24);
            break;
        case 8:
            if (rank > 1) l.strides[axis(rank - 1)] = in_.integer();
            break;
        case 9:
            l.data = nullptr;
            break;
        case 10:
            l.data = block_ + static_cast<std::ptrdiff_t>(in_.byte()) * 4;
            break;
        case 11:
            l.data = areas_.empty() ? nullptr : areas_[axis(static_cast<int>(areas_.size()))].described.data;
            break;
        case 12:
            if (!areas_.empty()) {  // the very same as another one
                auto const& other = areas_[axis(static_cast<int>(areas_.size()))].described;
                l.data = other.data;
                if (other.extents.size() == l.extents.size()) l.strides = other.strides;
            }
            break;
        case 13:
            if (l.data != nullptr) l.data += (in_.between(-16, 16)) * static_cast<index_t>(l.alignment);
            break;
        default:
            if (in_.done()) return;
            spoil(l);
            spoil(l);
    }
    l.strides[l.strides.size() - 1] = 1;
}

/// Shortens what is sound but larger than the block, since nobody can know that there is no such memory.
void memory::fit(layout& l) {
    for (auto const n : l.extents)
        if (n <= 0) return;
    index_t below = 0, above = 0;
    while (reach(l, below, above) && static_cast<std::size_t>(below + above + 1) * l.element > block_size / 2) {
        std::size_t widest = 0;
        index_t most = -1;
        for (std::size_t i = 0; i < l.extents.size(); ++i)
            if (auto const side = std::abs((l.extents[i] - 1) * l.strides[i]); side > most) most = side, widest = i;
        if (widest + 1 < l.extents.size() && l.extents[widest] > 64) l.strides[widest] = 0;
        else if (widest + 1 < l.extents.size()) l.strides[widest] /= 2;
        else l.extents[widest] = static_cast<index_t>(block_size / 4 / l.element);
    }
}

void memory::check_overlaps() {
    std::vector<int> owner(block_size, -1);
    auto const name = [&](int i) { return areas_[static_cast<std::size_t>(i)].name; };
    auto const is_allowed = [&](int a, int b) {
        auto const &x = areas_[static_cast<std::size_t>(a)].described,
                   &y = areas_[static_cast<std::size_t>(b)].described;
        auto const is_pair = [=](auto const& p) { return p == std::pair(a, b) || p == std::pair(b, a); };
        return std::any_of(same_allowed_.begin(), same_allowed_.end(), is_pair) && x.data == y.data
            && x.extents == y.extents && x.strides == y.strides;
    };
    for (bool const written : {true, false})
        for (int i = 0; i < static_cast<int>(areas_.size()); ++i) {
            auto const& a = areas_[static_cast<std::size_t>(i)];
            if ((a.how == access::write) != written) continue;
            must_refuse(written && a.repeats && !a.elements.empty(), name(i) + " overlaps itself");
            for (auto* const element : a.elements)
                for (std::size_t k = 0; k < a.element; ++k) {
                    auto& mine = owner[static_cast<std::size_t>(element - block_) + k];
                    if (mine >= 0 && (mine != i || written) && !is_allowed(mine, i))
                        must_refuse(true,
                                    mine == i ? name(i) + " overlaps itself" : name(mine) + " overlaps " + name(i));
                    if (written) mine = i;
                }
        }
}

void memory::settle() {
    is_settled_ = true;
    check_overlaps();
    if (shows) show();
    hide(block_, block_size);
    for (auto const& a : areas_) {
        if (a.elements.empty()) continue;
        auto const [first, last] = std::minmax_element(a.elements.begin(), a.elements.end());
        fuzz::show(*first, static_cast<std::size_t>(*last - *first) + a.element);
    }
    auto& all = before();
    for (std::size_t i = 0; i < block_size; ++i) all[i] = std::byte{0xff};
    for (auto const& a : areas_)
        for (auto* const element : a.elements) std::memcpy(all.data() + (element - block_), element, a.element);
}

void memory::show() const {
    for (auto const& a : areas_) {
        std::string text = a.name + ":";
        for (auto const n : a.described.extents) text += " " + std::to_string(n);
        text += ", strides";
        for (auto const n : a.described.strides) text += " " + std::to_string(n);
        text += a.described.data ? ", at " + std::to_string(a.described.data - block_) : ", null";
        std::fprintf(stderr, "%s\n", text.c_str());
    }
    std::fprintf(stderr, "%s\n", reason_.empty() ? "must be accepted" : ("must be refused: " + reason_).c_str());
}

void memory::judge(std::string const& refusal) const {
    fuzz::show(block_, block_size);
    std::vector<bool> may_differ(block_size);
    if (refusal.empty())
        for (auto const& a : areas_)
            if (a.how == access::write)
                for (auto* const element : a.elements)
                    for (std::size_t k = 0; k < a.element; ++k)
                        may_differ[static_cast<std::size_t>(element - block_) + k] = true;
    auto const& was = before();
    for (std::size_t i = 0; i < block_size; ++i)
        if (block_[i] != was[i] && !may_differ[i])
            finding(refusal.empty() ? is_refused() ? "accepted, and wrote beside its views, although " + reason_
                                                   : "a call wrote beside its views, at byte " + std::to_string(i)
                                    : "a call was refused after it had written: " + refusal);
    if (refusal.empty() && is_refused()) finding("accepted although " + reason_);
    if (!refusal.empty() && !is_refused() && !is_open_) finding("refused although nothing is wrong: " + refusal);
    count(refusal.empty() ? "calls accepted" : "calls refused");
}

void memory::compare(char const* name, std::vector<double> const& expected, std::vector<double> const& plain,
                     std::vector<double> const& got) {
    // The tolerance of the tests, with the distance that plain loops in float have.
    double distance = 0, size = 1;
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (std::isfinite(expected[i]) && std::isfinite(plain[i])) {
            size = std::max(size, std::abs(expected[i]));
            distance = std::max(distance, std::abs(plain[i] - expected[i]));
        }
    fovea::testing::tolerance const allowed{std::max(8 * distance, 1e-6 * size), 1e-5};
    for (std::size_t i = 0; i < expected.size(); ++i)
        // Numbers that float cannot hold are infinite in both.
        if (!allowed.allows(expected[i], got[i]) && !(std::isinf(plain[i]) && got[i] == plain[i]))
            finding(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(got[i])
                    + ", the reference has " + std::to_string(expected[i]));
    count("results compared");
}

}  // namespace fuzz
