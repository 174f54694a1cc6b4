/** Notices that the launcher is gone, also when it was killed: the channel to it closes with the process that held it. */

/** Calls `onGone` once when the IPC channel (or, without one, standard input) closes. */
export function watchParent(onGone: () => void): void {
  if (process.connected) {
    process.once("disconnect", onGone);
    return;
  }
  process.stdin.once("end", onGone).once("close", onGone).once("error", onGone).resume();
}
