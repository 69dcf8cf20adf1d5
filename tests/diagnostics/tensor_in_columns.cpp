// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a view needs row-major storage: store it by rows, or pass m.transpose() where the transpose of a
// matrix is meant
#include <fovea/score/bias.hpp>

using namespace fovea;

/// As a tensor of Eigen, which is stored by columns unless it says otherwise.
template <int Order>
struct tensor_of_three {
    static constexpr int NumIndices = 3, Layout = Order;
    float const* data() const { return nullptr; }
    index_t dimension(std::size_t) const { return 0; }
};

#ifdef FOVEA_BROKEN
auto score_of(tensor_of_three<0> const& table) { return bias(table); }
#else
auto score_of(tensor_of_three<1> const& table) { return bias(table); }
#endif
