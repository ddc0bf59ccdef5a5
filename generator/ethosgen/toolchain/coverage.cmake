# Makes GCC count what runs of the libraries of a project, for `ethosgen verify --coverage`.
#
# CMake reads this after project(); the files of the project stay as they are. Functions are not inlined, so
# that each has its own counts, and the debug information shows which of them the linker has kept.
function(ethosgen_cover)
  get_property(libraries DIRECTORY "${CMAKE_SOURCE_DIR}/model" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(library IN LISTS libraries)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      target_compile_options(${library} PRIVATE
        -fprofile-arcs -ftest-coverage -fprofile-info-section=ethosgen_coverage -fno-inline -g)
      target_link_libraries(${library} PUBLIC gcov)
    endif()
  endforeach()
  target_sources(firmware PRIVATE "${ETHOSGEN_COVERAGE_SOURCE}")
  set_source_files_properties("${ETHOSGEN_COVERAGE_SOURCE}" PROPERTIES
    COMPILE_DEFINITIONS "ETHOSGEN_COVERAGE_FILE=\"${ETHOSGEN_COVERAGE_FILE}\"")
  target_link_options(firmware PRIVATE -Wl,--wrap=board_exit)
  target_link_libraries(firmware PRIVATE gcov)
endfunction()

cmake_language(DEFER CALL ethosgen_cover)
