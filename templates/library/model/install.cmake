
# An installed library is a package: find_package({{ project }}) gives the targets above.
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  include(GNUInstallDirs)
  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/{{ project }}")
  file(GLOB headers "${CMAKE_CURRENT_SOURCE_DIR}/*.h" "${CMAKE_CURRENT_SOURCE_DIR}/*.hpp")
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/{{ project }}")
  install(DIRECTORY rtos DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/{{ project }}")
  set_target_properties({{ base }} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
    "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>;$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/{{ project }}>")
{% if is_shared %}
  foreach(name IN ITEMS {{ names|join(" ") }})
    set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
    file(GLOB headers "${folder}/*.h" "${folder}/*.hpp")
    install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/{{ project }}/${name}")
    set_target_properties(${name}_model PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
      "$<BUILD_INTERFACE:${folder}>;$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/{{ project }}/${name}>")
  endforeach()
{% endif %}
  set(targets {{ base ~ " " if is_shared }}{{ names|join("_model ") }}_model {{ project }}_networks)
{% for one in external %}
  list(APPEND targets ethosgen_{{ one.slug }})
{% endfor %}
{% if npu %}
  # Several packages may have Arm's driver: the first one's is used.
  if(TARGET ethosu_core_driver)
    set_target_properties(ethosu_core_driver PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
      "$<BUILD_INTERFACE:${ETHOSU_CORE_DRIVER}/include>;$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/{{ project }}>")
    install(DIRECTORY "${ETHOSU_CORE_DRIVER}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/{{ project }}")
    install(TARGETS ethosu_core_driver EXPORT ethosu_core_driver ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT ethosu_core_driver DESTINATION "${package}")
  endif()
{% endif %}
  install(TARGETS ${targets} EXPORT {{ project }}Targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT {{ project }}Targets DESTINATION "${package}")
  get_property(common GLOBAL PROPERTY ETHOSGEN_COMMON)
  string(REPLACE ";" "\n  " common "${common}")
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/{{ project }}Config.cmake"
    "include(\"\${CMAKE_CURRENT_LIST_DIR}/ethosgen_common.cmake\")\n"
    "ethosgen_check_common({{ base }}\n  ${common})\n"
{% if npu %}
    "if(NOT TARGET ethosu_core_driver)\n"
    "  include(\"\${CMAKE_CURRENT_LIST_DIR}/ethosu_core_driver.cmake\" OPTIONAL)\n"
    "endif()\n"
{% endif %}
    "include(\"\${CMAKE_CURRENT_LIST_DIR}/{{ project }}Targets.cmake\")\n")
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/{{ project }}Config.cmake" ethosgen_common.cmake
    DESTINATION "${package}")
endif()
