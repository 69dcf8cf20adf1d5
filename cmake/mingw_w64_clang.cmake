# Builds for Windows on a machine with Linux, with Clang and the libraries of MinGW-w64; Wine runs the tests. Clang takes
# those of Debian without POSIX threads, where std::thread is missing; the library has no need of it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(target x86_64-w64-mingw32)

find_program(CMAKE_C_COMPILER NAMES clang-19 clang)
find_program(CMAKE_CXX_COMPILER NAMES clang++-19 clang++ REQUIRED)
set(CMAKE_C_COMPILER_TARGET ${target})
set(CMAKE_CXX_COMPILER_TARGET ${target})
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -fuse-ld=lld")
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_COMMAND} -E env WINEDEBUG=-all wine)

include(${CMAKE_CURRENT_LIST_DIR}/root_of_target.cmake)
