/**
 * The body of a request: what of it is still unread, and how it goes upstream.
 */
import type { GatewayError } from "../../../shared/errors.ts";
import type { MemberEdit } from "../../domain/transform/transform.ts";
import type { UpstreamBody } from "../../ports.ts";
import type { ClientGone } from "./client-gone.ts";

/** The runtime itself reads away a rest up to this size. */
const UNREAD_MAX_BYTES = 32 * 1024;

/** A body of which something may be left. */
interface UnreadBody {
  /** Nothing is left to be read. */
  readonly ended: boolean;
  /** Reads the rest and throws it away. Never rejects. */
  discard(): Promise<void>;
}

/**
 * The client's body as it goes upstream: its own bytes, but for `model`
 * (docs/rules/request-bodies.md#what-goes-upstream).
 */
export interface OutgoingBody {
  /** A form: one attempt and the one on a fresh connection, no failover (docs/rules/upstream-calls.md#attempts). */
  readonly form: boolean;
  /** False once bytes that cannot be had again have left: from then on the body is not sent anew. */
  readonly resendable: boolean;
  /** What the client did wrong, or that it left, while its body streamed upstream: the client's answer instead of a failed call. */
  readonly fault: GatewayError | ClientGone | null;
  /** Reads away what the client still sends, also from an upstream that has answered without it; null: nothing is left. */
  readonly readRest: (() => Promise<void>) | null;
  /** The client's bytes in order, when the body is a JSON document; null for everything else and after `release`. */
  readonly clientBytes: readonly Uint8Array[] | null;
  /**
   * The body of one attempt; `edits` are made to a JSON document, no other body changes. `onFault` is called once there is a `fault`: the
   * call has to be ended then, for a stream that fails may look to the upstream like one that is over.
   */
  open(upstreamModel: string, edits: readonly MemberEdit[], onFault: () => void): UpstreamBody;
  /** Nothing is sent any more: frees what was kept for a further attempt. */
  release(): void;
}

/** The client's body as it arrives: knows its reader, and so what is left of it. */
export class ClientBody {
  readonly #request: Request;
  #reader: UnreadBody | null = null;

  constructor(request: Request) {
    this.#request = request;
  }

  /** From now on `reader` knows what is left of the body. */
  readBy(reader: UnreadBody): void {
    this.#reader = reader;
  }

  /**
   * Reads away what is left, so that the client can read its answer before the connection is closed. Null: nothing is left, or
   * so little that the runtime does it.
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

/** Never rejects. */
async function readAway(body: ReadableStream<Uint8Array>): Promise<void> {
  try {
    const reader = body.getReader();
    while (!(await reader.read()).done);
  } catch {
    // The client has gone, with its answer or without.
  }
}
