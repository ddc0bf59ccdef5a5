/* A firmware as a user writes it: our library, but its own start-up, console and linker script. */
#include "network.h"

#define UART_BASE 0x59303000u
#define UART_DATA (*(volatile uint32_t *)(UART_BASE + 0x0u))
#define UART_STATE (*(volatile uint32_t *)(UART_BASE + 0x4u))
#define UART_CTRL (*(volatile uint32_t *)(UART_BASE + 0x8u))
#define UART_BAUDDIV (*(volatile uint32_t *)(UART_BASE + 0x10u))
#define NVIC_ISER1 (*(volatile uint32_t *)0xE000E104u)
#define NPU_IRQ 56u
#define CPACR (*(volatile uint32_t *)0xE000ED88u)

extern uint32_t stack_top;
extern uint32_t bss_start, bss_end;
void reset_handler(void);

static void put(char c)
{
    while ((UART_STATE & 1u) != 0u) {
    }
    UART_DATA = (uint32_t)(unsigned char)c;
}

static void put_text(const char *text)
{
    while (*text != '\0') {
        put(*text++);
    }
}

static void put_number(int value)
{
    char digits[12];
    int count = 0;
    unsigned rest = value < 0 ? (unsigned)-value : (unsigned)value;

    if (value < 0) {
        put('-');
    }
    do {
        digits[count++] = (char)('0' + rest % 10u);
        rest /= 10u;
    } while (rest != 0u);
    while (count > 0) {
        put(digits[--count]);
    }
}

static _Noreturn void leave(uint32_t status)
{
    uint32_t block[2] = {0x20026u, status};
    register uint32_t operation __asm__("r0") = 0x20u;
    register uint32_t *argument __asm__("r1") = block;

    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(argument) : "memory");
    for (;;) {
    }
}

int main(void)
{
    UART_BAUDDIV = 217u;
    UART_CTRL = 1u;
    if (ethosgen_npu_init(NPU_BASE, true, true) != ETHOSGEN_OK || network_init() != ETHOSGEN_OK) {
        put_text("no NPU\n");
        leave(2u);
    }
    NVIC_ISER1 = 1u << (NPU_IRQ - 32u);
    for (int run = 0; run < RUNS; run++) {
        int8_t *input = NETWORK_INPUT;

        for (int i = 0; i < NETWORK_INPUT_COUNT; i++) {
            input[i] = (int8_t)(i * 7 + run * 31);
        }
        ethosgen_status status = network_run();
        put_text("status");
        put(' ');
        put_number((int)status);
        put_text(":");
        for (int i = 0; i < NETWORK_OUTPUT_COUNT; i++) {
            put(' ');
            put_number(NETWORK_OUTPUT[i]);
        }
        put('\n');
    }
    leave(EXIT_STATUS);
}

void reset_handler(void)
{
    CPACR |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb");
    for (uint32_t *word = &bss_start; word < &bss_end; word++) {
        *word = 0u;
    }
    main();
}

static void fault_handler(void)
{
    put_text("fault\n");
    leave(3u);
}

typedef void handler(void);

__attribute__((section(".vectors"), used)) static handler *const vectors[16 + 64] = {
    [0] = (handler *)(void *)&stack_top,
    [1] = reset_handler,
    [2] = fault_handler,
    [3] = fault_handler,
    [4] = fault_handler,
    [5] = fault_handler,
    [6] = fault_handler,
    [7] = fault_handler,
    [16 + NPU_IRQ] = ethosgen_npu_irq_handler,
};
