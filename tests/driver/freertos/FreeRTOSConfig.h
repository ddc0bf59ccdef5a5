/* FreeRTOS on QEMU's Cortex-M55: its tick is SysTick's, at the processor's 32 MHz. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ 32000000u
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS

#define configUSE_PREEMPTION 1
#define configUSE_IDLE_HOOK 1
#define configUSE_TICK_HOOK 0
#define configMAX_PRIORITIES 5
#define configMINIMAL_STACK_SIZE 256
#define configCHECK_FOR_STACK_OVERFLOW 0
#define configTOTAL_HEAP_SIZE 32768
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configSUPPORT_STATIC_ALLOCATION 0
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 1

/* QEMU's NVIC has 8 bits of priority. */
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x20
#define configKERNEL_INTERRUPT_PRIORITY 0xFF

#define configENABLE_FPU 1
#define configENABLE_MVE 1
#define configENABLE_MPU 0
#define configENABLE_TRUSTZONE 0
#define configRUN_FREERTOS_SECURE_ONLY 1
#define configCHECK_HANDLER_INSTALLATION 1

#define INCLUDE_vTaskDelay 1

void assert_failed(unsigned int line);
#define configASSERT(is_true) ((is_true) ? (void)0 : assert_failed(__LINE__))

#endif /* FREERTOS_CONFIG_H */
