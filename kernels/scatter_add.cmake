# Scatter-add: its bench, counters for scripts, and the test that checks every path on a GPU.

# Once the other rooms are there.
function(natten_sim_scatter_add_programs)
  set(bench ${PROJECT_SOURCE_DIR}/bench/scatter_add)
  if(NOT NATTEN_SIM_HAS_CUDA OR NOT NATTEN_SIM_BUILD_BENCH)
    return()
  endif()
  add_executable(scatter_add_bench ${bench}/main.cpp ${bench}/check.cpp ${bench}/cells.cpp)
  target_link_libraries(scatter_add_bench PRIVATE natten_sim::kernels natten_sim::sim natten_sim::validate)
  natten_sim_flags(scatter_add_bench)
  # Counters around PyTorch's operators, for scripts/timing.
  add_library(scatter_counters SHARED ${bench}/counters_c_api.cpp)
  target_link_libraries(scatter_counters PRIVATE natten_sim::kernels natten_sim::validate)
  natten_sim_flags(scatter_counters)
  if(NATTEN_SIM_BUILD_TESTS)
    # Skipped, never passed, without a GPU.
    add_test(NAME scatter_add_checks COMMAND scatter_add_bench check)
    set_tests_properties(scatter_add_checks PROPERTIES SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu LABELS kernels)
  endif()
endfunction()
cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL natten_sim_scatter_add_programs)
