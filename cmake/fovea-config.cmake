# What find_package(fovea) runs. Its components, which are all wanted unless some are named:
#
#   headers     fovea::fovea
#   compiled    fovea::compiled, with what knows no specification compiled once
#   kernels     fovea_add_kernels, for shared libraries that C and Python call
#
# and, where it is named, mpi: fovea::mpi, for calls over the processes of MPI.
cmake_policy(VERSION 3.25)

macro(fovea_not_found sentence)
    set(fovea_FOUND FALSE)
    set(fovea_NOT_FOUND_MESSAGE "${sentence}")
endmacro()

# The libraries whose headers fovea includes.
include("${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake")
foreach(dependency IN ITEMS "XSIMD xsimd/xsimd.hpp xsimd" "HANA boost/hana.hpp Boost.Hana")
    separate_arguments(dependency)
    list(GET dependency 0 name)
    list(GET dependency 1 header)
    list(GET dependency 2 library)
    find_path(FOVEA_${name}_INCLUDE_DIR ${header})
    if(NOT FOVEA_${name}_INCLUDE_DIR)
        fovea_not_found("fovea includes <${header}>: install ${library}, or set FOVEA_${name}_INCLUDE_DIR")
        return()
    endif()
    fovea_borrow_in_cross_builds(FOVEA_${name}_INCLUDE_DIR ${header})
endforeach()

# A project that has added fovea as a folder has the target already.
if(NOT TARGET fovea::fovea)
    include(CMakeFindDependencyMacro)
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_dependency(Threads)
    include("${CMAKE_CURRENT_LIST_DIR}/fovea-targets.cmake")
    target_include_directories(
        fovea::fovea SYSTEM INTERFACE "${FOVEA_XSIMD_INCLUDE_DIR}" "${FOVEA_HANA_INCLUDE_DIR}"
    )
    include("${CMAKE_CURRENT_LIST_DIR}/build_note.cmake")
endif()
set(fovea_headers_FOUND TRUE)

set(fovea_wanted ${fovea_FIND_COMPONENTS})
if(NOT fovea_wanted)
    set(fovea_wanted compiled kernels)
endif()
foreach(component IN LISTS fovea_wanted)
    if(component STREQUAL "compiled")
        if(NOT TARGET fovea::compiled)
            include("${CMAKE_CURRENT_LIST_DIR}/compiled.cmake")
            fovea_add_compiled("${CMAKE_CURRENT_LIST_DIR}/compiled.cpp")
        endif()
        set(fovea_compiled_FOUND TRUE)
    elseif(component STREQUAL "kernels")
        include("${CMAKE_CURRENT_LIST_DIR}/kernels.cmake")
        set(fovea_kernels_FOUND TRUE)
    elseif(component STREQUAL "mpi")
        include("${CMAKE_CURRENT_LIST_DIR}/mpi.cmake")
        fovea_add_mpi(fovea_mpi_FOUND)
        if(fovea_FIND_REQUIRED_mpi AND NOT fovea_mpi_FOUND)
            fovea_not_found("the component mpi needs MPI 3: install Open MPI or MPICH")
        endif()
    elseif(fovea_FIND_REQUIRED_${component} AND NOT component STREQUAL "headers")
        fovea_not_found("fovea has no component '${component}': its components are headers, compiled, kernels and mpi")
    endif()
endforeach()
