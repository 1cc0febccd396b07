# The Python package on top of a finished build: tests and wheels need not compile the libraries again.

set(natten_sim_prebuilt_file natten_sim_prebuilt.cmake)

# natten_sim_export_prebuilt(): writes what natten_sim_use_prebuilt reads into the build folder.
function(natten_sim_export_prebuilt)
  set(targets natten-sim)
  foreach(room core io sim models search study kernels validate draw report)
    list(APPEND targets natten_sim_${room})
  endforeach()
  export(TARGETS ${targets} NAMESPACE natten_sim:: FILE ${PROJECT_BINARY_DIR}/${natten_sim_prebuilt_file})
endfunction()

# natten_sim_use_prebuilt(<build folder>): its libraries and its program as imported targets.
macro(natten_sim_use_prebuilt folder)
  foreach(package fmt nlohmann_json Boost Eigen3 CUDAToolkit)
    find_package(${package} QUIET)
  endforeach()
  include(${folder}/${natten_sim_prebuilt_file})
endmacro()
