/** Reads of the Management API as a person who asks the assistant may make them (docs/rules/assistant.md#tools). */
import type { UserRow } from "../db/schema/users.ts";
import { type RecordRead, recordIn, type StoredRecord } from "./record-reads.ts";
import type { ReadAnswer } from "./run-turns.ts";

export interface Person {
  readonly user: UserRow;
  /** From where the person asks; null: not known. */
  readonly address: string | null;
}

/** Of the addresses of requests, which says nothing. */
export const ORIGIN = "http://management.invalid";
/** The most that is read of an answer. */
export const READ_MAX_BYTES = 4 * 1024 * 1024;

/** The Management API as a person reaches it; `path` is that below /api/v1, without its query. */
type AsPerson = (request: Request, path: string, person: Person) => Promise<Response>;

export class PersonReads {
  readonly #asPerson: AsPerson;

  constructor(asPerson: AsPerson) {
    this.#asPerson = asPerson;
  }

  /** Reads; `path` has its query. An answer that is too large is cut, a refusal is an answer. */
  async read(path: string, user: UserRow, signal: AbortSignal | null): Promise<ReadAnswer> {
    const request = new Request(`${ORIGIN}${path}`, { headers: { accept: "application/json" }, signal });
    try {
      const response = await this.#asPerson(request, pathOnly(path), { user, address: null });
      const next = /[?&]cursor=([^&>]+)/.exec(response.headers.get("link") ?? "")?.[1];
      const cursor = next === undefined ? null : decodeURIComponent(next);
      return { status: response.status, ...(await textOf(response, READ_MAX_BYTES)), cursor };
    } catch (error) {
      const { status, body } = error as { status?: unknown; body?: unknown };
      if (typeof status !== "number") throw error;
      return { status, text: JSON.stringify(body), isPart: false, cursor: null };
    }
  }

  /** A record as it is now; null: there is no such read, it is not there, or cannot be read. */
  async record(wanted: RecordRead | null, user: UserRow, timeoutMs: number): Promise<StoredRecord | null> {
    if (wanted === null) return null;
    const { status, text } = await this.read(wanted.path, user, AbortSignal.timeout(timeoutMs));
    return status === 200 ? recordIn(jsonOf(text), wanted) : null;
  }
}

/** The text of an answer; `isPart`: it is longer than what is read of it. */
export async function textOf(
  response: Response,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isPart: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    text += decoder.decode(chunk, { stream: true });
    if (bytes > maxBytes) return { text, isPart: true };
  }
  return { text, isPart: false };
}

/** The value of a JSON text; null for anything else, such as a part of one. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A path without its query. */
export function pathOnly(path: string): string {
  return path.split("?")[0] ?? "";
}
