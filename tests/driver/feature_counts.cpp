// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: alone each_set change
// Every number of features from 0 to 130 in every type of storage: however many rows there are, wherever rows lie, and
// beside memory that may not be read.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Memory that nobody has written holds NaN, in numbers of any type.
struct dirty_memory {
#if defined(__GLIBC__)
    dirty_memory() { mallopt(M_PERTURB, 0x100); }
    ~dirty_memory() { mallopt(M_PERTURB, 0); }
#endif
};

enum class layout { rows, strided, pages };
constexpr index_t slots = 8;  // of a page

struct sizes {
    index_t heads, key_heads, queries, keys, features;
};

/// Keys, or values, or queries, of any layout in memory with a wall: (head, position, feature).
template <class Element>
struct operand {
    extents_t<4> extents;
    index_t gap;  // between rows
    std::unique_ptr<guarded<Element>> memory;
    tensor<std::int32_t, 2> table;
    view<Element const, 4> rows;   // one after another
    view<Element const, 4> pages;  // (page, head, slot, feature)

    operand(tensor<float, 4> const& from, layout where, typename guarded<Element>::wall wall)
        : extents(from.extents), gap(where == layout::strided ? 3 : 0) {
        index_t const heads = extents[1], n = extents[2], d = extents[3], row = d + gap;
        if (where == layout::pages) {
            index_t const count = (n + slots - 1) / slots;
            table = tensor<std::int32_t, 2>({1, count});
            memory = std::make_unique<guarded<Element>>(count * heads * slots * d, Element{}, wall);
            pages = {memory->data(), {count, heads, slots, d}};
            for (index_t p = 0; p < count; ++p)
                table(0, p) = static_cast<std::int32_t>(count - 1 - p);  // the other way round
        } else {
            // A stride behind the last row is no room that a view has.
            memory =
                std::make_unique<guarded<Element>>(heads * n * row - (heads * n > 0 ? gap : 0), Element(100.0f), wall);
            rows = {memory->data(), extents, {heads * n * row, n * row, row, 1}};
        }
        for (index_t h = 0; h < heads; ++h)
            for (index_t i = 0; i < n; ++i)
                for (index_t c = 0; c < d; ++c)
                    const_cast<Element&>(place(where, h, i, c)) = static_cast<Element>(from(0, h, i, c));
    }

    Element const& place(layout where, index_t h, index_t i, index_t c) const {
        return where == layout::pages ? pages(table(0, i / slots), h, i % slots, c) : rows(0, h, i, c);
    }
};

/// Numbers that an element holds.
template <class Element>
tensor<float, 4> stored(testing::dice& random, extents_t<4> const& extents, double size) {
    auto x = testing::random_tensor<float>(random, extents, size);
    for (float& e : x) e = static_cast<float>(static_cast<Element>(e));
    return x;
}

/// All layouts of one call against the definition. Room for a result in bfloat16, and weights that are rounded to it.
template <class Arch, class Element, class Out>
void check(auto const& spec, sizes const& n, testing::dice& random) {
    double const size = std::is_same_v<Element, std::int8_t> ? 3 : 1;
    auto const q = stored<Element>(random, {1, n.heads, n.queries, n.features}, size);
    auto const k = stored<Element>(random, {1, n.key_heads, n.keys, n.features}, size);
    auto const v = stored<Element>(random, {1, n.key_heads, n.keys, n.features}, size);
    tensor<float, 4> expected({1, n.heads, n.queries, n.features});
    reference::attend(spec, q, k, v, expected);
    float const unit = std::is_same_v<Out, bfloat16> ? 0x1p-7f : 1e-5f;
    for (auto where : {layout::rows, layout::strided, layout::pages})
        for (auto wall : {guarded<Element>::wall::behind, guarded<Element>::wall::before}) {
            auto const rows = where == layout::pages ? layout::rows : where;
            operand<Element> const query(q, rows, wall), key(k, where, wall), value(v, where, wall);
            guarded<Out> memory(
                n.heads * n.queries * n.features, Out(7.0f),
                wall == guarded<Element>::wall::behind ? guarded<Out>::wall::behind : guarded<Out>::wall::before);
            view<Out, 4> const result(memory.data(), expected.extents);
            workspace scratch;
            if (where == layout::pages)
                attend_on<Arch>(serial, scratch, spec, query.rows, paged(key.pages, key.table),
                                paged(value.pages, value.table), result);
            else attend_on<Arch>(serial, scratch, spec, query.rows, key.rows, value.rows, result);
            float worst = 0;
            for (index_t i = 0; i < memory.size(); ++i) {
                float const x = expected.elements[static_cast<std::size_t>(i)];
                float const off =
                    std::abs(static_cast<float>(memory[i]) - x) / (unit * static_cast<float>(size + std::abs(x)));
                worst = off <= worst ? worst : off;  // a NaN is the worst
            }
            CAPTURE(n.heads, n.key_heads, n.queries, n.keys, n.features, static_cast<int>(where),
                    wall == guarded<Element>::wall::behind);
            CHECK(worst <= 1);
        }
}

/// One row, few that meet keys in place, few of several heads, those of one tile, and more than one.
template <class Element, class Out, class Arch = arch::best>
void check_all() {
    constexpr auto spec = scaled_dot | softmax | weighted_sum;
    dirty_memory const dirty;
    testing::dice random(31);
    for (index_t d = 0; d <= 130; ++d) {
        for (sizes const& n : {sizes{1, 1, 1, 24, d}, {4, 2, 2, 40, d}, {1, 1, 12, 16, d}, {2, 1, 20, 40, d}})
            check<Arch, Element, Out>(spec, n, random);
        if (d % 8 >= 6) check<Arch, Element, Out>(spec, {1, 1, 1, 1600, d}, random);  // keys in parts
    }
}

}  // namespace

TEST_CASE("any number of features in bfloat16", "[driver]") { check_all<bfloat16, float>(); }
TEST_CASE("any number of features in bfloat16, results too", "[driver]") { check_all<bfloat16, bfloat16>(); }
TEST_CASE("any number of features in float16", "[driver]") { check_all<float16, float>(); }
TEST_CASE("any number of features in int8", "[driver]") { check_all<std::int8_t, float>(); }
TEST_CASE("any number of features in float", "[driver]") { check_all<float, float>(); }
#if defined(FOVEA_TEST_EMULATED)
TEST_CASE("any number of features, in words where no instruction has them", "[driver]") {
    check_all<bfloat16, bfloat16, arch::emulated<64, 32>>();
}
#endif
