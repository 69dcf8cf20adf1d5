// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work in steps between vectors of weights: how many steps there are, and that weights do not change by it.
#include <fovea/kernel/lane_rows.hpp>
#include <fovea/kernel/work_steps.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <utility>
#include <vector>

using namespace fovea;

namespace {

struct counted_steps : kernel::work_steps {
    int count = 0;
    counted_steps() : work_steps{[](work_steps& self) { ++static_cast<counted_steps&>(self).count; }} {}
};

template <class T, class Arch>
void check_weights() {
    using vector = kernel::pack<T, Arch>;
    for (index_t const packs : {0, 1, 3, 63, 64, 65, 127, 128, 129, 300}) {
        CAPTURE(packs, vector::lanes);
        testing::dice random(static_cast<unsigned>(packs));
        std::vector<T> alone(static_cast<std::size_t>(packs * vector::lanes) + 1);
        for (T& x : alone) x = static_cast<T>(random.real(-3, 3));
        auto beside = alone;
        counted_steps steps;
        auto const power = [](auto const& s) { return exp(s); };
        auto const fold = [&](auto const& row) { return row.map_and_sum(power); };
        auto const sum = fold(kernel::lane_rows<T, Arch, softmax_t>{alone.data(), packs, vector::lanes, vector::lanes});
        auto const same = fold(kernel::lane_rows<T, Arch, softmax_t, kernel::work_steps>{
            beside.data(), packs, vector::lanes, vector::lanes, nullptr, &steps});
        CHECK(alone == beside);
        CHECK(kernel::lanes_of<T, Arch>::to_array(sum) == kernel::lanes_of<T, Arch>::to_array(same));
        // Sums are taken of 128 packs; what is left of four has no step of its own.
        index_t expected = packs / 128 * 2 + (packs % 128 / 4 * 4 + 63) / 64;
        CHECK(steps.count == expected);
        kernel::lane_rows<T, Arch, softmax_t, kernel::work_steps>{beside.data(), packs,   vector::lanes,
                                                                  vector::lanes, nullptr, &steps}
            .map(power);
        expected += (packs + 63) / 64;
        CHECK(steps.count == expected);
    }
}

}  // namespace

TEST_CASE("weights are the same beside steps of other work, one for each 64 packs", "[kernel]") {
    check_weights<float, arch::best>();
    check_weights<double, arch::best>();
}

TEST_CASE("pieces between steps cover all packs once and in order", "[kernel]") {
    for (index_t const count : {0, 1, 64, 65, 200}) {
        std::vector<std::pair<index_t, index_t>> pieces;
        auto const note = [&](index_t first, index_t last) { pieces.emplace_back(first, last); };
        counted_steps steps;
        kernel::between_steps(&steps, count, note);
        index_t next = 0;
        for (auto const& [first, last] : pieces) {
            CHECK((first == next && first < last && last - first <= kernel::packs_per_step));
            next = last;
        }
        CHECK(next == count);
        CHECK(steps.count == static_cast<int>(pieces.size()));
        pieces.clear();
        kernel::between_steps(static_cast<kernel::work_steps*>(nullptr), count, note);
        CHECK(pieces == std::vector<std::pair<index_t, index_t>>{{0, count}});
    }
}
