# NATTEN_SIM_HAS_CUDA and NATTEN_SIM_CUDA_VERSION ("none" without): whether nvcc is here, and may be used.
# Kernels are built for sm_80 (and so for what follows it) and for sm_90a, for which they are tuned.
set(NATTEN_SIM_HAS_CUDA OFF)
set(NATTEN_SIM_CUDA_VERSION none)
set(NATTEN_SIM_CUDA_TARGETS "80;90a" CACHE STRING "Compute capabilities that kernels are built for")
if(NOT NATTEN_SIM_CUDA STREQUAL OFF AND NOT NATTEN_SIM_SANITIZE)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # The flags below choose the targets.
    set(CMAKE_CUDA_ARCHITECTURES OFF)
    enable_language(CUDA)
    find_package(CUDAToolkit)
  endif()
  if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND)
    set(NATTEN_SIM_HAS_CUDA ON)
    set(NATTEN_SIM_CUDA_VERSION ${CMAKE_CUDA_COMPILER_VERSION})
    foreach(target IN LISTS NATTEN_SIM_CUDA_TARGETS)
      list(APPEND NATTEN_SIM_CUDA_FLAGS "-gencode=arch=compute_${target},code=sm_${target}")
    endforeach()
    # Later chips than those compile this at load.
    list(APPEND NATTEN_SIM_CUDA_FLAGS "-gencode=arch=compute_80,code=compute_80")
    # nvcc takes much memory and two cores may be all there are.
    set(NATTEN_SIM_CUDA_JOBS 1 CACHE STRING "CUDA files that are compiled at once")
    set_property(GLOBAL APPEND PROPERTY JOB_POOLS natten_sim_nvcc=${NATTEN_SIM_CUDA_JOBS})
  elseif(NATTEN_SIM_CUDA STREQUAL ON)
    message(FATAL_ERROR "NATTEN_SIM_CUDA is ON, but nvcc or the CUDA toolkit was not found")
  endif()
endif()

# natten_sim_cuda_sources(<target> <file.cu>...): flags of the target's CUDA files. Files in a folder sm90a/ are
# compiled for sm_90a alone (wgmma and setmaxnreg are refused for sm_80); all others for every target.
function(natten_sim_cuda_sources target)
  foreach(file IN LISTS ARGN)
    if(file MATCHES "/sm90a/")
      set_property(SOURCE ${file} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS
        "-gencode=arch=compute_90a,code=sm_90a")
    else()
      set_property(SOURCE ${file} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${NATTEN_SIM_CUDA_FLAGS})
    endif()
  endforeach()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
endfunction()
