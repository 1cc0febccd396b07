# What a build with Emscripten finds elsewhere: header-only libraries of this machine, which may not bring /usr/include along
# (its C headers are another system's), and what its standard library lacks.
set(headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})

# natten_sim_web_headers(<package> <target> <folder> <file>): a package whose headers are <folder>/... in the
# include path, found by <file>; find_package(<package>) then makes <target>.
function(natten_sim_web_headers package target folder file)
  find_path(NATTEN_SIM_${package}_HEADERS ${file} PATHS /usr/include /usr/local/include PATH_SUFFIXES eigen3
    NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK ${NATTEN_SIM_${package}_HEADERS}/${folder} ${headers}/${folder} SYMBOLIC)
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/${package}Config.cmake
"if(NOT TARGET ${target})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES \"${headers}\")
endif()
")
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/${package}ConfigVersion.cmake
"set(PACKAGE_VERSION_COMPATIBLE TRUE)
")
endfunction()
natten_sim_web_headers(nlohmann_json nlohmann_json::nlohmann_json nlohmann nlohmann/json.hpp)
natten_sim_web_headers(Boost Boost::headers boost boost/version.hpp)
natten_sim_web_headers(Eigen3 Eigen3::Eigen Eigen Eigen/Core)
natten_sim_web_headers(fmt fmt::fmt-header-only fmt fmt/format.h)
natten_sim_web_headers(CLI11 CLI11::CLI11 CLI CLI/CLI.hpp)
natten_sim_web_headers(tomlplusplus tomlplusplus::tomlplusplus toml++ toml++/toml.h)

# No threads, so no atomics that need them; sections that nobody calls are left out of the module.
# Types are told apart by exceptions alone: names of types, which are long, stay away.
add_compile_options(-fwasm-exceptions -fno-rtti -ffunction-sections -fdata-sections
  "SHELL:-include ${PROJECT_SOURCE_DIR}/apps/web/src/floating_charconv.hpp")
add_link_options(-fwasm-exceptions)
set(NATTEN_SIM_INSTALL OFF)
