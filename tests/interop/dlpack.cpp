// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays that come and go through DLPack.
#include <fovea/interop/dlpack.hpp>

#include "interop/places.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

using namespace fovea;

namespace {

/// Floats of another framework, which counts what it still owns.
struct foreign {
    static inline int alive = 0;
    std::vector<float> elements;
    std::vector<std::int64_t> shape, strides;
    DLManagedTensor array{};

    explicit foreign(std::vector<std::int64_t> extents) : shape(std::move(extents)) {
        ++alive;
        std::int64_t count = 1;
        for (auto n : shape) count *= n;
        elements.resize(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
        array.dl_tensor = {
            elements.data(), {kDLCPU, 0}, static_cast<int>(shape.size()), {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
        array.manager_ctx = this;
        array.deleter = [](DLManagedTensor* self) { delete static_cast<foreign*>(self->manager_ctx); };
    }
    foreign(foreign const&) = delete;
    ~foreign() { --alive; }
};

/// The same array in another state: change(array) before it is viewed.
template <class T, int Rank = 2, class Change>
view<T, Rank> viewed(foreign& from, Change const& change) {
    DLTensor array = from.array.dl_tensor;
    change(array);
    return from_dlpack<T, Rank>(array);
}

template <class T>
void check_type(DLDataType const& type) {
    tensor<T, 2> elements({2, 3});
    elements(1, 2) = T(1);
    dlpack_array<T, 2> const back(to_dlpack(std::move(elements)));
    CHECK(back.view()(1, 2) == T(1));
    auto* const out = to_dlpack(tensor<T, 1>({2}));
    CHECK(out->dl_tensor.dtype.code == type.code);
    CHECK(out->dl_tensor.dtype.bits == type.bits);
    CHECK(out->dl_tensor.dtype.lanes == 1);
    out->deleter(out);
}

}  // namespace

TEST_CASE("arrays of other frameworks are taken everywhere", "[interop]") {
    places::check_all_places(
        [](int rows, int columns) { return dlpack_array<float, 2>(&(new foreign({rows, columns}))->array); },
        [](int size) { return dlpack_array<float, 1>(&(new foreign({size}))->array); });
    CHECK(foreign::alive == 0);
}

TEST_CASE("what is handed over is deleted once, and not where it is refused", "[interop]") {
    auto* const array = new foreign({2, 3});
    {
        dlpack_array<float, 2> first(&array->array);
        CHECK(first.view().data == array->elements.data());
        auto second = std::move(first);
        CHECK(second.view()(1, 2) == 5);
        CHECK(foreign::alive == 1);
    }
    CHECK(foreign::alive == 0);
    foreign kept({2, 3});
    CHECK_THROWS_WITH((dlpack_array<float, 3>(&kept.array)), "dlpack: the array has 2 axes, the view has 3");
    CHECK(foreign::alive == 1);
    CHECK_THROWS_WITH((dlpack_array<float, 3>(nullptr)), "dlpack: the array is a null pointer");
    auto* const without_deleter = new foreign({2, 3});
    without_deleter->array.deleter = nullptr;
    { dlpack_array<float, 2> const borrowed(&without_deleter->array); }
    CHECK(foreign::alive == 2);
    delete without_deleter;
}

TEST_CASE("each type of elements comes back as it went", "[interop]") {
    check_type<float>({kDLFloat, 32, 1});
    check_type<double>({kDLFloat, 64, 1});
    check_type<float16>({kDLFloat, 16, 1});
    check_type<bfloat16>({kDLBfloat, 16, 1});
    check_type<std::int8_t>({kDLInt, 8, 1});
    check_type<std::int32_t>({kDLInt, 32, 1});
    check_type<index_t>({kDLInt, 64, 1});
    check_type<std::uint8_t>({kDLUInt, 8, 1});
    check_type<bool>({6, 8, 1});
}

TEST_CASE("offsets in bytes and strides in elements", "[interop]") {
    foreign x({4, 6});
    auto const nothing = [](DLTensor&) {};
    CHECK(viewed<float const>(x, nothing).strides == extents_t<2>{6, 1});  // missing strides: a dense array
    CHECK(viewed<float const>(x, [](DLTensor& a) { a.byte_offset = 8; }).data == x.elements.data() + 2);
    std::int64_t const half[] = {2, 6}, every_other[] = {12, 1}, backwards[] = {-6, 1}, repeated[] = {0, 1};
    auto const strided = [&](std::int64_t const* shape, std::int64_t const* strides, std::uint64_t offset = 0) {
        return viewed<float const>(x, [&](DLTensor& a) {
            a.shape = const_cast<std::int64_t*>(shape);
            a.strides = const_cast<std::int64_t*>(strides);
            a.byte_offset = offset;
        });
    };
    CHECK(strided(half, every_other)(1, 3) == 15);
    CHECK(strided(half, backwards, 72)(1, 3) == 15);
    CHECK(strided(half, repeated, 24)(1, 3) == 9);
    std::int64_t const columns[] = {1, 4}, none[] = {0, 6};
    CHECK_THROWS_WITH(strided(x.shape.data(), columns),
                      "view: the last axis must be contiguous, its stride is 4 and must be 1: copy the elements");
    std::int64_t const collapsed[] = {1, 0};
    CHECK(strided(none, collapsed).extents == extents_t<2>{0, 6});
    CHECK(viewed<float const>(x, [&](DLTensor& a) {
              a.shape = const_cast<std::int64_t*>(none);
              a.data = nullptr;
              a.byte_offset = 1;
          }).empty());
}

TEST_CASE("a view that is strided goes out as it is", "[interop]") {
    auto const owner = std::make_shared<tensor<float, 3>>(extents_t<3>{2, 3, 4});
    auto const count = owner.use_count();
    view<float, 2> const middle(owner->data() + 4, {2, 4}, {12, 1});
    auto* const out = to_dlpack(middle, owner);
    CHECK(owner.use_count() == count + 1);
    auto const back = from_dlpack<float, 2>(out->dl_tensor);
    CHECK(back.data == middle.data);
    CHECK(back.extents == middle.extents);
    CHECK(back.strides == middle.strides);
    out->deleter(out);
    CHECK(owner.use_count() == count);
}

TEST_CASE("an array that cannot be viewed is refused in a sentence", "[interop]") {
    foreign x({4, 6});
    auto const refused = [&](auto const& change) { return viewed<float const>(x, change); };
    for (int const device : {2, 4, 7, 8, 10, 13, 99})
        CHECK_THROWS_WITH(refused([&](DLTensor& a) { a.device.device_type = static_cast<DLDeviceType>(device); }),
                          "dlpack: the array is on a device of type " + std::to_string(device)
                              + ", a view is of the memory of the host: type 1, or 3 and 11, which are pinned");
    for (auto const pinned : {kDLCUDAHost, kDLROCMHost})
        CHECK(refused([&](DLTensor& a) { a.device.device_type = pinned; }).data == x.elements.data());
    CHECK_THROWS_WITH((viewed<float const, 3>(x, [](DLTensor&) {})), "dlpack: the array has 2 axes, the view has 3");
    auto const typed = [&](DLDataType type) { return refused([&](DLTensor& a) { a.dtype = type; }); };
    CHECK_THROWS_WITH(typed({kDLFloat, 64, 1}), "dlpack: the elements are float64, those of the view are float32");
    CHECK_THROWS_WITH(typed({kDLInt, 32, 1}), "dlpack: the elements are int32, those of the view are float32");
    CHECK_THROWS_WITH(typed({kDLUInt, 32, 1}), "dlpack: the elements are uint32, those of the view are float32");
    CHECK_THROWS_WITH(typed({kDLBfloat, 16, 1}), "dlpack: the elements are bfloat16, those of the view are float32");
    CHECK_THROWS_WITH(typed({kDLComplex, 64, 1}), "dlpack: the elements are complex64, those of the view are float32");
    CHECK_THROWS_WITH(typed({kDLFloat, 32, 4}), "dlpack: the elements are float32 x 4, those of the view are float32");
    CHECK_THROWS_WITH(typed({17, 8, 1}), "dlpack: the elements are code 17 of 8, those of the view are float32");
    CHECK_THROWS_WITH((viewed<bool const>(x, [](DLTensor&) {})),
                      "dlpack: the elements are float32, those of the view are bool8");
    CHECK_THROWS_WITH((viewed<bfloat16 const>(x, [](DLTensor& a) { a.dtype = {kDLFloat, 16, 1}; })),
                      "dlpack: the elements are float16, those of the view are bfloat16");
    CHECK_THROWS_WITH(refused([](DLTensor& a) { a.shape = nullptr; }),
                      "dlpack: the array has no extents, its shape is a null pointer");
    std::int64_t const negative[] = {4, -6};
    CHECK_THROWS_WITH(refused([&](DLTensor& a) { a.shape = const_cast<std::int64_t*>(negative); }),
                      "dlpack: the array has extent -6 along axis 1: it must be 0 or more");
    CHECK_THROWS_WITH(refused([](DLTensor& a) { a.data = nullptr; }),
                      "dlpack: the array has elements and its data is a null pointer");
    CHECK_THROWS_WITH(
        refused([](DLTensor& a) { a.byte_offset = 6; }),
        "dlpack: the first element is misaligned: its address is 2 bytes past a multiple of 4, which its type needs");
}

TEST_CASE("temporary arrays of DLPack are known", "[interop]") {
    STATIC_REQUIRE(is_temporary_owner<dlpack_array<float, 2>>);
    STATIC_REQUIRE(!is_temporary_owner<view<float, 2>>);
}
