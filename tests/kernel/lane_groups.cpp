// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Groups of lanes: their sums, their repetition, their exchange, and rows of scores that lie one in each lane.
#include <fovea/kernel/lane_groups.hpp>
#include <fovea/kernel/row.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <vector>

using namespace fovea;

namespace {

template <index_t Group, class T, class Arch>
void check_sums() {
    using pack = kernel::pack<T, Arch>;
    if constexpr (Group <= pack::lanes) {
        testing::dice random(3);
        std::vector<T> elements(static_cast<std::size_t>(Group * pack::lanes));
        for (T& x : elements) x = static_cast<T>(random.between(-9, 9));
        pack parts[static_cast<std::size_t>(Group)];
        for (index_t i = 0; i < Group; ++i) parts[i] = pack::load(elements.data() + i * pack::lanes);
        auto const sums = kernel::lanes_of<T, Arch>::to_array(kernel::lane_groups_of<T, Arch>::sums(parts));
        for (index_t i = 0; i < pack::lanes; ++i) {
            T expected = 0;
            for (index_t j = 0; j < Group; ++j) expected += elements[static_cast<std::size_t>(i * Group + j)];
            CHECK(sums[static_cast<std::size_t>(i)] == expected);
        }
    }
}

template <class T, class Arch>
void check_exchange() {
    using pack = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    using groups = kernel::lane_groups_of<T, Arch>;
    using integers = kernel::index_pack<T, Arch>;
    auto const counted = pack::iota();
    for (index_t n = 0; n < pack::lanes; ++n) {
        auto const rotated = lanes::to_array(groups::rotated(counted, n));
        for (index_t i = 0; i < pack::lanes; ++i)
            CHECK(rotated[static_cast<std::size_t>(i)] == static_cast<T>((i + n) % pack::lanes));
    }
    typename integers::array_type from;
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<typename integers::integer>((5 * i + 3) % from.size());
    auto const permuted = lanes::to_array(groups::permuted(counted, integers::load(from.data())));
    for (std::size_t i = 0; i < from.size(); ++i) CHECK(permuted[i] == static_cast<T>(from[i]));
    for (index_t n = 1; n <= 2 * pack::lanes; n *= 2) {
        guarded<T> elements(n), to(n);
        for (index_t i = 0; i < n; ++i) elements[i] = static_cast<T>(i + 1), to[i] = static_cast<T>(-i);
        auto const repeated = lanes::to_array(groups::repeated(elements.data(), n));
        for (index_t i = 0; i < pack::lanes; ++i) CHECK(repeated[static_cast<std::size_t>(i)] == elements[i % n]);
        auto const gathered =
            lanes::to_array(groups::gathered([&](index_t i) { return (i % 2 == 0 ? elements : to).data(); }, n));
        for (index_t i = 0; i < pack::lanes; ++i)
            CHECK(gathered[static_cast<std::size_t>(i)] == (i / n % 2 == 0 ? elements : to)[i % n]);
    }
    for (int shift = 0; shift < 6; ++shift) {
        auto const shifted = kernel::lanes_shifted<T, Arch>(shift).array(),
                   masked = kernel::lanes_masked<T, Arch>(shift).array();
        for (std::size_t i = 0; i < shifted.size(); ++i) {
            CHECK(static_cast<std::size_t>(shifted[i]) == i >> shift);
            CHECK(static_cast<std::size_t>(masked[i]) == i % (std::size_t{1} << shift));
        }
    }
}

/// Rows in lanes give what each row gives alone.
template <class T, class Arch>
void check_rows(index_t period, index_t packs) {
    using pack = kernel::pack<T, Arch>;
    using lanes = kernel::lanes_of<T, Arch>;
    testing::dice random(static_cast<unsigned>(packs));
    guarded<T> scores(packs * pack::lanes);
    for (T& s : scores) s = random.chance(0.2) ? excluded<T> : static_cast<T>(random.real(-4, 4));
    std::vector<T> const before(scores.begin(), scores.end());
    softmax_t::state<pack> together;
    softmax.fold(together, kernel::lane_rows<T, Arch, softmax_t>{scores.data(), packs, pack::lanes, period});
    auto const factors = lanes::to_array(softmax.finish(together)),
               log_sums = lanes::to_array(softmax.log_sum(together));
    for (index_t r = 0; r < period; ++r) {
        std::vector<T> row;
        for (std::size_t i = static_cast<std::size_t>(r); i < before.size(); i += static_cast<std::size_t>(period))
            row.push_back(before[i]);
        auto const size = row.size();
        row.resize(static_cast<std::size_t>(round_up(static_cast<index_t>(size), pack::lanes)), excluded<T>);
        softmax_t::state<T> alone;
        softmax.fold(
            alone, kernel::packed_row<T, Arch, softmax_t>{row.data(), static_cast<index_t>(row.size()) / pack::lanes});
        for (index_t l = r; l < pack::lanes; l += period) {
            auto const lane = static_cast<std::size_t>(l);
            if (alone.sum == 0) CHECK(log_sums[lane] == excluded<T>);
            else CHECK(log_sums[lane] == Approx(softmax.log_sum(alone)).margin(1e-5));
            CHECK(factors[lane] == Approx(softmax.finish(alone)).epsilon(1e-5));
            CHECK(factors[lane] == factors[static_cast<std::size_t>(r)]);
        }
        for (std::size_t i = 0; i < size; ++i)
            CHECK(scores[r + static_cast<index_t>(i) * period] == Approx(row[i]).epsilon(1e-5));
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("sums of groups of lanes", "[kernel]", lane_widths) {
    check_sums<1, float, TestType>();
    check_sums<2, float, TestType>();
    check_sums<4, float, TestType>();
    check_sums<8, float, TestType>();
    check_sums<16, float, TestType>();
    check_sums<1, double, TestType>();
    check_sums<2, double, TestType>();
    check_sums<4, double, TestType>();
    check_sums<8, double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("lanes change places", "[kernel]", lane_widths) {
    check_exchange<float, TestType>();
    check_exchange<double, TestType>();
}

TEMPLATE_LIST_TEST_CASE("rows of scores in lanes", "[kernel]", lane_widths) {
    for (index_t packs : {0, 1, 2, 5})
        for (index_t period = 1; period <= kernel::pack<float, TestType>::lanes; period *= 2)
            check_rows<float, TestType>(period, packs);
    check_rows<double, TestType>(2, 3);
}
