# arraybridge_add_plugin(NAME SOURCES file... [MANIFEST manifest.json] [PYTHON])
#
# Builds the folder <NAME>/ of a plugin: a shared object with hidden symbols and one entry, and its manifest, checked,
# with the facts of this build added (shared object, interface version, stamp, runtime). PYTHON: the plugin is written
# for a Python framework and is built on libarraybridge_python.

include(${CMAKE_CURRENT_LIST_DIR}/PluginStamp.cmake)

function(arraybridge_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 plugin "PYTHON" "MANIFEST;OUTPUT_DIRECTORY" "SOURCES")
  if(NOT plugin_MANIFEST)
    set(plugin_MANIFEST manifest.json)
  endif()
  get_filename_component(manifest "${plugin_MANIFEST}" ABSOLUTE)
  if(NOT plugin_OUTPUT_DIRECTORY)
    set(plugin_OUTPUT_DIRECTORY "${ARRAYBRIDGE_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  set(folder "${plugin_OUTPUT_DIRECTORY}/${name}")
  set(target arraybridge_plugin_${name})

  add_library(${target} MODULE ${plugin_SOURCES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE ARRAYBRIDGE_PLUGIN_NAME="${name}")
  target_link_libraries(${target} PRIVATE arraybridge::core)
  if(plugin_PYTHON)
    target_link_libraries(${target} PRIVATE arraybridge::python)
  endif()
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME arraybridge_${name}
               LIBRARY_OUTPUT_DIRECTORY "${folder}"
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               BUILD_RPATH "$ORIGIN/../../.."
               INSTALL_RPATH "$ORIGIN/../../..")
  if(UNIX AND NOT APPLE)
    # Weak std:: symbols would leak from the object in spite of hidden visibility: one global name, no more.
    target_link_options(${target} PRIVATE "LINKER:--version-script=${ARRAYBRIDGE_CMAKE_DIR}/plugin.map")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${ARRAYBRIDGE_CMAKE_DIR}/plugin.map")
  endif()

  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
  file(READ "${manifest}" text)
  set(object "${CMAKE_SHARED_MODULE_PREFIX}arraybridge_${name}${CMAKE_SHARED_MODULE_SUFFIX}")
  set(build "{\"shared_object\": \"${object}\", \"abi\": \"${ARRAYBRIDGE_ABI}\", \"stamp\": \"${ARRAYBRIDGE_STAMP}\"}")
  if(plugin_PYTHON)
    string(JSON build SET "${build}" runtime "{\"name\": \"python\", \"version\": \"${ARRAYBRIDGE_PYTHON_RUNTIME}\"}")
  endif()
  string(JSON text SET "${text}" plugin "${build}")
  file(CONFIGURE OUTPUT "${folder}/manifest.json" CONTENT "${text}\n" @ONLY)
  if(TARGET arraybridge_plugins)
    add_dependencies(arraybridge_plugins ${target})
  endif()
  if(ARRAYBRIDGE_INSTALL_PLUGINS)
    install(TARGETS ${target} LIBRARY DESTINATION "${ARRAYBRIDGE_INSTALL_LIBDIR}/arraybridge/plugins/${name}")
    install(FILES "${folder}/manifest.json" DESTINATION "${ARRAYBRIDGE_INSTALL_LIBDIR}/arraybridge/plugins/${name}")
  endif()
endfunction()
