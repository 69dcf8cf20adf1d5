// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// needs: dlpack/dlpack.h
#include <fovea/interop/dlpack.hpp>

#include <memory>

using namespace fovea;

// case: const_array_to_dlpack
// sentence: fovea: the consumer of a DLPack array may write its elements, and these are const
DLManagedTensor* handed_over(std::shared_ptr<tensor<float, 2>> const& owner) {
#ifdef FOVEA_BROKEN
    tensor<float, 2> const& elements = *owner;
#else
    tensor<float, 2>& elements = *owner;
#endif
    return to_dlpack(elements.view(), owner);
}
