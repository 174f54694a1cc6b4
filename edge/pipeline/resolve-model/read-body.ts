/** Reads a request body within its size limit, its time limits and the isolate's memory for bodies. */
import { joined } from "../../domain/wire/bytes/byte-pieces.ts";
import { codingOf } from "../../domain/wire/content-coding.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import type { Authenticated } from "../call/known.ts";
import { type BodyReservation, UNRESERVED_MAX_BYTES } from "../call/memory/request-body-memory.ts";
import { BodyDeadline } from "./body-deadline.ts";
import { BodySource } from "./body-source.ts";
import { DecodedSource, type PulledBody, unreadableCoding } from "./decoded-source.ts";

/**
 * Size of a body's first piece; each further one is as long as all before, so that at most twice the received size is
 * held.
 */
const FIRST_BYTES = 64 * 1024;

/** The body of a call, unread. Throws 413 `request_too_large`. */
export function openBody(call: Call, maxBytes = call.config.maxBodyBytes): BodySource {
  const source = new BodySource(call.request, maxBytes, new BodyDeadline(call));
  call.body.readBy(source);
  return source;
}

/** The complete body in one buffer. Throws as {@link readPieces}. */
export async function readBody(
  call: Call,
  caller: Authenticated,
  maxBytes = call.config.maxBodyBytes,
): Promise<Uint8Array<ArrayBuffer>> {
  return joined((await readPieces(call, caller, maxBytes)).pieces);
}

/**
 * The complete body, in the pieces in which it was received, and its memory. Joining the pieces would cost as much as receiving
 * them. Throws 408 `request_timeout`, 413 `request_too_large`, or ClientGone when the client stops sending.
 */
export async function readPieces(
  call: Call,
  caller: Authenticated,
  maxBytes = call.config.maxBodyBytes,
): Promise<{ readonly pieces: readonly Uint8Array<ArrayBuffer>[]; readonly memory: BodyMemoryUse }> {
  const { source, memory } = await openDecoded(call, caller, maxBytes);
  const pieces = await readAll(source, memory);
  memory.complete();
  return { pieces, memory };
}

/**
 * The body of a call without its coding, unread, and its memory. One in a coding is received whole before: so a slow
 * client keeps no decoder. Throws as {@link readPieces}, and 415 `unsupported_encoding`.
 */
export async function openDecoded(
  call: Call,
  caller: Authenticated,
  maxBytes = call.config.maxBodyBytes,
): Promise<{ readonly source: BodySource | DecodedSource; readonly memory: BodyMemoryUse }> {
  const coding = codingOf(call.request.headers.get("content-encoding"));
  if (coding === undefined) throw unreadableCoding();
  const source = openBody(call, maxBytes);
  const memory = new BodyMemoryUse(call, caller, source);
  call.body.memory = memory;
  if (coding === null) return { source, memory };
  const decoded = new DecodedSource(call.ports.decode(coding, await readAll(source, memory)), maxBytes);
  memory.continueWith(decoded);
  return { source: decoded, memory };
}

async function readAll(
  source: BodySource | DecodedSource,
  memory: BodyMemoryUse,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const { declaredBytes } = source;
  return declaredBytes === null || source instanceof DecodedSource
    ? await readOpen(source, memory)
    : await readDeclared(source, declaredBytes, memory);
}

async function readDeclared(
  source: BodySource,
  bytes: number,
  memory: BodyMemoryUse,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  while (!source.ended) {
    const start = source.readBytes;
    let buffer = new ArrayBuffer(Math.min(Math.max(start, FIRST_BYTES), bytes - start));
    while (source.readBytes < start + buffer.byteLength) {
      buffer = await source.fill(buffer, source.readBytes - start);
      await memory.reserveRead();
    }
    pieces.push(new Uint8Array(buffer));
  }
  return pieces;
}

/**
 * Reads a body without a declared length. It may come in millions of small chunks, each of which would take many times
 * its size: they are joined as they arrive.
 */
async function readOpen(source: PulledBody, memory: BodyMemoryUse): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let piece = new Uint8Array(FIRST_BYTES);
  let filled = 0;
  for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
    const fits = Math.min(chunk.byteLength, piece.byteLength - filled);
    piece.set(chunk.subarray(0, fits), filled);
    filled += fits;
    if (fits < chunk.byteLength) {
      pieces.push(piece);
      piece = new Uint8Array(Math.max(source.readBytes, chunk.byteLength - fits));
      piece.set(chunk.subarray(fits));
      filled = chunk.byteLength - fits;
    }
    await memory.reserveRead();
  }
  // the last buffer is cut to its content, because all of it would be kept otherwise
  return [...pieces, new Uint8Array(piece.buffer.transfer(filled))];
}

/** The memory for bodies that a call uses, until the body has been forwarded or the call has ended. */
export class BodyMemoryUse {
  readonly #call: Call;
  readonly #caller: Authenticated;
  #source: PulledBody;
  #reservation: BodyReservation | null = null;
  #countedBytes = 0;
  #weightBytes = 0;

  /** The body's bytes count for the tenant of `caller`. */
  constructor(call: Call, caller: Authenticated, source: BodySource) {
    this.#call = call;
    this.#caller = caller;
    this.#source = source;
  }

  /**
   * Counts the bytes read since the last call, once there is memory for them; a small body needs no reservation. Throws
   * ClientGone.
   */
  async reserveRead(): Promise<void> {
    await this.#reserve(this.#source.readBytes);
  }

  /** Counts the memory of the read body's values; false: it is no more than its bytes. Throws ClientGone. */
  async reserveValues(bytes: number): Promise<boolean> {
    this.#weightBytes ||= bytes;
    return await this.#reserve(bytes, true);
  }

  /** The memory of the body with its values: the larger of both. */
  get weightBytes(): number {
    return Math.max(this.#source.readBytes, this.#weightBytes);
  }

  /** The bytes counted beyond those of the body. */
  get valuesBytes(): number {
    return Math.max(0, this.#countedBytes - this.#source.readBytes);
  }

  /** Counts at most this much for values from here on. */
  keepValues(bytes: number): void {
    if (bytes >= this.valuesBytes) return;
    this.#reservation?.keepValues(bytes);
    this.#countedBytes = this.#source.readBytes + bytes;
  }

  async #reserve(inAll: number, isForValues = false): Promise<boolean> {
    const bytes = inAll - this.#countedBytes;
    if (bytes <= (this.#reservation === null ? UNRESERVED_MAX_BYTES : 0)) return false;
    this.#reservation ??= this.#open();
    if (!(await this.#reservation.reserve(bytes, isForValues)))
      throw new ClientGone("the client left while its body waited for memory");
    this.#countedBytes += bytes;
    return true;
  }

  /** Counts the bytes read from `source` from here on, and those read before. */
  continueWith(source: PulledBody): void {
    this.#source = source;
    this.#countedBytes = 0;
  }

  /** Reports that nothing more will be read. */
  complete(): void {
    this.#reservation?.complete();
  }

  release(): void {
    this.#reservation?.release();
  }

  #open(): BodyReservation {
    const { memory, cleanups, line } = this.#call;
    const tenantId = this.#caller.principal.tenant.id;
    const shared = line === undefined ? memory.bodyMemory : memory.lineMemory;
    const reservation = shared.open(tenantId, this.#source.declaredBytes, this.#call);
    cleanups.push(() => reservation.release());
    return reservation;
  }
}
