# Packs conformance cases into one archive per family:
#
#     cmake -DCASES=<folder with FAMILY/CASE/case.json> -P tests/conformance/pack.cmake
#
# For every family, with its files in the order of their names, this comes to
#
#     cmake -E tar cJf cases/<family>.tar.xz --format=pax --mtime="2000-01-01 00:00:00" --files-from=<list>
#
# so that the same cases give the same archive.
cmake_minimum_required(VERSION 3.25)

if(NOT CASES)
    message(FATAL_ERROR "say where the cases are: -DCASES=<folder>")
endif()
get_filename_component(CASES ${CASES} ABSOLUTE)
set(target ${CMAKE_CURRENT_LIST_DIR}/cases)
set(copy ${target}/copy)
set(total 0)

file(GLOB families LIST_DIRECTORIES ON RELATIVE ${CASES} ${CASES}/*)
foreach(family IN LISTS families)
    file(GLOB cases ${CASES}/${family}/*/case.json)
    if(NOT cases)
        continue()
    endif()
    list(LENGTH cases count)

    # The permissions of the originals are nobody's business.
    file(REMOVE_RECURSE ${copy})
    file(COPY ${CASES}/${family} DESTINATION ${copy}
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
        DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
    )
    file(GLOB_RECURSE files RELATIVE ${copy} ${copy}/${family}/*)
    list(SORT files)
    list(JOIN files "\n" files)
    file(WRITE ${copy}/files.txt "${files}\n")
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E tar cJf ${target}/${family}.tar.xz --format=pax "--mtime=2000-01-01 00:00:00"
            --files-from=files.txt
        WORKING_DIRECTORY ${copy}
        COMMAND_ERROR_IS_FATAL ANY
    )
    file(REMOVE_RECURSE ${copy})

    file(SIZE ${target}/${family}.tar.xz size)
    math(EXPR total "${total} + ${size}")
    message(STATUS "${family}: ${count} cases, ${size} bytes")
endforeach()
if(total EQUAL 0)
    message(FATAL_ERROR "no FAMILY/CASE/case.json in ${CASES}")
endif()
message(STATUS "together: ${total} bytes")
