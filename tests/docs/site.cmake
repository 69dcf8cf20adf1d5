# Builds the site and follows its links.
execute_process(
    COMMAND ${PYTHON} ${TOOLS}/site.py ${FOLDER}/pages --into ${FOLDER}/site
    COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY
)
execute_process(
    COMMAND ${PYTHON} ${TOOLS}/links.py --site ${FOLDER}/site
    COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY
)
execute_process(
    COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/searches.py ${FOLDER}/site
    COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY
)

# What a reader would miss.
function(require page text)
    file(READ ${FOLDER}/site/${page} found)
    string(FIND "${found}" "${text}" place)
    if(place EQUAL -1)
        message(FATAL_ERROR "${page} lacks ${text}")
    endif()
endfunction()
require(index.html "<h1 id=\"fovea\">")
require(docs/reference/normalize/softmax.html "<script type=\"math/tex; mode=display\">")
require(docs/reference/normalize/softmax.html "<h2 id=\"example\">")
require(docs/errors.html "<h3 id=\"fovea-this-specification-already-has-a-projection")
require(search/search_index.json "docs/reference/normalize/softmax.html")
foreach(file IN ITEMS MathJax.js config/TeX-AMS_CHTML.js fonts/HTML-CSS/TeX/woff/MathJax_Main-Regular.woff)
    if(NOT EXISTS ${FOLDER}/site/assets/mathjax/${file})
        message(FATAL_ERROR "the site lacks ${file} of MathJax")
    endif()
endforeach()
