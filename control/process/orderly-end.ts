/** How a process ends: its steps run once, for a limited time, then it exits with code 0 (docs/rules/configuration.md#start-and-stop). */

/** The end of this process. Until {@link OrderlyEnd.prepare} is called, nothing has to be put in order. */
export class OrderlyEnd {
  #steps: (() => Promise<void>) | null = null;
  #drainMs = 0;
  #ending = false;

  /** Ends the process when the one that started it is gone, however that one ended. */
  watchParent(): void {
    const gone = (): void => void this.#end();
    if (process.connected) process.once("disconnect", gone);
    else process.stdin.once("end", gone).once("close", gone).once("error", gone).resume();
  }

  /**
   * From now on the process ends by these steps, which may take `drainMs` together, on SIGTERM. `interrupt`: on SIGINT too;
   * otherwise a process that also got that signal, as all processes of a terminal do, ends this one.
   */
  prepare(steps: () => Promise<void>, { drainMs, interrupt }: { drainMs: number; interrupt: boolean }): void {
    this.#steps = steps;
    this.#drainMs = drainMs;
    process.on("SIGTERM", () => void this.#end());
    process.on("SIGINT", () => void (interrupt && this.#end()));
  }

  async #end(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    if (this.#steps !== null) {
      setTimeout(() => process.exit(0), this.#drainMs).unref();
      await this.#steps();
    }
    process.exit(0);
  }
}
