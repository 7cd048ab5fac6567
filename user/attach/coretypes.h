#ifndef NFG_ATTACH_CORETYPES_H
#define NFG_ATTACH_CORETYPES_H

struct btf;

/*
 * coretypes_write - write to @fd, as a BTF file, the types of @kernel that relocating programs (CO-RE) needs.
 *
 * Otherwise libbpf would read all types of vmlinux once more, and search them for each type of the programs. The file
 * has every struct, union and enum with a name from @local, the types of the programs (without the flavour, which
 * follows "___"), and their members. Pointers in it point to void. Its type ids are not the kernel's, so
 * bpf_core_type_id_kernel() is useless with it.
 * Return: 0 or -errno.
 */
int coretypes_write(int fd, const struct btf *kernel, const struct btf *local);

#endif
