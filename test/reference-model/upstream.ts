/** The model server of the reference model: it answers each call as its script says, and records what it did. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { listen } from "../../infra/local/http/listen.ts";
import type { Attempt, Call, CallRoute, Served } from "./facts.ts";
import { answerOf } from "./wire.ts";

/** The header by which a call is known here. The gateway forwards headers that it does not know. */
export const CALL_HEADER = "x-scripted-call";

const KEEP_ALIVE_MS = 3_600_000;

export interface ModelUpstream {
  /** An `api_base`. */
  readonly url: string;
  /** Has the call answered by its script. */
  expect(call: Pick<Call, "id" | "route" | "script">): void;
  /** The attempts of a call that have reached it so far. */
  served(callId: string): readonly Served[];
  close(): Promise<void>;
}

interface Scripted {
  readonly route: CallRoute;
  readonly script: readonly Attempt[];
  readonly served: Served[];
}

/** Starts it on a free loopback port. */
export async function startModelUpstream(): Promise<ModelUpstream> {
  const calls = new Map<string, Scripted>();
  const server = createServer((request, response) => {
    readBody(request).then(
      async (body) => {
        const scripted = calls.get(String(request.headers[CALL_HEADER]));
        if (scripted === undefined) return void response.writeHead(500).end("not scripted");
        await answer(scripted, body, response);
      },
      () => response.destroy(),
    );
  });
  // A connection that is closed when it is idle may fail at its next use, which would be an attempt that nobody sees here.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: `${listening.url}/v1`,
    expect: ({ id, route, script }) => void calls.set(id, { route, script, served: [] }),
    served: (callId) => calls.get(callId)?.served ?? [],
    close: async () => await listening.close(),
  };
}

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  if (text.startsWith("{")) return JSON.parse(text) as Record<string, unknown>;
  const field = /name="model"\r\n\r\n([^\r]*)/.exec(text)?.[1];
  return { model: field ?? "" };
}

async function answer(
  { route, script, served }: Scripted,
  body: Readonly<Record<string, unknown>>,
  response: ServerResponse,
): Promise<void> {
  const plan = script[Math.min(served.length, script.length - 1)] as Attempt;
  const seen: Served = { atMs: Date.now(), model: String(body["model"]), plan, pieces: 0, text: "", cutOff: false };
  served.push(seen);
  response.on("close", () => {
    seen.cutOff = !response.writableFinished;
  });
  if (plan.delayMs > 0) await pause(plan.delayMs);
  if (plan.status === 0) return void response.socket?.resetAndDestroy();
  const { type, start = [], pieces, end } = answerOf(route, plan, body);
  const isStream = type === "text/event-stream";
  if (plan.end === "hold" && !isStream) return;
  response.writeHead(plan.status, { "content-type": type });
  for (const head of start) {
    response.write(head);
    seen.text += head;
  }
  for (const piece of pieces) {
    if (response.destroyed) return;
    response.write(piece);
    seen.text += piece;
    seen.pieces += 1;
    if (plan.paceMs > 0) await pause(plan.paceMs);
  }
  if (plan.end === "hold") return;
  if (plan.end === "break") return void response.write("", () => response.socket?.resetAndDestroy());
  seen.text += end.join("");
  response.end(end.join(""));
}
