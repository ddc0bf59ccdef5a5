/* The NPU's registers for a driver under test; see interleavings.c. */
#ifndef TEST_NPU_H
#define TEST_NPU_H

#include <stdint.h>

uint32_t npu_get(uintptr_t addr);
void npu_put(uintptr_t addr, uint32_t value);
uint32_t npu_mask(void);
void npu_unmask(uint32_t state);

#define ETHOSGEN_NPU_GET(addr) npu_get(addr)
#define ETHOSGEN_NPU_PUT(addr, value) npu_put(addr, value)
#define ETHOSGEN_NPU_MASK() npu_mask()
#define ETHOSGEN_NPU_UNMASK(state) npu_unmask(state)
#define ETHOSGEN_NPU_BARRIER() ((void)0)

#endif /* TEST_NPU_H */
