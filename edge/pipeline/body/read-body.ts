/**
 * Reads a request body within its cap, its time and the isolate's memory for bodies.
 */
import { joined } from "../../domain/bytes/byte-pieces.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import type { Authenticated } from "../call/known.ts";
import { type BodyReservation, UNRESERVED_MAX_BYTES } from "../memory/request-body-memory.ts";
import { BodyDeadline } from "./body-deadline.ts";
import { BodySource } from "./body-source.ts";

/** The first piece of a body; each further one is as long as all before, so that no more is held than twice what was received. */
const FIRST_BYTES = 64 * 1024;

/** The body of a call, unread. Throws 413 `request_too_large`. */
export function openBody(call: Call, maxBytes = call.config.maxBodyBytes): BodySource {
  const source = new BodySource(call.request, maxBytes, new BodyDeadline(call.timer, call.ports.clock));
  call.body.readBy(source);
  return source;
}

/** The whole body in one. Throws as {@link readPieces}. */
export async function readBody(
  call: Call,
  caller: Authenticated,
  maxBytes = call.config.maxBodyBytes,
): Promise<Uint8Array<ArrayBuffer>> {
  return joined(await readPieces(call, caller, maxBytes));
}

/**
 * The whole body, in pieces as it was received: to put them together would cost as much as to receive them. Throws 408
 * `request_timeout`, 413 `request_too_large`, or ClientGone when the client stops sending.
 */
export async function readPieces(
  call: Call,
  caller: Authenticated,
  maxBytes = call.config.maxBodyBytes,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const source = openBody(call, maxBytes);
  const memory = new BodyMemoryUse(call, caller, source);
  const { declaredBytes } = source;
  const pieces =
    declaredBytes === null ? await readOpen(source, memory) : await readDeclared(source, declaredBytes, memory);
  memory.complete();
  return pieces;
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

/** It may come in millions of small chunks, of which each would take many times its bytes: they are put together as they come. */
async function readOpen(source: BodySource, memory: BodyMemoryUse): Promise<Uint8Array<ArrayBuffer>[]> {
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
  // what is kept would keep all that was laid out for it
  return [...pieces, new Uint8Array(piece.buffer.transfer(filled))];
}

/** The memory for bodies that a call uses, until it has been forwarded or has ended before. */
export class BodyMemoryUse {
  readonly #call: Call;
  readonly #caller: Authenticated;
  readonly #source: BodySource;
  #reservation: BodyReservation | null = null;
  #countedBytes = 0;

  /** The body's bytes count for the tenant of `caller`. */
  constructor(call: Call, caller: Authenticated, source: BodySource) {
    this.#call = call;
    this.#caller = caller;
    this.#source = source;
  }

  /** Counts what was read since the last time, once there is memory for it; a small body needs none. Throws ClientGone. */
  async reserveRead(): Promise<void> {
    const bytes = this.#source.readBytes - this.#countedBytes;
    if (this.#reservation === null && bytes <= UNRESERVED_MAX_BYTES) return;
    this.#reservation ??= this.#open();
    if (!(await this.#reservation.reserve(bytes)))
      throw new ClientGone("the client left while its body waited for memory");
    this.#countedBytes += bytes;
  }

  /** Nothing more will be read. */
  complete(): void {
    this.#reservation?.complete();
  }

  release(): void {
    this.#reservation?.release();
  }

  #open(): BodyReservation {
    const { memory, request, cleanups } = this.#call;
    const tenantId = this.#caller.principal.tenant.id;
    const reservation = memory.bodyMemory.open(tenantId, this.#source.declaredBytes, request.signal);
    cleanups.push(() => reservation.release());
    return reservation;
  }
}
