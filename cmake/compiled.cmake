# fovea::compiled: fovea::fovea for targets with many specifications. What knows none of them is compiled once in each
# target that links it, with the flags of that target, instead of in every unit. Many targets with the same flags share
# it through a library of their own (docs/how_to/hidden_specs.md).
function(fovea_add_compiled source)
    add_library(fovea_compiled INTERFACE)
    add_library(fovea::compiled ALIAS fovea_compiled)
    target_sources(fovea_compiled INTERFACE ${source})
    target_compile_definitions(fovea_compiled INTERFACE FOVEA_COMPILED=1)
    target_link_libraries(fovea_compiled INTERFACE fovea::fovea)
endfunction()
