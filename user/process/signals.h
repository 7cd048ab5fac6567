#ifndef NFG_PROCESS_SIGNALS_H
#define NFG_PROCESS_SIGNALS_H

/* How this program, and the command that it runs, handle signals. */

/* signals_stop_cnt - how often SIGINT, SIGTERM or SIGHUP asked to stop. */
extern const volatile int *const signals_stop_cnt;

/* signals_stop_sig - which of them came first; 0: none did. */
int signals_stop_sig(void);

/*
 * signals_catch - count those signals instead of dying; one that is ignored already (nohup, a shell's background job)
 * stays ignored.
 *
 * SIGCHLD only ends a sleep early.
 */
void signals_catch(void);

/* signals_ignore_writes - SIGPIPE and SIGXFSZ become errors of write(2), which are reported. */
void signals_ignore_writes(void);

/* signals_restore - in a new process, or before what is written at last: undo signals_catch and signals_ignore_writes. */
void signals_restore(void);

#endif
