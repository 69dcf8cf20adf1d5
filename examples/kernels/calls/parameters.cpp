// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/calls/parameters.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace calls {
namespace {

using fovea::testing::dice;

std::vector<float> reals(dice& random, std::int64_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& each : x) each = static_cast<float>(random.real(-1, 1));
    return x;
}

/// Four documents, of nearly the same length.
std::vector<std::int32_t> ids_of(std::int64_t keys) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(keys));
    for (std::int64_t j = 0; j < keys; ++j) ids[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(4 * j / keys);
    return ids;
}

/// The first sequence has all keys, the next three a quarter less each, and so on.
std::vector<std::int32_t> lengths_of(sizes const& n) {
    std::vector<std::int32_t> lengths;
    for (std::int64_t b = 0; b < n.batches; ++b)
        lengths.push_back(static_cast<std::int32_t>((n.keys * (4 - b % 4) + 3) / 4));
    return lengths;
}

/// Pages in any order.
std::vector<std::int32_t> pages_of(dice& random, sizes const& n) {
    std::vector<std::int32_t> pages(static_cast<std::size_t>(n.batches * n.pages()));
    std::iota(pages.begin(), pages.end(), 0);
    for (std::size_t i = pages.size(); i > 1; --i)
        std::swap(pages[i - 1], pages[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
    return pages;
}

template <class Number>
fovea_value pointer(std::vector<Number> const& x) {
    fovea_value value{};
    value.pointer = x.data();
    return value;
}
fovea_value integer(std::int64_t x) {
    fovea_value value{};
    value.integer = x;
    return value;
}
fovea_value real(double x) {
    fovea_value value{};
    value.real = x;
    return value;
}

}  // namespace

parameters::parameters(sizes const& n) {
    dice random(7);
    left = n.keys / 4;
    right = n.keys / 16;
    distances = 2 * (n.keys / 4) + 1;
    bias = -std::log(static_cast<double>(n.keys));
    for (std::int64_t h = 0; h < n.heads; ++h)
        slopes.push_back(std::exp2(-8 * static_cast<float>(h + 1) / static_cast<float>(n.heads)));
    v = reals(random, n.features);
    table = reals(random, n.heads * distances);
    a = reals(random, n.heads * n.features);
    a_target = reals(random, n.heads * n.features);
    a_source = reals(random, n.heads * n.features);
    ids = ids_of(n.keys);
    lengths = lengths_of(n);
    pages = n.pages();
    page_table = pages_of(random, n);
    offsets.push_back(0);
    for (std::int64_t i = 0; i < n.queries; ++i) {  // some nodes have no edges
        for (auto left_over = random.between(0, 2 * n.degree); left_over > 0; --left_over)
            neighbors.push_back(static_cast<std::int32_t>(random.between(0, n.keys - 1)));
        offsets.push_back(static_cast<std::int64_t>(neighbors.size()));
    }
    edges_ = {n.queries, offsets.back(), offsets.data(), neighbors.data(), nullptr};
}

fovea_value parameters::value(std::string_view name) const {
    if (name == "left") return integer(left);
    if (name == "right") return integer(right);
    if (name == "distances") return integer(distances);
    if (name == "pages") return integer(pages);
    if (name == "cap") return real(cap);
    if (name == "bias") return real(bias);
    if (name == "slopes") return pointer(slopes);
    if (name == "v") return pointer(v);
    if (name == "table") return pointer(table);
    if (name == "a") return pointer(a);
    if (name == "a_target") return pointer(a_target);
    if (name == "a_source") return pointer(a_source);
    if (name == "ids") return pointer(ids);
    if (name == "lengths") return pointer(lengths);
    if (name == "page_table") return pointer(page_table);
    if (name != "edges") throw std::invalid_argument("the calls of the example set have no argument '" +
                                                     std::string(name) + "'");
    fovea_value value{};
    value.pointer = &edges_;
    return value;
}

}  // namespace calls
