// Attacks that need a system call of their own. Exits 0 where the attack got
// through, 1 where it was refused.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

// refused: the filter's answers. Anything else means the kernel was reached.
static int reached(long r) {
	if (r >= 0) return 1;
	return errno != EPERM && errno != ENOSYS && errno != EAFNOSUPPORT && errno != EACCES;
}

#ifdef __x86_64__
static long int80(long nr, long a, long b, long c) {
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	if (r < 0 && r > -4096) { errno = -r; return -1; }
	return r;
}
#endif

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	char c = 'x';
	errno = 0;
	// A terminal is not needed to see whether the filter was passed: on a
	// descriptor that is none the kernel answers ENOTTY.
	if (is(what, "tiocsti")) return !reached(syscall(SYS_ioctl, 0, TIOCSTI, &c));
	if (is(what, "tiocsti-high")) return !reached(syscall(SYS_ioctl, 0, 0x100000000UL | TIOCSTI, &c));
	if (is(what, "tioclinux")) return !reached(syscall(SYS_ioctl, 0, 0x541C, &c));
#ifdef __x86_64__
	if (is(what, "tiocsti-x32")) return !reached(syscall(0x40000000 | 514, 0, TIOCSTI, &c));
	if (is(what, "tiocsti-x32-native")) return !reached(syscall(0x40000000 | 16, 0, TIOCSTI, &c));
	if (is(what, "tiocsti-i386")) return !reached(int80(54, 0, TIOCSTI, 0));
	if (is(what, "keyctl-i386")) return !reached(int80(288, 0, -3, 0));
	if (is(what, "unshare-i386")) return !reached(int80(310, CLONE_NEWUSER, 0, 0));
	if (is(what, "socketcall-i386")) return !reached(int80(102, 1, 0, 0));
#endif
	if (is(what, "keyctl")) return !reached(syscall(SYS_keyctl, 0, -3, 1));
	if (is(what, "add_key")) return !reached(syscall(SYS_add_key, "user", "sbox-check", "x", 1L, -3));
	if (is(what, "bpf")) return !reached(syscall(SYS_bpf, 9999, 0, 0));
	if (is(what, "perf")) return !reached(syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
	if (is(what, "userfaultfd")) return !reached(syscall(SYS_userfaultfd, 0xdead));
	if (is(what, "io_uring")) return !reached(syscall(425, 1, 0));
	if (is(what, "mount")) return !reached(mount("none", "/nonexistent", "tmpfs", 0, 0));
	if (is(what, "open_tree")) return !reached(syscall(428, -100, "/nonexistent", 0));
	if (is(what, "kexec")) return !reached(syscall(SYS_kexec_load, 0, 99, 0, 0));
	if (is(what, "unshare-user")) return !reached(unshare(CLONE_NEWUSER));
	if (is(what, "clone-user")) {
		long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0) _exit(0);
		return !reached(pid);
	}
	if (is(what, "clone3")) return !reached(syscall(435, 0, 0));
	if (is(what, "process_vm_readv")) return !reached(syscall(SYS_process_vm_readv, 999999, 0, 0, 0, 0, 0));
	if (is(what, "ptrace-attach")) {
		pid_t pid = fork();
		if (pid == 0) { pause(); _exit(0); }
		long r = ptrace(PTRACE_ATTACH, pid, 0, 0);
		int e = errno;
		kill(pid, SIGKILL);
		errno = e;
		return !reached(r);
	}
	if (is(what, "seize")) return ptrace(PTRACE_SEIZE, atoi(argc > 2 ? argv[2] : "0"), 0, 0) != 0;
	if (is(what, "ptrace-traceme")) return !reached(ptrace(PTRACE_TRACEME, 0, 0, 0));
	if (is(what, "vsock")) return !reached(socket(AF_VSOCK, SOCK_STREAM, 0));
	if (is(what, "alg")) return !reached(socket(38, SOCK_SEQPACKET, 0));
	if (is(what, "setuid-file")) {
		unlink("suid");
		int fd = open("suid", O_CREAT | O_WRONLY, 04755);
		struct stat st;
		if (fd >= 0) { fchmod(fd, 04755); chmod("suid", 04755); }
		int bad = stat("suid", &st) == 0 && (st.st_mode & S_ISUID);
		unlink("suid");
		return !bad;
	}
	// The two ends of a socket: a path, @NAME for an abstract one, or a port of
	// the loopback; "serve :FILE" takes a free port and writes it to FILE.
	if (is(what, "connect") || is(what, "serve")) {
		int serve = is(what, "serve");
		const char *at = argc > 2 ? argv[2] : "";
		struct sockaddr_un a = {.sun_family = AF_UNIX};
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		struct sockaddr *to = (void *)&a;
		socklen_t len = sizeof a;
		strncpy(a.sun_path, at, sizeof a.sun_path - 1);
		if (at[0] == '@') {
			len = sizeof(sa_family_t) + strlen(at);
			a.sun_path[0] = 0;
		}
		if (at[0] == ':') {
			to = (void *)&in;
			len = sizeof in;
			if (!serve) in.sin_port = htons(atoi(at + 1));
		}
		int fd = socket(to->sa_family, SOCK_STREAM, 0);
		if (!serve) {
			if (connect(fd, to, len) == 0) return 0;
			perror(at);
			return 1;
		}
		if (bind(fd, to, len) != 0 || listen(fd, 64) != 0) {
			perror(at);
			return 1;
		}
		if (at[0] == ':') {
			getsockname(fd, to, &len);
			FILE *f = fopen(at + 1, "w");
			fprintf(f, "%d\n", ntohs(in.sin_port));
			fclose(f);
		}
		for (;;) close(accept(fd, 0, 0));
	}
	// Types into the terminal and looks whether it can be read there.
	if (is(what, "type")) {
		int tty = open("/dev/tty", O_RDWR | O_NONBLOCK);
		struct termios t;
		char seen[64];
		if (tty < 0 || tcgetattr(tty, &t) != 0) return 1;
		t.c_lflag &= ~ICANON;
		tcsetattr(tty, TCSANOW, &t);
		syscall(SYS_ioctl, tty, 0x700000000UL | TIOCSTI, &c);
		ssize_t n = read(tty, seen, sizeof seen);
		return n <= 0 || !memchr(seen, c, n);
	}
	if (is(what, "descriptors")) {
		for (int i = 3; i < 70000; i++) if (fcntl(i, F_GETFD) >= 0) { printf("descriptor %d\n", i); return 0; }
		return 1;
	}
	fprintf(stderr, "unknown attack %s\n", what);
	return 99;
}
