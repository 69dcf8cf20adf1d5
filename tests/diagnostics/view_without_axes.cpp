// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a view has at least one axis
#include <fovea/core/view.hpp>

using namespace fovea;

#ifdef FOVEA_BROKEN
inline index_t number_of_elements(view<float, 0> const& v) { return v.size(); }
#else
inline index_t number_of_elements(view<float, 1> const& v) { return v.size(); }
#endif
