/* The configuration of tests/driver/freertos, with quick ticks: each switches threads. */
#ifndef QUICK_CONFIG_H
#define QUICK_CONFIG_H

#include "driver_config.h"

#undef configCPU_CLOCK_HZ
#define configCPU_CLOCK_HZ 25000000u
#undef configTICK_RATE_HZ
#define configTICK_RATE_HZ 8000
#undef configENABLE_MVE
#define configENABLE_MVE 0
#undef configENABLE_FPU
#define configENABLE_FPU BOARD_HAS_FPU
#undef configSUPPORT_STATIC_ALLOCATION
#define configSUPPORT_STATIC_ALLOCATION 1
#define configKERNEL_PROVIDED_STATIC_MEMORY 1

/* An Armv7-M port's names. */
#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler
#define xPortSysTickHandler SysTick_Handler

#endif /* QUICK_CONFIG_H */
