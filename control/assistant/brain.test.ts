/** The key that the assistant asks its model with (docs/rules/assistant.md#model). */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Brain } from "./brain.ts";

const DAY_MS = 86_400_000;
let server: Server;
let made: string[];
let seen: string[];
let brain: Brain;
let nowMs: number;
/** What the data plane answers to a key. */
let answerTo: (secret: string) => { readonly status: number; readonly headers?: Record<string, string> };

beforeEach(async () => {
  [made, seen, nowMs] = [[], [], 0];
  answerTo = () => ({ status: 200 });
  server = createServer((request, response) => {
    const secret = (request.headers.authorization ?? "").replace("Bearer ", "");
    seen.push(secret);
    const { status, headers = {} } = answerTo(secret);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    const error = { code: "refused", message: "no" };
    response.end(JSON.stringify(status === 200 ? { choices: [{ message: { content: "hello" } }] } : { error }));
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  brain = new Brain({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    makeKey: async () => {
      const secret = `key-${made.length + 1}`;
      made.push(secret);
      return { secret, expiresAtMs: nowMs + DAY_MS };
    },
    nowMs: () => nowMs,
  });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const ask = async () =>
  await brain.ask({ model: "m", messages: [], tools: [] }, () => {}, new AbortController().signal);
const askAtOnce = async (count: number) => await Promise.allSettled(Array.from({ length: count }, ask));

it("makes one key for questions that come together, and one more when it is about to end", async () => {
  await askAtOnce(4);
  expect(made).toEqual(["key-1"]);
  nowMs = DAY_MS - 1000;
  await askAtOnce(4);
  expect(made).toEqual(["key-1", "key-2"]);
});

it("makes no other key when an upstream refuses its own", async () => {
  answerTo = () => ({ status: 401, headers: { "x-gateway-upstream-status": "401" } });
  for (let nth = 0; nth < 3; nth += 1) await expect(ask()).rejects.toMatchObject({ name: "BrainError" });
  expect({ made, seenCount: seen.length }).toEqual({ made: ["key-1"], seenCount: 3 });
});

it("makes one other key when the gateway refuses the first, however many were asking with it", async () => {
  await ask();
  answerTo = (secret) => ({ status: secret === "key-1" ? 401 : 200 });
  const answers = await askAtOnce(4);
  expect(answers.map(({ status }) => status)).toEqual(Array(4).fill("fulfilled"));
  expect(made).toEqual(["key-1", "key-2"]);
});
