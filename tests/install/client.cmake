# Configures and builds a project, and runs its programs, which must all print what EXPECTED holds; with FIRST they say
# what that is.
#
#   cmake -DSOURCE=DIR -DWORK=DIR -DPROGRAMS=a,b -DEXPECTED=FILE -DCXX=c++ -DFLAGS=... [-DFIRST=ON]
#         -DXSIMD=DIR -DHANA=DIR [-DPREFIX=DIR] [-DFOVEA=DIR] [-DNATIVE=FLAGS] -P client.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
if(FIRST)
    file(REMOVE ${EXPECTED})
endif()

execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK} -G Ninja "-DCMAKE_PREFIX_PATH=${PREFIX}" -DFOVEA=${FOVEA}
            -DFOVEA_XSIMD_INCLUDE_DIR=${XSIMD} -DFOVEA_HANA_INCLUDE_DIR=${HANA}
            -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DNATIVE=${NATIVE}"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} --parallel 1 COMMAND_ERROR_IS_FATAL ANY)

string(REPLACE "," ";" PROGRAMS "${PROGRAMS}")
foreach(program IN LISTS PROGRAMS)
    execute_process(COMMAND ${WORK}/${program} OUTPUT_VARIABLE said RESULT_VARIABLE failed)
    if(FIRST AND NOT EXISTS ${EXPECTED})
        file(WRITE ${EXPECTED} "${said}")
    endif()
    file(READ ${EXPECTED} expected)
    if(failed OR said STREQUAL "" OR NOT said STREQUAL expected)
        message(FATAL_ERROR "${program} ended with ${failed} and says\n${said}\nand not\n${expected}")
    endif()
endforeach()
