/* CONFIG and ID of the NPU that the network was compiled for: {{ npu }}. */
#define {{ NAME }}_NPU_CONFIG 0x{{ "%08x"|format(npu_config) }}u
#define {{ NAME }}_NPU_ID 0x{{ "%08x"|format(npu_id) }}u
