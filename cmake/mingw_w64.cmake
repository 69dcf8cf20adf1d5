# Builds for Windows on a machine with Linux, with MinGW-w64; Wine runs the tests.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(target x86_64-w64-mingw32)

find_program(CMAKE_C_COMPILER NAMES ${target}-gcc-posix ${target}-gcc)
find_program(CMAKE_CXX_COMPILER NAMES ${target}-g++-posix ${target}-g++ REQUIRED)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_COMMAND} -E env WINEDEBUG=-all wine)

# Compiled libraries must be the target's. Headers may be the host's: cmake/dependencies.cmake takes those that are the
# same for every machine, one folder at a time.
set(CMAKE_FIND_ROOT_PATH /usr/${target})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
