/* Packets followed through the stages of the stack, from calls with arguments. */
#include <string.h>

#include "format/stagecost.h"
#include "format/stagefunc.h"
#include "format/stages.h"
#include "format/text_parse.h"
#include "harness.h"
#include "rows.h"
#include "select/presets.h"

#define US 1000ull

/* A call of a task on a CPU, with its arguments. */
struct step {
	enum row_kind kind;
	uint32_t tid;
	uint32_t depth;
	uint64_t at_us;
	uint64_t took_us;
	const char *name;
	const char *args;
};

#define E(tid, depth, at, name, args)                    \
	{                                                \
		ROW_ENTRY, tid, depth, at, 0, name, args \
	}
#define L(tid, depth, at, took, name, args)                \
	{                                                  \
		ROW_LEAF, tid, depth, at, took, name, args \
	}
#define R(tid, depth, at, took, name)                      \
	{                                                  \
		ROW_RETURN, tid, depth, at, took, name, "" \
	}

static struct stages *st;
static const struct stages_sums *sums;
static struct pcapfilter filter;

/* With a filter, calls have the packet of their skb: to 10.0.0.2, port 6666 or another, of none of IP, or of a socket. */
static const struct nfg_packet chosen = {
	.family = 4, .proto = 17, .dport = 0x0a1a, .daddr = { 10, 0, 0, 2 }
};
static const struct nfg_packet refused = {
	.family = 4, .proto = 17, .dport = 0x0b1a, .daddr = { 10, 0, 0, 2 }
};
static const struct nfg_packet foreign = { .dev = "veth0" };
static const struct nfg_packet of_socket = { .family = 4, .proto = 17, .from_sock = 1 };

static const struct nfg_packet *packet_in(const char *args)
{
	static const struct {
		const char *arg;
		const struct nfg_packet *packet;
	} packets[] = {
		{ "=0x77", &chosen },
		{ "=0x88", &refused },
		{ "=0x99", &foreign },
		{ "=0xaa", &of_socket },
	};

	for (size_t i = 0; filter.insn_cnt && i < ARRAY_SIZE(packets); i++) {
		if (strstr(args, packets[i].arg))
			return packets[i].packet;
	}
	return NULL;
}

static void feed(const struct step *steps, size_t cnt, uint64_t shift_us)
{
	struct text_values values = { 0 };

	for (size_t i = 0; i < cnt; i++) {
		const struct step *s = &steps[i];
		struct row row = call_row(s->kind, s->depth, (s->at_us + shift_us) * US,
					  s->took_us * US, s->name);

		row.cpu = s->tid;
		row.task.tid = s->tid;
		row.packet = packet_in(s->args);
		row.args_text = (struct text){ s->args, strlen(s->args) };
		CHECK(!text_values_take(&values, &row));
		CHECK(!stages_row(st, &row));
	}
	text_values_release(&values);
}

#define FEED(steps, shift) feed(steps, sizeof(steps) / sizeof((steps)[0]), shift)

#define EPOCH_NS           1700000000000000000ull

static void begin(void)
{
	CHECK(!stages_new(&st, false, filter.insn_cnt ? &filter : NULL));
}

static void begin_with(const char *expression)
{
	char why[256] = "";

	CHECK(!pcapfilter_compile(&filter, expression, why, sizeof(why)));
	begin();
}

static void end(void)
{
	CHECK(!stages_finish(st));
	sums = stages_sums(st);
}

static void free_stages(void)
{
	stages_free(st);
	pcapfilter_release(&filter);
	filter = (struct pcapfilter){ 0 };
}
AFTER(free_stages);

/* "socket 10 qdisc 20 ...": the sums in us of the stages that have any, then the total. */
static void check_sums(const char *want)
{
	char got[256] = "";

	for (int i = 0; i < STAGES_TIMES_CNT; i++) {
		const char *name;
		const struct hist *h = &stages_times(sums, i, &name)->gross;
		const size_t len = strlen(got);

		if (h->cnt)
			snprintf(got + len, sizeof(got) - len, "%s%s %llu*%llu", len ? " " : "",
				 name, (unsigned long long)h->cnt,
				 (unsigned long long)(h->sum / US));
	}
	CHECK_STR(got, want);
}

/* Two tasks and a softirq in a third: a datagram over veth, through a queue that holds it for 50 ms. */
static const struct step datagram[] = {
	E(1, 0, 100, "udp_sendmsg", "sk=0xa, msg=0x1, len=1"),
	E(1, 1, 110, "ip_send_skb", "net=0x5, skb=0x77"),
	L(1, 2, 115, 1, "__dev_queue_xmit", "skb=0x77, sb_dev=0x0"),
	R(1, 1, 120, 10, "ip_send_skb"),
	R(1, 0, 121, 21, "udp_sendmsg"),
	E(3, 0, 50115, "dev_hard_start_xmit", "first=0x77, dev=0x9"),
	E(3, 1, 50120, "veth_xmit", "skb=0x77, dev=0x9"),
	L(3, 2, 50122, 1, "__netif_rx", "skb=0x77"),
	R(3, 1, 50124, 4, "veth_xmit"),
	R(3, 0, 50125, 10, "dev_hard_start_xmit"),
	E(3, 0, 50130, "__netif_receive_skb", "skb=0x77"),
	E(3, 1, 50131, "ip_rcv", "skb=0x77, dev=0x9"),
	L(3, 2, 50137, 3, "sock_def_readable", "sk=0xb"),
	R(3, 1, 50141, 10, "ip_rcv"),
	R(3, 0, 50142, 12, "__netif_receive_skb"),
	E(2, 0, 60000, "udp_recvmsg", "sk=0xb, msg=0x1"),
	L(2, 1, 60010, 1, "skb_consume_udp", "sk=0xb, skb=0x77, len=1"),
	R(2, 0, 60037, 37, "udp_recvmsg"),
};

TEST(a_delay_shows_in_the_stage_that_has_it)
{
	begin();
	for (uint64_t i = 0; i < 23; i++)
		FEED(datagram, i * 100000);
	end();
	/* 15 + 50000 + 7 + 8 + 7 + 9900 */
	check_sums("socket 23*345 qdisc 23*1150000 driver 23*161 softirq 23*184 protocol "
		   "23*161 wake-up 23*227700 total 23*1378551");
	CHECK(sums->packet_cnt == 23 && sums->begin_cnts[STAGES_SENT] == 23);
	CHECK(sums->end_cnts[STAGES_READ][STAGE_WAKEUP] == 23);
}

