#ifndef NFG_PROCESS_SIGNALS_H
#define NFG_PROCESS_SIGNALS_H

/* What signals do to this program, and to the command that it runs. */

/* signals_stop_cnt - how often SIGINT, SIGTERM or SIGHUP asked to stop. */
extern const volatile int *const signals_stop_cnt;

/* signals_stop_sig - which of them came first; 0: none did. */
int signals_stop_sig(void);

/*
 * signals_catch - from here on those are counted; what is ignored already (nohup, a shell's background) stays ignored.
 *
 * SIGCHLD only ends a sleep early.
 */
void signals_catch(void);

/* signals_ignore_writes - a reader that is gone and a file that may not grow are errors of write(2), which are said. */
void signals_ignore_writes(void);

/* signals_restore - in a new process: what was in force before the two above. */
void signals_restore(void);

#endif
