#ifndef NFG_KERNEL_ATTACHMODE_H
#define NFG_KERNEL_ATTACHMODE_H

/* How programs get to functions. */
enum attach_mode {
	ATTACH_AUTO,    /* the best the kernel has */
	ATTACH_MULTI,   /* a few programs for all functions, tracing_multi links (7.2) */
	ATTACH_KPROBE,  /* a program for all functions, kprobe.session links (6.10) */
	ATTACH_SESSION, /* a program for each function, fsession (7.0) */
	ATTACH_PAIR,    /* two programs for each function, fentry and fexit */
};

#endif
