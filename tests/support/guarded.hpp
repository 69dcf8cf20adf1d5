// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

/// guarded: n elements that end, or begin, where a page ends that the program may not touch: whoever reads or writes
/// one element too many stops the program.
template <class T>
class guarded {
public:
    enum class wall { behind, before };

    explicit guarded(fovea::index_t n, T fill = T{}, wall at = wall::behind) : size_(n) {
        auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        auto const bytes = static_cast<std::size_t>(n) * sizeof(T);
        auto const room = (bytes + page - 1) / page * page;
        length_ = room + 2 * page;
        memory_ = mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto* const inside = static_cast<char*>(memory_) + page;
        if (memory_ == MAP_FAILED || (room > 0 && mprotect(inside, room, PROT_READ | PROT_WRITE) != 0))
            throw std::bad_alloc();
        data_ = reinterpret_cast<T*>(at == wall::behind ? inside + room - bytes : inside);
        std::fill_n(data_, n, fill);
    }
    guarded(guarded const&) = delete;
    guarded& operator=(guarded const&) = delete;
    ~guarded() { munmap(memory_, length_); }

    T* data() const { return data_; }
    fovea::index_t size() const { return size_; }
    T& operator[](fovea::index_t i) const { return data_[i]; }
    T* begin() const { return data_; }
    T* end() const { return data_ + size_; }

private:
    void* memory_ = nullptr;
    std::size_t length_ = 0;
    T* data_ = nullptr;
    fovea::index_t size_ = 0;
};
