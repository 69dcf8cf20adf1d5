# Examples, the tour and benchmarks, each configured without the rest: no folder uses a variable that only another sets.
#
#   cmake -DROOT=DIR -DWORK=DIR -DCXX=c++ -P parts.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(mistakes 0)
set(parts EXAMPLES TOUR BENCHMARKS)
foreach(part IN LISTS parts)
    execute_process(
        COMMAND ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK}/${part} -G Ninja --warn-uninitialized
                -DCMAKE_CXX_COMPILER=${CXX} -DFOVEA_BUILD_TESTS=OFF -DFOVEA_BUILD_EXAMPLES=OFF
                -DFOVEA_BUILD_BENCHMARKS=OFF -DFOVEA_BUILD_${part}=ON
        RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said
    )
    string(REGEX MATCHALL "uninitialized variable '[^']*'" used "${said}")
    list(FILTER used EXCLUDE REGEX "'CMAKE_")  # those of CMake's own modules
    if(failed OR used)
        message(NOTICE "FOVEA_BUILD_${part} alone: ${used}\n${said}")
        math(EXPR mistakes "${mistakes} + 1")
    endif()
endforeach()
list(LENGTH parts count)
message(STATUS "${count} parts configured alone, ${mistakes} mistakes")
if(mistakes)
    message(FATAL_ERROR "parts.cmake: ${mistakes} of ${count}")
endif()
