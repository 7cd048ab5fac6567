/* Functions that live patches replaced, from a tree like that of sysfs. */
#include "kernel/ftracelist.h"

#include <sys/resource.h>

#include "fakehost.h"
#include "harness.h"

TEST(functions_of_all_patches)
{
	struct livepatch *lp;

	host_make();
	dirs_make(text_of("%s/one/vmlinux/tcp_v4_rcv,1", tree));
	dirs_make(text_of("%s/one/veth/veth_xmit,2", tree));
	dirs_make(text_of("%s/two/vmlinux/ip_rcv,1", tree));
	file_make(text_of("%s/two/vmlinux/patched", tree), "1\n");
	lp = livepatch_new(tree);
	CHECK(lp);
	CHECK(livepatch_has(lp, "tcp_v4_rcv") && livepatch_has(lp, "veth_xmit"));
	CHECK(livepatch_has(lp, "ip_rcv"));
	CHECK(!livepatch_has(lp, "patched") && !livepatch_has(lp, "ip_rcv,1"));
	CHECK(!livepatch_has(NULL, "ip_rcv"));
	livepatch_free(lp);
}

TEST(without_patches_there_are_none)
{
	struct livepatch *lp = livepatch_new("/nosuch");

	CHECK(lp && !livepatch_has(lp, "ip_rcv"));
	livepatch_free(lp);
}

/* Fewer functions than are patched would be worse than none: attaching to a patched one may crash the kernel. */
TEST(without_memory_there_is_no_answer)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
	SKIP("memory of a sanitizer has no limit");
#endif
#endif
	const struct rlimit none = { 1, RLIM_INFINITY }; /* 0 is no limit */
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct livepatch *lp;
	char name[200];

	host_make();
	memset(name, 'f', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 2000; i++) /* more than malloc has from the beginning */
		dirs_make(text_of("%s/one/vmlinux/%s%d,1", tree, name, i));
	CHECK(!setrlimit(RLIMIT_DATA, &none));
	lp = livepatch_new(tree);
	CHECK(!setrlimit(RLIMIT_DATA, &all) && !lp);
}
