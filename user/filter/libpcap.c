#include "filter/libpcap.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Debian's name of the library, and that of the others. The functions used here are the same in both. */
static const char *const sonames[] = { "libpcap.so.0.8", "libpcap.so.1" };

static bool find_functions(struct libpcap *lib, void *handle)
{
	/* as dlsym(3) has it: C knows no conversion from void * to a function */
	*(void **)&lib->open_dead = dlsym(handle, "pcap_open_dead");
	*(void **)&lib->compile = dlsym(handle, "pcap_compile");
	*(void **)&lib->geterr = dlsym(handle, "pcap_geterr");
	*(void **)&lib->freecode = dlsym(handle, "pcap_freecode");
	*(void **)&lib->close = dlsym(handle, "pcap_close");
	return lib->open_dead && lib->compile && lib->geterr && lib->freecode && lib->close;
}

static bool open_library(struct libpcap *lib, const char *soname)
{
	void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	return handle && find_functions(lib, handle);
}

const struct libpcap *libpcap_load(char *why, size_t why_size)
{
	static struct libpcap lib;
	static bool is_loaded;
	size_t len = 0;

	for (size_t i = 0; !is_loaded && i < ARRAY_SIZE(sonames); i++) {
		is_loaded = open_library(&lib, sonames[i]);
		if (!is_loaded && len < why_size)
			len += (size_t)snprintf(why + len, why_size - len, "%s%s", i ? "; " : "",
						dlerror());
	}
	return is_loaded ? &lib : NULL;
}
