# Finds the four header-only libraries that arraybridge compiles with, in this order:
#   1. a folder given by the user:            -DARRAYBRIDGE_<NAME>_INCLUDE_DIR=...
#   2. the Python environment of the build:   pip's build requirements bring them as packages
#   3. a system package, if it is new enough  (Debian's dlpack 0.6 is not)
#   4. pip, into the build tree               (forbidden by -DARRAYBRIDGE_FETCH=OFF)

option(ARRAYBRIDGE_FETCH "Fetch missing header packages with pip into the build tree" ON)

set(ARRAYBRIDGE_PINNED_BOOST "boost-headers==1.85.0.post1")
set(ARRAYBRIDGE_PINNED_JSON "nlohmann-json==3.12.0")
set(ARRAYBRIDGE_PINNED_DLPACK "apache-tvm-ffi==0.1.15.post2")
set(ARRAYBRIDGE_PINNED_PYBIND11 "pybind11==3.1.0")

find_package(Python 3.10 COMPONENTS Interpreter)

# The folder of an importable package, found without importing it.
function(_arraybridge_python_package module out)
  set(${out} "" PARENT_SCOPE)
  if(NOT Python_EXECUTABLE)
    return()
  endif()
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.util as u; s = u.find_spec('${module}'); print(list(s.submodule_search_locations)[0] if s else '', end='')"
    OUTPUT_VARIABLE folder ERROR_QUIET)
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

# arraybridge_header_package(NAME  HEADER  MODULE  SUBFOLDER  PINNED  MINIMUM  VERSION_REGEX)
# sets ARRAYBRIDGE_<NAME>_INCLUDE_DIR in the cache.
function(arraybridge_header_package name header module subfolder pinned version_header version_regex minimum)
  set(variable ARRAYBRIDGE_${name}_INCLUDE_DIR)
  if(${variable} AND EXISTS "${${variable}}/${header}")
    return()
  endif()
  _arraybridge_python_package(${module} folder)
  if(folder AND EXISTS "${folder}/${subfolder}/${header}")
    set(${variable} "${folder}/${subfolder}" CACHE PATH "Folder that holds ${header}" FORCE)
    message(STATUS "arraybridge: ${header} from the Python package in ${folder}")
    return()
  endif()
  find_path(_arraybridge_system_${name} ${header})
  mark_as_advanced(_arraybridge_system_${name})
  if(_arraybridge_system_${name})
    file(READ "${_arraybridge_system_${name}}/${version_header}" text)
    set(found "")
    if(text MATCHES "${version_regex}")
      set(found "${CMAKE_MATCH_1}")
    endif()
    if(found AND found VERSION_GREATER_EQUAL minimum)
      set(${variable} "${_arraybridge_system_${name}}" CACHE PATH "Folder that holds ${header}" FORCE)
      message(STATUS "arraybridge: ${header} ${found} from the system")
      return()
    endif()
    message(STATUS "arraybridge: the system's ${header} is '${found}', older than ${minimum}: not used")
  endif()
  if(NOT ARRAYBRIDGE_FETCH)
    message(FATAL_ERROR "arraybridge needs ${header} (${minimum} or newer). Install it, name its folder with "
                        "-D${variable}=..., or allow fetching with -DARRAYBRIDGE_FETCH=ON.")
  endif()
  if(NOT Python_EXECUTABLE)
    message(FATAL_ERROR "arraybridge needs ${header}: fetching it takes a Python with pip, and none was found.")
  endif()
  set(target "${CMAKE_BINARY_DIR}/_headers/${name}")
  message(STATUS "arraybridge: fetching ${pinned} with pip")
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m pip install --quiet --disable-pip-version-check --no-deps --target "${target}" "${pinned}"
    RESULT_VARIABLE failed ERROR_VARIABLE message)
  if(failed OR NOT EXISTS "${target}/${module}/${subfolder}/${header}")
    message(FATAL_ERROR "arraybridge could not fetch ${pinned}:\n${message}")
  endif()
  set(${variable} "${target}/${module}/${subfolder}" CACHE PATH "Folder that holds ${header}" FORCE)
endfunction()

# DLPACK_MAJOR_VERSION 1 came with DLPack 1.0; DLPackExchangeAPI with 1.3. Before 1.0 there was one DLPACK_VERSION number.
arraybridge_header_package(
  DLPACK dlpack/dlpack.h tvm_ffi include "${ARRAYBRIDGE_PINNED_DLPACK}" dlpack/dlpack.h
  "DLPACK_MINOR_VERSION ([0-9]+)" 3)
arraybridge_header_package(
  BOOST boost/dll.hpp boost_headers include "${ARRAYBRIDGE_PINNED_BOOST}" boost/version.hpp
  "BOOST_VERSION ([0-9]+)" 107600)
arraybridge_header_package(
  JSON nlohmann/json.hpp nlohmann_json include "${ARRAYBRIDGE_PINNED_JSON}" nlohmann/detail/abi_macros.hpp
  "NLOHMANN_JSON_VERSION_MINOR ([0-9]+)" 11)
if(ARRAYBRIDGE_PYTHON)
  arraybridge_header_package(
    PYBIND11 pybind11/pybind11.h pybind11 include "${ARRAYBRIDGE_PINNED_PYBIND11}" pybind11/detail/common.h
    "PYBIND11_VERSION_MAJOR ([0-9]+)" 3)
endif()

add_library(arraybridge_dlpack INTERFACE)
target_include_directories(arraybridge_dlpack SYSTEM INTERFACE $<BUILD_INTERFACE:${ARRAYBRIDGE_DLPACK_INCLUDE_DIR}>)

add_library(arraybridge_boost_dll INTERFACE)
target_include_directories(arraybridge_boost_dll SYSTEM INTERFACE $<BUILD_INTERFACE:${ARRAYBRIDGE_BOOST_INCLUDE_DIR}>)
target_compile_definitions(arraybridge_boost_dll INTERFACE BOOST_DLL_USE_STD_FS)
target_link_libraries(arraybridge_boost_dll INTERFACE ${CMAKE_DL_LIBS})

add_library(arraybridge_json INTERFACE)
target_include_directories(arraybridge_json SYSTEM INTERFACE $<BUILD_INTERFACE:${ARRAYBRIDGE_JSON_INCLUDE_DIR}>)
