// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mutexes, conditions and threads of POSIX, of Windows, or none where a program has one thread, as in WebAssembly.
// `<thread>`, `<mutex>` and `<condition_variable>` are as much to compile as a tenth of the whole library.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <cfenv>

#if !defined(_WIN32) && (!defined(__wasm__) || defined(_REENTRANT))
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

#if defined(_WIN32)
// As <windows.h> declares them, whose macros are not for every program; MinGW's imports some of them otherwise.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdll-attribute-on-redeclaration"
#endif
extern "C" {
struct _RTL_SRWLOCK;
struct _RTL_CONDITION_VARIABLE;
struct _SECURITY_ATTRIBUTES;
struct HINSTANCE__;
__declspec(dllimport) void __stdcall AcquireSRWLockExclusive(_RTL_SRWLOCK*);
__declspec(dllimport) void __stdcall ReleaseSRWLockExclusive(_RTL_SRWLOCK*);
__declspec(dllimport) int __stdcall SleepConditionVariableSRW(_RTL_CONDITION_VARIABLE*, _RTL_SRWLOCK*, unsigned long,
                                                              unsigned long);
__declspec(dllimport) void __stdcall WakeConditionVariable(_RTL_CONDITION_VARIABLE*);
__declspec(dllimport) void __stdcall WakeAllConditionVariable(_RTL_CONDITION_VARIABLE*);
__declspec(dllimport) void* __stdcall CreateThread(_SECURITY_ATTRIBUTES*, std::size_t, unsigned long(__stdcall*)(void*),
                                                   void*, unsigned long, unsigned long*);
__declspec(dllimport) unsigned long __stdcall WaitForSingleObject(void*, unsigned long);
__declspec(dllimport) int __stdcall CloseHandle(void*);
__declspec(dllimport) int __stdcall SwitchToThread();
__declspec(dllimport) unsigned long __stdcall GetActiveProcessorCount(unsigned short);
__declspec(dllimport) int __stdcall GetModuleHandleExA(unsigned long, char const*, HINSTANCE__**);
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif
#endif

namespace fovea::FOVEA_SET::driver::system {

#if defined(_WIN32)

class mutex {
public:
    void lock() { ::AcquireSRWLockExclusive(handle()); }
    void unlock() { ::ReleaseSRWLockExclusive(handle()); }
    _RTL_SRWLOCK* handle() { return reinterpret_cast<_RTL_SRWLOCK*>(&word_); }

private:
    void* word_ = nullptr;
};

class condition {
public:
    void wait(mutex& m) { ::SleepConditionVariableSRW(handle(), m.handle(), ~0UL, 0); }
    void notify_one() { ::WakeConditionVariable(handle()); }
    void notify_all() { ::WakeAllConditionVariable(handle()); }

private:
    _RTL_CONDITION_VARIABLE* handle() { return reinterpret_cast<_RTL_CONDITION_VARIABLE*>(&word_); }
    void* word_ = nullptr;
};

class thread {
public:
    template <class Self, void (*Run)(Self&)>
    bool start(Self& self) {
        keep_library();
        handle_ = ::CreateThread(
            nullptr, 0, [](void* of) __stdcall->unsigned long {
                Run(*static_cast<Self*>(of));
                return 0;
            },
            &self, 0, nullptr);
        return handle_ != nullptr;
    }
    void join() {
        ::WaitForSingleObject(handle_, ~0UL);
        ::CloseHandle(handle_);
    }
    static void yield() { ::SwitchToThread(); }
    static index_t hardware() { return static_cast<index_t>(::GetActiveProcessorCount(0xffff)); }
    static void in_child_of_fork(void (*)()) {}

private:
    /// A DLL with threads stays until the program ends: while one is unloaded, Windows lets no thread end, so that
    /// waiting for one would not either.
    static void keep_library() {
        static char const within = 0;
        constexpr unsigned long forever_by_address = 1 | 4;
        HINSTANCE__* library = nullptr;
        ::GetModuleHandleExA(forever_by_address, &within, &library);
    }
    void* handle_ = nullptr;
};

#elif defined(__wasm__) && !defined(_REENTRANT)

class mutex {
public:
    void lock() {}
    void unlock() {}
};
class condition {
public:
    void wait(mutex&) {}
    void notify_one() {}
    void notify_all() {}
};
class thread {
public:
    template <class Self, void (*Run)(Self&)>
    bool start(Self&) {
        return false;
    }
    void join() {}
    static void yield() {}
    static index_t hardware() { return 1; }
    static void in_child_of_fork(void (*)()) {}
};

#else

class mutex {
public:
    void lock() { ::pthread_mutex_lock(&handle_); }
    void unlock() { ::pthread_mutex_unlock(&handle_); }

private:
    friend class condition;
    ::pthread_mutex_t handle_ = PTHREAD_MUTEX_INITIALIZER;
};

class condition {
public:
    void wait(mutex& m) { ::pthread_cond_wait(&handle_, &m.handle_); }
    void notify_one() { ::pthread_cond_signal(&handle_); }
    void notify_all() { ::pthread_cond_broadcast(&handle_); }

private:
    ::pthread_cond_t handle_ = PTHREAD_COND_INITIALIZER;
};

class thread {
public:
    template <class Self, void (*Run)(Self&)>
    bool start(Self& self) {
        auto const run = [](void* of) -> void* {
            Run(*static_cast<Self*>(of));
            return nullptr;
        };
        return ::pthread_create(&handle_, nullptr, run, &self) == 0;
    }
    void join() { ::pthread_join(handle_, nullptr); }
    static void yield() { ::sched_yield(); }
    static index_t hardware() {
        index_t const online = ::sysconf(_SC_NPROCESSORS_ONLN);
        return online < 1 ? 1 : online;
    }
    static void in_child_of_fork(void (*begin_anew)()) { ::pthread_atfork(nullptr, nullptr, begin_anew); }

private:
    ::pthread_t handle_{};
};

#endif

/// How this thread computes, rounding and flushing to zero included: `read` takes it, `set` gives it to a thread.
class float_environment {
public:
    void read() {
        std::fegetenv(&value_);
#if defined(_WIN32) && defined(__x86_64__)
        vectors_ = __builtin_ia32_stmxcsr();  // which MinGW-w64's fesetenv leaves as it is
#endif
    }
    void set() const {
        std::fesetenv(&value_);
#if defined(_WIN32) && defined(__x86_64__)
        __builtin_ia32_ldmxcsr(vectors_);
#endif
    }

private:
    std::fenv_t value_{};
#if defined(_WIN32) && defined(__x86_64__)
    unsigned vectors_ = 0;
#endif
};

}  // namespace fovea::FOVEA_SET::driver::system

namespace fovea::FOVEA_SET::driver {

/// A thread that runs a function until it returns:
///
///     start<Self, Run>(self)      false where no more threads can be had
///     join()
///     yield()                     lets another thread run
///     hardware()                  how many can run at once, at least 1
///     in_child_of_fork(f)         calls f in the child after a fork, where there are any
using system::thread;

}  // namespace fovea::FOVEA_SET::driver
