# cmake -DVALGRIND=... -DPROGRAM=... -DEXPECTED=n -P check_instructions.cmake
#
# Counts the instructions of the 10,000 conversions that PROGRAM carries out and fails when there are more than a quarter
# above EXPECTED for each of them. Counts do not depend on how busy the machine is; they do on the compiler, hence the
# margin. A change that makes conversions cheaper lowers EXPECTED in CMakeLists.txt.

execute_process(
  COMMAND "${VALGRIND}" --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=convert_many "${PROGRAM}"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(NOT status EQUAL 0 OR NOT output MATCHES "Collected : ([0-9]+)")
  message(FATAL_ERROR "counting failed (${status}):\n${output}")
endif()
math(EXPR each "${CMAKE_MATCH_1} / 10000")
math(EXPR ceiling "${EXPECTED} * 5 / 4")
message(STATUS "${each} instructions for each conversion; expected ${EXPECTED}, at most ${ceiling}")
if(each EQUAL 0)
  message(FATAL_ERROR "nothing was counted:\n${output}")
endif()
if(each GREATER ceiling)
  message(FATAL_ERROR "a conversion takes ${each} instructions; at most ${ceiling} are allowed")
endif()
