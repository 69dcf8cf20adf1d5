# The instruction sets that tests, benchmarks and examples are built for: a name, its compiler flags, and whether this
# machine can run it.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceRuns)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(fovea_default_architectures native avx2 sse2)
else()
    set(fovea_default_architectures native)
endif()
set(FOVEA_TEST_ARCHITECTURES "${fovea_default_architectures}" CACHE STRING
    "Instruction sets to build the tests for: native, avx512, avx2, sse2")
set(FOVEA_BENCH_ARCHITECTURE native CACHE STRING "The instruction set to build benchmarks and examples for, as above")

# What -march=native would mean to a cross compiler is the host: there, native is the target's baseline.
if(CMAKE_CROSSCOMPILING)
    set(fovea_flags_native "")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(fovea_flags_native -mcpu=native)
else()
    set(fovea_flags_native -march=native)
    # Clang 19 warns of its own choice of features for processors that have AVX10.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        check_cxx_compiler_flag(-Winvalid-feature-combination FOVEA_WARNS_OF_FEATURES)
        if(FOVEA_WARNS_OF_FEATURES)
            list(APPEND fovea_flags_native -Wno-invalid-feature-combination)
        endif()
    endif()
endif()
set(fovea_flags_avx512 -march=x86-64-v4)
set(fovea_flags_avx2 -mavx2 -mfma)
set(fovea_flags_sse2 -msse2)

# A program that says whether the machine has what a set of flags lets the compiler use.
set(fovea_probe_avx512 "__builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512bw\")")
set(fovea_probe_avx2 "__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\")")

# fovea_can_run(<result> <architecture>)
function(fovea_can_run result architecture)
    if(NOT DEFINED fovea_flags_${architecture})
        message(FATAL_ERROR "FOVEA_TEST_ARCHITECTURES: '${architecture}' is not one of native, avx512, avx2, sse2")
    endif()
    if(DEFINED fovea_probe_${architecture})
        set(CMAKE_REQUIRED_QUIET ON)
        check_cxx_source_runs(
            "int main() { return ${fovea_probe_${architecture}} ? 0 : 1; }" FOVEA_RUNS_${architecture}
        )
        set(${result} ${FOVEA_RUNS_${architecture}} PARENT_SCOPE)
    else()
        set(${result} ON PARENT_SCOPE)
    endif()
endfunction()

# fovea_runnable_architectures(<result>): those asked for that this machine can run; says which it leaves out.
function(fovea_runnable_architectures result)
    set(runnable)
    foreach(architecture IN LISTS FOVEA_TEST_ARCHITECTURES)
        fovea_can_run(runs ${architecture})
        if(runs)
            list(APPEND runnable ${architecture})
        else()
            message(STATUS "Tests for ${architecture} are skipped: this machine cannot run them")
        endif()
    endforeach()
    set(${result} ${runnable} PARENT_SCOPE)
endfunction()
