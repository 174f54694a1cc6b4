/**
 * While the Worker works on a hostile answer to one tenant, the stream of another one continues
 * (docs/rules/request-bodies.md#work). The stream's upstream writes an event when the client has the one before, so that
 * events are counted, not time: work in one piece lets only those pass that are on their way when it begins.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { useStarted } from "../harness/use-started.ts";

const fixture = useGateway();
const MIB = 1024 * 1024;
/** Events that pass during the work at least; while as many bytes without work are relayed, about ten do. */
const EVENTS_MIN = 30;
const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';

/** The upstream of both. */
interface Scene {
  readonly url: string;
  /** Writes the next event of the stream. */
  next(): void;
  /** The whole answer of every request that is no stream, and its type. */
  answer: { readonly type: string; readonly body: string };
  onAnswered: () => void;
  close(): Promise<void>;
}

async function startScene(): Promise<Scene> {
  const streams: ServerResponse[] = [];
  const scene: Scene = {
    url: "",
    next: () => streams.at(-1)?.write(EVENT),
    answer: { type: "application/json", body: "{}" },
    onAnswered: () => undefined,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.startsWith("/stream") === true) {
      streams.push(response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      scene.next();
      return;
    }
    response.writeHead(200, { "content-type": scene.answer.type });
    response.end(scene.answer.body, () => scene.onAnswered());
  };
  const server = createServer((request, response) => {
    request.resume().on("end", () => answer(request, response));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return Object.assign(scene, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const scene = useStarted(startScene);

/** A stream of a tenant of its own: how many events its client has had. */
async function watched(): Promise<{ readonly events: () => number; stop(): void }> {
  const minted = await fixture.gateway.mint(`${scene().url}/stream`);
  const left = new AbortController();
  const response = await fixture.gateway.chat(minted, { stream: true, signal: left.signal });
  let events = 0;
  const read = async (): Promise<void> => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      events += chunk.split("data:").length - 1;
      scene().next();
    }
  };
  void read().catch(() => undefined);
  return { events: () => events, stop: () => left.abort() };
}

const nested = (bytes: number): string =>
  `[${Array(Math.floor(bytes / 17))
    .fill("[[[[[[[[]]]]]]]]")
    .join(",")}]`;
const json = (body: string) => ({ type: "application/json", body });
const chat = (content: string): string => JSON.stringify({ choices: [{ index: 0, message: { content } }] });

interface Work {
  readonly policy?: object;
  readonly model?: object;
  readonly request?: object;
  readonly answer: Scene["answer"];
}

const response_format = { type: "json_schema", json_schema: { name: "x", schema: { type: "array" } } };
const WORKS: Readonly<Record<string, Work>> = {
  "an answer is examined": {
    policy: { action: "block", output_scanners: ["pii"] },
    answer: json(`{"choices":[],"x":${nested(2 * MIB)}}`),
  },
  "an event of a stream is redacted": {
    policy: { action: "redact", output_scanners: ["pii"] },
    request: { stream: true },
    answer: { type: "text/event-stream", body: `data: {"choices":[],"x":${nested(2 * MIB)}}\n\ndata: [DONE]\n\n` },
  },
  "structured output is checked": {
    model: { boons: ["structured_output"] },
    request: { response_format },
    answer: json(chat(nested(2 * MIB))),
  },
};

/** The events of another tenant's stream while the work is done. */
async function eventsDuring({ policy, model, request, answer }: Work): Promise<number> {
  const minted: Minted = await fixture.gateway.mint(scene().url, "plain", { ...model });
  if (policy !== undefined) await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy });
  const stream = await watched();
  let before = stream.events();
  Object.assign(scene(), { answer, onAnswered: () => (before = stream.events()) });
  const response = await fixture.gateway.chat(minted, { body: { ...request } });
  await response.text();
  stream.stop();
  return stream.events() - before;
}

describe("another tenant's stream", () => {
  it.each(Object.entries(WORKS))("continues while %s", async (_, work) => {
    const events = await eventsDuring(work);
    expect({ events, hasGoneOn: events >= EVENTS_MIN }).toEqual({ events, hasGoneOn: true });
  });
});
