# natten_sim_flags(<target>): warnings, hardening and sanitizers, the same for every target of the project.
function(natten_sim_flags target)
  if(NATTEN_SIM_WARNINGS OR NATTEN_SIM_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers>
      # Embedded files are longer than what every compiler has to support.
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-overlength-strings>
      # False positives of g++ 12 inside its own headers.
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
      -Wno-maybe-uninitialized>)
  endif()
  if(NATTEN_SIM_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-Werror>)
  endif()
  if(NATTEN_SIM_HARDENED AND NOT NATTEN_SIM_SANITIZE)
    # Checked string functions need optimisation, and a distribution may have set a level already.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-fstack-protector-strong>
      "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    get_target_property(kind ${target} TYPE)
    if(CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT kind STREQUAL OBJECT_LIBRARY AND NOT kind STREQUAL STATIC_LIBRARY)
      target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now,-z,noexecstack)
    endif()
  endif()
  if(NATTEN_SIM_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${NATTEN_SIM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${NATTEN_SIM_SANITIZE})
  endif()
endfunction()

# natten_sim_batches(<target>): compiles the target's C++ files in batches of 40. A build from scratch then takes a fifth
# less time than in batches of 12, and those half of what single files take: headers are read, and templates compiled,
# once per batch. Files must not clash: an anonymous name is unique in its target. g++ collects no garbage below
# 2 GB: a tenth less time.
function(natten_sim_batches target)
  if(NOT NATTEN_SIM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 40)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-expand=400 --param ggc-min-heapsize=2000000>")
endfunction()

# natten_sim_optimise_lightly(<target>): for code that prints, and for tests. It takes little time when it runs
# and most of the time of a build.
function(natten_sim_optimise_lightly target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>>:${NATTEN_SIM_LIGHT_OPTIMISATION}>)
endfunction()

# natten_sim_room(<room> [SUBFOLDER <folder>] [SOURCES <file>...] [EXCLUDE <regex>...] [DEPENDS <room>...]
#                 [NO_INSTALL]): a library room, natten_sim::<room>, made of src/<folder>/**/*.cpp
# without those that match, and SOURCES (generated or CUDA files), with public headers in
# include/natten_sim/<room>/ and its install rules. A new file needs no edit here.
function(natten_sim_room room)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "NO_INSTALL" "SUBFOLDER" "SOURCES;DEPENDS;EXCLUDE")
  set(target natten_sim_${room})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${ARG_SUBFOLDER}/*.cpp)
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/src/+${pattern}$")
  endforeach()
  add_library(${target} ${sources} ${ARG_SOURCES})
  add_library(natten_sim::${room} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${room} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC natten_sim::${dependency})
  endforeach()
  natten_sim_flags(${target})
  if(NATTEN_SIM_COVERAGE AND room MATCHES "^(core|models|sim|search)$")
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
    target_link_options(${target} PUBLIC --coverage)
  endif()
  natten_sim_batches(${target})
  if(NATTEN_SIM_INSTALL AND NOT ARG_NO_INSTALL)
    install(TARGETS ${target} EXPORT natten_simTargets)
    # How JSON is read and printed is the project's own business.
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
      FILES_MATCHING PATTERN *.hpp
      PATTERN json_text.hpp EXCLUDE PATTERN strict_object.hpp EXCLUDE)
  endif()
endfunction()
