// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays of other frameworks through DLPack. Not part of <fovea/fovea.hpp>: it includes <dlpack/dlpack.h>.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/config.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/core/errors.hpp>
#include <fovea/core/half.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/core/view.hpp>

#include <dlpack/dlpack.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
/// The elements of a view as DLPack names them. Truth values have a code of their own, 6, from its version 0.8 on.
template <class T>
constexpr DLDataType dlpack_type() {
    constexpr auto bits = static_cast<std::uint8_t>(8 * sizeof(T));
    if constexpr (std::is_same_v<T, bool>) return {6, bits, 1};
    else if constexpr (std::is_same_v<T, bfloat16>) return {kDLBfloat, bits, 1};
    else if constexpr (std::is_same_v<T, float16> || std::is_floating_point_v<T>) return {kDLFloat, bits, 1};
    else if constexpr (std::is_signed_v<T>) return {kDLInt, bits, 1};
    else return {kDLUInt, bits, 1};
}

/// "float32", "int8 x 4"; a code that has no name here is a number.
inline std::string text_of(DLDataType const& type) {
    auto const name = [&]() -> std::string {
        switch (type.code) {
            case kDLInt:
                return "int";
            case kDLUInt:
                return "uint";
            case kDLFloat:
                return "float";
            case kDLBfloat:
                return "bfloat";
            case kDLComplex:
                return "complex";
            case 6:
                return "bool";
            default:
                return "code " + std::to_string(type.code) + " of ";
        }
    }();
    return name + std::to_string(type.bits) + (type.lanes == 1 ? "" : " x " + std::to_string(type.lanes));
}

/// Everything about an array that only it knows. Errors: shape_error where it cannot be a view of such elements.
inline void check_dlpack(DLTensor const& array, DLDataType const& type, index_t alignment, int rank) {
    auto const device = static_cast<int>(array.device.device_type);
    if (device != kDLCPU && device != kDLCUDAHost && device != kDLROCMHost)
        raise_error(shape_error("dlpack: the array is on a device of type ", device,
                                ", a view is of the memory of the host: type 1, or 3 and 11, which are pinned"));
    if (array.ndim != rank)
        raise_error(shape_error("dlpack: the array has ", counted(array.ndim, "axis"), ", the view has ", rank));
    if (array.dtype.code != type.code || array.dtype.bits != type.bits || array.dtype.lanes != type.lanes)
        raise_error(
            shape_error("dlpack: the elements are ", text_of(array.dtype), ", those of the view are ", text_of(type)));
    if (array.shape == nullptr)
        raise_error(shape_error("dlpack: the array has no extents, its shape is a null pointer"));
    bool empty = false;
    for (int axis = 0; axis < rank; ++axis) {
        if (array.shape[axis] < 0)
            raise_error(shape_error("dlpack: the array has extent ", array.shape[axis], " along axis ", axis,
                                    ": it must be 0 or more"));
        empty = empty || array.shape[axis] == 0;
    }
    if (empty) return;
    if (array.data == nullptr)
        raise_error(shape_error("dlpack: the array has elements and its data is a null pointer"));
    auto const past =
        (reinterpret_cast<std::uintptr_t>(array.data) + array.byte_offset) % static_cast<std::uintptr_t>(alignment);
    if (past != 0)
        raise_error(shape_error("dlpack: the first element is misaligned: its address is ", counted(past, "byte"),
                                " past a multiple of ", alignment, ", which its type needs"));
}
}  // namespace detail

/// from_dlpack: the view of an array that another framework describes, without a copy.
///
///     from_dlpack<float const, 4>(array)       DLTensor const& array: managed->dl_tensor, or what a function is given
///
/// Strides may be missing: then the array is dense. Elements are those of the type or none: float and double, float16,
/// bfloat16, integers, bool (code 6). The array must outlive the view. Errors: shape_error for another device than the
/// host, another rank or type, several lanes, an address that is not aligned, a last axis that is not contiguous.
/// Source: DLPack 0.6, dlpack.h.
template <class T, int Rank>
view<T, Rank> from_dlpack(DLTensor const& array) {
    using element = std::remove_const_t<T>;
    detail::check_dlpack(array, detail::dlpack_type<element>(), index_t{alignof(element)}, Rank);
    extents_t<Rank> extents{}, strides{};
    for (int axis = 0; axis < Rank; ++axis) {
        auto const i = static_cast<std::size_t>(axis);
        extents[i] = array.shape[axis];
        if (array.strides) strides[i] = array.strides[axis];
    }
    auto* const data = static_cast<char*>(array.data);
    auto* const first = reinterpret_cast<T*>(data == nullptr ? data : data + array.byte_offset);
    return array.strides ? view<T, Rank>(first, extents, strides) : view<T, Rank>(first, extents);
}

/// dlpack_array: owns what another framework hands over, and calls its deleter in the end; a container like tensor.
///
/// Errors: those of from_dlpack; who hands over then still owns the array.
template <class T, int Rank>
class dlpack_array {
public:
    explicit dlpack_array(DLManagedTensor* array) {
        if (array == nullptr) raise_error(shape_error("dlpack: the array is a null pointer"));
        elements_ = from_dlpack<T, Rank>(array->dl_tensor);
        array_.reset(array);
    }

    fovea::view<T, Rank> view() { return elements_; }
    fovea::view<T const, Rank> view() const { return elements_; }

private:
    struct release {
        void operator()(DLManagedTensor* array) const {
            if (array->deleter) array->deleter(array);
        }
    };
    std::unique_ptr<DLManagedTensor, release> array_;
    fovea::view<T, Rank> elements_;
};

/// to_dlpack: an array for another framework, which ends it by its deleter.
///
///     to_dlpack(std::move(tensor))             the elements move into the array
///     to_dlpack(view, owner)                   those of a view; the array keeps the std::shared_ptr
///
/// Cost: one allocation; elements are not copied. They may be written: DLPack 0.6 does not know constants.
template <class T, int Rank>
DLManagedTensor* to_dlpack(view<T, Rank> const& elements, std::shared_ptr<void> owner) {
    static_assert(!std::is_const_v<T>,
                  "fovea: the consumer of a DLPack array may write its elements, and these are const");
    struct managed {
        DLManagedTensor array{};
        std::shared_ptr<void> owner;
        c_array<std::int64_t, Rank> shape, strides;
    };
    auto made = std::make_unique<managed>();
    made->owner = std::move(owner);
    for (int axis = 0; axis < Rank; ++axis) {
        made->shape[axis] = elements.extent(axis);
        made->strides[axis] = elements.stride(axis);
    }
    auto& array = made->array.dl_tensor;
    array.data = const_cast<std::remove_const_t<T>*>(elements.data);
    array.device = {kDLCPU, 0};
    array.ndim = Rank;
    array.dtype = detail::dlpack_type<std::remove_const_t<T>>();
    array.shape = made->shape;
    array.strides = made->strides;
    made->array.manager_ctx = made.get();
    made->array.deleter = [](DLManagedTensor* self) { delete static_cast<managed*>(self->manager_ctx); };
    return &made.release()->array;
}
template <class T, int Rank>
DLManagedTensor* to_dlpack(tensor<T, Rank>&& elements) {
    auto owner = std::make_shared<tensor<T, Rank>>(std::move(elements));
    auto const all = owner->view();
    return to_dlpack(all, std::move(owner));
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
