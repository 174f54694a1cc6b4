/**
 * The effect of an interrupt on a deployment: the first one asks it to stop, which takes traffic back; a second one ends the
 * command at once, after a message that names what is unknown.
 */

/** The reason of an interrupted deployment. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** The exit codes of a command that a signal ended, as a shell has them. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** One interrupt can come several times: from the terminal, from npm and from the launcher. */
const SAME_WITHIN_MS = 1000;

/** The part of `process` that is used. */
interface SignalSource {
  on(signal: keyof typeof EXIT_CODES, listener: () => void): unknown;
  off(signal: keyof typeof EXIT_CODES, listener: () => void): unknown;
}

/** Interrupts of a command. */
interface Interruption {
  /** Aborts at the first interrupt, with {@link Interrupted} as its reason. */
  readonly signal: AbortSignal;
  /** The exit code for the first interrupt; null: there was none. */
  readonly exitCode: () => number | null;
  /** Takes the listeners away. */
  readonly close: () => void;
}

/**
 * Listens for interrupts. `now`: milliseconds of a clock that only goes forward. `atOnce` is called at a second interrupt, with
 * the exit code, and ends the process.
 */
export function listenForInterrupts(
  source: SignalSource,
  now: () => number,
  atOnce: (exitCode: number) => void,
): Interruption {
  const controller = new AbortController();
  let first: { readonly exitCode: number; readonly atMs: number } | null = null;
  const listeners = Object.entries(EXIT_CODES).map(([name, exitCode]) => {
    const signal = name as keyof typeof EXIT_CODES;
    const listener = (): void => {
      if (first !== null) {
        if (now() - first.atMs >= SAME_WITHIN_MS) atOnce(exitCode);
        return;
      }
      first = { exitCode, atMs: now() };
      controller.abort(new Interrupted("interrupted"));
    };
    source.on(signal, listener);
    return { signal, listener };
  });
  return {
    signal: controller.signal,
    exitCode: () => first?.exitCode ?? null,
    close: () => {
      for (const { signal, listener } of listeners) source.off(signal, listener);
    },
  };
}
