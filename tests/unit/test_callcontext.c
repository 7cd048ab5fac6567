/* Which functions show that a call runs in a softirq or a hard interrupt. */
#include "format/calltree.h"

#include "harness.h"

static enum call_context entered(const char *name)
{
	return call_context_entered(text_from(name));
}

TEST(interrupts_have_other_names_on_each_architecture)
{
	CHECK(entered("sysvec_apic_timer_interrupt") == CALL_CONTEXT_HARDIRQ);
	CHECK(entered("common_interrupt") == CALL_CONTEXT_HARDIRQ);
	CHECK(entered("gic_handle_irq") == CALL_CONTEXT_HARDIRQ);
	CHECK(entered("generic_handle_domain_irq") == CALL_CONTEXT_HARDIRQ);
	CHECK(entered("handle_percpu_devid_irq") == CALL_CONTEXT_HARDIRQ);
	CHECK(entered("arch_timer_handler_virt") == CALL_CONTEXT_HARDIRQ);
	CHECK(entered("ipi_handler") == CALL_CONTEXT_HARDIRQ);
}

TEST(other_calls_run_in_their_callers_context)
{
	CHECK(entered("net_rx_action") == CALL_CONTEXT_SOFTIRQ);
	CHECK(entered("handle_softirqs") == CALL_CONTEXT_SOFTIRQ);
	CHECK(entered("tcp_sendmsg") == CALL_CONTEXT_TASK);
	CHECK(entered("arch_timer_set_next_event_virt") == CALL_CONTEXT_TASK);
	CHECK(entered("") == CALL_CONTEXT_TASK);
}
