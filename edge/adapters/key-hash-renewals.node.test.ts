import { afterEach, beforeEach, expect, it } from "vitest";
import { type HttpSink, jsonAnswer, startHttpSink } from "../../test/harness/http-sink.ts";
import { ControlCalls } from "./control-calls.ts";
import { KeyHashRenewals } from "./key-hash-renewals.ts";

let sink: HttpSink;
let nowMs = 0;
let work: Promise<unknown>[] = [];
let logged: object[] = [];

beforeEach(async () => {
  sink = await startHttpSink(() => jsonAnswer({ renewed: true }));
  [nowMs, work, logged] = [0, [], []];
});
afterEach(async () => await sink.close());

function renewals(): KeyHashRenewals {
  return new KeyHashRenewals({
    control: new ControlCalls(sink.url, async () => ["current-token", "old-token"]),
    clock: () => nowMs,
    keepAlive: (each) => void work.push(each),
    log: { event: (name, facts) => void logged.push({ name, ...facts }) },
  });
}
const renewal = (key_hash: string) => ({ key_hash, new_key_hash: "new", pepper: "id" });

it("sends each hash once, with the current token, and at most one in 50 ms", async () => {
  const tried = renewals();
  for (const [atMs, hash] of [
    [0, "one"],
    [10, "two"],
    [50, "one"],
    [60, "two"],
  ] as const) {
    nowMs = atMs;
    tried.renew(renewal(hash));
  }
  await Promise.all(work);
  expect(sink.asked.map(({ url, body, headers }) => ({ url, body: JSON.parse(body) as unknown, ...headers }))).toEqual(
    ["one", "two"].map((hash) =>
      expect.objectContaining({
        url: "/internal/key-hashes",
        body: renewal(hash),
        authorization: "Bearer current-token",
      }),
    ),
  );
  expect(logged).toEqual([]);
});

it("logs a failure with its cause, and never throws", async () => {
  sink.answer = () => jsonAnswer({}, 404);
  const tried = renewals();
  tried.renew(renewal("one"));
  await Promise.all(work);
  const host = new URL(sink.url).host;
  expect(logged).toEqual([{ name: "key_hash_not_renewed", status: 404, reason: `${host} answered 404` }]);
  await sink.close();
  nowMs = 50;
  tried.renew(renewal("two"));
  await Promise.all(work);
  expect(logged[1]).toEqual({ name: "key_hash_not_renewed", reason: expect.stringMatching(/ECONNREFUSED/) as string });
  sink = await startHttpSink();
});
