# Build rules shared by every folder: how to find MLIR, how to make a dialect,
# a compiler library, a runtime library, a unit test.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_program(FLATC flatc REQUIRED)

if(HOCKET_CCACHE)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  endif()
endif()

# Every binary and library is free of the source tree's absolute path.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

# What every target includes.
add_library(hocket_base INTERFACE)
target_include_directories(hocket_base INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(hocket_base INTERFACE -Wall -Wextra -Wno-unused-parameter)

# What compiler code links: MLIR and LLVM as shared libraries, nothing else of theirs.
add_library(hocket_mlir INTERFACE)
target_include_directories(hocket_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(hocket_mlir INTERFACE hocket_base MLIR LLVM)
target_compile_options(hocket_mlir INTERFACE -fno-exceptions -Wno-unused-but-set-variable
  $<$<CXX_COMPILER_ID:GNU>:-Wno-comment -Wno-maybe-uninitialized>)

if(HOCKET_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
  add_library(hocket_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
  target_link_libraries(hocket_pch PRIVATE hocket_mlir)
  target_precompile_headers(hocket_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
  set_target_properties(hocket_pch PROPERTIES PCH_INSTANTIATE_TEMPLATES ON)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(hocket_pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

function(hocket_use_pch target)
  if(HOCKET_PCH)
    target_precompile_headers(${target} REUSE_FROM hocket_pch)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
endfunction()

# hocket_dialect(Name folder [ATTRS] SOURCES ...): TableGen of dialects/<folder>/<Name>.td and its library
# hocket_<folder>.  <Name>.td holds the dialect, attributes and ops.
function(hocket_dialect name folder)
  cmake_parse_arguments(ARG "ATTRS" "" "SOURCES;LINK" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS ${name}.td)
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${folder})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${folder})
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls -dialect=${folder})
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs -dialect=${folder})
  if(ARG_ATTRS)
    mlir_tablegen(${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${folder})
    mlir_tablegen(${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${folder})
  endif()
  add_public_tablegen_target(Hocket${name}IncGen)
  add_library(hocket_${folder} STATIC ${ARG_SOURCES})
  add_dependencies(hocket_${folder} Hocket${name}IncGen)
  target_link_libraries(hocket_${folder} PUBLIC hocket_mlir ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY HOCKET_DIALECT_GEN Hocket${name}IncGen)
  hocket_use_pch(hocket_${folder})
  add_mlir_doc(${name} ${name}Dialect dialects/ -gen-dialect-doc -dialect=${folder})
endfunction()

# hocket_compiler_library(name SOURCES ... LINK ...): a library of compiler/.
function(hocket_compiler_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC hocket_mlir ${ARG_LINK})
  get_property(gen GLOBAL PROPERTY HOCKET_DIALECT_GEN)
  add_dependencies(${name} ${gen})
  hocket_use_pch(${name})
endfunction()

# hocket_passes(folder prefix): TableGen of <folder>/Passes.td -> <folder>/Passes.h.inc
function(hocket_passes prefix)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name=${prefix})
  add_public_tablegen_target(Hocket${prefix}PassIncGen)
  set_property(GLOBAL APPEND PROPERTY HOCKET_DIALECT_GEN Hocket${prefix}PassIncGen)
  add_mlir_doc(Passes ${prefix}Passes passes/ -gen-pass-doc)
endfunction()

# hocket_unit_test(name SOURCES ... LINK ...): a GoogleTest program, run by test/.
function(hocket_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main Threads::Threads)
  target_compile_definitions(${name} PRIVATE HOCKET_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HOCKET_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unit)
  set_property(GLOBAL APPEND PROPERTY HOCKET_UNIT_TESTS ${name})
endfunction()
