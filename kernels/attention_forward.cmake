# Attention forward for sm_90a: its bench, and what that checks on a GPU.

# Once the other rooms are there.
function(natten_sim_attention_forward_programs)
  set(bench ${PROJECT_SOURCE_DIR}/bench/attention_forward)
  if(NATTEN_SIM_HAS_CUDA AND NATTEN_SIM_BUILD_BENCH)
    add_executable(attention_forward_bench ${bench}/main.cpp ${bench}/check.cpp ${bench}/step.cpp ${bench}/timing.cpp ${bench}/tensors.cpp)
    target_link_libraries(attention_forward_bench PRIVATE natten_sim::kernels natten_sim::validate)
    natten_sim_flags(attention_forward_bench)
    # For programs that time it beside other kernels, in their own process.
    add_library(attention_forward_shared SHARED ${bench}/c_api.cpp ${bench}/tensors.cpp)
    target_link_libraries(attention_forward_shared PRIVATE natten_sim::kernels natten_sim::validate)
    natten_sim_flags(attention_forward_shared)
  endif()
  if(NATTEN_SIM_HAS_CUDA AND NATTEN_SIM_BUILD_TESTS)
    # Whole outputs against the oracles; skipped, never passed, without an sm_90 GPU.
    if(TARGET attention_forward_bench)
      add_test(NAME attention_forward_checks COMMAND attention_forward_bench check)
      set_tests_properties(attention_forward_checks PROPERTIES SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu LABELS kernels)
    endif()
  endif()
endfunction()
cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL natten_sim_attention_forward_programs)
