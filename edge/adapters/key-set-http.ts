/**
 * Reads a provider's key set over HTTP (docs/rules/identities.md#provider-keys): within 10 seconds, without redirects,
 * and with a maximum size.
 */
import type { JSONWebKeySet } from "jose";
import { AnswerTooLong, boundedText } from "./bounded-text.ts";
import { KeysUnreadable } from "./issuer-keys.ts";

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 512 * 1024;

/** Reads the key set. Throws KeysUnreadable. */
export async function loadKeySet(url: string): Promise<JSONWebKeySet> {
  const response = await answerOf(url);
  if (response.status !== 200) {
    await response.body?.cancel().catch(() => undefined);
    throw new KeysUnreadable(`answered ${response.status}`);
  }
  const text = await textOf(response);
  try {
    return JSON.parse(text) as JSONWebKeySet;
  } catch {
    throw new KeysUnreadable("returned no JSON");
  }
}

async function answerOf(url: string): Promise<Response> {
  try {
    const headers = { accept: "application/json" };
    return await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    throw failure(error);
  }
}

async function textOf(response: Response): Promise<string> {
  try {
    return await boundedText(response, MAX_BYTES);
  } catch (error) {
    throw failure(error);
  }
}

function failure(error: unknown): KeysUnreadable {
  if (error instanceof AnswerTooLong) return new KeysUnreadable("returned too much");
  const timedOut = error instanceof Error && error.name === "TimeoutError";
  return new KeysUnreadable(timedOut ? "timed out" : "connection failed", { cause: error });
}
