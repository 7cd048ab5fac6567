#ifndef NFG_PROCESS_SIGNALS_H
#define NFG_PROCESS_SIGNALS_H

/* Signal handling of this program and its command. */

/* signals_stop_cnt - the number of SIGINT, SIGTERM and SIGHUP received. */
extern const volatile int *const signals_stop_cnt;

/* signals_stop_sig - which of them came first; 0: none did. */
int signals_stop_sig(void);

/*
 * signals_catch - count those signals instead of dying; signals that are already ignored (nohup, a shell's background
 * job) stay ignored.
 *
 * SIGCHLD only ends sleeps early.
 */
void signals_catch(void);

/* signals_ignore_writes - SIGPIPE and SIGXFSZ become errors of write(2), which are reported. */
void signals_ignore_writes(void);

/* signals_restore - in a new process, or before the last writes: undo signals_catch and signals_ignore_writes. */
void signals_restore(void);

#endif
