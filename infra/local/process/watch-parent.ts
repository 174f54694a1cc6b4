/** Notices that the launcher has ended, also when it was killed: the channel to it closes together with its process. */

/** Calls `onGone` once when the IPC channel (or, without one, standard input) closes. */
export function watchParent(onGone: () => void): void {
  if (process.connected) {
    process.once("disconnect", onGone);
    return;
  }
  process.stdin.once("end", onGone).once("close", onGone).once("error", onGone).resume();
}
