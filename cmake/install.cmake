# SPDX-License-Identifier: Apache-2.0
# What `make install` installs: libraries, headers, pkg-config and CMake packages, the command, its man pages and
# completions, guides and examples.
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
# found from where the file lies, so that all may be moved together; folders given as absolute ones stay where they are
file(RELATIVE_PATH TULLE_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TULLE_PC_TO_PREFIX "${TULLE_PC_TO_PREFIX}")
foreach(folder LIBDIR INCLUDEDIR)
  set(TULLE_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(TULLE_PC_${folder} "${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
configure_file(cmake/tulle.pc.in ${PROJECT_BINARY_DIR}/tulle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tulle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# one man page for the command and one a verb, from the same tables as --help
set(pages tulle.1)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man/tulle.1 DEPENDS tulle_tool
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
  COMMAND tulle_tool --man > ${PROJECT_BINARY_DIR}/man/tulle.1)
set(outputs ${PROJECT_BINARY_DIR}/man/tulle.1)
file(READ ${CMAKE_CURRENT_SOURCE_DIR}/tool/main.c main)
string(REGEX MATCHALL "&verb_[a-z]+" verbs "${main}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tool/main.c)
foreach(verb ${verbs})
  string(REPLACE "&verb_" "" verb ${verb})
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man/tulle-${verb}.1 DEPENDS tulle_tool
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
    COMMAND tulle_tool --man ${verb} > ${PROJECT_BINARY_DIR}/man/tulle-${verb}.1)
  list(APPEND outputs ${PROJECT_BINARY_DIR}/man/tulle-${verb}.1)
endforeach()
add_custom_target(man ALL DEPENDS ${outputs})
foreach(shell bash zsh)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/completion.${shell} DEPENDS tulle_tool
    COMMAND tulle_tool --completion ${shell} > ${PROJECT_BINARY_DIR}/completion.${shell})
endforeach()
add_custom_target(completion ALL DEPENDS ${PROJECT_BINARY_DIR}/completion.bash ${PROJECT_BINARY_DIR}/completion.zsh)
install(FILES ${PROJECT_BINARY_DIR}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME tulle)
install(FILES ${PROJECT_BINARY_DIR}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _tulle)

# the guides, tutorials, and examples with their build file
file(GLOB guides doc/*.md doc/site/tutorial-*.md)
install(FILES README.md CHANGELOG.md LICENSE ${guides} DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB examples examples/*.c examples/CMakeLists.txt)
install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
file(GLOB neighbours examples/neighbours/*.c)
install(FILES ${neighbours} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/neighbours)
file(GLOB python_examples python/examples/*.py)
install(FILES ${python_examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/python)
install(FILES ${outputs} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# those of section 3 need Doxygen: they are installed if doc/site/man3.sh, or `make site`, has made them
install(DIRECTORY ${PROJECT_BINARY_DIR}/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 OPTIONAL)
