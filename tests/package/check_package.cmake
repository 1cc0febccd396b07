# Installs the build tree into an empty prefix, builds the consumer against it and runs it, then runs the installed
# program from an empty folder.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGV}\n${output}")
  endif()
  message("${output}")
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR}/empty)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DEXAMPLE=${CONSUMER_DIR}/../../apps/examples/count_tiles.cpp)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
run(${WORK_DIR}/build/my_tuner)
if(NOT output MATCHES "38880 of 432000 tiles")
  message(FATAL_ERROR "the installed library counts otherwise")
endif()
run(${CMAKE_COMMAND} -E chdir ${WORK_DIR}/empty ${WORK_DIR}/prefix/bin/natten-sim count --preset hunyuan-video -w 18 24 24)
# The same program by pkg-config, from the same prefix.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${WORK_DIR}/prefix/natten_sim.pc)
  cmake_path(GET pc PARENT_PATH pc_folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${PKG_CONFIG} --cflags --libs natten_sim
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND ${flags})
  run(${CXX} -std=c++20 ${CONSUMER_DIR}/consumer.cpp ${flags} -o ${WORK_DIR}/by-pkg-config)
  run(${WORK_DIR}/by-pkg-config)
else()
  message("pkg-config is missing: natten_sim.pc was not tried")
endif()
foreach(completion share/bash-completion/completions/natten-sim share/zsh/site-functions/_natten-sim
        share/fish/vendor_completions.d/natten-sim.fish share/man/man1/natten-sim.1 share/man/man1/natten-sim-count.1
        share/natten-sim/schemas/count.schema.json)
  if(NOT EXISTS ${WORK_DIR}/prefix/${completion})
    message(FATAL_ERROR "${completion} is not installed")
  endif()
endforeach()
