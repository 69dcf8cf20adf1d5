# Runs a check on a tree that is wrong on purpose. The check must fail and say every line of the tree's expected.txt:
# so it is known that it can fail, and that it fails for the right reason.
cmake_policy(VERSION 3.25)

execute_process(
    COMMAND ${CMAKE_COMMAND} -DROOT=${FIXTURE} -DAT_LEAST=1 -DREQUIRED=ON -P ${CHECK}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
)
if(result EQUAL 0)
    message(FATAL_ERROR "the check accepted ${FIXTURE}:\n${output}")
endif()
file(STRINGS ${FIXTURE}/expected.txt sentences)
foreach(sentence IN LISTS sentences)
    string(FIND "${output}" "${sentence}" place)
    if(place EQUAL -1)
        message(FATAL_ERROR "the check did not say '${sentence}' but:\n${output}")
    endif()
endforeach()
list(LENGTH sentences count)
if(count EQUAL 0)
    message(FATAL_ERROR "${FIXTURE}/expected.txt is empty")
endif()
message(NOTICE "rejected, with all of ${count} sentences")
