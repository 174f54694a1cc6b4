/**
 * One bounded question to another service: a deadline over all of it, no redirects, no more than a megabyte of answer. What
 * goes wrong is said in a few words of our own, never in the other side's.
 */
import { fetch, type RequestInit, type Response } from "undici";
import { isUrlAllowed, type SsrfPolicy } from "../../shared/ssrf.ts";
import { BlockedAddress, judgedConnections } from "./judged-connections.ts";

const ANSWER_MAX_BYTES = 1024 * 1024;

/** Why there is no answer: `timeout`, `connect failed`, `address blocked`, `http 500`, `not json`, `answer too large`. */
export class AskError extends Error {
  override readonly name = "AskError";
  /** Status of an answer that was no success. */
  readonly status: number | null;

  constructor(reason: string, status: number | null = null) {
    super(reason);
    this.status = status;
  }
}

export interface Ask {
  readonly url: string;
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Given for an address that an admin has registered; without it the address is the operator's own. */
  readonly policy?: SsrfPolicy;
}

/** The JSON of a 2xx answer. Throws AskError. */
export async function askJson(ask: Ask): Promise<unknown> {
  const text = await answered(ask, {}, async (response) => {
    if (response.ok) return await boundedText(response);
    await response.body?.cancel();
    throw new AskError(`http ${response.status}`, response.status);
  });
  try {
    return JSON.parse(text);
  } catch {
    throw new AskError("not json");
  }
}

/** The status of an answer whose content does not matter. Throws AskError. */
export async function askStatus(ask: Ask, post?: { readonly body: string }): Promise<number> {
  return await answered(ask, post === undefined ? {} : { method: "POST", body: post.body }, async (response) => {
    await response.body?.cancel();
    return response.status;
  });
}

async function answered<T>(ask: Ask, more: RequestInit, read: (response: Response) => Promise<T>): Promise<T> {
  const { url, timeoutMs, headers = {}, policy } = ask;
  if (policy !== undefined && !isUrlAllowed(url, policy)) throw new AskError("address blocked");
  const signal = AbortSignal.timeout(timeoutMs);
  const through = policy === undefined ? {} : { dispatcher: judgedConnections(policy) };
  try {
    return await read(await fetch(url, { ...more, ...through, headers, signal, redirect: "manual" }));
  } catch (error) {
    if (error instanceof AskError) throw error;
    if (signal.aborted) throw new AskError("timeout");
    const blocked = error instanceof Error && error.cause instanceof BlockedAddress;
    throw new AskError(blocked ? "address blocked" : "connect failed");
  }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_MAX_BYTES) throw new AskError("answer too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
