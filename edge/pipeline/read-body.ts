/**
 * Reads a whole request body within the cap, and within the isolate's room for large ones.
 */
import { GatewayError } from "../../shared/errors.ts";
import { concat } from "../domain/json-bytes.ts";
import { ROOM_FREE_BYTES } from "./body-room.ts";
import { BodySource } from "./body-source.ts";
import { type Call, ClientGone } from "./context.ts";

/** The whole body. Throws 413 `request_too_large`, or ClientGone when the client stops sending. */
export async function readBody(call: Call): Promise<Uint8Array<ArrayBuffer>> {
  const { request, config } = call;
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared <= config.maxBodyBytes) {
    if (declared > ROOM_FREE_BYTES) await takeRoom(call, declared);
    // Read natively into one buffer: chunks on the way would be garbage of the same size.
    const body = await request.arrayBuffer().catch((cause: unknown) => {
      throw new ClientGone("the request body broke off", { cause });
    });
    return new Uint8Array(body);
  }
  let roomy = false;
  return await readWithin(request, config.maxBodyBytes, async (readBytes) => {
    if (roomy || readBytes <= ROOM_FREE_BYTES) return;
    roomy = true;
    await takeRoom(call, config.maxBodyBytes);
  });
}

/** The whole body of any length up to `maxBytes`; `onRead` may hold it up. Throws as {@link readBody}. */
export async function readWithin(
  request: Request,
  maxBytes: number,
  onRead: (readBytes: number) => Promise<void> = async () => undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const source = new BodySource(request, maxBytes);
  const chunks: Uint8Array[] = [];
  try {
    for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
      chunks.push(chunk);
      await onRead(source.readBytes);
    }
  } catch (error) {
    if (error instanceof GatewayError) await source.discard();
    throw error;
  }
  return concat(chunks);
}

/** Room for a body of this call, until the call has been forwarded or gives it back before. Throws ClientGone. */
export async function takeRoom(call: Call, bytes: number): Promise<() => void> {
  const giveBack = await call.memory.bodyRoom.take(bytes, call.request.signal);
  call.cleanups.push(giveBack);
  return giveBack;
}
