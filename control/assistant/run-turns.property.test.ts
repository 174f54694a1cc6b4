/** Whatever a model says and whatever it reads, nothing but reads and proposals comes of it (docs/rules/assistant.md#injection). */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { AssistantEvent, AssistantProposal } from "../../shared/wire/assistant.ts";
import { ASSISTANT_ROUTES, OPERATIONS } from "../../test/harness/control/assistant-operations.ts";
import { BrainAnswer } from "./brain-answer.ts";
import type { ApiCall } from "./model-tools.ts";
import { runTurns, TURNS_MAX } from "./run-turns.ts";

const names = fc.oneof(
  fc.constantFrom(...OPERATIONS.map(({ name }) => name), "describe_change", "propose_change", "get_backup_export", ""),
  fc.string(),
);
const value = fc.oneof(
  fc.constantFrom("health", "..", "7b0c3c3e-0000-4000-8000-000000000001", "keys", "a/../b", "%2e%2e"),
  fc.string(),
);
const args = fc.oneof(
  fc.record({ id: value, q: value }, { requiredKeys: [] }),
  fc.record(
    {
      change: names,
      parameters: fc.record({ id: value }, { requiredKeys: [] }),
      body: fc.oneof(fc.constant({ status: "suspended" }), fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
);
const call = fc.record({
  name: names,
  arguments: fc.oneof(
    args.map((given) => JSON.stringify(given)),
    fc.string(),
  ),
});
const delta = fc.oneof(
  fc.record({
    content: fc.oneof(fc.string({ unit: "binary" }), fc.jsonValue()),
    tool_calls: fc.array(fc.record({ index: fc.oneof(fc.nat(9), fc.jsonValue()), id: fc.jsonValue(), function: call })),
  }),
  fc.jsonValue(),
);
/** What a model streams in one turn: JSON of any kind, or no JSON at all. */
const turn = fc.array(
  fc.oneof(
    delta.map((one) => JSON.stringify({ choices: [{ delta: one }] })),
    fc.jsonValue().map((one) => JSON.stringify({ usage: { total_tokens: one } })),
    fc.string(),
  ),
  { maxLength: 4 },
);

/** The route that a path leads to, fixed parts first, as the console's server finds it. */
function routeOf(method: string, path: string): string | null {
  const parts = (path.split("?")[0] ?? "").split("/");
  const fitting = ASSISTANT_ROUTES.filter((route) => {
    const wanted = route.path.split("/");
    return (
      route.method === method &&
      wanted.length === parts.length &&
      wanted.every((part, at) => part.startsWith("{") || part === parts[at])
    );
  });
  return fitting.toSorted((a, b) => a.path.split("{").length - b.path.split("{").length)[0]?.path ?? null;
}

it("reads listed routes by GET, proposes listed writes, does nothing else, and ends", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 20 }), fc.string({ unit: "binary" }), async (turns, hostile) => {
      const read: ApiCall[] = [];
      const proposed: ApiCall[] = [];
      const events: AssistantEvent[] = [];
      let asked = 0;
      const ports = {
        ask: async (messages: readonly unknown[], _tools: unknown, onText: (text: string) => void) => {
          JSON.stringify(messages);
          const answer = new BrainAnswer();
          for (const data of turns[asked++ % Math.max(1, turns.length)] ?? []) onText(answer.take(data));
          return answer.turn;
        },
        leadsTo: (one: ApiCall) => routeOf(one.method, one.path),
        read: async (one: ApiCall) => {
          read.push(one);
          return { status: 200, text: hostile, isPart: false, cursor: null };
        },
        propose: async (_operation: unknown, one: ApiCall) => {
          proposed.push(one);
          return { id: "p" } as AssistantProposal;
        },
        emit: (event: AssistantEvent) => void events.push(event),
        nowMs: () => 0,
      };
      await runTurns(ports, { system: "s", history: [{ role: "user", content: hostile }] }, OPERATIONS);
      expect(read.filter(({ method, body }) => method !== "GET" || body !== null)).toEqual([]);
      const listed = (one: ApiCall) => OPERATIONS.some(({ path }) => path === routeOf(one.method, one.path));
      expect([...read, ...proposed].filter((one) => !listed(one))).toEqual([]);
      expect(proposed.filter(({ method }) => method === "GET")).toEqual([]);
      expect(asked).toBeLessThanOrEqual(TURNS_MAX);
      expect(events.at(-1)?.kind).toBe("done");
      expect(events.filter(({ kind }) => kind === "proposal")).toHaveLength(proposed.length);
      expect(JSON.stringify(events).isWellFormed()).toBe(true);
    }),
  );
});

it("stops a model that never finishes, and one that has used its tokens or its characters", async () => {
  let sent = 0;
  const run = async (tokens: number, read: string, args = "{}") => {
    sent = 0;
    const events: AssistantEvent[] = [];
    const ports = {
      ask: async (messages: readonly unknown[]) => {
        sent += JSON.stringify(messages).length;
        return { text: "", calls: Array(2).fill({ id: "", name: "get_tenants", arguments: args }), tokens };
      },
      leadsTo: () => "/tenants",
      read: async () => ({ status: 200, text: read, isPart: false, cursor: "next" }),
      propose: async () => ({ id: "p" }) as AssistantProposal,
      emit: (event: AssistantEvent) => void events.push(event),
      nowMs: () => 0,
    };
    await runTurns(ports, { system: "s", history: [{ role: "user", content: "q" }] }, OPERATIONS);
    return events;
  };
  expect((await run(1, "[]")).at(-1)).toMatchObject({ kind: "done", stopped: "turns" });
  const endless = await run(1, "x".repeat(50_000));
  expect(endless.at(-1)).toMatchObject({ kind: "done", stopped: "size" });
  const results = endless.flatMap((event) => (event.kind === "result" ? [event.text] : []));
  expect(JSON.parse(results[0] ?? "")).toMatchObject({
    status: 200,
    cut: expect.stringContaining("of 50000 characters"),
    next_page: { cursor: "next" },
  });
  expect(results.join("").length).toBeLessThan(120_000);
  expect((await run(250_000, "[]")).at(-1)).toMatchObject({ kind: "done", stopped: "tokens" });
  const written = (await run(1, "[]", "x".repeat(60_000))).at(-1);
  expect(written).toMatchObject({ kind: "done", stopped: "size" });
  expect(JSON.stringify(written).length).toBeLessThan(110_000);
  expect(sent).toBeLessThan(300_000);
});
