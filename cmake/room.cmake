# room(NAME [DEPS room...] [LIBS target...] [TEST_DEPS room...] [TEST_LIBS target...])
#
# One static library pellucid_NAME from every .cc below src/NAME, and one test program NAME_test
# from every *_test.cc there. A room sees only the headers of the rooms in DEPS: each room's headers
# are reached through a folder of links of its own, and that folder is on the include path of a room
# only when the room declares it. So an include against the arrows does not compile.
function(room NAME)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_DEPS;TEST_LIBS" ${ARGN})
  set(include_root ${PROJECT_BINARY_DIR}/include)
  file(MAKE_DIRECTORY ${include_root}/${NAME})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${NAME} ${include_root}/${NAME}/${NAME} SYMBOLIC)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${NAME}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  add_library(pellucid_${NAME} STATIC ${sources})
  target_link_libraries(pellucid_${NAME} PRIVATE pellucid_flags ${ARG_LIBS})
  foreach(dep ${NAME} ${ARG_DEPS})
    target_include_directories(pellucid_${NAME} PRIVATE ${include_root}/${dep})
  endforeach()
  foreach(dep ${ARG_DEPS})
    target_link_libraries(pellucid_${NAME} PUBLIC pellucid_${dep})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY pellucid_rooms ${NAME})
  set_property(GLOBAL PROPERTY pellucid_room_deps_${NAME} ${ARG_DEPS})

  if(PELLUCID_TESTS AND tests)
    test_program(${NAME}_test SOURCES ${tests} ROOMS ${NAME} ${ARG_DEPS} ${ARG_TEST_DEPS}
                 LIBS ${ARG_LIBS} ${ARG_TEST_LIBS})
  endif()
endfunction()

# test_program(NAME SOURCES file... ROOMS room... [LIBS target...] [LABEL label] [FIXTURE fixture])
#
# A GoogleTest program that sees the headers of ROOMS; each of its tests is the ctest test NAME.TEST,
# which requires the ctest fixture FIXTURE.
function(test_program NAME)
  cmake_parse_arguments(ARG "" "LABEL;FIXTURE" "SOURCES;ROOMS;LIBS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE pellucid_flags GTest::gmock GTest::gtest_main ${ARG_LIBS})
  target_compile_definitions(${NAME} PRIVATE PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             PELLUCID_BINARY_DIR="${PROJECT_BINARY_DIR}")
  foreach(room ${ARG_ROOMS})
    target_include_directories(${NAME} PRIVATE ${PROJECT_BINARY_DIR}/include/${room})
    target_link_libraries(${NAME} PRIVATE pellucid_${room})
  endforeach()
  gtest_discover_tests(${NAME} TEST_PREFIX ${NAME}. DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300
                                  FIXTURES_REQUIRED "${ARG_FIXTURE}")
endfunction()
