/** The key-value store behind the Redis protocol; test/faults/doctor.test.ts has the one behind the REST protocol. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { memoryBackend } from "../../../infra/local/redis/memory-backend.ts";
import { type RedisServer, startRedisServer } from "../../../test/harness/redis-protocol.ts";
import { runExaminations } from "./examination.ts";
import { type Examined, findingsOf } from "./finding.ts";
import { keyValueExamination } from "./key-value-examination.ts";

const PASSWORD = "a-password-of-the-store";
let backend: ReturnType<typeof memoryBackend>;
let server: RedisServer;
beforeEach(async () => {
  backend = memoryBackend();
  server = await startRedisServer(backend, PASSWORD);
});
afterEach(async () => await server.close());

async function examined(url: string, withinMs = 10_000): Promise<Examined> {
  const [found] = await runExaminations([keyValueExamination({ url, token: "" }, withinMs)], withinMs);
  return found ?? { findings: [] };
}

const told = ({ findings }: Examined) => findings.map(({ state, check, detail }) => [state, check, detail]);

it("takes a write, and keeps nothing of it", async () => {
  expect(told(await examined(server.url))).toEqual([
    ["ok", "reachable", expect.stringMatching(/^answers in \d+ ms; Redis 7\.0\.15$/)],
    ["ok", "permission", "returns what was written"],
    ["warning", "filled", "was emptied, or never filled"],
  ]);
  const names = (command: string) => server.seen.filter(([name]) => name === command).map(([, name]) => name);
  expect(names("SET")).toHaveLength(1);
  expect(names("DEL")).toEqual(names("SET"));
});

it.each([
  ["filling 1f0c", "warning", "is being filled"],
  ["1234", "ok", "has every copy (revision 1234)"],
])("says of the mark %j whether the copies are complete", async (mark, state, detail) => {
  await backend.call(["SET", "ready", mark]);
  expect(told(await examined(server.url)).at(-1)).toEqual([state, "filled", detail]);
});

it("that wants another password says so, and the password is not repeated", async () => {
  const wrong = await examined(server.url.replace(PASSWORD, "another-password"));
  expect(told(wrong)).toEqual([["failure", "token", "does not accept the password"]]);
  const none = await examined(server.url.replace(`:${PASSWORD}@`, ""));
  expect(told(none)).toEqual([["failure", "token", "requires a password"]]);
  expect(JSON.stringify([wrong, none])).not.toContain("another-password");
});

it("that is silent or gone is a failure within its time", async () => {
  server.silent = true;
  expect((await examined(server.url, 100)).findings).toMatchObject([{ state: "failure", check: "reachable" }]);
  const { url } = server;
  await server.close();
  const { failure } = findingsOf("key-value store");
  expect((await examined(url)).findings).toEqual([
    failure(
      "reachable",
      `does not answer at ${new URL(url).host}: nothing listens there`,
      "check the address and the port, and that the part runs",
    ),
  ]);
  server = await startRedisServer(memoryBackend());
});
