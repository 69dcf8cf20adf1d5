# fovea::mpi: fovea::fovea for programs that include <fovea/interop/mpi.hpp>, with MPI, any implementation of its third
# version or a later one. The C interface alone is used.
#
# fovea_add_mpi(<found>): sets the variable `found`, and makes the target where MPI is here.
#
# fovea_add_mpi_program(<program> <source> [<library> ...]): makes a program of this folder that links the target, where
# MPI is here; elsewhere it says that the folder is left out.
function(fovea_add_mpi found)
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI 3 QUIET COMPONENTS CXX)
    set(${found} ${MPI_CXX_FOUND} PARENT_SCOPE)
    if(NOT MPI_CXX_FOUND OR TARGET fovea::mpi)
        return()
    endif()
    add_library(fovea_mpi INTERFACE)
    add_library(fovea::mpi ALIAS fovea_mpi)
    target_compile_definitions(fovea_mpi INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
    target_link_libraries(fovea_mpi INTERFACE fovea::fovea MPI::MPI_CXX)
endfunction()

function(fovea_add_mpi_program program source)
    fovea_add_mpi(found)
    if(NOT found)
        file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
        message(STATUS "${folder} is left out: MPI is not here")
        return()
    endif()
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE fovea::mpi ${ARGN})
endfunction()
