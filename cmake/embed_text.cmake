# embed_text(ROOM BASE HEADER NAMESPACE FUNCTION)
#
# Compiles the files BASE/*/*.toml into the library of a room: at build time a source file is written
# that defines FUNCTION in NAMESPACE, returning one EmbeddedText{name below BASE, text} per file, in the
# order of names. So the program needs no data file at run time, and editing a text rebuilds it.
function(embed_text ROOM BASE HEADER NAMESPACE FUNCTION)
  set(base ${PROJECT_SOURCE_DIR}/${BASE})
  file(GLOB files CONFIGURE_DEPENDS ${base}/*/*.toml)
  list(SORT files)
  set(generated ${PROJECT_BINARY_DIR}/generated/${ROOM}_${FUNCTION}.cc)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUT=${generated} -DHEADER=${HEADER} -DNAMESPACE=${NAMESPACE}
            -DFUNCTION=${FUNCTION} -DBASE=${base} "-DFILES=${files}"
            -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded_text.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/write_embedded_text.cmake
    VERBATIM)
  target_sources(pellucid_${ROOM} PRIVATE ${generated})
endfunction()
