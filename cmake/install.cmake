# SPDX-License-Identifier: MIT
# `cmake --install` installs the libraries, the headers, the program, a CMake package and a
# pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A library without all levels is for this machine.
if(TALLY_HOST_LEVELS)
    install(CODE "message(WARNING \"TALLY_HOST_LEVELS=${TALLY_HOST_LEVELS}: on other processors the backend host may have no device\")")
endif()

# There are two export sets. The shared library needs nothing else; the static one needs the
# libraries that tally links.
install(TARGETS tally EXPORT tally-targets)
install(TARGETS tally_static EXPORT tally-static-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tally DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tally)
foreach(set IN ITEMS tally-targets tally-static-targets)
    install(EXPORT ${set} NAMESPACE tally:: DESTINATION ${package_dir})
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tally-config.cmake.in ${PROJECT_BINARY_DIR}/tally-config.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tally-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tally-config.cmake ${PROJECT_BINARY_DIR}/tally-config-version.cmake
        DESTINATION ${package_dir})

set(pc_libs_private "-ldl -lm -pthread")
# The prefix is relative to the .pc file, so that `cmake --install --prefix` can move everything.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH pc_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
    set(pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(folder IN ITEMS libdir includedir)
    string(TOUPPER ${folder} upper)
    set(pc_${folder} "${CMAKE_INSTALL_${upper}}")
    if(NOT IS_ABSOLUTE "${pc_${folder}}")
        string(PREPEND pc_${folder} "\${prefix}/")
    endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tally.pc.in ${PROJECT_BINARY_DIR}/tally.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tally.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- libtally_mpi: packages of its own -----------------------------------------------------------
if(TALLY_WITH_MPI)
    set(mpi_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tally_mpi)
    # MPICH's text has several lines. The first one has the version.
    string(STRIP "${MPI_C_LIBRARY_VERSION_STRING}" TALLY_MPI_LIBRARY_VERSION)
    string(REGEX REPLACE "[\r\n].*" "" TALLY_MPI_LIBRARY_VERSION "${TALLY_MPI_LIBRARY_VERSION}")
    # The package compares it with the consumer's (cmake/tally_mpi-config.cmake.in).
    set(TALLY_MPI_LIBRARY ${MPI_C_LIBRARIES})
    if(TALLY_MPI_LIBRARY)
        list(GET TALLY_MPI_LIBRARY 0 TALLY_MPI_LIBRARY)
        file(REAL_PATH "${TALLY_MPI_LIBRARY}" TALLY_MPI_LIBRARY)
        get_filename_component(TALLY_MPI_LIBRARY "${TALLY_MPI_LIBRARY}" NAME)
        string(REGEX REPLACE "(\\.so\\.[0-9]+).*" "\\1" TALLY_MPI_LIBRARY "${TALLY_MPI_LIBRARY}")
    endif()
    install(TARGETS tally_mpi EXPORT tally_mpi-targets)
    install(FILES ${PROJECT_SOURCE_DIR}/ranks/include/tally/mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tally)
    install(EXPORT tally_mpi-targets NAMESPACE tally:: DESTINATION ${mpi_package_dir})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tally_mpi-config.cmake.in
                                  ${PROJECT_BINARY_DIR}/tally_mpi-config.cmake INSTALL_DESTINATION ${mpi_package_dir})
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/tally_mpi-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/tally_mpi-config.cmake ${PROJECT_BINARY_DIR}/tally_mpi-config-version.cmake
            DESTINATION ${mpi_package_dir})
    list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE pc_mpi_cflags)
    list(JOIN pc_mpi_cflags " " pc_mpi_cflags)
    list(JOIN MPI_C_LIBRARIES " " pc_mpi_libs)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tally_mpi.pc.in ${PROJECT_BINARY_DIR}/tally_mpi.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/tally_mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# ---- libtally_nccl -------------------------------------------------------------------------------
if(TALLY_WITH_NCCL)
    set(nccl_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tally_nccl)
    install(TARGETS tally_nccl EXPORT tally_nccl-targets)
    install(FILES ${PROJECT_SOURCE_DIR}/ranks/include/tally/nccl.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tally)
    install(EXPORT tally_nccl-targets NAMESPACE tally:: DESTINATION ${nccl_package_dir})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tally_nccl-config.cmake.in
                                  ${PROJECT_BINARY_DIR}/tally_nccl-config.cmake INSTALL_DESTINATION ${nccl_package_dir})
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/tally_nccl-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/tally_nccl-config.cmake ${PROJECT_BINARY_DIR}/tally_nccl-config-version.cmake
            DESTINATION ${nccl_package_dir})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tally_nccl.pc.in ${PROJECT_BINARY_DIR}/tally_nccl.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/tally_nccl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The test installs into a scratch folder, builds the README's example there with the shared and
# with the static library, and runs both. It is off under the sanitizers: a program without them
# cannot load a library with them.
if(TALLY_TESTS AND NOT TALLY_SANITIZE)
    add_test(NAME install COMMAND ${PROJECT_SOURCE_DIR}/ci/check_install ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                                  ${CMAKE_C_COMPILER})
    set_tests_properties(install PROPERTIES TIMEOUT 300)
endif()
