#ifndef NFG_ATTACH_CORETYPES_H
#define NFG_ATTACH_CORETYPES_H

struct btf;

/*
 * coretypes_write - write to @fd, as a BTF file, what relocating programs (CO-RE) asks of the types of @kernel.
 *
 * libbpf would read all types of vmlinux once more, and look through them for each type that the programs know.
 * What is written are the structs, unions and enums that @local, the types of the programs, names (without their
 * flavour: what follows "___"), every one that bears the name; and what they have inside. A pointer there
 * points to void. Types have other ids there: bpf_core_type_id_kernel() tells nothing about the kernel's.
 * Return: 0 or -errno.
 */
int coretypes_write(int fd, const struct btf *kernel, const struct btf *local);

#endif
