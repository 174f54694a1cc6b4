/**
 * Writes of models, their endpoints, MCP servers and settings that meet on two replicas: each is done completely or
 * refused, the journal has each once, and when all writes have been answered every hot copy agrees with its rows.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { auditLog } from "../../control/db/schema/journal.ts";
import { buildCopies, COPY_KINDS } from "../../control/publish/build-copies.ts";
import type { Listening } from "../../infra/local/http/listen.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { Boons } from "../../shared/schema/settings/boons.ts";
import { startControl, type TestControl } from "../harness/control.ts";
import { DISTANCE_MS, startHttpRelay } from "../harness/http-relay.ts";

const BASE = "http://127.0.0.1:9/v1";
const ENDPOINTS = 3;
/** Every write of this test is confirmed, however long its turn takes on a busy machine. */
const ANSWER_WITHIN_MS = 20_000;
const COUNTS = ["vision_max_images", "tool_loop_max_turns", "compression_min_tokens"] as const;

/** The second replica has a slower connection to the store. */
let replicas: readonly [TestControl, TestControl];
let distant: Listening;
let worlds = 0;

beforeAll(async () => {
  const first = await startControl({ answerWithinMs: ANSWER_WITHIN_MS });
  distant = await startHttpRelay(first.places.storeUrl, { delaysMs: DISTANCE_MS });
  replicas = [first, await startControl({ beside: first, storeUrl: distant.url, answerWithinMs: ANSWER_WITHIN_MS })];
});
afterAll(async () => {
  await replicas[1].close();
  await distant.close();
  await replicas[0].close();
});

interface World {
  readonly model: string;
  readonly endpoints: readonly string[];
  readonly server: string;
}

/** A request that changes the records of a world. */
type Change = (world: World, pick: number, value: number) => readonly [method: string, path: string, body?: object];

const CHANGES: Readonly<Record<string, Change>> = {
  add: ({ model }, _, value) => ["POST", `/models/${model}/endpoints`, { name: `new-${value % 2}`, api_base: BASE }],
  change: ({ model, endpoints }, pick, value) => [
    "PUT",
    `/models/${model}/endpoints/${endpoints[pick]}`,
    { weight: value, api_key: String(value) },
  ],
  rename: ({ model, endpoints }, pick, value) => [
    "PUT",
    `/models/${model}/endpoints/${endpoints[pick]}`,
    { name: `endpoint-${value % ENDPOINTS}` },
  ],
  remove: ({ model, endpoints }, pick) => ["DELETE", `/models/${model}/endpoints/${endpoints[pick]}`],
  retries: ({ model }, _, value) => ["PUT", `/models/${model}/reliability`, { max_retries: value % 10 }],
  move: ({ model }, _, value) => ["PUT", `/models/${model}`, { upstream_model: `u-${value}`, api_base: BASE }],
  check: ({ model }, _, value) => ["PUT", `/models/${model}/health/config`, { failure_threshold: value }],
  delete: ({ model }) => ["DELETE", `/models/${model}`],
  server: ({ server }, _, value) => ["PUT", `/mcp-servers/${server}`, { enabled: value % 2 === 0 }],
  setting: (_world, pick, value) => ["PUT", "/settings/boons", { [COUNTS[pick] ?? ""]: 1 + (value % 8) }],
};

interface Step {
  readonly does: string;
  readonly pick: number;
  readonly value: number;
  readonly replica: 0 | 1;
}

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...Object.keys(CHANGES).filter((name) => name !== "delete")) },
    { weight: 1, arbitrary: fc.constant("delete") },
  ),
  pick: fc.nat({ max: ENDPOINTS - 1 }),
  value: fc.integer({ min: 1, max: 1000 }),
  replica: fc.constantFrom(0 as const, 1 as const),
});

async function newWorld(): Promise<World> {
  worlds += 1;
  const post = async <T>(path: string, body: object): Promise<T> => {
    const response = await replicas[0].request("POST", `/api/v1${path}`, body);
    expect(response.status).toBe(200);
    return (await response.json()) as T;
  };
  const model = await post<Model>("/models", { model_name: `model-${worlds}` });
  const endpoints: string[] = [];
  for (let at = 0; at < ENDPOINTS; at += 1)
    endpoints.push(
      (await post<ModelEndpoint>(`/models/${model.id}/endpoints`, { name: `endpoint-${at}`, api_base: BASE })).id,
    );
  const server = await post<{ id: string }>("/mcp-servers", { name: `server-${worlds}`, upstream_url: BASE });
  return { model: model.id, endpoints, server: server.id };
}

/** Hot copies by name: those in the store, and those that follow from the rows. */
async function copies(): Promise<{ held: ReadonlyMap<string, string>; wanted: ReadonlyMap<string, string> }> {
  const [{ store, connection }] = replicas;
  const held = new Map<string, string>();
  const wanted = new Map<string, string>();
  for (const { prefix, ids } of COPY_KINDS) {
    for await (const names of store.scan(`${prefix}:*`)) {
      const texts = await store.get(names);
      for (const [at, name] of names.entries()) held.set(name, texts[at] ?? "");
    }
    for await (const batch of ids(connection.db)) {
      const built = await buildCopies(
        connection.db,
        batch.map((id) => `${prefix}:${id}`),
      );
      for (const [name, text] of built) wanted.set(name, text);
    }
  }
  return { held, wanted };
}

it("leaves rows, journal and hot copies in agreement, and loses no change", { timeout: 240_000 }, async () => {
  await replicas[0].resync.all();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
      const world = await newWorld();
      const { db } = replicas[0].connection;
      const audited = await db.$count(auditLog);
      const answers = await Promise.all(
        steps.map(async (each) => {
          const [method, path, body] = CHANGES[each.does]?.(world, each.pick, each.value) ?? ["GET", "/tenants"];
          return { each, response: await replicas[each.replica].request(method, `/api/v1${path}`, body) };
        }),
      );
      for (const { each, response } of answers) {
        expect({
          does: each.does,
          status: response.status,
          isExpected: [200, 204, 404, 409].includes(response.status),
        }).toEqual({ does: each.does, status: response.status, isExpected: true });
        expect({ does: each.does, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
          does: each.does,
          "x-gateway-sync": null,
        });
      }
      const done = answers.filter(({ response }) => response.status < 300);
      expect(await db.$count(auditLog)).toBe(audited + done.length);

      const boons = (await (await replicas[1].request("GET", "/api/v1/settings/boons")).json()) as Boons;
      for (const [pick, field] of COUNTS.entries()) {
        const values = done
          .filter(({ each }) => each.does === "setting" && each.pick === pick)
          .map(({ each }) => 1 + (each.value % 8));
        if (values.length > 0)
          expect({ field, isWritten: values.includes(boons[field]) }).toEqual({ field, isWritten: true });
      }
      const { held, wanted } = await copies();
      expect(held).toEqual(wanted);
    }),
    { numRuns: 30 },
  );
});
