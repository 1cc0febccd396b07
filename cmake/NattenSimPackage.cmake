# Packages: `cpack -G DEB` and `cpack -G TGZ` in a build folder. Both hold the component `program`; the libraries and
# headers are for `cmake --install`. scripts/build_packages.sh makes and tries them.
set(doc ${CMAKE_INSTALL_DATADIR}/doc/natten-sim)
# The project's licence, and those of header-only libraries that are compiled into the program, whose
# texts Debian keeps beside them.
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
set(copyright "natten-sim ${PROJECT_VERSION}

${licence}")
foreach(library libcli11-dev nlohmann-json3-dev libfmt-dev libtomlplusplus-dev libeigen3-dev libboost-dev)
  if(EXISTS /usr/share/doc/${library}/copyright)
    file(READ /usr/share/doc/${library}/copyright library_licence)
    string(APPEND copyright "
Headers of ${library} are compiled into it:

${library_licence}")
  endif()
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/copyright "${copyright}")
find_program(NATTEN_SIM_GZIP gzip)
if(NATTEN_SIM_GZIP)
  # -n: no time in the file, so that the same source gives the same package.
  execute_process(COMMAND ${NATTEN_SIM_GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.gz)
  install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${doc} COMPONENT program)
endif()
# Who makes the package, by Debian's own variables. Without them it is the authors', as LICENSE and CITATION.cff call
# them: they state no address, so it is one that can lead nowhere (RFC 2606), and nobody's mail is taken.
set(maintainer "The natten-sim authors")
set(address natten-sim@packages.invalid)
if(NOT "$ENV{DEBFULLNAME}" STREQUAL "")
  set(maintainer "$ENV{DEBFULLNAME}")
endif()
if(NOT "$ENV{DEBEMAIL}" STREQUAL "")
  set(address "$ENV{DEBEMAIL}")
endif()
set(CPACK_PACKAGE_CONTACT "${maintainer} <${address}>")
if(NATTEN_SIM_GZIP)
  # Debian's own changelog: that this version was packaged. The date is that of the package's rules.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/changelog.Debian @ONLY CONTENT
"natten-sim (${PROJECT_VERSION}-1) unstable; urgency=low

  * Version ${PROJECT_VERSION}; changelog.gz says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  Sun, 22 Nov 2026 12:00:00 +0000
")
  execute_process(COMMAND ${NATTEN_SIM_GZIP} -9nc ${PROJECT_BINARY_DIR}/changelog.Debian OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.Debian.gz)
  install(FILES ${PROJECT_BINARY_DIR}/changelog.Debian.gz DESTINATION ${doc} COMPONENT program)
endif()
install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${doc} COMPONENT program)

# The package is for its users, not for an upload to Debian, where a first one closes a report.
file(WRITE ${PROJECT_BINARY_DIR}/lintian-overrides "natten-sim: initial-upload-closes-no-bugs *\n")
install(FILES ${PROJECT_BINARY_DIR}/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME natten-sim
  COMPONENT program)

set(CPACK_PACKAGE_NAME natten-sim)
set(CPACK_PACKAGE_VENDOR "The natten-sim authors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "predicts how GPU attention kernels behave")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"Counts exactly which tiles a neighborhood-attention kernel visits and predicts
how long that takes, searches windows, strides and tiles, simulates
deterministic backward schedules, and predicts L2 misses and atomics.
No GPU is needed.")
set(CPACK_PACKAGE_INSTALL_DIRECTORY natten-sim)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/compress_manual.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME natten-sim)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_PROGRAM_FILE_NAME natten-sim-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
if(NOT CPACK_PACKAGING_INSTALL_PREFIX)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
include(CPack)
