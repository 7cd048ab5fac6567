/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_ARCH_BPF_H
#define NFG_ARCH_BPF_H

/* The differences between architectures; each file defines the same names. */
#if defined(__TARGET_ARCH_arm64)
#include "arm64.bpf.h"
#else
#include "x86_64.bpf.h"
#endif

#endif
