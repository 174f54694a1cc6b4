import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startDemoUpstream } from "./demo-upstream.ts";
import type { Listening } from "./http/listen.ts";

let server: Listening;
let client: OpenAI;
beforeAll(async () => {
  server = await startDemoUpstream({ wordMs: 1 });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});
afterAll(() => server.close());

const messages = [{ role: "user" as const, content: "one two three" }];

it("lists its model", async () => {
  expect((await client.models.list()).data.map((model) => model.id)).toEqual(["demo"]);
});

it("gives the same answer whole and as a stream, with usage when requested", async () => {
  const whole = await client.chat.completions.create({ model: "demo", messages });
  expect(whole.choices[0]?.message.content).toContain('You said: "one two three"');
  expect(whole.usage?.prompt_tokens).toBe(3);
  let text = "";
  let usage: unknown;
  let chunks = 0;
  const stream = await client.chat.completions.create({
    model: "demo",
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    chunks += 1;
    text += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage ?? usage;
  }
  expect(text).toBe(whole.choices[0]?.message.content);
  expect(usage).toEqual(whole.usage);
  expect(chunks).toBe((whole.usage?.completion_tokens ?? 0) + 2);
});

it("refuses what it cannot read", async () => {
  const post = (body: string) => fetch(`${server.url}/v1/chat/completions`, { method: "POST", body });
  expect({ malformed: (await post("{")).status, empty: (await post('{"messages":[]}')).status }).toEqual({
    malformed: 400,
    empty: 400,
  });
  expect((await fetch(`${server.url}/v1/other`)).status).toBe(404);
});
