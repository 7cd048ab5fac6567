#ifndef NFG_TEST_BTFFILE_H
#define NFG_TEST_BTFFILE_H

/* Made-up types of a kernel, as the program finds them. */
struct btf;
struct kbtf;

/* The types of a kernel that has those of @btf, which is freed. The caller frees them. */
struct kbtf *kernel_of(struct btf *btf);

#endif
