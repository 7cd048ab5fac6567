/* Which functions show that a call runs in a softirq or a hard interrupt. */
#include "format/calltree.h"
#include "harness.h"

static void check_entered(const char *names, enum call_context want)
{
	EACH_PART(name, names)
		CHECK(call_context_entered(text_from(name)) == want);
}

TEST_ONE(interrupts_have_other_names_on_each_architecture,
	 check_entered(
		 "sysvec_apic_timer_interrupt; common_interrupt; gic_handle_irq; "
		 "generic_handle_domain_irq; handle_percpu_devid_irq; arch_timer_handler_virt; "
		 "ipi_handler",
		 CALL_CONTEXT_HARDIRQ));
TEST_ONE(other_calls_run_in_their_callers_context,
	 check_entered("net_rx_action; handle_softirqs", CALL_CONTEXT_SOFTIRQ),
	 check_entered("tcp_sendmsg; arch_timer_set_next_event_virt; ", CALL_CONTEXT_TASK));
