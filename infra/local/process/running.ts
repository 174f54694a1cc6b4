/**
 * A set of parts that is started step by step and stopped as a whole: in reverse order, once, also when a step of the start
 * fails.
 */
import { StartWaits } from "./start-waits.ts";

/** Why a part stopped without being asked to. */
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

/** The undo steps of the started parts; they run in reverse order. */
export class Undo {
  readonly #steps: (() => Promise<void> | void)[] = [];
  #isOver = false;

  /** A step of a start that is given up meanwhile runs at once. */
  add(step: () => Promise<void> | void): void {
    if (this.#isOver) void step();
    else this.#steps.push(step);
  }

  async run(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) await step();
    this.#isOver = true;
  }
}

/** The inputs of a start. */
export interface Starting {
  readonly undo: Undo;
  /** To be called when a part cannot be kept running. */
  readonly onGiveUp: (part: string, reason: string) => void;
  /** Aborts when the start has failed or is given up: started parts end at once, because they have no work under way. */
  readonly abandoned: AbortSignal;
  readonly waits: StartWaits;
}

/** The observer of a start. */
interface StartWatch {
  /** Aborts when the start is given up. */
  readonly unwanted?: AbortSignal | undefined;
  /** Called every few seconds with the part that the start waits for. */
  readonly log: (line: string) => void;
}

const TOLD_EVERY_MS = 5_000;

/**
 * Runs `start`. Rejects with its error, with the error of a part that gave up meanwhile, or when it is no longer wanted; then
 * everything is stopped again.
 */
export async function startRunning<T>(
  start: (starting: Starting) => Promise<T>,
  { unwanted, log }: StartWatch,
): Promise<T & Running> {
  const undo = new Undo();
  const waits = new StartWaits(() => performance.now());
  const abandoned = new AbortController();
  const { promise: closed, resolve: close } = Promise.withResolvers<Failure | null>();
  const { promise: refused, reject: refuse } = Promise.withResolvers<never>();
  refused.catch(() => undefined); // It may come after the end of the start.
  const refuseUnwanted = (): void => refuse(new Error("the start was given up"));
  unwanted?.addEventListener("abort", refuseUnwanted, { once: true });
  let stopping: Promise<void> | undefined;
  const stop = (reason: Failure | null): Promise<void> => {
    stopping ??= undo.run().finally(() => close(reason));
    return stopping;
  };
  let running = false;
  const telling = setInterval(() => waits.lines().forEach(log), TOLD_EVERY_MS).unref();
  try {
    unwanted?.throwIfAborted();
    const onGiveUp = (part: string, reason: string): void => {
      if (running) void stop({ part, reason });
      else refuse(new Error(`${part} ${reason}`));
    };
    const started = await Promise.race([start({ undo, onGiveUp, abandoned: abandoned.signal, waits }), refused]);
    running = true;
    return { ...started, stop: () => stop(null), closed };
  } catch (error) {
    abandoned.abort();
    await stop(null);
    throw error;
  } finally {
    clearInterval(telling);
    unwanted?.removeEventListener("abort", refuseUnwanted);
  }
}
