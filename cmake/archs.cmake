# SPDX-License-Identifier: MIT
# The form of TALLY_CUDA_ARCHS. NVRTC itself says, when it compiles, which architectures it knows.
function(tally_check_archs archs)
  foreach(arch IN LISTS archs)
    if(NOT arch MATCHES "^[1-9][0-9]+$")
      message(FATAL_ERROR "TALLY_CUDA_ARCHS=${archs}: '${arch}' is no architecture. 90 is sm_90; write several as 80;90")
    endif()
  endforeach()
endfunction()
