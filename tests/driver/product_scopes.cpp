// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scope of a product stands in every task that multiplies, once, in whatever thread.
#include <fovea/driver/product_scopes.hpp>
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>

using namespace fovea;
using emulated = arch::emulated<64, 32>;

namespace {

std::atomic<int> entered{0}, left{0};
thread_local int open_here = 0;

/// Like the configuration of a matrix unit: of the thread, entered and left.
struct counted_scope {
    counted_scope() { ++entered, ++open_here; }
    ~counted_scope() { ++left, --open_here; }
};
struct configured_product : kernel::number_product<float, emulated> {
    using scope = counted_scope;
};
struct other_scope : counted_scope {};
struct other_product : kernel::number_product<float, emulated> {
    using scope = other_scope;
};

}  // namespace

TEST_CASE("the scopes of products are entered and left once for each task", "[driver]") {
    for (index_t workers : {1, 3}) {
        entered = left = 0;
        threads const pool(workers);
        std::atomic<int> open{0};
        auto const count = [&](index_t, index_t) { open += open_here; };
        driver::in_scopes<configured_product, configured_product>(pool).run(17, count);
        CHECK((entered == 17 && left == 17 && open == 17));  // the same scope for both products
        driver::in_scopes<configured_product, other_product, kernel::number_product<float, emulated>>(pool).run(5,
                                                                                                                count);
        CHECK((entered == 27 && left == 27 && open == 27));
        CHECK(driver::in_scopes<configured_product>(pool).workers() == workers);
    }
    CHECK(open_here == 0);
}

TEST_CASE("a scope is left when a task throws", "[driver]") {
    entered = left = 0;
    CHECK_THROWS_AS(driver::in_scopes<configured_product>(threads(2))
                        .run(3, [](index_t, index_t) { throw std::runtime_error("no"); }),
                    std::runtime_error);
    CHECK((entered > 0 && entered == left));
}

TEST_CASE("products that need nothing leave the executor as it is", "[driver]") {
    auto const& same = driver::in_scopes<kernel::number_product<float, emulated>>(serial);
    CHECK(&same == &serial);
}

TEST_CASE("the emulated unit multiplies in one scope of its thread alone", "[driver]") {
    using pairs = kernel::bf16_pairs<emulated>;
    auto const two = pairs::rounded(kernel::pack<float, emulated>(2.0f), kernel::pack<float, emulated>(2.0f));
    auto const zero = kernel::pack<float, emulated>(0.0f);
    auto const product = [&] { return pairs::add_products(two, two, zero).value.lane[3]; };
    CHECK(std::isnan(product()));
    pairs::scope const one;
    CHECK(product() == 8.0f);
    float elsewhere = 0;
    std::thread([&] { elsewhere = product(); }).join();
    CHECK(std::isnan(elsewhere));
    pairs::scope const twice;
    CHECK(std::isnan(product()));
}
