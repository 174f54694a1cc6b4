/**
 * Work at a tool server with its own time limit, which also ends when the client leaves or the call is interrupted. Nothing is
 * left behind: timer and listeners go with the work.
 */
import { ClientGone } from "../../call/client-gone.ts";
import type { Interruption } from "../../call/interruption.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";

/** Ends work that takes too long. */
export interface Deadline {
  /** Aborts with the error that the work must throw: ToolServerFailure `timed out`, or ClientGone. */
  readonly signal: AbortSignal;
  /** The result of work that others wait for too, and that continues without this waiter. Throws when the deadline ends. */
  until<T>(shared: Promise<T>): Promise<T>;
}

/** Who waits for the work. */
interface Waiter {
  readonly request: { readonly signal: AbortSignal };
  readonly interruption: Interruption;
}

/** Runs work that has this many ms; `waiter` is null for work that nobody waits for. */
export async function withDeadline<T>(
  waiter: Waiter | null,
  timeoutMs: number,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const client = waiter?.request.signal;
  if (client?.aborted === true) throw new ClientGone();
  const stop = new AbortController();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  const end = (reason: Error): void => {
    stop.abort(reason);
    ended.reject(reason);
  };
  const leave = (): void => end(new ClientGone());
  const timer = setTimeout(() => end(new ToolServerFailure("timed out")), timeoutMs);
  client?.addEventListener("abort", leave, { once: true });
  const callOff = waiter?.interruption.listen(leave);
  const until = async <U>(shared: Promise<U>): Promise<U> => await Promise.race([shared, ended.promise]);
  try {
    return await until(work({ signal: stop.signal, until }));
  } finally {
    clearTimeout(timer);
    client?.removeEventListener("abort", leave);
    callOff?.();
  }
}
