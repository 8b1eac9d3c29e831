/** Programs that run another program, which is named after their options. */
const wrappers = new Set(
  [
    'sudo doas env nohup time timeout nice ionice chrt stdbuf setsid xargs command builtin exec jobs watch strace ltrace parallel busybox flock',
    'unshare nsenter chroot runuser su script setpriv taskset prlimit fakeroot unbuffer setarch linux32 linux64 i386 i686 x86_64 uname26',
    'ssh-agent dbus-run-session dbus-launch choom uclampset pkexec run0 systemd-run start-stop-daemon capsh bwrap firejail gosu su-exec',
    'setuidgid tini dumb-init catchsegv valgrind gdb rlwrap xvfb-run proxychains proxychains4 torsocks hyperfine entr toybox ssh',
  ]
    .join(' ')
    .split(' '),
);

/** Shells, and shell builtins that take commands as arguments. */
const shells = new Set(
  'sh bash dash zsh ksh rbash rksh rzsh ash mksh lksh yash fish csh tcsh eval trap mapfile readarray alias complete compgen bind'.split(
    ' ',
  ),
);

/** `name`: the program's name without its folder. The dynamic linker also runs the program that it is given. */
export function isWrapper(name: string): boolean {
  return wrappers.has(name) || /^ld[-.].*\bso\b/.test(name);
}

export function runsItsWords(name: string): boolean {
  return shells.has(name);
}
