# SPDX-License-Identifier: Apache-2.0
# tulle_module(TARGET): makes a MODULE library one of Tulle's: named as loaded, beside the others in the build tree and
# installed with them, with one symbol, tulle_module_entry, which src/base/module/module.h describes.
include(CheckCSourceCompiles)
set(TULLE_MODULE_MAP ${CMAKE_CURRENT_LIST_DIR}/module.map)
set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:--version-script=${TULLE_MODULE_MAP})
check_c_source_compiles("int main(void) { return 0; }" TULLE_LINKS_MODULE_MAP)
unset(CMAKE_REQUIRED_LINK_OPTIONS)

function(tulle_module target)
  set_target_properties(${target} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/modules)
  if(TULLE_LINKS_MODULE_MAP)
    target_link_options(${target} PRIVATE LINKER:--version-script=${TULLE_MODULE_MAP})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${TULLE_MODULE_MAP})
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tulle)
endfunction()
