# Where toolchain files have a cross compiler look: in the root of its `target`.
#
# Compiled libraries and their packages must be the target's. Headers may be the host's: cmake/dependencies.cmake
# takes those that are the same for every machine, one folder at a time.
set(CMAKE_FIND_ROOT_PATH /usr/${target})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
