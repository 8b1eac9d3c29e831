import { markName } from './command-processes';

/**
 * A shell function `watched MARK LIMIT` for a process that must not outlive this one: it marks the shell, and starts a watcher process that waits
 * on file descriptor 3, a pipe whose other end belongs to this process. When this process dies, however suddenly, the pipe closes, and the watcher
 * kills every process with a mark until none is left, and then the group, including itself. A process that has ended keeps its limits until its
 * parent reaps it. Shells have two letters for the limit of file locks. When memory runs out, the kernel ends a process of the shell, not a worker.
 */
export const watched = `
  ends_marked() {
    found=1
    for process in /proc/[0-9]*; do
      grep -qs "${markName}=$1" "$process/environ" || grep -qs " $2 " "$process/limits" || continue
      grep -qs "^State:.[ZX]" "$process/status" && continue
      kill -9 "\${process#/proc/}" && found=0
    done
    return $found
  }
  watched() {
    (read -r _ <&3; while ends_marked "$1" "$2"; do :; done; kill -9 0) </dev/null >/dev/null 2>&1 &
    exec 3<&-
    export ${markName}="$1"
    { ulimit -w "$2" || ulimit -x "$2" || :; } 2>/dev/null
    { echo 1000 >/proc/$$/oom_score_adj; } 2>/dev/null || :
  }`;
