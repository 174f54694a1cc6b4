/**
 * Writes that meet: two replicas of the control service change the same few records at the same time. In every order no
 * change is lost, no change is done by half, and when all writes have been answered the hot copies agree with the rows.
 */
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { auditLog } from "../../control/db/schema/journal.ts";
import { models } from "../../control/db/schema/models.ts";
import { apiKeys, tenants } from "../../control/db/schema/tenancy.ts";
import { buildKeys, buildModels } from "../../control/publish/hot-copies.ts";
import type { Listening } from "../../infra/local/http/listen.ts";
import { storeKeys } from "../../shared/records.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../harness/control.ts";
import { DISTANCE_MS, startHttpRelay } from "../harness/http-relay.ts";

const TENANTS = 2;
const KEYS_EACH = 2;
/** Every write of these tests is confirmed, however long its turn takes on a busy machine. */
const ANSWER_WITHIN_MS = 20_000;
const TENANT_FIELDS = ["weight", "tokens_per_minute", "max_in_flight", "status"] as const;

/** The second replica has a slower connection to the store. */
let replicas: readonly [TestControl, TestControl];
let distant: Listening;

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
  readonly tenants: readonly string[];
  readonly keys: readonly string[];
  readonly group: string;
  readonly model: string;
}

type Field = (typeof TENANT_FIELDS)[number];

/** One change; `pick` chooses among the records of its kind, `replica` the replica that makes it. */
interface Step {
  readonly does:
    | Field
    | "group"
    | "group_weight"
    | "create_key"
    | "delete_key"
    | "disabled"
    | "model"
    | "delete_tenant"
    | "compare";
  readonly pick: number;
  readonly value: number;
  readonly replica: 0 | 1;
}

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom<Step["does"]>(...TENANT_FIELDS, "group", "group_weight") },
    { weight: 10, arbitrary: fc.constantFrom<Step["does"]>("create_key", "delete_key", "disabled", "model") },
    { weight: 2, arbitrary: fc.constantFrom<Step["does"]>("delete_tenant", "compare") },
  ),
  pick: fc.nat({ max: 3 }),
  value: fc.integer({ min: 1, max: 1000 }),
  replica: fc.constantFrom(0 as const, 1 as const),
});

let worlds = 0;
async function newWorld(): Promise<World> {
  worlds += 1;
  const [first] = replicas;
  const post = async <T>(path: string, body: object): Promise<T> => {
    const response = await first.request("POST", path, body);
    expect(response.status).toBe(200);
    return (await response.json()) as T;
  };
  const group = `group-${worlds}`;
  await post("/api/v1/fairshare/groups", { name: group, weight: 5 });
  const { id: model } = await post<{ id: string }>("/api/v1/models", { model_name: `model-${worlds}` });
  const tenantIds: string[] = [];
  const keyIds: string[] = [];
  for (let at = 0; at < TENANTS; at += 1) {
    const { id } = await post<Tenant>("/api/v1/tenants", { name: `tenant-${worlds}-${at}` });
    tenantIds.push(id);
    for (let count = 0; count < KEYS_EACH; count += 1)
      keyIds.push((await post<CreatedKey>(`/api/v1/tenants/${id}/keys`, {})).key.id);
  }
  return { tenants: tenantIds, keys: keyIds, group, model };
}

const statusOf = (value: number): string => (value % 2 === 0 ? "suspended" : "active");

/** Makes the change of a step; returns the response, or null for a step without a request. */
async function run(world: World, { does, pick, value, replica }: Step): Promise<Response | null> {
  const control = replicas[replica];
  const tenant = `/api/v1/tenants/${world.tenants[pick % TENANTS]}`;
  const key = `/api/v1/keys/${world.keys[pick % world.keys.length]}`;
  switch (does) {
    case "weight":
      return await control.request("PATCH", `${tenant}/weight`, { weight: value });
    case "tokens_per_minute":
      return await control.request("PUT", `${tenant}/quota`, { tokens_per_minute: value, max_in_flight: value });
    case "max_in_flight":
      return await control.request("PUT", `${tenant}/quota`, { tokens_per_minute: value, max_in_flight: value });
    case "status":
      return await control.request("PATCH", `${tenant}/status`, { status: statusOf(value) });
    case "group":
      return await control.request("PATCH", `${tenant}/group`, {
        fairshare_group: value % 2 === 0 ? world.group : "default",
      });
    case "group_weight":
      return await control.request("PATCH", `/api/v1/fairshare/groups/${world.group}/weight`, { weight: value });
    case "create_key":
      return await control.request("POST", `${tenant}/keys`, { name: `key-${value}` });
    case "delete_key":
      return await control.request("DELETE", key);
    case "disabled":
      return await control.request("PUT", `${key}/disabled`, { disabled: value % 2 === 0 });
    case "model":
      return await control.request("PUT", `/api/v1/models/${world.model}/capacity`, { max_in_flight: value });
    case "delete_tenant":
      return await control.request("DELETE", tenant);
    case "compare":
      await control.resync.differing();
      return null;
    default:
      return does satisfies never;
  }
}

