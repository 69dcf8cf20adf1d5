// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef far
#undef near
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <new>

/// guarded_pages: memory that may be touched, between two pages that may not.
class guarded_pages {
public:
    explicit guarded_pages(std::size_t bytes) {
        auto const page = page_size();
        room_ = (bytes + page - 1) / page * page;
        length_ = room_ + 2 * page;
        memory_ = reserve(length_);
        if (memory_ == nullptr) throw std::bad_alloc();
        begin_ = static_cast<char*>(memory_) + page;
        if (room_ > 0 && !permit(begin_, room_)) throw std::bad_alloc();
    }
    guarded_pages(guarded_pages const&) = delete;
    guarded_pages& operator=(guarded_pages const&) = delete;
    ~guarded_pages() { release(memory_, length_); }

    char* begin() const { return begin_; }
    char* end() const { return begin_ + room_; }

private:
#ifdef _WIN32
    static std::size_t page_size() {
        SYSTEM_INFO system;
        GetSystemInfo(&system);
        return system.dwPageSize;
    }
    static void* reserve(std::size_t length) { return VirtualAlloc(nullptr, length, MEM_RESERVE, PAGE_NOACCESS); }
    static bool permit(void* at, std::size_t length) {
        return VirtualAlloc(at, length, MEM_COMMIT, PAGE_READWRITE) != nullptr;
    }
    static void release(void* memory, std::size_t) { VirtualFree(memory, 0, MEM_RELEASE); }
#else
    static std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
    static void* reserve(std::size_t length) {
        void* const memory = mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? nullptr : memory;
    }
    static bool permit(void* at, std::size_t length) { return mprotect(at, length, PROT_READ | PROT_WRITE) == 0; }
    static void release(void* memory, std::size_t length) { munmap(memory, length); }
#endif

    void* memory_ = nullptr;
    std::size_t room_ = 0, length_ = 0;
    char* begin_ = nullptr;
};

/// guarded: n elements that end, or begin, where a page ends that the program may not touch: whoever reads or writes
/// one element too many stops the program.
template <class T>
class guarded {
public:
    enum class wall { behind, before };

    explicit guarded(fovea::index_t n, T fill = T{}, wall at = wall::behind)
        : pages_(static_cast<std::size_t>(n) * sizeof(T)), size_(n) {
        data_ = at == wall::behind ? reinterpret_cast<T*>(pages_.end()) - n : reinterpret_cast<T*>(pages_.begin());
        std::fill_n(data_, n, fill);
    }

    T* data() const { return data_; }
    fovea::index_t size() const { return size_; }
    T& operator[](fovea::index_t i) const { return data_[i]; }
    T* begin() const { return data_; }
    T* end() const { return data_ + size_; }

private:
    guarded_pages pages_;
    T* data_ = nullptr;
    fovea::index_t size_ = 0;
};