/* Rows of many packets at once: each is found by its own skb. */
TEST(packets_in_flight_are_told_apart)
{
	static const struct step two[] = {
		E(1, 0, 0, "tcp_sendmsg", "sk=0xa"),
		L(1, 1, 10, 1, "__dev_queue_xmit", "skb=0x1"),
		L(1, 1, 20, 1, "__dev_queue_xmit", "skb=0x2"),
		R(1, 0, 30, 30, "tcp_sendmsg"),
		L(3, 0, 100, 5, "dev_hard_start_xmit", "first=0x2, dev=0x9"),
		L(3, 0, 300, 5, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
	};

	begin();
	FEED(two, 0);
	end();
	check_sums("socket 2*30 qdisc 2*370 driver 2*10 total 2*410");
	CHECK(sums->end_cnts[STAGES_LEFT][STAGE_DRIVER] == 2);
	CHECK(sums->stages[STAGE_QDISC].gross.min == 80 * US &&
	      sums->stages[STAGE_QDISC].gross.max == 290 * US);
}

/* Two segments that the queue of a device cuts out of one packet: each has its times, and it is no third packet. */
TEST(a_part_has_the_times_of_the_packet_with_its_number)
{
	static const struct step segments[] = {
		E(1, 0, 0, "tcp_sendmsg", "sk=0xa"),
		L(1, 1, 10, 1, "__dev_queue_xmit", "skb=0x1, pkt=7"),
		R(1, 0, 30, 30, "tcp_sendmsg"),
		L(3, 0, 100, 5, "dev_hard_start_xmit", "first=0x2, dev=0x9, pkt=7"),
		L(3, 0, 120, 5, "dev_hard_start_xmit", "first=0x3, dev=0x9, pkt=7"),
		L(3, 0, 130, 1, "consume_skb", "skb=0x1, pkt=7"),
	};

	begin();
	FEED(segments, 0);
	end();
	check_sums("socket 2*20 qdisc 2*200 driver 2*10 total 2*230");
	CHECK(sums->packet_cnt == 3 && sums->begin_cnts[STAGES_SENT] == 1 &&
	      sums->begin_cnts[STAGES_COPY] == 2 && !sums->begin_cnts[STAGES_MIDDLE]);
	CHECK(sums->end_cnts[STAGES_COPIED][STAGE_QDISC] == 1 &&
	      sums->end_cnts[STAGES_LEFT][STAGE_DRIVER] == 2);
}

/* The first part goes on before the second is sent: what the first had before is of both. */
TEST(a_part_has_the_times_before_the_other_went_on)
{
	static const struct step fragments[] = {
		E(1, 0, 1, "udp_sendmsg", "sk=0xa"),
		E(1, 1, 10, "ip_send_skb", "skb=0x1, pkt=7"),
		E(1, 2, 21, "__dev_queue_xmit", "skb=0x1"),
		E(1, 3, 23, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
		L(1, 4, 24, 4, "veth_xmit", "skb=0x1"),
		R(1, 3, 30, 7, "dev_hard_start_xmit"),
		R(1, 2, 32, 11, "__dev_queue_xmit"),
		L(1, 2, 41, 5, "__dev_queue_xmit", "skb=0x2, pkt=7"),
		R(1, 1, 50, 40, "ip_send_skb"),
		R(1, 0, 60, 59, "udp_sendmsg"),
		L(3, 0, 101, 5, "dev_hard_start_xmit", "first=0x2, dev=0x9, pkt=7"),
	};

	begin();
	FEED(fragments, 0);
	end();
	/* the first: 20, 2, 5 to veth's return; the second: 40, 60, 5 */
	check_sums("socket 2*60 qdisc 2*62 driver 2*10 total 1*105");
	CHECK(sums->packet_cnt == 2 && sums->begin_cnts[STAGES_SENT] == 1 &&
	      sums->begin_cnts[STAGES_COPY] == 1);
}

/* A router cuts it again: the second part has what the first had before it came to the second queue. */
TEST(a_part_has_the_times_of_two_passes)
{
	static const struct step router[] = {
		L(1, 0, 1, 1, "__dev_queue_xmit", "skb=0x1, pkt=7"),
		E(1, 0, 11, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
		L(1, 1, 12, 4, "veth_xmit", "skb=0x1"),
		R(1, 0, 17, 6, "dev_hard_start_xmit"),
		E(3, 0, 26, "ip_rcv", "skb=0x1, pkt=7"),
		L(3, 1, 36, 2, "__dev_queue_xmit", "skb=0x1"),
		L(3, 1, 40, 3, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
		L(3, 1, 46, 2, "__dev_queue_xmit", "skb=0x2, pkt=7"),
		L(3, 1, 50, 5, "dev_hard_start_xmit", "first=0x2, dev=0x9"),
		R(3, 0, 60, 34, "ip_rcv"),
	};

	begin();
	FEED(router, 0);
	end();
	/* the first: qdisc 10 + 4, driver 5 + 3, softirq 10, protocol 10; the second: 10 + 4, 5 + 5, 10, 20 */
	check_sums("qdisc 2*28 driver 2*18 softirq 2*20 protocol 2*30");
	CHECK(sums->packet_cnt == 2 && sums->begin_cnts[STAGES_MIDDLE] == 1 &&
	      sums->begin_cnts[STAGES_COPY] == 1);
	CHECK(sums->end_cnts[STAGES_LEFT][STAGE_DRIVER] == 2);
}

/* A copy that gets the memory of a packet that was freed meanwhile is no way on of that one. */
TEST(a_copy_may_be_where_another_with_its_number_was)
{
	static const struct step reused[] = {
		E(3, 0, 1, "ip_rcv", "skb=0x1, pkt=7"),
		L(3, 1, 5, 1, "__dev_queue_xmit", "skb=0x2, pkt=7"),
		L(3, 1, 7, 1, "consume_skb", "skb=0x2, pkt=7"),
		L(3, 1, 9, 1, "__dev_queue_xmit", "skb=0x2, pkt=7"),
		R(3, 0, 20, 19, "ip_rcv"),
	};

	begin();
	FEED(reused, 0);
	end();
	CHECK(sums->packet_cnt == 3 && sums->begin_cnts[STAGES_RECEIVED] == 1 &&
	      sums->begin_cnts[STAGES_COPY] == 2);
	CHECK(sums->end_cnts[STAGES_FREED][STAGE_QDISC] == 1);
}

/* Of the two packets with the number, the copy is of the one that the callers have. */
TEST(a_copy_is_of_the_packet_that_a_caller_has)
{
	static const struct step flood[] = {
		E(3, 0, 0, "ip_rcv", "skb=0x1, pkt=7"),
		L(3, 1, 10, 1, "__dev_queue_xmit", "skb=0x2, pkt=7"),
		L(3, 1, 20, 1, "__dev_queue_xmit", "skb=0x3, pkt=7"),
		R(3, 0, 30, 30, "ip_rcv"),
		L(3, 0, 40, 1, "ip_rcv", "skb=0x2, pkt=7"), /* by an untraced driver */
		E(4, 0, 50, "udp_recvmsg", "sk=0xb"),
		L(4, 1, 60, 5, "skb_consume_udp", "sk=0xb, skb=0x1, pkt=7"),
		R(4, 0, 70, 20, "udp_recvmsg"),
	};

	begin();
	FEED(flood, 0);
	end();
	CHECK(sums->packet_cnt == 3 && sums->begin_cnts[STAGES_RECEIVED] == 1 &&
	      sums->begin_cnts[STAGES_COPY] == 2);
	CHECK(sums->end_cnts[STAGES_READ][STAGE_WAKEUP] == 1);
	CHECK(sums->mixed_cnts[STAGE_QDISC][STAGE_SOFTIRQ] == 1);
	CHECK(sums->end_cnts[STAGES_OPEN][STAGE_QDISC] == 1 &&
	      sums->end_cnts[STAGES_OPEN][STAGE_PROTOCOL] == 1);
}

/* The address alone says that these are one packet, which waited in the stack for a second. */
TEST(packets_of_two_numbers_at_one_address_are_two)
{
	static const struct step two[] = {
		E(1, 0, 0, "udp_sendmsg", "sk=0xa"),
		L(1, 1, 10, 1, "ip_send_skb", "skb=0x1, pkt=7"),
		R(1, 0, 30, 30, "udp_sendmsg"),
		E(1, 0, 1000000, "udp_sendmsg", "sk=0xa"),
		L(1, 1, 1000010, 1, "__dev_queue_xmit", "skb=0x1, pkt=8"),
		R(1, 0, 1000030, 30, "udp_sendmsg"),
	};

	begin();
	FEED(two, 0);
	end();
	check_sums("socket 1*10");
	CHECK(sums->packet_cnt == 2 && sums->begin_cnts[STAGES_SENT] == 2);
	CHECK(sums->end_cnts[STAGES_UNSEEN][STAGE_SOCKET] == 1 &&
	      sums->end_cnts[STAGES_OPEN][STAGE_QDISC] == 1);
}

/* A device without a known receiver hands the packet to this host: by its address it would be a second packet. */
TEST(a_packet_with_its_number_is_the_same_behind_a_device)
{
	static const struct step tunnel[] = {
		E(1, 0, 0, "udp_sendmsg", "sk=0xa"),
		L(1, 1, 10, 1, "__dev_queue_xmit", "skb=0x1, pkt=7"),
		L(1, 1, 20, 10, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
		R(1, 0, 30, 30, "udp_sendmsg"),
		L(3, 0, 50, 1, "napi_gro_receive", "skb=0x1, pkt=7"),
		L(3, 0, 60, 1, "kfree_skb", "skb=0x1, pkt=7"),
		L(3, 0, 90, 1, "ip_rcv", "skb=0x1, pkt=8"),
	};

	begin();
	FEED(tunnel, 0);
	end();
	check_sums("socket 1*10 qdisc 1*10 driver 1*10 softirq 1*20");
	CHECK(sums->packet_cnt == 2 && sums->begin_cnts[STAGES_SENT] == 1 &&
	      sums->begin_cnts[STAGES_RECEIVED] == 1);
	CHECK(sums->end_cnts[STAGES_FREED][STAGE_PROTOCOL] == 1 &&
	      sums->end_cnts[STAGES_OPEN][STAGE_PROTOCOL] == 1);
}

/* The card's stamp, in UTC or TAI, and the kernel's: where the first function was late. Only received packets have them. */
TEST(stamps_say_what_was_before_the_first_function)
{
	static const struct step received[] = {
		L(3, 0, 100, 1, "napi_gro_receive",
		  "skb=0x1, tstamp=0, hwtstamp=1700000000000060000"),
		L(3, 0, 110, 1, "ip_rcv", "skb=0x1, tstamp=1700000000000105000, hwtstamp=0"),
		L(3, 0, 120, 1, "consume_skb", "skb=0x1, tstamp=0, hwtstamp=0"),
		L(3, 0, 200, 1, "napi_gro_receive",
		  "skb=0x2, tstamp=1700000000000195000, hwtstamp=1700000037000180000"),
		L(3, 0, 300, 1, "ip_rcv", "skb=0x3, tstamp=1700000000000270000, hwtstamp=0"),
		/* later than the first function, too long before it, and of another clock */
		L(3, 0, 400, 1, "ip_rcv", "skb=0x4, tstamp=1700000000000400001, hwtstamp=5"),
		L(3, 0, 500, 1, "ip_rcv", "skb=0x5, tstamp=1699999998999999999, hwtstamp=-5"),
		L(3, 0, 600, 1, "ip_rcv", "skb=0x6, tstamp=0, hwtstamp=1700000000000601000"),
		E(1, 0, 700, "udp_sendmsg", "sk=0xa"),
		L(1, 1, 710, 1, "__dev_queue_xmit",
		  "skb=0x7, tstamp=1700000000000700000, hwtstamp=0"),
		R(1, 0, 720, 20, "udp_sendmsg"),
	};

	begin();
	stages_set_clock(st, EPOCH_NS);
	FEED(received, 0);
	end();
	check_sums("card 2*60 stamp 2*35 socket 1*10");
	CHECK(sums->packet_cnt == 7 && sums->card_off_cnt == 2);
	stages_free(st);
	begin();
	FEED(received, 0); /* a text has no other clock */
	end();
	check_sums("socket 1*10");
	CHECK(!sums->card_off_cnt);
}

/* The time of departure, by three clocks, is in the queue's time; one that came before the packet, or that nobody kept, is not. */
TEST(queues_wait_for_the_time_of_departure)
{
	static const struct step paced[] = {
		L(1, 0, 100, 1, "__dev_queue_xmit", "skb=0x1, tstamp=0, hwtstamp=0"),
		L(2, 0, 100, 1, "__dev_queue_xmit", "skb=0x2, tstamp=0, hwtstamp=0"),
		L(3, 0, 100, 1, "__dev_queue_xmit", "skb=0x3, tstamp=0, hwtstamp=0"),
		L(4, 0, 100, 1, "__dev_queue_xmit", "skb=0x4, tstamp=0, hwtstamp=0"),
		L(5, 0, 100, 1, "__dev_queue_xmit", "skb=0x5, tstamp=0, hwtstamp=0"),
		L(1, 0, 150, 1, "dev_hard_start_xmit", "first=0x1, tstamp=130000, hwtstamp=0"),
		L(2, 0, 150, 1, "dev_hard_start_xmit",
		  "first=0x2, tstamp=1700000000000140000, hwtstamp=0"),
		L(3, 0, 150, 1, "dev_hard_start_xmit",
		  "first=0x3, tstamp=1700000037000150000, hwtstamp=0"),
		L(4, 0, 150, 1, "dev_hard_start_xmit", "first=0x4, tstamp=100000, hwtstamp=0"),
		L(5, 0, 150, 1, "dev_hard_start_xmit", "first=0x5, tstamp=150001, hwtstamp=0"),
	};

	begin();
	stages_set_clock(st, EPOCH_NS);
	FEED(paced, 0);
	end();
	check_sums("qdisc 5*250 driver 5*5 departure 3*120");
}

/* A bond: two queues and two drivers, one in the other; the parts of a stage add up. */
TEST(stacked_devices_add_up)
{
	static const struct step bond[] = {
		E(1, 0, 0, "tcp_sendmsg", "sk=0xa"),
		E(1, 1, 10, "__dev_queue_xmit", "skb=0x1"),
		E(1, 2, 11, "dev_hard_start_xmit", "first=0x1, dev=0x8"),
		E(1, 3, 12, "bond_start_xmit", "skb=0x1, dev=0x8"),
		E(1, 4, 15, "__dev_queue_xmit", "skb=0x1"),
		E(1, 5, 17, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
		L(1, 6, 18, 2, "start_xmit", "skb=0x1, dev=0x9"),
		R(1, 5, 21, 4, "dev_hard_start_xmit"),
		R(1, 4, 22, 7, "__dev_queue_xmit"),
		R(1, 3, 23, 11, "bond_start_xmit"),
		R(1, 2, 24, 13, "dev_hard_start_xmit"),
		R(1, 1, 25, 15, "__dev_queue_xmit"),
		R(1, 0, 30, 30, "tcp_sendmsg"),
	};

	begin();
	FEED(bond, 0);
	/* queues 1 + 2, drivers 4 + 3 */
	end();
	check_sums("socket 1*10 qdisc 1*3 driver 1*7 total 1*20");
}

/* What the driver of a card takes is gone, though its memory comes back with another packet. */
TEST(memory_that_is_used_again_is_another_packet)
{
	static const struct step again[] = {
		E(1, 0, 0, "tcp_sendmsg", "sk=0xa"),
		L(1, 1, 10, 1, "__dev_queue_xmit", "skb=0x1"),
		L(1, 1, 15, 5, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
		R(1, 0, 30, 30, "tcp_sendmsg"),
		E(3, 0, 100, "napi_gro_receive", "napi=0x6, skb=0x1"),
		R(3, 0, 110, 10, "napi_gro_receive"),
		/* GRO kept it: the same packet goes on */
		E(3, 0, 120, "ip_rcv", "skb=0x1"),
		L(3, 1, 140, 1, "sock_def_readable", "sk=0xb"),
		R(3, 0, 150, 30, "ip_rcv"),
		/* and this is another */
		L(3, 0, 200, 5, "ip_rcv", "skb=0x1"),
	};

	begin();
	FEED(again, 0);
	end();
	check_sums("socket 1*10 qdisc 1*5 driver 1*5 protocol 1*40 total 1*20");
	CHECK(sums->packet_cnt == 3 && sums->begin_cnts[STAGES_RECEIVED] == 2);
	CHECK(sums->end_cnts[STAGES_LEFT][STAGE_DRIVER] == 1);
	CHECK(sums->end_cnts[STAGES_UNSEEN][STAGE_WAKEUP] == 1);
	CHECK(sums->end_cnts[STAGES_OPEN][STAGE_PROTOCOL] == 1);
}

/* The function between two stages was not traced: their time is nobody's, the rest stands. */
TEST(stages_that_cannot_be_told_apart_are_counted_as_such)
{
	static const struct step gap[] = {
		E(1, 0, 0, "tcp_sendmsg", "sk=0xa"),
		E(1, 1, 10, "__dev_queue_xmit", "skb=0x1"),
		L(1, 2, 20, 1, "netif_rx", "skb=0x1"),
		R(1, 1, 25, 15, "__dev_queue_xmit"),
		R(1, 0, 30, 30, "tcp_sendmsg"),
		L(3, 0, 50, 1, "ip_rcv", "skb=0x1"),
		E(2, 0, 60, "tcp_recvmsg", "sk=0xb"),
		L(2, 1, 65, 1, "skb_copy_datagram_iter", "skb=0x1, offset=0"),
		R(2, 0, 70, 10, "tcp_recvmsg"),
	};

	begin();
	FEED(gap, 0);
	end();
	check_sums("socket 1*10 softirq 1*30 total 1*70");
	CHECK(sums->mixed_cnts[STAGE_QDISC][STAGE_DRIVER] == 1);
	CHECK(sums->mixed_cnts[STAGE_PROTOCOL][STAGE_WAKEUP] == 1);
}

/* An ACK from the softirq of another packet, and a datagram whose socket does not match the filter. */
TEST(packets_without_a_call_that_sends_have_no_socket_stage)
{
	static const struct step ack[] = {
		E(1, 0, 0, "tcp_sendmsg", "sk=0xa"),
		E(1, 1, 5, "tcp_v4_rcv", "skb=0x8"),
		E(1, 2, 10, "__ip_queue_xmit", "sk=0xb, skb=0x1"),
		L(1, 3, 20, 1, "__dev_queue_xmit", "skb=0x1"),
		L(1, 3, 25, 1, "dev_hard_start_xmit", "first=0x1"),
		R(1, 2, 30, 20, "__ip_queue_xmit"),
		L(1, 2, 35, 1, "kfree_skb_reason", "skb=0x8, reason=1"),
		R(1, 1, 40, 35, "tcp_v4_rcv"),
		/* interrupts the sender of another socket */
		E(1, 1, 50, "__ip_queue_xmit", "sk=0xc, skb=0x2"),
		L(1, 2, 60, 1, "__dev_queue_xmit", "skb=0x2"),
		R(1, 1, 65, 15, "__ip_queue_xmit"),
		R(1, 0, 70, 70, "tcp_sendmsg"),
		L(1, 0, 80, 1, "__dev_queue_xmit", "skb=0x3"),
	};

	begin();
	FEED(ack, 0);
	end();
	check_sums("qdisc 1*5 driver 1*1");
	CHECK(sums->begin_cnts[STAGES_UNCALLED] == 2 && sums->begin_cnts[STAGES_MIDDLE] == 1);
	CHECK(sums->begin_cnts[STAGES_RECEIVED] == 1);
	CHECK(sums->end_cnts[STAGES_FREED][STAGE_PROTOCOL] == 1);
	CHECK(sums->end_cnts[STAGES_OPEN][STAGE_QDISC] == 2);
}

/* Somebody who watches the device is woken first, and lets go of the packet. */
TEST(watchers_are_no_readers)
{
	static const struct step watched[] = {
		E(3, 0, 0, "__netif_receive_skb", "skb=0x1"),
		L(3, 1, 10, 1, "sock_def_readable", "sk=0xe"),
		L(3, 1, 12, 1, "consume_skb", "skb=0x1"),
		E(3, 1, 20, "ip_rcv", "skb=0x1"),
		L(3, 2, 30, 1, "sock_def_readable", "sk=0xb"),
		R(3, 1, 35, 15, "ip_rcv"),
		R(3, 0, 40, 40, "__netif_receive_skb"),
		E(2, 0, 20, "udp_recvmsg", "sk=0xb"),
		L(2, 1, 60, 1, "skb_consume_udp", "sk=0xb, skb=0x1"),
		R(2, 0, 70, 50, "udp_recvmsg"),
	};

	begin();
	FEED(watched, 0);
	end();
	check_sums("protocol 1*30 wake-up 1*40 total 1*70");
}

TEST(losses_end_what_is_under_way)
{
	const struct row lost = {
		.kind = ROW_LOST, .cpu = 1, .time_ns = 60000 * US, .lost_cnt = 5
	};

	begin();
	FEED(datagram, 0);
	feed(datagram, 3, 100000);
	CHECK(!stages_row(st, &lost));
	FEED(datagram, 200000);
	end();
	CHECK(sums->packet_cnt == 3 && sums->total.gross.cnt == 2);
	CHECK(sums->end_cnts[STAGES_LOST][STAGE_QDISC] == 1);
	CHECK(sums->stages[STAGE_SOCKET].gross.cnt == 3 &&
	      sums->stages[STAGE_QDISC].gross.cnt == 2);
}

/* A packet is freed before it comes to the driver, as far as is known. */
static const struct step freed[] = {
	E(1, 0, 300, "udp_sendmsg", "sk=0xa, msg=0x1, len=1"),
	L(1, 1, 310, 1, "__dev_queue_xmit", "skb=0x55, sb_dev=0x0"),
	L(1, 1, 320, 1, "consume_skb", "skb=0x55"),
	R(1, 0, 330, 30, "udp_sendmsg"),
};

static uint64_t ends_as(enum stages_end end)
{
	uint64_t cnt = 0;

	for (int i = 0; i < STAGE_CNT; i++)
		cnt += sums->end_cnts[end][i];
	return cnt;
}

/* Of each packet whose end is not seen as such, an event that would tell it may be among them. */
TEST(losses_without_a_place_leave_ends_unknown)
{
	begin();
	FEED(datagram, 0);
	feed(datagram, 3, 100000);
	FEED(freed, 200000);
	stages_lost(st, 1);
	end();
	CHECK(ends_as(STAGES_READ) == 1 && ends_as(STAGES_LOST) == 2);
	CHECK(sums->end_cnts[STAGES_LOST][STAGE_QDISC] == 2);
	CHECK(!ends_as(STAGES_FREED) && !ends_as(STAGES_OPEN));
	CHECK(sums->total.gross.cnt == 1);
}

static void feed_loss(uint64_t at_us, uint64_t cnt, bool keeps_open)
{
	const struct row lost = { .kind = ROW_LOST,
				  .cpu = 1,
				  .time_ns = at_us * US,
				  .lost_cnt = cnt,
				  .keeps_open = keeps_open };

	CHECK(!stages_row(st, &lost));
}

TEST(losses_with_a_place_leave_other_ends_known)
{
	begin();
	feed(datagram, 3, 0);
	feed_loss(60000, 5, false);
	FEED(freed, 200000);
	feed(datagram, 3, 300000);
	stages_lost(st, 5);
	end();
	CHECK(ends_as(STAGES_LOST) == 1 && ends_as(STAGES_FREED) == 1 && ends_as(STAGES_OPEN) == 1);
}

/* Calls in an interrupt are missing, of which any packet under way may have been one's. */
TEST(losses_in_interrupts_concern_what_is_under_way)
{
	begin();
	FEED(freed, 0);
	feed(datagram, 3, 10000);
	feed_loss(20000, 2, true);
	feed(datagram + 5, ARRAY_SIZE(datagram) - 5, 10000);
	feed(datagram, 3, 200000);
	feed_loss(200200, 2, true);
	FEED(freed, 300000);
	stages_lost(st, 4);
	end();
	CHECK(ends_as(STAGES_READ) == 1 && ends_as(STAGES_FREED) == 2);
	CHECK(ends_as(STAGES_LOST) == 1 && !ends_as(STAGES_OPEN));
}

/* The driver had no room: the time until it is asked again belongs to the queue. */
TEST(a_packet_queued_again_waits_in_the_queue)
{
	static const struct step busy[] = {
		E(1, 0, 0, "udp_sendmsg", "sk=0xa"),
		L(1, 1, 10, 1, "__dev_queue_xmit", "skb=0x1"),
		R(1, 0, 30, 30, "udp_sendmsg"),
		L(3, 0, 40, 5, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
		L(3, 0, 100, 5, "dev_hard_start_xmit", "first=0x1, dev=0x9"),
	};

	begin();
	FEED(busy, 0);
	end();
	check_sums("socket 1*10 qdisc 1*85 driver 1*10 total 1*105");
}

/* A datagram is sent, and what its call does beside: it asks for its neighbour, and frees a packet that came meanwhile. */
static const struct step beside[] = {
	E(1, 0, 100, "udp_sendmsg", "sk=0xa, msg=0x1, len=1"),
	E(1, 1, 110, "ip_send_skb", "net=0x5, skb=0x77"),
	E(1, 2, 120, "__dev_queue_xmit", "skb=0x99, sb_dev=0x0"),
	L(1, 3, 130, 1, "dev_hard_start_xmit", "first=0x99, dev=0x9"),
	R(1, 2, 135, 15, "__dev_queue_xmit"),
	E(1, 2, 140, "__dev_queue_xmit", "skb=0x77, sb_dev=0x0"),
	L(1, 3, 150, 10, "dev_hard_start_xmit", "first=0x77, dev=0x9"),
	R(1, 2, 165, 25, "__dev_queue_xmit"),
	E(1, 2, 170, "ip_rcv", "skb=0x88, dev=0x9"),
	L(1, 3, 175, 1, "__dev_queue_xmit", "skb=0x88, sb_dev=0x0"),
	L(1, 3, 180, 1, "kfree_skb", "skb=0x88"),
	R(1, 2, 185, 15, "ip_rcv"),
	R(1, 1, 190, 80, "ip_send_skb"),
	R(1, 0, 191, 91, "udp_sendmsg"),
};

TEST(packets_that_are_not_chosen_have_a_row_of_their_own)
{
	begin_with("udp dst port 6666");
	FEED(beside, 0);
	FEED(beside, 1000);
	end();
	check_sums("socket 2*80 qdisc 2*20 driver 2*20 total 2*120");
	CHECK(sums->packet_cnt == 2 && sums->begin_cnts[STAGES_SENT] == 2 &&
	      sums->begin_cnts[STAGES_OTHER] == 4);
	CHECK(!sums->begin_cnts[STAGES_MIDDLE] && !sums->begin_cnts[STAGES_RECEIVED]);
	CHECK(!sums->end_cnts[STAGES_FREED][STAGE_QDISC] &&
	      sums->end_cnts[STAGES_LEFT][STAGE_DRIVER] == 2);
}

/* What is not known of a packet does not make it another one. */
TEST(packets_that_may_be_chosen_count)
{
	static const struct step sent[] = {
		E(1, 0, 100, "udp_sendmsg", "sk=0xa, msg=0x1, len=1"),
		E(1, 1, 110, "ip_send_skb", "net=0x5, skb=0xaa"),
		L(1, 2, 120, 1, "__dev_queue_xmit", "skb=0xaa, sb_dev=0x0"),
		R(1, 1, 125, 15, "ip_send_skb"),
		R(1, 0, 130, 30, "udp_sendmsg"),
	};

	begin_with("udp dst port 6666");
	FEED(sent, 0);
	end();
	CHECK(sums->packet_cnt == 1 && !sums->begin_cnts[STAGES_OTHER]);
	free_stages();
	begin_with("ip[8] = 1");
	FEED(beside, 0);
	end();
	CHECK(sums->packet_cnt == 2 && sums->begin_cnts[STAGES_OTHER] == 1);
}

/*
 * A datagram is sent in three fragments, which arrive. The last one becomes the packet, the first is freed, the second is
 * in it.
 */
TEST(fragments_that_were_put_together_are_not_lost)
{
	static const struct step sent[] = {
		E(1, 0, 50, "udp_sendmsg", "sk=0xa, msg=0x1, len=1"),
		E(1, 1, 51, "ip_send_skb", "net=0x5, skb=0x4, pkt=7"),
		L(1, 2, 52, 1, "__dev_queue_xmit", "skb=0x1, sb_dev=0x0, pkt=7"),
		L(1, 2, 54, 1, "__dev_queue_xmit", "skb=0x2, sb_dev=0x0, pkt=7"),
		L(1, 2, 56, 1, "__dev_queue_xmit", "skb=0x3, sb_dev=0x0, pkt=7"),
		L(1, 2, 58, 1, "consume_skb", "skb=0x4, pkt=7"),
		R(1, 1, 60, 9, "ip_send_skb"),
		R(1, 0, 61, 11, "udp_sendmsg"),
		L(3, 0, 70, 1, "enqueue_to_backlog", "skb=0x1, pkt=7"),
		L(3, 0, 72, 1, "enqueue_to_backlog", "skb=0x2, pkt=7"),
		L(3, 0, 74, 1, "enqueue_to_backlog", "skb=0x3, pkt=7"),
	};
	static const struct step fragments[] = {
		E(3, 0, 100, "ip_rcv", "skb=0x1, dev=0x9, pkt=7"),
		E(3, 1, 101, "ip_local_deliver", "skb=0x1, pkt=7"),
		L(3, 2, 102, 1, "ip_defrag", "net=0x5, skb=0x1, user=0, pkt=7"),
		R(3, 1, 105, 4, "ip_local_deliver"),
		R(3, 0, 106, 6, "ip_rcv"),
		E(3, 0, 110, "ip_rcv", "skb=0x2, dev=0x9, pkt=7"),
		L(3, 1, 111, 1, "ip_defrag", "net=0x5, skb=0x2, user=0, pkt=7"),
		R(3, 0, 116, 6, "ip_rcv"),
		E(3, 0, 120, "ip_rcv", "skb=0x3, dev=0x9, pkt=7"),
		E(3, 1, 121, "ip_local_deliver", "skb=0x3, pkt=7"),
		E(3, 2, 122, "ip_defrag", "net=0x5, skb=0x3, user=0, pkt=7"),
		L(3, 3, 123, 1, "consume_skb", "skb=0x1, pkt=7"),
		R(3, 2, 125, 3, "ip_defrag"),
	};
	static const struct step delivered[] = {
		E(3, 2, 126, "udp_rcv", "skb=0x3, pkt=7"),
		L(3, 3, 127, 1, "sock_def_readable", "sk=0xb"),
		R(3, 2, 129, 3, "udp_rcv"),
		R(3, 1, 130, 9, "ip_local_deliver"),
		R(3, 0, 131, 11, "ip_rcv"),
		E(2, 0, 140, "udp_recvmsg", "sk=0xb, msg=0x1"),
		L(2, 1, 141, 1, "skb_consume_udp", "sk=0xb, skb=0x3, len=1"),
		R(2, 0, 150, 10, "udp_recvmsg"),
	};

	begin();
	FEED(sent, 0);
	FEED(fragments, 0);
	FEED(delivered, 0);
	end();
	CHECK(sums->begin_cnts[STAGES_SENT] == 1 && sums->begin_cnts[STAGES_COPY] == 3);
	CHECK(sums->end_cnts[STAGES_READ][STAGE_WAKEUP] == 1 &&
	      sums->end_cnts[STAGES_MERGED][STAGE_PROTOCOL] == 2);
	CHECK(!sums->end_cnts[STAGES_FREED][STAGE_PROTOCOL] &&
	      !sums->end_cnts[STAGES_OPEN][STAGE_PROTOCOL]);
	free_stages();
	/* nothing came of them */
	begin();
	FEED(sent, 0);
	FEED(fragments, 0);
	end();
	CHECK(sums->end_cnts[STAGES_FREED][STAGE_PROTOCOL] == 1 &&
	      sums->end_cnts[STAGES_OPEN][STAGE_PROTOCOL] == 2);
	CHECK(!sums->end_cnts[STAGES_MERGED][STAGE_PROTOCOL]);
}

TEST(the_preset_has_all_functions)
{
	const struct preset *preset = preset_find("stages");

	CHECK(preset && preset->callee_depth == PRESET_ALONE);
	for (size_t i = 0; stagefunc_at(i); i++) {
		CHECK(!stagefunc_at(i)->step || preset_has_start(preset, stagefunc_at(i)->name));
		CHECK(stagefunc_of((struct text){ stagefunc_at(i)->name,
						  strlen(stagefunc_at(i)->name) }) ==
		      stagefunc_at(i));
	}
}

TEST(the_table_says_what_it_counts)
{
	struct strbuf out = { 0 };

	begin();
	FEED(datagram, 0);
	feed(datagram, 3, 100000);
	end();
	CHECK(!stages_put(sums, &(struct tablew){ .out = &out }));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "         1     50000.000     50000.000     50000.000     50000.000"
			      "  qdisc\n"));
	CHECK(strstr(out.ptr, "\n   PACKETS  FIRST SEEN\n         2  the call that sends\n"));
	CHECK(strstr(out.ptr, "\n   PACKETS  LAST SEEN\n         1  read\n"
			      "         1  when the trace ended, in qdisc\n"));
	CHECK(!strstr(out.ptr, "NOT SEPARATED"));
	strbuf_reset(&out);
	CHECK(!stages_put(stages_sums(st),
			  &(struct tablew){ .out = &out, .form = TABLE_JSON, .host = "a" }));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr,
		     "{\"table\":\"stages\",\"schema\":1,\"host\":\"a\",\"stage\":\"qdisc\","
		     "\"packets\":1,\"p50_ns\":50000000,"));
	CHECK(strstr(
		out.ptr,
		"\"stage\":\"qdisc\",\"packets\":1,\"p50_ns\":null,\"p90_ns\":null,"
		"\"p99_ns\":null,\"max_ns\":null,\"first_seen\":null,\"last_seen\":\"open\","
		"\"not_told_apart\":null,\"parts\":null,\"net_p50_ns\":null,\"net_p99_ns\":null,\"net_error_ns\":null}\n"));
	CHECK(strstr(out.ptr, "\"not_told_apart\":null,\"parts\":0,\"net_p50_ns\":null"));
	strbuf_release(&out);
}

/* Fragments are packets: how many of these they are is said, where there are any. */
TEST(the_table_says_how_many_packets_are_parts)
{
	static const struct step fragments[] = {
		E(1, 0, 1, "__dev_queue_xmit", "skb=0x1, pkt=7"),
		R(1, 0, 9, 8, "__dev_queue_xmit"),
		L(1, 0, 10, 5, "dev_hard_start_xmit", "first=0x1, dev=0x9, pkt=7"),
		L(1, 0, 20, 1, "__dev_queue_xmit", "skb=0x8, pkt=8"),
		L(1, 0, 30, 1, "__dev_queue_xmit", "skb=0x9, pkt=8"),
		L(1, 0, 40, 5, "dev_hard_start_xmit", "first=0x9, dev=0x9, pkt=8"),
		L(1, 0, 50, 5, "consume_skb", "skb=0x8, pkt=8"),
	};
	struct strbuf out = { 0 };

	begin();
	FEED(fragments, 0);
	end();
	CHECK(!stages_put(sums, &(struct tablew){ .out = &out }));
	CHECK(strstr(strbuf_cstr(&out), "   PACKETS      PARTS        P50 us "));
	CHECK(strstr(strbuf_cstr(&out), "\n         2          1 "));
	CHECK(strstr(strbuf_cstr(&out), "\n         0          - "));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\nPARTS are copies, segments and fragments: each is one of the PACKETS.\n\n   PACKETS  FIRST SEEN\n"));
	CHECK(strstr(strbuf_cstr(&out), "\n         1  made of a packet above: "));
	CHECK(strstr(strbuf_cstr(&out), "\n         1  cut or copied, and freed: "));
	strbuf_reset(&out);
	CHECK(!stages_put(sums, &(struct tablew){ .out = &out, .form = TABLE_CSV }));
	CHECK(strstr(strbuf_cstr(&out),
		     ",last_seen,not_told_apart,parts,net_p50_ns,net_p99_ns,net_error_ns\n"));
	CHECK(!strstr(strbuf_cstr(&out), "PARTS"));
	strbuf_release(&out);
}

/* ---- between a call that reads and one that sends ---- */

/* A server: from the return of the call that took bytes, 1037, to the next that sends, 51037. */
static const struct step request[] = {
	E(1, 0, 1000, "tcp_recvmsg", "sk=0xb, msg=0x1"),
	L(1, 1, 1010, 1, "skb_copy_datagram_iter", "skb=0x77, offset=0"),
	R(1, 0, 1037, 37, "tcp_recvmsg"),
	L(1, 0, 2000, 1, "tcp_recvmsg", "sk=0xb, msg=0x1"), /* which finds nothing */
	L(2, 0, 3000, 1, "tcp_sendmsg", "sk=0xc, msg=0x1"), /* of another connection */
	E(1, 0, 51037, "tcp_sendmsg", "sk=0xb, msg=0x1"),
	L(1, 1, 51038, 1, "tcp_sendmsg_locked", "sk=0xb, msg=0x1"),
	R(1, 0, 51040, 3, "tcp_sendmsg"),
	L(1, 0, 52000, 1, "tcp_sendmsg", "sk=0xb, msg=0x1"), /* the rest of the answer */
};

TEST(an_application_takes_time_between_reading_and_sending)
{
	begin();
	for (uint64_t i = 0; i < 23; i++)
		FEED(request, i * 100000);
	end();
	check_sums("application 23*1150000");
}

/* A task that closes does not answer. Nor is it an answer after a loss, when the connection may be a new one at the same address. */
TEST(what_is_no_answer)
{
	static const struct step nothing[] = { L(1, 0, 51037, 1, "tcp_close", "sk=0xb") };
	static const struct step lost[] = { { ROW_LOST, 1, 0, 51000, 0, "", "" } };

	begin();
	feed(request, 3, 0);
	FEED(nothing, 0);
	feed(&request[5], 4, 10);
	feed(request, 3, 100000);
	FEED(lost, 100000);
	feed(&request[5], 4, 100000);
	end();
	check_sums("");
}

/* "socket 14600+-11 ...": the net times in ns of the stages that have any, then the total's, and the mean error. */
static void check_net(const char *want)
{
	char got[256] = "";

	for (int i = 0; i < STAGES_TIMES_CNT; i++) {
		const char *name;
		const struct stage_times *times = stages_times(sums, i, &name);
		const size_t len = strlen(got);

		if (times->net.cnt)
			snprintf(got + len, sizeof(got) - len, "%s%s %llu+-%llu", len ? " " : "",
				 name, (unsigned long long)times->net.sum,
				 (unsigned long long)stages_net_at(times, 50).error_ns);
	}
	CHECK_STR(got, want);
}

static const struct netcost call_cost = { .inner_ns = 150, .outer_ns = 250, .error_ns = 10 };

/* Each event of the task that ends a stage is taken off as half a call: none of the task that queued the packet, or woke the reader. */
TEST(net_times_have_no_cost_of_tracing)
{
	begin();
	stages_set_cost(st, &call_cost);
	FEED(datagram, 0);
	end();
	check_sums(
		"socket 1*15 qdisc 1*50000 driver 1*7 softirq 1*8 protocol 1*7 wake-up 1*9900 total 1*59937");
	check_net("socket 14600+-61 qdisc 49999800+-61 driver 6600+-61 softirq 7200+-71 "
		  "protocol 6600+-61 wake-up 9899200+-71 total 59934000+-381");
	CHECK(stages_have_net(sums));
}

TEST(without_a_cost_there_are_no_net_times)
{
	static const struct netcost unknown = { 0 };

	begin();
	stages_set_cost(st, NULL);
	stages_set_cost(st, &unknown);
	FEED(datagram, 0);
	end();
	check_net("");
	CHECK(!stages_have_net(sums));
}

/* An application's time begins with a call's end and ends with another's begin. */
TEST(an_application_has_a_net_time)
{
	begin();
	stages_set_cost(st, &call_cost);
	FEED(request, 0);
	end();
	check_sums("application 1*50000");
	check_net("application 49999400+-71");
}

/* Of a task with more events than are kept, a time that goes further back is not known, and others are. */
TEST(events_that_are_not_kept_any_more)
{
	static const struct step sent[] = {
		E(1, 0, 100, "udp_sendmsg", "sk=0xa, msg=0x1, len=1"),
		E(1, 1, 110, "ip_send_skb", "net=0x5, skb=0x77"),
	};
	static const struct step between[] = { L(1, 2, 120, 1, "nf_hook", "") };
	static const struct step queued[] = {
		L(1, 2, 20000, 1, "__dev_queue_xmit", "skb=0x77, sb_dev=0x0"),
		E(1, 2, 20010, "dev_hard_start_xmit", "first=0x77, dev=0x9"),
	};

	begin();
	stages_set_cost(st, &call_cost);
	FEED(sent, 0);
	for (uint64_t i = 0; i < 1100; i++)
		FEED(between, i * 2);
	FEED(queued, 0);
	end();
	CHECK(sums->stages[STAGE_SOCKET].gross.cnt == 1 && !sums->stages[STAGE_SOCKET].net.cnt);
	CHECK(sums->stages[STAGE_QDISC].net.cnt == 1);
	CHECK(sums->stages[STAGE_QDISC].net.sum == 10000 - 2 * 200);
}

/* Tasks that have each other's place: what was before that is not known. */
TEST(more_tasks_than_are_kept)
{
	struct stagecost cost = { .cost = call_cost };
	struct stretch stretch;

	/* places are drawn: of so many tasks others had each of them meanwhile */
	for (uint32_t track = 1; track <= 20000; track++)
		CHECK(!stagecost_event(&cost, track, track * 4ull));
	CHECK(!stagecost_event(&cost, 1, 100001));
	stretch = stagecost_stretch(&cost, 1, 90000, 100001);
	CHECK(!stretch.is_unknown && stretch.event_cnt == 1 && stretch.ns == 10001);
	CHECK(stagecost_net(&cost, &stretch).is_known);
	stretch = stagecost_stretch(&cost, 1, 5, 100001);
	CHECK(stretch.is_unknown && !stagecost_net(&cost, &stretch).is_known);
	stagecost_release(&cost);
}
