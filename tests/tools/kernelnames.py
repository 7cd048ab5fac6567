#!/usr/bin/python3
"""kernelnames.py KNOWN: whether the names in the program's tables are among the lines of KNOWN (test_kernelnames.sh)."""

import fnmatch
import glob
import re
import sys

# Each ends at the first line that begins with "};", or for a string, with a blank and ends with ";".
TABLES = [
    ("attach/bpfobj.c", "packet_funcs[]"),
    ("attach/bpfobj.c", "past_end_funcs[]"),
    ("select/callgraph_hops.c", "#define TRANSMIT"),
    ("select/presets.c", "common[]"),
    ("select/presets.c", "denied[]"),
    ("select/presets.c", "preset_costs[]"),
    ("select/presets.c", "preset_defs[]"),
    ("select/presets.c", "preset_main_path[]"),
    ("select/reach.c", "entry_callers[]"),
    ("select/reach.c", "*names ="),
    ("select/presets.c", "netfilter_entries[]"),
    ("kernel/pointfields.c", "point_texts[]"),
    ("kernel/sleep.c", "skipped[]"),
    ("kernel/tracepoint.c", "tracepoint_systems[]"),
    ("format/calltree.c", "hardirqs[]"),
    ("format/calltree.c", "loops[]"),
    ("format/calltree.c", "softirqs[]"),
    ("format/likely.c", "#define OPENS"),
    ("format/stagefunc.c", "funcs[]"),
]

# Of these only the first string of an entry is a name, and it may be one of a tracepoint.
FIRST_OF_ENTRY = {"point_texts[]"}

# Of drivers and protocols that Debian's kernels for virtual machines do not have.
DRIVERS = """
    alx_* aq_ndev_* atl1c_* be_xmit bnx2x_* bnxt_* cp_start_xmit e1000_* e1000e_poll ena_* gve_* i40e_* iavf_* ice_*
    ieee80211_subif_start_xmit igb_* igc_* ionic_* ixgbe_* ixgbevf_* mana_* mlx4_en_* mlx5e_* mlx5i_* netvsc_* pcnet32_*
    qede_* rtl8139_* rtl8169_* stmmac_xmit t4_start_xmit tg3_* usbnet_start_xmit xennet_* ppp_start_xmit pppoe_rcv smc_sendmsg smc_recvmsg gtp_encap_recv nsim_start_xmit
""".split()

# Of kernels with other configurations: lockdep, KASAN, stop_machine's debugging; hypervisors; interrupt controllers of other boards.
ELSEWHERE = """
    __kasan_* kasan_* lock_acquire* lock_release* __lock_acquire pv_queued_* paravirt_sched_clock x32_sys_call armpmu_* armv8pmu_*
    __gic_handle_irq* gic_handle_irq arch_timer_handler_* do_handle_IPI ipi_handler
""".split()

# Of kernels from between the tested ones, or built by compilers that inline less; what calls through pointers, or a preset, would
# lose there.
BETWEEN = """
    complete_with_flags do_poll dynamic_irqentry_exit_cond_resched ep_poll mptcp_stream_connect tcp_v6_destroy_sock tcp_drop tcp_probe_timer tcp_rcv_synsent_state_process tick_nohz_highres_handler
    xmit_one
""".split()

# What must be known wherever it is: these kernels' compilers inline it, another may not.
INLINED = """
    __do_sys_exit __do_sys_exit_group __module_put_and_exit module_put_and_exit __stop_machine* context_switch
    inc_misses_counter skb_kfree_head skb_pp_recycle task_under_cgroup_hierarchy timekeeping_cycles_to_ns* warn_slowpath_*
""".split()

# In tables of other things a word of this form is no name.
NO_NAMES = {"AF_UNIX", "TCP_NODELAY", "ip_local_port_range"}

OUTSIDE_MAX = 12


def words_of(text):
    for string in re.findall(r'"((?:[^"\\]|\\.)*)"', text):
        for word in string.split():
            word = word.split(",")[0]
            is_member = re.match(r"skb?\.", word)  # in a condition of --filter
            if re.fullmatch(r"[A-Za-z0-9_.*]*_[A-Za-z0-9_.*]*", word) and word not in NO_NAMES and not is_member:
                yield word


def is_any(word, patterns):
    return any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns)


def exists(word, known, ordered):
    """@ordered: the lines of @known, with a line end at the begin, too."""
    core = word.strip("*")
    if "*" in core:
        return re.search("\n" + re.escape(word).replace(r"\*", ".*") + "\n", ordered) is not None
    if "*" not in word:
        return word in known
    return ("" if word[0] == "*" else "\n") + core + ("" if word[-1] == "*" else "\n") in ordered


def main():
    with open(sys.argv[1], encoding="ascii") as lines:
        ordered = "\n" + lines.read()
    known = set(ordered.split())
    passed = failed = 0
    for path, table in TABLES:
        with open("user/" + path, encoding="utf-8") as source:
            text = source.read()
        if table not in text:
            print(f"FAIL {path}: no table '{table}'")
            failed += 1
            continue
        text = text[text.index(table):]
        text = text[:re.search(r'^\t?\};$|^\t.*";$', text, re.MULTILINE).end()]
        if table in FIRST_OF_ENTRY:
            text = "\n".join(re.findall(r'^\t\{ ("[^"]*"),', text, re.MULTILINE))
        names = set(words_of(text))
        missing = [name for name in sorted(names)
                   if not exists(name, known, ordered) and not is_any(name, DRIVERS + ELSEWHERE + BETWEEN + (INLINED if table in ("denied[]", "past_end_funcs[]") else []))]
        if missing or not names:
            print(f"FAIL {path}: {table}: of {len(names)} names no kernel has: {' '.join(missing)}")
            failed += 1
        else:
            print(f"   {path}: {table}: {len(names)} names")
            passed += 1
    # where none is looked for
    listed = {path for path, _ in TABLES}
    for path in sorted(glob.glob("user/*/*.[ch]")):
        with open(path, encoding="utf-8") as source:
            names = {word for word in words_of(source.read()) if "*" not in word and word in known}
        if path[len("user/"):] not in listed and len(names) > OUTSIDE_MAX:
            print(f"FAIL {path}: a table that is not checked? {len(names)} names of functions: {' '.join(sorted(names)[:8])} ...")
            failed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


sys.exit(main())
