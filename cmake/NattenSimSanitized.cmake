# The rooms that the fast tests enter, a second time: with address and undefined-behaviour sanitizers, in the same build.
# Test programs that link natten_sim_<room>_sanitized are themselves compiled as ever.
#
# Checks of null and misaligned pointers, and of the size and the type of what they point to, take two fifths of what
# g++ needs for a file. The address sanitizer still stops where a null pointer, or memory beyond an object, is used; the
# night has all.
set(sanitizers -fsanitize=address,undefined -fno-sanitize=null,alignment,object-size,vptr -fno-sanitize-recover=all)
foreach(room core io sim models search)
  set(target natten_sim_${room}_sanitized)
  get_target_property(sources natten_sim_${room} SOURCES)
  add_library(${target} STATIC ${sources})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PUBLIC $<TARGET_PROPERTY:natten_sim_${room},INTERFACE_INCLUDE_DIRECTORIES>
    PRIVATE $<TARGET_PROPERTY:natten_sim_${room},INCLUDE_DIRECTORIES>)
  get_target_property(libraries natten_sim_${room} LINK_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "^natten_sim::|^Threads::")  # the others' headers come with the folders above
  list(TRANSFORM libraries REPLACE "^natten_sim::(.*)$" "natten_sim_\\1_sanitized")
  target_link_libraries(${target} PUBLIC ${libraries})
  # Warnings were given when the room itself was compiled. Checks of memory are calls: that compiles sooner.
  target_compile_options(${target} PRIVATE -w -Og -g1 -fno-omit-frame-pointer ${sanitizers}
    $<$<CXX_COMPILER_ID:GNU>:--param=asan-instrumentation-with-call-threshold=0>)
  target_link_options(${target} INTERFACE -fsanitize=address,undefined)
  natten_sim_batches(${target})
endforeach()
