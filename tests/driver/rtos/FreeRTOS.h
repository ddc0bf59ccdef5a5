/* Our declarations of the part of FreeRTOS that the hooks use, for threads of this machine. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stddef.h>
#include <stdint.h>

#define configTICK_RATE_HZ TICKS_PER_S
#define configUSE_MUTEXES 1
#ifndef configSUPPORT_STATIC_ALLOCATION
#define configSUPPORT_STATIC_ALLOCATION 0
#endif

typedef long BaseType_t;
typedef uint32_t TickType_t;
typedef struct semaphore *SemaphoreHandle_t;
typedef struct {
    void *memory[32];
} StaticSemaphore_t;

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define pdMS_TO_TICKS(ms) ((TickType_t)((uint64_t)(ms)*configTICK_RATE_HZ / 1000u))
#define portMAX_DELAY ((TickType_t)0xFFFFFFFFu)
#define portYIELD_FROM_ISR(woken) ((void)(woken))

TickType_t xTaskGetTickCount(void);
SemaphoreHandle_t xSemaphoreCreateBinary(void);
SemaphoreHandle_t xSemaphoreCreateMutex(void);
SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *memory);
SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *memory);
BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t *woken);
BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore);
BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks);

#endif /* FREERTOS_H */
