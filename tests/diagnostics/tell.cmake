# Prints what keep.cmake has written into SAID, and ends as it ended.
file(READ ${SAID} said)
string(REGEX MATCH "^[^\n]*" status "${said}")
if(status STREQUAL "0")
    message(NOTICE "${said}")
else()
    message(FATAL_ERROR "${said}")
endif()