/** Every hot copy in the store, by name. */
async function copies(): Promise<ReadonlyMap<string, string>> {
  const [{ store }] = replicas;
  const held = new Map<string, string>();
  for (const pattern of ["key:*", "model:*"]) {
    for await (const names of store.scan(pattern)) {
      const texts = await store.get(names);
      for (const [at, name] of names.entries()) held.set(name, texts[at] ?? "");
    }
  }
  return held;
}

/** The hot copies that follow from the rows. */
async function wanted(): Promise<ReadonlyMap<string, string>> {
  const { db } = replicas[0].connection;
  const hashes = (await db.select({ hash: apiKeys.key_hash }).from(apiKeys)).map((row) => row.hash);
  const names = (await db.select({ name: models.model_name }).from(models)).map((row) => row.name);
  return new Map([
    ...[...(await buildKeys(db, hashes))].map(([hash, copy]) => [storeKeys.key(hash), JSON.stringify(copy)] as const),
    ...[...(await buildModels(db, names))].map(
      ([name, copy]) => [storeKeys.model(name), JSON.stringify(copy)] as const,
    ),
  ]);
}

/** The newest revision of each record that the cell has received. */
function receivedByCell(): ReadonlyMap<string, number> {
  const newest = new Map<string, number>();
  for (const { kind, id, rev } of replicas[0].cell.items)
    newest.set(`${kind}:${id}`, Math.max(rev, newest.get(`${kind}:${id}`) ?? 0));
  return newest;
}

it("leaves rows, journal, hot copies and cells in agreement, and loses no change", { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
      const world = await newWorld();
      const { db } = replicas[0].connection;
      const audited = await db.$count(auditLog);
      const answers = await Promise.all(steps.map(async (each) => ({ each, response: await run(world, each) })));

      const writes = answers.filter(({ response }) => response !== null && response.status < 300);
      for (const { each, response } of answers) {
        if (response === null) continue;
        expect({ does: each.does, isExpected: [200, 204, 404].includes(response.status) }).toEqual({
          does: each.does,
          isExpected: true,
        });
        expect({ does: each.does, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
          does: each.does,
          "x-gateway-sync": null,
        });
      }
      expect(await db.$count(auditLog)).toBe(audited + writes.length);

      const rows = await db
        .select()
        .from(tenants)
        .where(sql`${tenants.id} = ANY(${sql.param(`{${world.tenants.join(",")}}`)}::uuid[])`);
      for (const row of rows) {
        for (const field of TENANT_FIELDS) {
          const set = writes.filter(({ each }) => world.tenants[each.pick % TENANTS] === row.id && sets(each, field));
          const values = set.map(({ each }) => (field === "status" ? statusOf(each.value) : each.value));
          if (values.length > 0)
            expect({ field, isWritten: values.includes(row[field] as never) }).toEqual({ field, isWritten: true });
        }
      }
      expect(await copies()).toEqual(await wanted());
      const newest = receivedByCell();
      for (const row of await db.select().from(apiKeys))
        expect(newest.get(`key:${row.key_hash}`)).toBeGreaterThanOrEqual(row.rev);
      for (const row of rows.filter((one) => one.updated_at.getTime() !== one.created_at.getTime()))
        expect(newest.get(`tenant:${row.id}`)).toBe(row.rev);
    }),
    { numRuns: 60 },
  );
});

/** Whether a step sets this field. One call sets both caps. */
function sets({ does }: Step, field: Field): boolean {
  const quota = (name: string): boolean => name === "tokens_per_minute" || name === "max_in_flight";
  return does === field || (quota(does) && quota(field));
}
