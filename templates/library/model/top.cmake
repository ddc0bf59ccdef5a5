
# Configured by itself, this folder builds the library for `cmake --install`.
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  cmake_minimum_required(VERSION 3.20)
  project({{ project }} C{{ " CXX" if has_cxx is defined and has_cxx }})
endif()
