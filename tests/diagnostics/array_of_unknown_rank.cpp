// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the type of this array does not say how many axes it has: write as_view<Rank>(array)
#include <fovea/score/bias.hpp>

#include <vector>

using namespace fovea;

/// As xt::xarray: its shape is a vector.
struct array {
    using temporary_type = array;
    std::vector<float> elements;
    std::vector<std::size_t> extents, steps;
    float const* data() const { return elements.data(); }
    std::size_t data_offset() const { return 0; }
    std::vector<std::size_t> const& shape() const { return extents; }
    std::vector<std::size_t> const& strides() const { return steps; }
};

#ifdef FOVEA_BROKEN
auto score_of(array const& table) { return bias(table); }
#else
auto score_of(array const& table) { return bias(as_view<2>(table)); }
#endif
