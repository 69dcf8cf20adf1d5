# fovea_read_version(<result> <root>): the version that include/fovea/core/version.hpp states, as 1.2.3.
function(fovea_read_version result root)
    file(STRINGS ${root}/include/fovea/core/version.hpp lines REGEX "^#define FOVEA_VERSION_[A-Z]+ [0-9]+$")
    list(TRANSFORM lines REPLACE ".* " "")
    list(JOIN lines "." version)
    set(${result} ${version} PARENT_SCOPE)
endfunction()
