/**
 * Reads a request body within its cap, its time and the isolate's room, and knows what of it nobody has read.
 */
import { joined } from "../../domain/json/top-level.ts";
import { type Call, ClientGone } from "../call/context.ts";
import { type BodyReservation, UNRESERVED_MAX_BYTES } from "../memory/request-body-memory.ts";
import { BodyDeadline } from "./body-deadline.ts";
import { BodySource } from "./body-source.ts";

/** The first piece of a body; each further one is as long as all before, so that no more is held than twice what was received. */
const FIRST_BYTES = 64 * 1024;

/** The body of a call, unread. Throws 413 `request_too_large`. */
export function openBody(call: Call, maxBytes = call.config.maxBodyBytes): BodySource {
  const source = new BodySource(call.request, maxBytes, new BodyDeadline(call.timer, call.ports.clock));
  call.facts.unread = source;
  return source;
}

/** The whole body in one. Throws as {@link readPieces}. */
export async function readBody(call: Call, maxBytes = call.config.maxBodyBytes): Promise<Uint8Array<ArrayBuffer>> {
  return joined(await readPieces(call, maxBytes));
}

/**
 * The whole body, in pieces as it was received: to put them together would cost as much as to receive them. Throws 408
 * `request_timeout`, 413 `request_too_large`, or ClientGone when the client stops sending.
 */
export async function readPieces(
  call: Call,
  maxBytes = call.config.maxBodyBytes,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const source = openBody(call, maxBytes);
  const room = new BodyMemoryUse(call, source);
  const { declaredBytes } = source;
  const pieces =
    declaredBytes === null ? await readOpen(source, room) : await readDeclared(source, declaredBytes, room);
  room.complete();
  return pieces;
}

async function readDeclared(
  source: BodySource,
  bytes: number,
  room: BodyMemoryUse,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  while (!source.ended) {
    const start = source.readBytes;
    let buffer = new ArrayBuffer(Math.min(Math.max(start, FIRST_BYTES), bytes - start));
    while (source.readBytes < start + buffer.byteLength) {
      buffer = await source.fill(buffer, source.readBytes - start);
      await room.reserveRead();
    }
    pieces.push(new Uint8Array(buffer));
  }
  return pieces;
}

/** It may come in millions of small chunks, of which each would take many times its bytes: they are put together as they come. */
async function readOpen(source: BodySource, room: BodyMemoryUse): Promise<Uint8Array<ArrayBuffer>[]> {
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
    await room.reserveRead();
  }
  // what is kept would keep all that was laid out for it
  return [...pieces, new Uint8Array(piece.buffer.transfer(filled))];
}

/** What a call uses of the room for bodies, until it has been forwarded or lets go before. */
export class BodyMemoryUse {
  readonly #call: Call;
  readonly #source: BodySource;
  #hold: BodyReservation | null = null;
  #countedBytes = 0;

  constructor(call: Call, source: BodySource) {
    this.#call = call;
    this.#source = source;
  }

  /** Counts what was read since the last time, once there is room for it; a small body needs none. Throws ClientGone. */
  async reserveRead(): Promise<void> {
    const bytes = this.#source.readBytes - this.#countedBytes;
    if (this.#hold === null && bytes <= UNRESERVED_MAX_BYTES) return;
    this.#hold ??= this.#open();
    if (!(await this.#hold.take(bytes))) throw new ClientGone("the client left while its body waited for room");
    this.#countedBytes += bytes;
  }

  /** Nothing more will be read. */
  complete(): void {
    this.#hold?.complete();
  }

  release(): void {
    this.#hold?.close();
  }

  #open(): BodyReservation {
    const { memory, request, facts, cleanups } = this.#call;
    const tenant = facts.principal?.tenant.id ?? "";
    const hold = memory.bodyRoom.open(tenant, this.#source.declaredBytes, request.signal);
    cleanups.push(() => hold.close());
    return hold;
  }
}
