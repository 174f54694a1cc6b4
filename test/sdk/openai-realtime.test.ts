/** OpenAI's clients of WebSockets with a changed base URL: Realtime, over an upstream that speaks that API, and Responses. */
import { connect } from "node:net";
import { createServer } from "node:tls";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { ResponsesWS } from "openai/resources/responses/ws";
import { expect, it } from "vitest";
import { listen } from "../../infra/local/http/listen.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

/** The client speaks TLS alone: before the gateway stands what a front is there for. */
const front = useStarted(async () => {
  const certificate = await makeCertificate();
  const { port, hostname } = new URL(fixture.gateway.proxyUrl);
  const server = createServer(certificate, (client) => {
    const inner = connect({ host: hostname, port: Number(port) });
    client.on("error", () => inner.destroy());
    inner.on("error", () => client.destroy());
    client.pipe(inner).pipe(client);
  });
  return { ...(await listen(server, "127.0.0.1", 0)), ca: certificate.cert };
});

const fixture = useGateway();
const upstream = useStarted(startRealtimeUpstream);

function clientOf({ secret }: Minted): OpenAI {
  const { port } = new URL(front().url);
  return new OpenAI({ baseURL: `https://localhost:${port}/v1`, apiKey: secret });
}

function talk(minted: Minted) {
  const client = clientOf(minted);
  const options = { ca: front().ca };
  const realtime = new OpenAIRealtimeWS({ model: minted.model.model_name, options }, client);
  const types: string[] = [];
  const errors: unknown[] = [];
  realtime.on("event", ({ type }) => types.push(type));
  realtime.on("error", (error) => errors.push(error));
  const got = async (type: string): Promise<void> => {
    await waitFor(
      () => ({ types: types.slice(-5), errors, has: types.includes(type) }),
      ({ has }) => has,
    );
  };
  return { realtime, types, errors, got };
}

it("talks in texts", async () => {
  const minted = await fixture.gateway.mint(upstream().url, "sdk-text");
  const { realtime, types, errors, got } = talk(minted);
  await got("session.created");
  realtime.send({
    type: "session.update",
    session: { type: "realtime", instructions: "Be brief.", output_modalities: ["text"] },
  });
  await got("session.updated");
  const content = [{ type: "input_text" as const, text: "Say hello" }];
  realtime.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
  realtime.send({ type: "response.create" });
  await got("response.done");
  realtime.close({ code: 1000, reason: "done" });
  expect({ errors, types: types.filter((type) => type.startsWith("response.")) }).toEqual({
    errors: [],
    types: [
      "response.created",
      "response.output_item.added",
      "response.content_part.added",
      ...Array.from({ length: 3 }, () => "response.output_text.delta"),
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.done",
    ],
  });
});

it("talks in audio, whose turns the upstream detects, and pays for each of them", async () => {
  const minted = await fixture.gateway.mint(upstream().url, "sdk-audio,vad,audio");
  const { realtime, types, errors, got } = talk(minted);
  await got("session.created");
  for (let part = 0; part < 4; part += 1)
    realtime.send({ type: "input_audio_buffer.append", audio: Buffer.alloc(240).toString("base64") });
  await got("response.done");
  realtime.close();
  expect({ errors, audio: types.filter((type) => type === "response.output_audio.delta").length }).toEqual({
    errors: [],
    audio: 3,
  });
  const rows = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length >= 2,
  );
  expect(rows.map(({ total_tokens: tokens }) => tokens).toSorted((a, b) => a - b)).toEqual([0, 30]);
});

it("continues a response that nobody stores, over the WebSocket mode of Responses", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { responses_api: "translated" });
  const responses = new ResponsesWS(clientOf(minted), { ca: front().ca });
  const [ids, errors]: [string[], unknown[]] = [[], []];
  responses.on("response.completed", ({ response }) => ids.push(response.id));
  responses.on("error", (error) => errors.push(error));
  const asked = { type: "response.create" as const, model: minted.model.model_name, store: false };
  responses.send({ ...asked, input: `first ${minted.mark}` });
  for (const count of [1, 2]) {
    await waitFor(
      () => ({ ids: ids.length, errors }),
      ({ ids: seen }) => seen === count,
    );
    if (count === 1) responses.send({ ...asked, input: `second ${minted.mark}`, previous_response_id: ids[0] ?? "" });
  }
  responses.close();
  const [, second] = fixture.upstream.seen(minted.mark);
  const messages = second?.body["messages"] as readonly { readonly role: string }[];
  expect({ errors, roles: messages.map(({ role }) => role) }).toEqual({
    errors: [],
    roles: ["user", "assistant", "user"],
  });
});
