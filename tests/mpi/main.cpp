// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The main function of programs that mpirun starts: each process runs all cases, and ends the others where it fails.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#include <mpi.h>

int main(int argc, char** argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    int const failed = Catch::Session().run(argc, argv);
    int any = 0;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}
