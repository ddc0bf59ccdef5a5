{{ NAME }}_SOURCES += ethosgen_npu_direct.c
