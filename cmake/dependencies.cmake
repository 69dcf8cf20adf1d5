# What fovea and its tests include. An installed package is used first; without one, a pinned version is fetched.
#
# Most of it is headers only, and is therefore looked for as headers: this finds a distribution's package, vcpkg's,
# Conan's and a plain prefix alike, and takes nothing along that a package's own target may name (Debian's xsimd asks
# for a library that it does not need).

include(CheckCXXSourceCompiles)

include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)

# Sets FOVEA_<NAME>_INCLUDE_DIR to the folder in which `header` is found, or fetches `url` at `tag`.
# `inside` is the include folder within a fetched copy.
function(fovea_find_headers name header url tag inside)
    set(variable FOVEA_${name}_INCLUDE_DIR)
    find_path(${variable} ${header} PATH_SUFFIXES eigen3)
    if(NOT ${variable})
        include(FetchContent)
        # There is no folder of this name: a SOURCE_SUBDIR without CMakeLists.txt downloads and configures nothing.
        FetchContent_Declare(${name} GIT_REPOSITORY ${url} GIT_TAG ${tag} GIT_SHALLOW ON SOURCE_SUBDIR headers-only)
        FetchContent_MakeAvailable(${name})
        string(TOLOWER ${name} lower)
        set(${variable} ${${lower}_SOURCE_DIR}/${inside})
    else()
        fovea_borrow_in_cross_builds(${variable} ${header})
    endif()
    message(STATUS "${header}: ${${variable}}")
    set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# The same as a target, for the programs beside the library.
function(fovea_find_header_target target name)
    if(NOT TARGET ${target})
        fovea_find_headers(${name} ${ARGN})
        add_library(${target} INTERFACE IMPORTED GLOBAL)
        target_include_directories(${target} SYSTEM INTERFACE ${FOVEA_${name}_INCLUDE_DIR})
    endif()
endfunction()

# The library.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
fovea_find_headers(XSIMD xsimd/xsimd.hpp https://github.com/xtensor-stack/xsimd.git 13.2.0 include)
fovea_find_headers(HANA boost/hana.hpp https://github.com/boostorg/hana.git boost-1.86.0 include)

# Tests: Catch2 3 is a library; without it the single header of Catch2 2 serves as well.
if(FOVEA_BUILD_TESTS)
    find_package(Catch2 3 QUIET)
    fovea_find_header_target(
        Catch2::Catch2 CATCH2 catch2/catch.hpp https://github.com/catchorg/Catch2.git v2.13.10 single_include
    )
endif()

# Tests and examples with containers and threads of other libraries: those that are here, none is fetched for it. What
# the host has is not for another processor.
if((FOVEA_BUILD_TESTS OR FOVEA_BUILD_EXAMPLES) AND NOT CMAKE_CROSSCOMPILING)
    foreach(header IN ITEMS xtensor/xtensor.hpp dlpack/dlpack.h mdspan/mdspan.hpp)
        string(REGEX MATCH "^[^/]+" lower ${header})
        string(TOUPPER ${lower} name)
        find_path(FOVEA_${name}_INCLUDE_DIR ${header})
        if(FOVEA_${name}_INCLUDE_DIR AND NOT TARGET fovea_${lower})
            add_library(fovea_${lower} INTERFACE IMPORTED GLOBAL)
            target_include_directories(fovea_${lower} SYSTEM INTERFACE ${FOVEA_${name}_INCLUDE_DIR})
        endif()
    endforeach()
    # xtensor 0.24 is not for Clang 19, which reads template parameters otherwise.
    if(TARGET fovea_xtensor)
        set(CMAKE_REQUIRED_INCLUDES ${FOVEA_XTENSOR_INCLUDE_DIR})
        set(CMAKE_REQUIRED_FLAGS -std=c++20)
        check_cxx_source_compiles("#include <xtensor/xarray.hpp>\nint main() { xt::xarray<float> x; }" FOVEA_XTENSOR_COMPILES)
        unset(CMAKE_REQUIRED_INCLUDES)
        unset(CMAKE_REQUIRED_FLAGS)
    endif()
    find_package(OpenMP QUIET COMPONENTS CXX)
    find_package(TBB CONFIG QUIET)
endif()

# The conformance runner reads cases as JSON.
if(FOVEA_BUILD_TESTS OR FOVEA_BUILD_BENCHMARKS)
    fovea_find_header_target(
        nlohmann_json::nlohmann_json JSON nlohmann/json.hpp https://github.com/nlohmann/json.git v3.11.3 include
    )
    fovea_find_header_target(CLI11::CLI11 CLI11 CLI/CLI.hpp https://github.com/CLIUtils/CLI11.git v2.4.2 include)
endif()

# Benchmarks and the tour compare with the unfused formula written with Eigen; examples and tests pass its matrices.
if(FOVEA_BUILD_BENCHMARKS OR FOVEA_BUILD_EXAMPLES OR FOVEA_BUILD_TOUR OR FOVEA_BUILD_TESTS)
    if(NOT TARGET Eigen3::Eigen)
        fovea_find_header_target(Eigen3::Eigen EIGEN Eigen/Core https://gitlab.com/libeigen/eigen.git 3.4.0 .)
        # GCC 12 takes what its AVX-512 header leaves undefined for uninitialized where Eigen inlines it.
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
            set_property(TARGET Eigen3::Eigen PROPERTY INTERFACE_COMPILE_OPTIONS -Wno-uninitialized -Wno-maybe-uninitialized)
        endif()
    endif()
endif()
if(FOVEA_BUILD_BENCHMARKS)
    include(FetchContent)
    set(BENCHMARK_ENABLE_TESTING OFF)
    FetchContent_Declare(
        benchmark GIT_REPOSITORY https://github.com/google/benchmark.git GIT_TAG v1.9.1 GIT_SHALLOW ON
        FIND_PACKAGE_ARGS
    )
    FetchContent_MakeAvailable(benchmark)
endif()
