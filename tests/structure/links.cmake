# Every relative link of every page of the repository leads to a file and, where it names one, to a heading.
include(${CMAKE_CURRENT_LIST_DIR}/python.cmake)

run_python(docs/tools/links.py --root ${ROOT} --at-least ${AT_LEAST})
