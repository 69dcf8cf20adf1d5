# Checks that are written in Python: run_python(<script> <argument>...) fails where the script does.
cmake_policy(VERSION 3.25)
find_program(python3 python3 REQUIRED)

function(run_python script)
    execute_process(
        COMMAND ${python3} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../${script} ${ARGN}
        RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
    )
    message(NOTICE "${output}")
    if(result)
        message(FATAL_ERROR "${script} has found problems")
    endif()
endfunction()
