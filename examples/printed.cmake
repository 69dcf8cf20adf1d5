# What a program prints, and whether a text says the same: for scripts that run PROGRAM, by EMULATOR where there is one.

# printed_by_program(<variable>): runs the program, which must succeed.
function(printed_by_program variable)
    execute_process(COMMAND ${EMULATOR} ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${PROGRAM} ended with ${status}")
    endif()
    set(${variable} "${printed}" PARENT_SCOPE)
endfunction()

# require_printed(<printed> <file> <said>): fails where the file says that the program prints something else, or nothing.
function(require_printed printed file said)
    if(said STREQUAL "" OR NOT printed STREQUAL said)
        message(FATAL_ERROR "${PROGRAM} printed\n${printed}\nand ${file} says\n${said}")
    endif()
endfunction()
