# Builds for another machine with Linux; the emulator runs the tests. The file that includes this one sets
#
#   target       the target as the names of its compilers begin
#   emulator     the program of qemu-user that runs its programs
#   CMAKE_SYSTEM_PROCESSOR, and, where there must be some, CMAKE_CXX_FLAGS_INIT
set(CMAKE_SYSTEM_NAME Linux)

find_program(CMAKE_C_COMPILER NAMES ${target}-gcc ${target}-gcc-12)
find_program(CMAKE_CXX_COMPILER NAMES ${target}-g++ ${target}-g++-12 REQUIRED)
# GCC 10 changed how it passes structures of floats and says so at every call; nothing here was built before it.
string(APPEND CMAKE_CXX_FLAGS_INIT " -Wno-psabi")
set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator} -L /usr/${target})

include(${CMAKE_CURRENT_LIST_DIR}/../root_of_target.cmake)
