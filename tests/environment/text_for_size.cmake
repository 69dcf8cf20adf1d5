# The text of UNIT, one call compiled for size (FOVEA_SIZE), with GCC 12 at -O2 for x86-64-v3: code and nothing else.
cmake_policy(VERSION 3.25)
set(most 40960)  # bytes

if(NOT IS MATCHES "^GNU 12\\." OR NOT ON MATCHES "^Linux (x86_64|AMD64)$")
    message(NOTICE "skipped: the bound is for GCC 12 on x86-64 with Linux, this is ${IS} on ${ON}")
    return()
endif()
find_program(SIZE size)
if(NOT SIZE)
    message(NOTICE "skipped: size, of GNU binutils, is not installed")
    return()
endif()

# text_of(<variable> <flag>...): the bytes of code of the unit with these flags.
function(text_of bytes)
    execute_process(
        COMMAND ${COMPILER} -std=c++20 -O2 -march=x86-64-v3 ${ARGN} -I${INCLUDE} ${SYSTEM} -c ${UNIT} -o ${OBJECT}
        COMMAND_ERROR_IS_FATAL ANY
    )
    execute_process(COMMAND ${SIZE} -A ${OBJECT} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "\n\\.text[^ ]* +[0-9]+" found "${sections}")
    set(sum 0)
    foreach(section IN LISTS found)
        string(REGEX MATCH "[0-9]+$" one "${section}")
        math(EXPR sum "${sum} + ${one}")
    endforeach()
    set(${bytes} ${sum} PARENT_SCOPE)
endfunction()

text_of(for_size -DFOVEA_SIZE=1)
message(NOTICE "${for_size} bytes of text for size, at most ${most} (${IS})")
if(for_size EQUAL 0 OR for_size GREATER most)
    message(FATAL_ERROR "a unit for size has grown, or nothing was found in it")
endif()
