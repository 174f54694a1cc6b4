/** What is started step by step and stopped as a whole: in reverse order, once, also when a step of the start fails. */

/** Why something stopped by itself. */
interface Failure {
  readonly part: string;
  readonly reason: string;
}

/** Something that runs until it is stopped, or fails. */
export interface Running {
  /** Drains and stops everything. Calling it again changes nothing. */
  stop(): Promise<void>;
  /**
   * Resolves when everything is stopped: with null after `stop`, otherwise with the part that could not be kept running.
   */
  readonly closed: Promise<Failure | null>;
}

/** The undo steps of what was started; they run in reverse order. */
export class Undo {
  readonly #steps: (() => Promise<void> | void)[] = [];

  add(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }

  async run(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) await step();
  }
}

/** Starts with a list for undo steps, and a function to be called when a part cannot be kept running. */
type Start<T> = (undo: Undo, giveUp: (part: string, reason: string) => void) => Promise<T>;

/** Runs `start`. Rejects with its error, or with that of a part that gave up meanwhile; then everything is stopped again. */
export async function startRunning<T>(start: Start<T>): Promise<T & Running> {
  const undo = new Undo();
  const { promise: closed, resolve: close } = Promise.withResolvers<Failure | null>();
  let stopping: Promise<void> | undefined;
  const stop = (reason: Failure | null): Promise<void> => {
    stopping ??= undo.run().finally(() => close(reason));
    return stopping;
  };
  let failedEarly: Failure | undefined;
  let running = false;
  try {
    const started = await start(undo, (part, reason) => {
      if (running) void stop({ part, reason });
      else failedEarly ??= { part, reason };
    });
    running = true;
    if (failedEarly !== undefined) throw new Error(`${failedEarly.part} ${failedEarly.reason}`);
    return { ...started, stop: () => stop(null), closed };
  } catch (error) {
    await stop(null);
    throw error;
  }
}
