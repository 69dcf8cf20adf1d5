# Runs a command (-Dcommand=...) that must end by itself, and not well: one of its processes dies.
execute_process(
    COMMAND ${command} TIMEOUT 100 RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said
)
if(NOT status MATCHES "^[0-9]+$")
    message(FATAL_ERROR "the others went on without the process that died: ${status}")
elseif(status EQUAL 0 OR said MATCHES "survived|All tests passed")
    message(FATAL_ERROR "nobody noticed that a process died:\n${said}")
endif()
