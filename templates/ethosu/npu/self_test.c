    ethosgen_status identity = ethosgen_npu_check({{ NAME }}_NPU_CONFIG, {{ NAME }}_NPU_ID);

    if (identity != ETHOSGEN_OK) {
        return identity;
    }
