# Every reference page is what docs/tools/reference.py makes of the header of its word and the example of its test.
include(${CMAKE_CURRENT_LIST_DIR}/python.cmake)

run_python(docs/tools/reference.py --check --root ${ROOT} --at-least ${AT_LEAST})
