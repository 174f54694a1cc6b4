/**
 * Reads a request body within its cap, its time and the isolate's room, and knows what of it nobody has read.
 */
import { concat } from "../domain/json-bytes.ts";
import { BodyDeadline } from "./body-deadline.ts";
import { type BodyHold, ROOM_FREE_BYTES } from "./body-room.ts";
import { BodySource } from "./body-source.ts";
import { type Call, ClientGone } from "./context.ts";

/** The first buffer of a body; it doubles as bytes come, so that no more is held than about twice what was received. */
const FIRST_BYTES = 64 * 1024;

/** The body of a call, unread. Throws 413 `request_too_large`. */
export function openBody(call: Call, maxBytes = call.config.maxBodyBytes): BodySource {
  const source = new BodySource(call.request, maxBytes, new BodyDeadline(call.waits, call.ports.clock));
  call.facts.unread = source;
  return source;
}

/**
 * The whole body. Throws 408 `request_timeout`, 413 `request_too_large`, or ClientGone when the client stops sending.
 */
export async function readBody(call: Call, maxBytes = call.config.maxBodyBytes): Promise<Uint8Array<ArrayBuffer>> {
  const source = openBody(call, maxBytes);
  const room = new RoomUse(call, source);
  const { declaredBytes } = source;
  const body =
    declaredBytes === null ? await readPieces(source, room) : await readDeclared(source, declaredBytes, room);
  room.complete();
  return body;
}

/** Into one buffer: pieces on the way would be garbage of the same size. */
async function readDeclared(source: BodySource, bytes: number, room: RoomUse): Promise<Uint8Array<ArrayBuffer>> {
  let buffer = new ArrayBuffer(Math.min(bytes, FIRST_BYTES));
  while (!source.ended) {
    if (source.readBytes === buffer.byteLength) buffer = buffer.transfer(Math.min(2 * source.readBytes, bytes));
    buffer = await source.fill(buffer);
    await room.count();
  }
  return new Uint8Array(buffer);
}

async function readPieces(source: BodySource, room: RoomUse): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for (let piece = await source.next(); piece !== null; piece = await source.next()) {
    pieces.push(piece);
    await room.count();
  }
  return concat(pieces);
}

/** What a call uses of the room for bodies, until it has been forwarded or lets go before. */
export class RoomUse {
  readonly #call: Call;
  readonly #source: BodySource;
  #hold: BodyHold | null = null;
  #countedBytes = 0;

  constructor(call: Call, source: BodySource) {
    this.#call = call;
    this.#source = source;
  }

  /** Counts what was read since the last time, once there is room for it; a small body needs none. Throws ClientGone. */
  async count(): Promise<void> {
    const bytes = this.#source.readBytes - this.#countedBytes;
    if (this.#hold === null && bytes <= ROOM_FREE_BYTES) return;
    this.#hold ??= this.#open();
    if (!(await this.#hold.take(bytes))) throw new ClientGone("the client left while its body waited for room");
    this.#countedBytes += bytes;
  }

  /** Nothing more will be read. */
  complete(): void {
    this.#hold?.complete();
  }

  giveBack(): void {
    this.#hold?.close();
  }

  #open(): BodyHold {
    const { memory, request, facts, cleanups } = this.#call;
    const tenant = facts.principal?.tenant.id ?? "";
    const hold = memory.bodyRoom.open(tenant, this.#source.declaredBytes, request.signal);
    cleanups.push(() => hold.close());
    return hold;
  }
}
