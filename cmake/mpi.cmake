# fovea::mpi: fovea::fovea for programs that include <fovea/interop/mpi.hpp>, with MPI, any implementation of its third
# version or a later one. The C interface alone is used.
#
# fovea_add_mpi(<found>): sets the variable `found`, and makes the target where MPI is here.
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
