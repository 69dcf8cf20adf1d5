# Builds for Windows on a machine with Linux, with MinGW-w64; Wine runs the tests.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(target x86_64-w64-mingw32)

find_program(CMAKE_C_COMPILER NAMES ${target}-gcc-posix ${target}-gcc)
find_program(CMAKE_CXX_COMPILER NAMES ${target}-g++-posix ${target}-g++ REQUIRED)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_COMMAND} -E env WINEDEBUG=-all wine)

include(${CMAKE_CURRENT_LIST_DIR}/root_of_target.cmake)
