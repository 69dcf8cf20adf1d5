# What objects of several architectures define for all to see: functions of C, each of one object only.
#
#   cmake -DNM=nm -DOBJECTS=a.o:b.o -DPREFIX=bound -P symbols.cmake
cmake_policy(VERSION 3.25)
string(REPLACE ":" ";" OBJECTS "${OBJECTS}")
set(seen)
set(problems 0)
foreach(object IN LISTS OBJECTS)
    execute_process(
        COMMAND ${NM} --defined-only --extern-only --format=posix ${object} OUTPUT_VARIABLE out
        COMMAND_ERROR_IS_FATAL ANY
    )
    string(REGEX MATCHALL "[^\n]+" lines "${out}")
    set(count 0)
    foreach(line IN LISTS lines)
        string(REGEX REPLACE " .*" "" symbol "${line}")
        math(EXPR count "${count} + 1")
        if(problems GREATER 19)  # there may be thousands
            break()
        endif()
        if(NOT symbol MATCHES "^${PREFIX}_[a-z0-9_]+$")
            message("${object}: defines ${symbol}")
            math(EXPR problems "${problems} + 1")
        elseif(symbol IN_LIST seen)
            message("${object}: defines ${symbol}, as another does")
            math(EXPR problems "${problems} + 1")
        endif()
        list(APPEND seen ${symbol})
    endforeach()
    if(count EQUAL 0)
        message("${object}: defines nothing")
        math(EXPR problems "${problems} + 1")
    endif()
endforeach()
list(LENGTH seen all)
message("${all} symbols, ${problems} problems")
if(problems GREATER 0)
    message(FATAL_ERROR "symbols are shared")
endif()
