# SPDX-License-Identifier: Apache-2.0
# What `make install` installs: libraries, headers, pkg-config and CMake packages, the command and its man pages.
include(CMakePackageConfigHelpers)

install(TARGETS tulle tulle_static EXPORT TulleTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tulle ${PROJECT_BINARY_DIR}/include/tulle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT TulleTargets NAMESPACE Tulle:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tulle)
configure_package_config_file(cmake/TulleConfig.cmake.in ${PROJECT_BINARY_DIR}/TulleConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tulle)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TulleConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TulleConfig.cmake ${PROJECT_BINARY_DIR}/TulleConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tulle)

list(JOIN TULLE_PC_LIBRARIES " " TULLE_PC_LIBRARIES)
configure_file(cmake/tulle.pc.in ${PROJECT_BINARY_DIR}/tulle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tulle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# one man page for the command and one a verb, from the same tables as --help
set(pages tulle.1)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man/tulle.1 DEPENDS tulle_tool
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
  COMMAND tulle_tool --man > ${PROJECT_BINARY_DIR}/man/tulle.1)
set(outputs ${PROJECT_BINARY_DIR}/man/tulle.1)
foreach(verb spmm spgemm gemm trisolve solve stream matfun density predict stat gen convert plot calibrate info)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man/tulle-${verb}.1 DEPENDS tulle_tool
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
    COMMAND tulle_tool --man ${verb} > ${PROJECT_BINARY_DIR}/man/tulle-${verb}.1)
  list(APPEND outputs ${PROJECT_BINARY_DIR}/man/tulle-${verb}.1)
endforeach()
add_custom_target(man ALL DEPENDS ${outputs})
install(TARGETS tulle_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${outputs} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
