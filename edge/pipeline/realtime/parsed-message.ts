/** Messages of either side, as JSON. */
import { PARSE_WHOLE_MAX_BYTES } from "../../domain/wire/json/document.ts";
import { parsedBytes, parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { jsonInSteps } from "../../domain/wire/json/write-in-steps.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { Message } from "./message-queue.ts";

/** Undefined: it is not JSON. */
export async function parsedMessage(call: Call, message: Message): Promise<unknown> {
  try {
    if (typeof message !== "string") return await inTurns(call, parsedBytes(new Uint8Array(message)));
    if (message.length <= PARSE_WHOLE_MAX_BYTES) return JSON.parse(message);
    return await inTurns(call, parsedInSteps(message));
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    return undefined;
  }
}

export async function writtenMessage(call: Call, value: unknown): Promise<string> {
  return await inTurns(call, jsonInSteps(value));
}
