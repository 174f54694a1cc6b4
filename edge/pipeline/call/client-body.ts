/** The body of a request: its unread part, and its form for the upstream. */
import type { GatewayError } from "../../../shared/errors.ts";
import type { Steps } from "../../../shared/steps.ts";
import type { MemberEdits } from "../../domain/upstream/transform.ts";
import type { UpstreamBody } from "../../ports.ts";
import { ClientGone } from "./client-gone.ts";

/** The runtime itself reads and discards up to this many unread bytes. */
const UNREAD_MAX_BYTES = 32 * 1024;

/** A body that may have an unread rest. */
interface UnreadBody {
  /** Whether nothing is left to read. */
  readonly ended: boolean;
  /** Reads the rest and discards it. Never rejects. */
  discard(): Promise<void>;
}

/** The part that a held body takes of its tenant's share of the memory for bodies. */
interface HeldBodyMemory {
  /** The larger of its bytes and its values. */
  readonly weightBytes: number;
  /** The memory counted beyond its bytes. */
  readonly valuesBytes: number;
  /** Counts so many bytes in all, once there is memory for them. False: it had them. Throws ClientGone. */
  reserveValues(bytes: number): Promise<boolean>;
  /** Counts at most so many bytes beyond its own from here on. */
  keepValues(bytes: number): void;
}

/**
 * The client's body as it goes upstream: the client's own bytes except for `model`
 * (docs/rules/request-bodies.md#what-goes-upstream).
 */
export interface OutgoingBody {
  /**
   * Whether it is a form: one attempt and one more on a fresh connection, but no failover
   * (docs/rules/upstream-calls.md#attempts).
   */
  readonly form: boolean;
  /** False once bytes that are not kept have left: from then on the body cannot be sent again. */
  readonly resendable: boolean;
  /**
   * The client's error, or that it left, while its body streamed upstream: the client gets this instead of a failed
   * call.
   */
  readonly fault: GatewayError | ClientGone | null;
  /** Reads and discards the rest of the client's body, even if the upstream answered without it; null: nothing is left. */
  readonly readRest: (() => Promise<void>) | null;
  /** The client's bytes in order, when the body is a JSON document; null for everything else and after `release`. */
  readonly clientBytes: readonly Uint8Array[] | null;
  /**
   * The value of a member of a JSON document as the client sent it, with whole strings, if the member is one that may be
   * changed; undefined if there is none. Null for every other body.
   */
  readonly member: ((name: string) => Steps<unknown>) | null;
  /**
   * The body of one attempt; `edits` are made to a JSON document, no other body changes. `onFault` is called once there is a
   * `fault`: the call must be ended then, because a failed stream may look complete to the upstream.
   */
  open(upstreamModel: string, edits: MemberEdits, onFault: () => void): UpstreamBody;
  /** Frees what was kept for a further attempt: nothing more will be sent. */
  release(): void;
}

/** The client's body as it arrives: knows its reader, and so how much of it is unread. */
export class ClientBody {
  /** Null: nothing of it is held. */
  memory: HeldBodyMemory | null = null;
  readonly #request: Request;
  #reader: UnreadBody | null = null;

  constructor(request: Request) {
    this.#request = request;
  }

  /** Sets the reader that knows how much of the body is unread. */
  readBy(reader: UnreadBody): void {
    this.#reader = reader;
  }

  /** A copy of the request with its unread body. Throws ClientGone. */
  copy(): Request {
    try {
      return this.#request.clone();
    } catch (error) {
      throw new ClientGone("the request body broke off", { cause: error });
    }
  }

  /**
   * Reads and discards the rest, so that the client can read its answer before the connection is closed. Null: nothing
   * is left, or so little that the runtime does it.
   */
  get discardRest(): (() => Promise<void>) | null {
    const reader = this.#reader;
    if (reader !== null) return reader.ended ? null : async () => await reader.discard();
    const declared = Number(this.#request.headers.get("content-length") ?? Number.NaN);
    const { body } = this.#request;
    if (body === null || this.#request.bodyUsed || declared <= UNREAD_MAX_BYTES) return null;
    return async () => await readAway(body);
  }
}

/** Reads a body to its end. Never rejects. */
async function readAway(body: ReadableStream<Uint8Array>): Promise<void> {
  try {
    const reader = body.getReader();
    while (!(await reader.read()).done);
  } catch {
    // The client has left, with its answer or without.
  }
}
