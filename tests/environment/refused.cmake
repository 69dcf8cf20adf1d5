# A compiler or a language that is not supported: one error, which says so, whether the headers are the system's or not.
#
#   cmake "-DCOMMAND=c++;flags" -DINCLUDE=DIR -DUNIT=FILE -DSENTENCE=... -P refused.cmake
cmake_policy(VERSION 3.25)
foreach(way IN ITEMS -I -isystem)
    execute_process(
        COMMAND ${COMMAND} ${way} ${INCLUDE} -fsyntax-only ${UNIT}
        OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE rc
    )
    string(REGEX MATCHALL "error: [^\n]*" errors "${said}")
    list(LENGTH errors count)
    if(rc EQUAL 0 OR NOT count EQUAL 1 OR NOT errors MATCHES "${SENTENCE}")
        message(FATAL_ERROR "${way}: ${count} errors where '${SENTENCE}' is enough:\n${said}")
    endif()
endforeach()
