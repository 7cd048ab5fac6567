# netfgraph: `make help` lists the targets. Everything made goes to $(OUTPUT)/, except ./netfgraph.
VERSION := 0.1.0

# A foreign ARCH= has a folder of its own for what is made, the program included, and Debian's cross compiler.
HOST    := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
ARCH    := $(HOST)
FOREIGN := $(filter-out $(HOST),$(ARCH))
OUTPUT  ?= .output$(addprefix /,$(FOREIGN))
ifneq ($(and $(FOREIGN),$(filter default,$(origin CC))),)
  CC := $(or $(shell tests/vm/cross),$(error there is no compiler for ARCH=$(ARCH)))
endif
CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
VMLINUX ?= vmlinux

prefix  ?= /usr/local
sbindir ?= $(prefix)/sbin
mandir  ?= $(prefix)/share/man
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share

# where each shell looks for completion of commands by name
bash_file = $(prefix)/share/bash-completion/completions/netfgraph
zsh_file  = $(prefix)/share/zsh/site-functions/_netfgraph
fish_file = $(prefix)/share/fish/vendor_completions.d/netfgraph.fish
examplesdir = $(prefix)/share/doc/netfgraph/examples
EXAMPLES := $(wildcard packaging/flight/*)

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
WERROR ?= -Werror
# The program reads files and texts that others made; packages bring their own flags.
CFLAGS  ?= -O2 -g -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
LDFLAGS ?= -Wl,-z,relro,-z,now
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -U_FORTIFY_SOURCE -DNFG_SANITIZED)
LIBS   := -lbpf -lelf -lz
ALL_CFLAGS = -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $(SANFLAGS) -D_GNU_SOURCE \
	-DNFG_HTML_PAGE='"user/html/page.html"' -DNFG_VERSION='"$(VERSION)"' -Iinclude -Iuser -isystem $(OUTPUT)

ifeq ($(V),1)
  Q   :=
  msg  =
else
  Q   := @
  msg  = @printf '  %-7s %s\n' '$(1)' '$(2)';
endif

# -MD, not -MMD: vmlinux.h and the skeleton come by -isystem and must be tracked too
DEPS = -MD -MP -MF $@.d -MT $@

# A sanitizer build and one for another machine link a program of their own, beside their objects.
PROGRAM := $(if $(SAN)$(FOREIGN),$(OUTPUT)/netfgraph,netfgraph)

# Sources are what stands in the folders; nothing is listed here.
find_files = $(sort $(shell find $(1) -type f \( $(2) \)))
USER_SRCS := $(call find_files,user,-name '*.c')
USER_OBJS := $(USER_SRCS:%.c=$(OUTPUT)/%.o)
CORE_OBJS := $(filter-out $(OUTPUT)/user/main.o,$(USER_OBJS))
SKELS     := $(patsubst bpf/%.bpf.c,$(OUTPUT)/%.skel.h,$(wildcard bpf/*.bpf.c))

# In each folder of tests, a file with a main() or with TEST()s becomes a program of its name. The other
# files of the folder go into a library, $(OUTPUT)/tests/FOLDER/helpers.a, that its programs share.
objects   = $(patsubst %.c,$(OUTPUT)/%.o,$(1))
UNIT     := $(patsubst %.c,$(OUTPUT)/%,$(wildcard tests/unit/test_*.c))
FUZZ     := $(patsubst %.c,$(OUTPUT)/%,$(wildcard tests/fuzz/fuzz_*.c))
TOOLS    := $(patsubst %.c,$(OUTPUT)/%,$(shell grep -lw '^int main' tests/tools/*.c))
NETPROGS := $(addprefix $(OUTPUT)/tests/tools/,netprogs.bpf.o untyped.bpf.o extension.bpf.o slow.bpf.o)
NETKINDS := $(addprefix $(OUTPUT)/tests/tools/,netkinds.bpf.o netfilter.bpf.o congestion.bpf.o)
helpers   = $(filter-out $(UNIT:=.o) $(FUZZ:=.o) $(TOOLS:=.o),$(call objects,$(wildcard tests/$(1)/*.c)))
WORKLOAD := $(OUTPUT)/tests/vm/workload
COMPLETIONS := $(addprefix $(OUTPUT)/completion.,bash zsh fish)

.PHONY: all
all: $(PROGRAM)

.PHONY: help
help:
	@echo 'make              build ./netfgraph'
	@echo 'make demo         install what is missing, build, trace a TCP exchange (VM if this kernel refuses)'
	@echo 'make test         install what is missing, build, run every test, VMs included'
	@echo 'make test-matrix  a few tests on many kernels, flavours and models of preemption: an hour'
	@echo 'make test-kernels  a few tests on kernels of other configurations, which it builds: hours'
	@echo 'make test-arm64   the live tests on guests of arm64, all of them on the newest kernel: an hour'
	@echo 'make bench        what tracing costs, as a table'
	@echo 'make check        the tests that need no root and no VM'
	@echo 'make screenshots  pictures of a terminal: traces, status line, tables, messages'
	@echo 'make fuzz         run every fuzzer for FUZZ_SECONDS=60; tests/fuzz/run NAME runs one'
	@echo 'make install      to $$(DESTDIR)$$(prefix), default /usr/local; also: uninstall'
	@echo 'make tarball      of the last commit; deb, rpm: packages of it; portable: a program that needs only libc'
	@echo 'make image        $(OUTPUT)/image, from which podman or buildah build a container image'
	@echo 'make test-packages  build these, and use them in fresh Debian roots: some minutes, as root'
	@echo 'make format       clang-format the sources'
	@echo 'make clean        remove $(OUTPUT)/ but what was fetched, kernels and compilers; distclean removes them too'
	@echo
	@echo 'V=1  show commands      SAN=address,undefined  build with sanitizers (use an OUTPUT= of its own)'
	@echo 'ARCH=arm64  build for it on x86-64, as $(OUTPUT)/arm64/netfgraph'
	@echo 'CC= CLANG= BPFTOOL=     tools      WERROR=  do not stop at warnings'

# The skeletons hold the names of the sources, which must not depend on where they are.
$(OUTPUT)/%.bpf.o: bpf/%.bpf.c Makefile
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -ffile-prefix-map=$(CURDIR)=. -D__TARGET_ARCH_$(ARCH) -Wall -Wextra $(WERROR) $(DEPS) \
		-Iinclude -isystem $(VMLINUX) -c $< -o $@

# BPF programs that the tests trace, with types and without.
$(OUTPUT)/tests/tools/netprogs.bpf.o: NETPROGS_FLAGS = -g
$(OUTPUT)/tests/tools/untyped.bpf.o: NETPROGS_FLAGS = -DUNTYPED
$(OUTPUT)/tests/tools/extension.bpf.o: NETPROGS_FLAGS = -g -DEXTENSION
$(OUTPUT)/tests/tools/slow.bpf.o: NETPROGS_FLAGS = -g -DSLOW
$(OUTPUT)/tests/tools/netfilter.bpf.o: NETPROGS_FLAGS = -DNETFILTER
$(OUTPUT)/tests/tools/congestion.bpf.o: NETPROGS_FLAGS = -DCONGESTION
$(NETKINDS): NETPROGS_FLAGS += -g
$(NETPROGS): tests/tools/netprogs.bpf.c Makefile
$(NETKINDS): tests/tools/netkinds.bpf.c Makefile
$(NETPROGS) $(NETKINDS):
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 $(NETPROGS_FLAGS) -Wall -Wextra $(WERROR) \
		-I/usr/include/$(shell uname -m)-linux-gnu -c $< -o $@

$(OUTPUT)/%.skel.h: $(OUTPUT)/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F)_bpf > $@

$(OUTPUT)/user/%.o: user/%.c Makefile | $(SKELS)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPS) -c $< -o $@

# The page of --format html is a part of this object. It is made from user/html/src by npm; see user/html/build.js.
$(OUTPUT)/user/format/fmt_html.o: user/html/page.html

$(PROGRAM): $(USER_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(OUTPUT)/tests/%.o: tests/%.c Makefile | $(SKELS)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests/unit $(DEPS) -c $< -o $@

$(OUTPUT)/core.a: $(CORE_OBJS)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(OUTPUT)/tests/unit/helpers.a: $(call helpers,unit)
$(OUTPUT)/tests/tools/helpers.a: $(call helpers,tools)
$(OUTPUT)/tests/fuzz/helpers.a: $(call helpers,fuzz)
$(OUTPUT)/tests/%/helpers.a:
	$(call msg,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^

$(UNIT) $(TOOLS): $(OUTPUT)/%: $(OUTPUT)/%.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $^ $(LIBS) -o $@
$(UNIT): $(OUTPUT)/tests/unit/helpers.a $(OUTPUT)/core.a
$(TOOLS): $(OUTPUT)/tests/tools/helpers.a $(OUTPUT)/core.a

$(FUZZ): $(OUTPUT)/%: $(OUTPUT)/%.o $(OUTPUT)/tests/fuzz/helpers.a $(OUTPUT)/core.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -fsanitize=fuzzer $^ $(LIBS) -o $@

# Whether they still link, which make check asks without libFuzzer: one may stand in for a function of the program only if
# that function's file has nothing else that is linked.
FUZZ_LINKS = $(addsuffix .link,$(FUZZ))
$(FUZZ_LINKS): $(OUTPUT)/%.link: $(OUTPUT)/%.o $(OUTPUT)/tests/fuzz/helpers.a $(OUTPUT)/core.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -Wl,--defsym=main=0,--defsym=LLVMFuzzerMutate=0 $^ $(LIBS) -o $@

# The program loads libpcap itself, when it needs it. These tests compare with it; the fuzzers replace functions of libc
# that it calls, and the linker exports those only for a library it knows.
$(OUTPUT)/tests/unit/test_pcapfilter $(OUTPUT)/tests/tools/packetverdict $(FUZZ) $(FUZZ_LINKS): LIBS += -lpcap

# they include a unit test, and run programs as it does
$(foreach f,cbpf packet,$(OUTPUT)/tests/fuzz/fuzz_$f $(OUTPUT)/tests/fuzz/fuzz_$f.link): $(OUTPUT)/tests/unit/machine.o $(OUTPUT)/tests/unit/packets.o

# Runs in guests of any distribution: static, and of nothing but libc.
$(WORKLOAD): $(wildcard tests/vm/*.[ch]) Makefile
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) $(WERROR) -static -pthread $(filter %.c,$^) -o $@

# The user stacks of tests: with frame pointers, at addresses that the kernel chooses and at fixed ones.
USERCALLS = $(OUTPUT)/tests/tools/usercalls
USERCALLS_ALL = $(USERCALLS)-fixed $(if $(filter x86,$(ARCH)),$(USERCALLS)32)
FRAMED = -fno-omit-frame-pointer
$(USERCALLS).o: CFLAGS += $(FRAMED) -fPIE
$(USERCALLS)-fixed: tests/tools/usercalls.c Makefile
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) $(WERROR) $(FRAMED) -fno-pie -static $< -o $@

# A process of 32 bits, which no libc is needed for.
$(USERCALLS)32: tests/tools/usercalls32.S Makefile
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m32 -nostdlib -static -no-pie $< -o $@

# What is linked with libFuzzer counts its own branches: all of it is built apart.
.PHONY: fuzz fuzz-programs
fuzz-programs: $(FUZZ)
fuzz:
	$(Q)OUTPUT=$(OUTPUT) tests/fuzz/run -s $(or $(FUZZ_SECONDS),60)

.PHONY: test-programs
test-programs: $(UNIT) $(TOOLS) $(USERCALLS_ALL) $(NETPROGS) $(NETKINDS) $(WORKLOAD) $(FUZZ_LINKS)

# those that run in guests, and others like them
.PHONY: test-tools
test-tools: $(TOOLS) $(USERCALLS_ALL) $(NETPROGS) $(NETKINDS)

.PHONY: check
check: all test-programs
	$(Q)OUTPUT=$(OUTPUT) PROGRAM=./$(PROGRAM) tests/run check

# Without -j, what the targets below build is built by all CPUs: nobody wants to wait longer for the same.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: test
test:
	$(Q)tests/deps
	$(Q)tests/vm/deps arm64
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-programs
	$(Q)$(MAKE) --no-print-directory $(JOBS) ARCH=arm64 all
	$(Q)OUTPUT=$(OUTPUT) PROGRAM=./$(PROGRAM) tests/run all

.PHONY: test-matrix
test-matrix:
	$(Q)tests/deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-programs
	$(Q)OUTPUT=$(OUTPUT) tests/live/run -m

# On kernels of other configurations, which are built first.
.PHONY: test-kernels
test-kernels:
	$(Q)tests/deps
	$(Q)tests/vm/deps build
	$(Q)tests/vm/build 7-lazystatic 7-os 6.12-debug 7-debug
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-programs
	$(Q)OUTPUT=$(OUTPUT) tests/live/run -l 7-lazystatic 7-os 6.12-debug 7-debug

# On guests of arm64, which the emulator runs: all tests on the newest kernel, a few on the others.
.PHONY: test-arm64
test-arm64:
	$(Q)tests/deps
	$(Q)tests/vm/deps arm64
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-programs
	$(Q)$(MAKE) --no-print-directory $(JOBS) ARCH=arm64 all test-tools
	$(Q)NFG_WIDE=yes OUTPUT=$(OUTPUT) tests/live/run 5.10-arm64 6.1-arm64 6.12-arm64 7-16k-arm64
	$(Q)OUTPUT=$(OUTPUT) tests/live/run -t reach 6.12-arm64
	$(Q)OUTPUT=$(OUTPUT) tests/live/run -t compare 6.12-arm64
	$(Q)OUTPUT=$(OUTPUT) tests/live/run -t scope 6.12-arm64
	$(Q)OUTPUT=$(OUTPUT) tests/live/run -t trees 7
	$(Q)OUTPUT=$(OUTPUT) tests/live/run -a 7-arm64

.PHONY: bench
bench:
	$(Q)tests/deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-programs
	$(Q)OUTPUT=$(OUTPUT) tests/bench/run

.PHONY: demo
demo:
	$(Q)tests/deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all $(WORKLOAD)
	$(Q)OUTPUT=$(OUTPUT) tests/demo

$(OUTPUT)/netfgraph.8: $(PROGRAM)
	$(Q)./$(PROGRAM) --print-man > $@

# To be looked at, not compared: how a terminal shows things, as $(OUTPUT)/screenshots/*.png.
.PHONY: screenshots
screenshots: all $(WORKLOAD)
	$(Q)tests/screenshots/run $(OUTPUT)/screenshots

$(OUTPUT)/completion.%: $(PROGRAM)
	$(Q)./$(PROGRAM) --print-completion $* > $@

.PHONY: install uninstall
install: all $(OUTPUT)/netfgraph.8 $(COMPLETIONS)
	install -D -m 755 netfgraph $(DESTDIR)$(sbindir)/netfgraph
	install -D -m 644 $(OUTPUT)/netfgraph.8 $(DESTDIR)$(mandir)/man8/netfgraph.8
	install -D -m 644 $(OUTPUT)/completion.bash $(DESTDIR)$(bash_file)
	install -D -m 644 $(OUTPUT)/completion.zsh $(DESTDIR)$(zsh_file)
	install -D -m 644 $(OUTPUT)/completion.fish $(DESTDIR)$(fish_file)
	install -D -m 644 -t $(DESTDIR)$(examplesdir) $(EXAMPLES)
	install -D -m 644 include/nfg_reader.h $(DESTDIR)$(includedir)/nfg_reader.h
	install -D -m 644 include/nfgrec.py $(DESTDIR)$(datadir)/netfgraph/nfgrec.py

uninstall:
	rm -f $(DESTDIR)$(sbindir)/netfgraph $(DESTDIR)$(mandir)/man8/netfgraph.8
	rm -f $(DESTDIR)$(bash_file) $(DESTDIR)$(zsh_file) $(DESTDIR)$(fish_file)
	rm -f $(addprefix $(DESTDIR)$(examplesdir)/,$(notdir $(EXAMPLES)))
	rm -f $(DESTDIR)$(includedir)/nfg_reader.h $(DESTDIR)$(datadir)/netfgraph/nfgrec.py

# Archives and packages go to folders of $(OUTPUT)/; the scripts print the path of what they made.
.PHONY: tarball deb rpm image portable
tarball deb rpm:
	$(Q)OUTPUT=$(OUTPUT) packaging/$@
image: deb
	$(Q)OUTPUT=$(OUTPUT) packaging/image

portable: $(OUTPUT)/portable/netfgraph
PORTABLE_LIBS = -l:libbpf.a -l:libelf.a -l:libz.a
# libelf needs zstd from 0.189 on
PORTABLE_LIBS += $(if $(findstring /,$(shell $(CC) -print-file-name=libzstd.a)),-l:libzstd.a)
$(OUTPUT)/portable/netfgraph: $(USER_OBJS)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static-libgcc -s $^ $(PORTABLE_LIBS) -o $@

.PHONY: test-packages
test-packages:
	$(Q)tests/deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all test-programs portable
	$(Q)OUTPUT=$(OUTPUT) tests/install/run

.PHONY: format
format:
	clang-format -i $(call find_files,user bpf include tests,-name '*.c' -o -name '*.h')

.PHONY: clean distclean
clean:
	rm -rf $(PROGRAM) $(filter-out $(OUTPUT)/vm $(OUTPUT)/cross,$(wildcard $(OUTPUT)/*))

distclean:
	rm -rf netfgraph $(OUTPUT)

.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(OUTPUT) \( -name vm -o -name deb -o -name rpm -o -name image -o -name packages -o -name cross $(if $(FOREIGN),,-o -name arm64) \) -prune -o \
	-type f -name '*.d' -print 2>/dev/null)
