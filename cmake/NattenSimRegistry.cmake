# natten_sim_registry(<variable> FOLDER <folder> TYPE <type> HEADER <header> FUNCTION <function>
#                     NAMESPACE <namespace> [SUFFIX <suffix>] [ONLY <name>...]): writes a source file, whose path goes to <variable>, with
#   std::vector<TYPE> NAMESPACE::FUNCTION();
# It calls one function for each file of the folder (of those in ONLY, if given), named like the file and SUFFIX (`spt.cpp` defines
# `TYPE spt()` in NAMESPACE). So one new file is all that a new entry takes: a static library would drop an object that nothing
# refers to, and with it an entry that registers itself.
function(natten_sim_registry variable)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "FOLDER;TYPE;HEADER;FUNCTION;NAMESPACE;SUFFIX" "ONLY")
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FOLDER}/*.cpp)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    if(ARG_ONLY AND NOT name IN_LIST ARG_ONLY)
      continue()
    endif()
    string(APPEND declarations "${ARG_TYPE} ${name}${ARG_SUFFIX}();\n")
    string(APPEND calls "  entries.push_back(${name}${ARG_SUFFIX}());\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Written by CMake: one line a file of ${ARG_FOLDER}.
#include <vector>

#include <${ARG_HEADER}>

namespace ${ARG_NAMESPACE} {

${declarations}
std::vector<${ARG_TYPE}> ${ARG_FUNCTION}();
std::vector<${ARG_TYPE}> ${ARG_FUNCTION}() {
  std::vector<${ARG_TYPE}> entries;
${calls}  return entries;
}

}  // namespace ${ARG_NAMESPACE}
")
  set(${variable} ${source} PARENT_SCOPE)
endfunction()
