/**
 * One request of a capacity probe, sent directly to an upstream. Its answer is read to the end and discarded, because a
 * request that is cut off does not show how long a request takes. It never rejects.
 */
import { fetch } from "undici";
import { isUrlAllowed, type SsrfPolicy } from "../../../shared/network/ssrf.ts";
import { guardedAgent } from "../../kernel/outbound/guarded-connections.ts";
import type { LoadOutcome } from "./step.ts";

interface LoadCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** From sending to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Null: the operator's own upstream. */
  readonly policy: SsrfPolicy | null;
  /** Ends the request at once. */
  readonly signal: AbortSignal;
}

/** Sends the request. `ok`: a complete 2xx answer. */
export async function loadCall(call: LoadCall): Promise<LoadOutcome> {
  const { url, headers, body, timeoutMs, policy, signal } = call;
  if (signal.aborted || (policy !== null && !isUrlAllowed(url, policy))) return "error";
  const ended = new AbortController();
  const leave = (): void => ended.abort();
  signal.addEventListener("abort", leave, { once: true });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    leave();
  }, timeoutMs);
  try {
    const through = policy === null ? {} : { dispatcher: guardedAgent(policy) };
    const response = await fetch(url, {
      ...through,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      redirect: "manual",
      signal: ended.signal,
    });
    for await (const _ of response.body ?? []) if (ended.signal.aborted) break;
    return response.ok ? "ok" : "error";
  } catch {
    return late ? "timeout" : "error";
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}
