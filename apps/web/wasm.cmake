# One WebAssembly module: the subcommands that pages ask, and the lessons. It answers in JSON alone: what prints and
# draws for people is not compiled.
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus REQUIRED)

set(program ${PROJECT_SOURCE_DIR}/apps/natten-sim)
set(report ${PROJECT_SOURCE_DIR}/report)
set(names count schedule reuse atomics)
natten_sim_registry(commands FOLDER ../natten-sim/commands TYPE Command FUNCTION built_in_commands SUFFIX _command
  HEADER cli/command.hpp NAMESPACE natten_sim::cli ONLY ${names})
list(TRANSFORM names PREPEND ${program}/commands/)
list(TRANSFORM names APPEND .cpp)
file(GLOB sources CONFIGURE_DEPENDS ${program}/cli/*.cpp ${program}/commands/rows/*.cpp ${report}/src/*.cpp)
list(FILTER sources EXCLUDE REGEX "/cli/(command|command_line|parse_invocation|config|help|completion|man_page)\\.cpp$")
list(FILTER sources EXCLUDE REGEX "/rows/(validate_rows|search_values)\\.cpp$")
list(FILTER sources EXCLUDE REGEX
  "/report/src/(validation|published|catalog|calibrate|advise|plan|msda|search|kernel|device|document|natten|emit|block|html|(tile|schedule|scatter|mask|explain)_picture)[a-z_]*\\.cpp$")

add_executable(natten_sim_web src/module.cpp src/no_pictures.cpp ${lesson_sources} ${lessons} ${sources} ${names} ${commands}
  ${report}/src/draw/text.cpp)  # what may be shown of a name
set_target_properties(natten_sim_web PROPERTIES OUTPUT_NAME module SUFFIX .js CXX_EXTENSIONS OFF)
target_compile_features(natten_sim_web PRIVATE cxx_std_20)
target_compile_definitions(natten_sim_web PRIVATE NATTEN_SIM_JSON_ALONE=1 TOML_HEADER_ONLY=1 FMT_HEADER_ONLY=1
  FMT_STATIC_THOUSANDS_SEPARATOR=0x2c)  # no locale, and with it 85 kB of dates and currencies
target_include_directories(natten_sim_web PRIVATE ${program} ${report}/include ${report}/src
  ${PROJECT_SOURCE_DIR}/validate/include ${PROJECT_SOURCE_DIR}/kernels/include)
target_link_libraries(natten_sim_web PRIVATE natten_sim::study CLI11::CLI11 nlohmann_json::nlohmann_json
  fmt::fmt-header-only tomlplusplus::tomlplusplus)
natten_sim_flags(natten_sim_web)
target_compile_options(natten_sim_web PRIVATE -Wno-unneeded-internal-declaration)  # what prints for people
natten_sim_batches(natten_sim_web)
target_link_options(natten_sim_web PRIVATE -sMODULARIZE=1 -sEXPORT_NAME=natten_sim_module
  -sEXPORTED_FUNCTIONS=_natten_sim_answer,_malloc,_free -sEXPORTED_RUNTIME_METHODS=stringToUTF8,lengthBytesUTF8,UTF8ToString
  -sENVIRONMENT=web,node -sFILESYSTEM=0 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=1gb -sTOTAL_STACK=1mb --no-entry)
# One file, the module in it: a page from a folder (file://) may not fetch.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(packed ${CMAKE_CURRENT_BINARY_DIR}/natten-sim-web.js)
add_custom_command(OUTPUT ${packed}
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/pack_module.py $<TARGET_FILE:natten_sim_web> ${packed}
  DEPENDS natten_sim_web pack_module.py)
add_custom_target(natten_sim_web_module DEPENDS ${packed})
