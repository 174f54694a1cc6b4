/** A connection of the WebSocket mode of Responses that a test holds, and answers to its requests. */
import { ResponsesSocket } from "../../../../edge/pipeline/realtime/responses-socket.ts";
import { HeldSocket } from "./held-socket.ts";
import type { TestPipeline } from "./world.ts";

type Body = Readonly<Record<string, unknown>>;

export type NthAnswer = (body: Body, nth: number) => Promise<Response>;

/** Lets time pass: `advance` runs the timers that are due after so many ms. */
export async function passTime(
  world: TestPipeline,
  ms: number,
  advance: (ms: number) => Promise<unknown>,
): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    world.nowMs += Math.min(left, 1_000);
    await advance(Math.min(left, 1_000));
  }
}

export const stream = (...events: readonly object[]): Response =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });

/** A response with an id of its own, whose output has this text. */
export const completed = (id: string, text = "answer"): Response =>
  stream({
    type: "response.completed",
    response: {
      id,
      output: [
        { type: "reasoning", summary: [] },
        { type: "message", role: "assistant", content: text },
      ],
    },
  });

export const create = (more: Body = {}): Body => ({
  type: "response.create",
  model: "tiny",
  store: false,
  input: "hello",
  ...more,
});

/** An open connection of a tenant, and what was asked for on it. */
export function openResponses(world: TestPipeline, answer: NthAnswer, tenantId = "tenant") {
  const socket = new HeldSocket();
  const asked: Body[] = [];
  const signals: AbortSignal[] = [];
  const call = world.call({ method: "GET", body: null }, "/v1/responses");
  const ask = async (body: Uint8Array, signal: AbortSignal): Promise<Response> => {
    asked.push(JSON.parse(new TextDecoder().decode(body)) as Body);
    signals.push(signal);
    return await answer(asked.at(-1) ?? {}, asked.length);
  };
  const client = socket as unknown as WebSocket;
  const share = world.memory.responseMemory.join(tenantId, client, call.config.realtimeMaxMs);
  if (share === null) throw new Error("too many connections");
  new ResponsesSocket(call, client, share, ask).start();
  return { socket, asked, signals, call };
}
