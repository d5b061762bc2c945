# What a manifest says about the build: read from the headers and the compiler, so that it cannot differ from the code.
# Sets ARRAYBRIDGE_ABI ("1.0"), ARRAYBRIDGE_STAMP and, with a Python, ARRAYBRIDGE_PYTHON_RUNTIME ("cpython-311").

if(NOT DEFINED ARRAYBRIDGE_STAMP)
  set(_probe "${CMAKE_BINARY_DIR}/_arraybridge_stamp.cpp")
  file(WRITE "${_probe}" "#include <arraybridge/plugin.hpp>\n#include <cstdio>\nint main() {\n  std::printf(\"%d.%d;%s\", \
ARRAYBRIDGE_ABI_MAJOR, ARRAYBRIDGE_ABI_MINOR, ARRAYBRIDGE_STAMP);\n}\n")
  try_run(_ran _compiled "${CMAKE_BINARY_DIR}/_arraybridge_stamp" "${_probe}"
          CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${ARRAYBRIDGE_CORE_INCLUDE_DIR};${ARRAYBRIDGE_DLPACK_INCLUDE_DIR}"
          CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
          COMPILE_OUTPUT_VARIABLE _log RUN_OUTPUT_VARIABLE _output)
  if(NOT _compiled OR NOT _ran EQUAL 0)
    message(FATAL_ERROR "arraybridge: the compiler could not build the stamp:\n${_log}")
  endif()
  list(GET _output 0 _abi)
  list(GET _output 1 _stamp)
  set(ARRAYBRIDGE_ABI "${_abi}" CACHE INTERNAL "Version of arraybridge's binary interface")
  set(ARRAYBRIDGE_STAMP "${_stamp}" CACHE INTERNAL "C++ ABI stamp of this compiler")
endif()

if(Python_EXECUTABLE AND NOT DEFINED ARRAYBRIDGE_PYTHON_RUNTIME)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import sys; print(sys.implementation.cache_tag, end='')"
    OUTPUT_VARIABLE _tag)
  set(ARRAYBRIDGE_PYTHON_RUNTIME "${_tag}" CACHE INTERNAL "Python implementation and version that plugins are built for")
endif()
