/*
 * A 32-bit process for tests of --graph-opts ustack, without a libc: _start calls outer32, inner32, and that socket() by
 * int 0x80; then it sleeps for a second.
 */
	.text
	.globl _start
	.type _start, @function
_start:
	xorl %ebp, %ebp
	call outer32
	pushl $0 /* ns */
	pushl $1 /* s */
	movl $162, %eax /* nanosleep */
	movl %esp, %ebx
	xorl %ecx, %ecx
	int $0x80
	movl $1, %eax /* exit */
	xorl %ebx, %ebx
	int $0x80
	.size _start, . - _start

	.type outer32, @function
outer32:
	pushl %ebp
	movl %esp, %ebp
	call inner32
	popl %ebp
	ret
	.size outer32, . - outer32

	.type inner32, @function
inner32:
	pushl %ebp
	movl %esp, %ebp
	pushl $0 /* protocol */
	pushl $2 /* SOCK_DGRAM */
	pushl $2 /* AF_INET */
	movl $102, %eax /* socketcall */
	movl $1, %ebx	/* SYS_SOCKET */
	movl %esp, %ecx
	int $0x80
	leave
	ret
	.size inner32, . - inner32

	.section .note.GNU-stack, "", @progbits
