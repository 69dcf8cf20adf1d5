# Writes into SAID what say_once.cmake prints, behind its exit status: a wrong answer is for the test to tell.
execute_process(
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${COMPILER} -DFAMILY=${FAMILY} -DSOURCE=${SOURCE} -DFLAGS=${FLAGS}
            -DCORRECTED=${CORRECTED} -P ${CMAKE_CURRENT_LIST_DIR}/say_once.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output
)
file(WRITE ${SAID} "${status}\n${output}")
