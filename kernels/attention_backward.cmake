# Attention backward, for sm_90a and for sm_80 and later: its bench, and what that checks on a GPU.

# Once the other rooms are there.
function(natten_sim_attention_backward_programs)
  set(bench ${PROJECT_SOURCE_DIR}/bench/attention_backward)
  if(NATTEN_SIM_HAS_CUDA AND NATTEN_SIM_BUILD_BENCH)
    add_executable(attention_backward_bench ${bench}/main.cpp ${bench}/cases.cpp ${bench}/cases_of_masks.cpp
      ${bench}/check.cpp ${bench}/timing.cpp ${bench}/tables.cpp ${bench}/tensors.cpp ${bench}/sm90a/noise.cu
      ${bench}/sm90a/reductions.cu ${bench}/sm90a/stages.cu)
    natten_sim_cuda_sources(attention_backward_bench ${bench}/sm90a/noise.cu ${bench}/sm90a/reductions.cu
      ${bench}/sm90a/stages.cu)
    set_target_properties(attention_backward_bench PROPERTIES CUDA_RUNTIME_LIBRARY Static)
    target_link_libraries(attention_backward_bench PRIVATE natten_sim::kernels natten_sim::search natten_sim::io)
    natten_sim_flags(attention_backward_bench)
    # For programs that time it beside other kernels, in their own process.
    add_library(attention_backward_shared SHARED ${bench}/c_api.cpp ${bench}/tables.cpp ${bench}/tensors.cpp)
    target_link_libraries(attention_backward_shared PRIVATE natten_sim::kernels natten_sim::search natten_sim::io)
    natten_sim_flags(attention_backward_shared)
  endif()
  if(NATTEN_SIM_HAS_CUDA AND NATTEN_SIM_BUILD_TESTS)
    if(TARGET attention_backward_bench)
      add_test(NAME attention_backward_tables COMMAND attention_backward_bench tables)
      set_tests_properties(attention_backward_tables PROPERTIES LABELS kernels)
      # Skipped, never passed, without a GPU. On sm_90 `check` looks at both engines, the others at wgmma.
      foreach(what check random dropped)
        add_test(NAME attention_backward_${what} COMMAND attention_backward_bench ${what})
        set_tests_properties(attention_backward_${what} PROPERTIES SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu LABELS kernels)
      endforeach()
      add_test(NAME attention_backward_random_mma COMMAND attention_backward_bench random 1000 mma.sync)
      add_test(NAME attention_backward_dropped_mma COMMAND attention_backward_bench dropped mma.sync)
      set_tests_properties(attention_backward_random_mma attention_backward_dropped_mma
        PROPERTIES SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu LABELS kernels)
    endif()
  endif()
endfunction()
cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL natten_sim_attention_backward_programs)
