# SPDX-License-Identifier: Apache-2.0
# A switch for each dependency: AUTO (where it is found), ON (an error if it is not), OFF.

# tulle_dependency(NAME what-it-gives): declares TULLE_WITH_NAME; sets it to what a search shall be, 0 or 1, in `wanted`.
macro(tulle_dependency name gives)
  set(TULLE_WITH_${name} AUTO CACHE STRING "${gives}: AUTO (where it is found), ON, OFF")
  set_property(CACHE TULLE_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  set(wanted 0)
  if(TULLE_WITH_${name})
    set(wanted 1)
  elseif(TULLE_WITH_${name} STREQUAL "AUTO")
    set(wanted 1)
  endif()
endmacro()

# tulle_leave_out(NAME reason): why it is left out; an error if it was asked for.
macro(tulle_leave_out name reason)
  if("${TULLE_WITH_${name}}" STREQUAL "OFF" OR NOT wanted)
    message(STATUS "Left out, as TULLE_WITH_${name} says")
  elseif(TULLE_WITH_${name} AND NOT TULLE_WITH_${name} STREQUAL "AUTO")
    message(FATAL_ERROR "TULLE_WITH_${name} is ${TULLE_WITH_${name}}, but: ${reason}")
  else()
    message(STATUS "${reason}")
  endif()
endmacro()

# tulle_link_flags(out library...): libraries as the linker of an installation finds them, by name: -lNAME, and -L for
# folders that the compiler does not search by itself.
function(tulle_link_flags out)
  set(flags "")
  foreach(library ${ARGN})
    if(IS_ABSOLUTE "${library}")
      get_filename_component(folder "${library}" DIRECTORY)
      get_filename_component(name "${library}" NAME)
      string(REGEX REPLACE "^lib(.*)\\.(so|a|dylib)[.0-9]*$" "\\1" name "${name}")
      get_filename_component(real "${folder}" REALPATH)
      if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES AND NOT real IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        list(APPEND flags -L${folder})
      endif()
      list(APPEND flags -l${name})
    elseif(TARGET "${library}")
      message(FATAL_ERROR "${library} is a target: name its file")
    else()
      list(APPEND flags ${library})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES flags)
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()
