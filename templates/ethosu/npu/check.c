    {{ readiness }} = ethosgen_npu_check({{ NAME }}_NPU_CONFIG, {{ NAME }}_NPU_ID);
