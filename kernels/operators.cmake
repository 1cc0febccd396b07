# The kernels as functions of C in one library, for natten_sim.ops: sm_90a, CUDA's runtime linked in.
if(NATTEN_SIM_OPS)
  if(NOT NATTEN_SIM_HAS_CUDA)
    message(FATAL_ERROR "NATTEN_SIM_OPS is ON, but nvcc or the CUDA toolkit was not found")
  endif()
  set(operators ${CMAKE_CURRENT_SOURCE_DIR}/operators)
  add_library(natten_sim_ops SHARED ${operators}/attention.cpp ${operators}/gpu.cpp ${operators}/problem.cpp
    ${operators}/updates.cpp)
  target_include_directories(natten_sim_ops PUBLIC ${operators})
  target_link_libraries(natten_sim_ops PRIVATE natten_sim::kernels CUDA::cudart_static)
  target_link_options(natten_sim_ops PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL
    -Wl,--gc-sections)
  set_target_properties(natten_sim_ops PROPERTIES CUDA_RUNTIME_LIBRARY Static)
  natten_sim_flags(natten_sim_ops)
  install(TARGETS natten_sim_ops LIBRARY DESTINATION natten_sim/lib COMPONENT ops)
endif()
