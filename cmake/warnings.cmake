# Warnings for our own programs. Headers of the library are included by them and held to the same; a user's program
# gets none of these flags.
add_library(fovea_warnings INTERFACE)
target_compile_options(fovea_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
# Clang calls a local name a shadow of what a using directive brings in, such as the placeholders q and k.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(fovea_warnings INTERFACE -Wshadow)
endif()
if(FOVEA_WARNINGS_AS_ERRORS)
    target_compile_options(fovea_warnings INTERFACE -Werror)
endif()

# GCC 12 sees overlapping copies in every `"text" + string` (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(fovea_warnings INTERFACE -Wno-restrict)
endif()

# For compilers that are called by a command: where the dependencies lie, unless they are found there anyway. A system
# folder that is named twice breaks its own headers.
set(fovea_system_flags ${FOVEA_XSIMD_INCLUDE_DIR} ${FOVEA_HANA_INCLUDE_DIR})
list(REMOVE_ITEM fovea_system_flags ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
list(REMOVE_DUPLICATES fovea_system_flags)
list(TRANSFORM fovea_system_flags PREPEND -isystem)
