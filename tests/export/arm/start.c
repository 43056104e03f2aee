/* Start of a program on a Cortex-M in QEMU; files and exit code go to the host by semihosting. */
#include <stdint.h>
#include <stdlib.h>

extern uint32_t stack_top, data_from, data_begin, data_end, bss_begin, bss_end;
extern void initialise_monitor_handles(void);
extern int main(void);
void reset(void);
void stop(void);
void _init(void);
void _fini(void);

/* what the C library calls at the begin and the end: nothing is set up by constructors */
void _init(void)
{
}

void _fini(void)
{
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))&stack_top, reset, stop, stop, stop, stop, stop, 0, 0, 0, 0, stop, stop, 0, stop, stop,
};

void stop(void)
{
    abort();
}

void reset(void)
{
    *(volatile uint32_t *)0xE000ED88U |= 0xFU << 20; /* the FPU on, before any float */
    __asm volatile("dsb\n isb");
    uint32_t *from = &data_from;
    for (uint32_t *to = &data_begin; to < &data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = &bss_begin; to < &bss_end;) {
        *to++ = 0;
    }
    initialise_monitor_handles();
    exit(main());
}
