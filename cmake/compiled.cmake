# fovea::compiled: fovea::fovea for projects with many specifications. What knows none of them is compiled once, with the
# flags of the project, instead of in every unit. Units must be compiled for the same instruction set:
#
#   set(CMAKE_CXX_FLAGS "-march=native")                               both have it, or
#   target_compile_options(fovea_compiled PUBLIC -march=native)        it, and whoever links it
function(fovea_add_compiled source)
    add_library(fovea_compiled STATIC EXCLUDE_FROM_ALL ${source})
    add_library(fovea::compiled ALIAS fovea_compiled)
    target_compile_definitions(fovea_compiled PUBLIC FOVEA_COMPILED=1)
    target_link_libraries(fovea_compiled PUBLIC fovea::fovea)
endfunction()
