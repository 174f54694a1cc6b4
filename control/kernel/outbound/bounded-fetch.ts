/**
 * One bounded HTTP call to another service: one deadline for the whole call, no redirects, a bounded answer. An
 * error is described in a few words of our own, never in the words of the other service.
 */
import { type FormData, fetch, type RequestInit, type Response } from "undici";
import { isUrlAllowed, type SsrfPolicy } from "../../../shared/network/ssrf.ts";
import { ANSWER_PARTS, hasMoreParts } from "../json-parts.ts";
import { BlockedAddressError, guardedAgent } from "./guarded-connections.ts";

const ANSWER_MAX_BYTES = 1024 * 1024;

/**
 * Why there is no answer: `timeout`, `connect failed`, `answer broke off`, `address blocked`, `cancelled`, `http 500`, `not
 * json`, `answer too large`.
 */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  /** Status of an answer that was not a success. */
  readonly status: number | null;

  constructor(reason: string, status: number | null = null, cause?: unknown) {
    super(reason, { cause });
    this.status = status;
  }
}

interface OutboundCall {
  readonly url: string;
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Which addresses may be called; without a policy the address comes from the operator's environment. */
  readonly policy?: SsrfPolicy;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** The largest answer that {@link fetchJson} takes, of the operator's own service; absent: a megabyte of limited parts. */
  readonly maxBytes?: number;
}

/** An answer of any status. */
export interface OutboundAnswer {
  readonly status: number;
  /** All of it, or its first megabyte; null when it is not text. */
  readonly text: string | null;
}

/** The JSON of a 2xx answer. Throws OutboundError. */
export async function fetchJson(call: OutboundCall): Promise<unknown> {
  const bytes = await answered(call, {}, async (response) => {
    if (response.ok) return await boundedBytes(response, call.maxBytes ?? ANSWER_MAX_BYTES);
    await response.body?.cancel();
    throw new OutboundError(`http ${response.status}`, response.status);
  });
  if (call.maxBytes === undefined && hasMoreParts(bytes, ANSWER_PARTS)) throw new OutboundError("answer too large");
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new OutboundError("not json");
  }
}

/** The status of an answer whose content does not matter. Throws OutboundError. */
export async function fetchStatus(call: OutboundCall, post?: { readonly body: string }): Promise<number> {
  return await answered(call, post === undefined ? {} : { method: "POST", body: post.body }, async (response) => {
    await response.body?.cancel();
    return response.status;
  });
}

/** The complete answer, of any status. Throws OutboundError when there is none. */
export async function fetchAnswer(
  call: OutboundCall,
  post?: { readonly body: string | FormData },
): Promise<OutboundAnswer> {
  return await answered(call, post === undefined ? {} : { method: "POST", body: post.body }, async (response) => {
    const { chunks } = await firstChunks(response);
    const isText = /^(text\/|application\/([\w.-]+\+)?(json|xml))/i.test(
      response.headers.get("content-type") ?? "text/",
    );
    return { status: response.status, text: isText ? Buffer.concat(chunks).toString("utf8") : null };
  });
}

/** A call whose caller reads the answer as it comes, within bounds of its own, and cancels what it leaves. */
export async function fetchReading<T>(
  call: OutboundCall,
  request: { readonly method: "GET" | "POST" | "DELETE"; readonly body: string | null },
  read: (response: Response) => Promise<T>,
): Promise<T> {
  return await answered(call, request, read);
}

async function answered<T>(
  call: OutboundCall,
  more: RequestInit,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const { url, timeoutMs, headers = {}, policy, signal: wanted } = call;
  if (policy !== undefined && !isUrlAllowed(url, policy)) throw new OutboundError("address blocked");
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = wanted === undefined ? deadline : AbortSignal.any([deadline, wanted]);
  const through = policy === undefined ? {} : { dispatcher: guardedAgent(policy) };
  let answering = false;
  try {
    const response = await fetch(url, { ...more, ...through, headers, signal, redirect: "manual" });
    answering = true;
    return await read(response);
  } catch (error) {
    if (error instanceof OutboundError) throw error;
    if (wanted?.aborted === true) throw new OutboundError("cancelled");
    if (deadline.aborted) throw new OutboundError("timeout");
    const blocked = error instanceof Error && error.cause instanceof BlockedAddressError;
    if (blocked) throw new OutboundError("address blocked");
    throw new OutboundError(answering ? "answer broke off" : "connect failed", null, error);
  }
}

async function boundedBytes(response: Response, maxBytes: number): Promise<Buffer> {
  const { chunks, whole } = await firstChunks(response, maxBytes);
  if (!whole) throw new OutboundError("answer too large");
  return Buffer.concat(chunks);
}

/** The first megabyte of an answer, or as much as is allowed; the rest is cancelled. */
async function firstChunks(
  response: Response,
  maxBytes = ANSWER_MAX_BYTES,
): Promise<{ readonly chunks: readonly Uint8Array[]; readonly whole: boolean }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return { chunks, whole: false };
    chunks.push(chunk);
  }
  return { chunks, whole: true };
}
