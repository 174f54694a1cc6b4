/** Which tenants were given an object of an upstream (docs/rules/routes.md#objects-of-upstreams). */
import { expect, it } from "vitest";
import type { RedisClient } from "./redis-client.ts";
import { StoreDown } from "./redis-client.ts";
import { RedisUpstreamObjects } from "./redis-upstream-objects.ts";

/** A store that several isolates use, and that can be away. */
class Store {
  readonly values = new Map<string, Map<string, string>>();
  isAway = false;

  async run<T>(work: (redis: never) => Promise<T>): Promise<T> {
    if (this.isAway) throw new StoreDown("away");
    const answers: unknown[] = [];
    const answer = (value: unknown) => {
      answers.push(value);
      return pipeline;
    };
    const pipeline = {
      hget: (name: string, field: string) => answer(this.values.get(name)?.get(field) ?? null),
      exists: (name: string) => answer(this.values.has(name) ? 1 : 0),
      expire: () => answer(1),
      hset: (name: string, fields: Record<string, string>) => {
        this.values.set(name, new Map([...(this.values.get(name) ?? []), ...Object.entries(fields)]));
        return answer(1);
      },
      exec: async () => answers,
    };
    const fieldsOf = (name: string) => this.values.get(name) ?? new Map<string, string>();
    const alone = {
      hget: async (name: string, field: string) => this.values.get(name)?.get(field) ?? null,
      hincrby: async (name: string, field: string, by: number) => {
        const next = Number(fieldsOf(name).get(field) ?? 0) + by;
        this.values.set(name, fieldsOf(name).set(field, `${next}`));
        return next;
      },
    };
    return await work({ ...alone, pipeline: () => pipeline } as never);
  }
}

const isolateOf = (store: Store) => new RedisUpstreamObjects(store as unknown as Pick<RedisClient, "run">);
const place = { upstream: "id http://a.test/v1", model: "a model\nof two lines" };

it("knows an object in every isolate for its tenant, and says of others that it is foreign", async () => {
  const store = new Store();
  await isolateOf(store).remember("t", ["a"], place);
  expect(await isolateOf(store).places("t", ["b", "a"])).toEqual([null, place]);
  expect(await isolateOf(store).places("other", ["a"])).toEqual(["foreign"]);
});

it("knows an id of several tenants at the place of each", async () => {
  const store = new Store();
  const elsewhere = { ...place, upstream: "http://b.test/v1" };
  await isolateOf(store).remember("t", ["a"], place);
  await isolateOf(store).remember("other", ["a"], elsewhere);
  expect(await isolateOf(store).places("t", ["a"])).toEqual([place]);
  expect(await isolateOf(store).places("other", ["a"])).toEqual([elsewhere]);
});

it("reads again what was charged for an answer, which another isolate may have changed", async () => {
  const store = new Store();
  const [one, other] = [isolateOf(store), isolateOf(store)];
  const charged = { ...place, charged: { inputTokens: 3, outputTokens: 512 } };
  await one.remember("t", ["a"], charged);
  expect(await other.places("t", ["a"])).toEqual([charged]);
  const more = { ...place, charged: { inputTokens: 3, outputTokens: 600 } };
  await other.remember("t", ["a"], more);
  expect(await one.places("t", ["a"])).toEqual([more]);
});

it("gives what an answer owes to one of its readers, however many read it at once", async () => {
  const store = new Store();
  const take = async (outputTokens: number) =>
    (await isolateOf(store).takeOver("t", "a", { inputTokens: 0, outputTokens }))?.outputTokens ?? null;
  const sumOf = (taken: readonly (number | null)[]) => taken.reduce<number>((sum, tokens) => sum + (tokens ?? 0), 0);
  const atOnce = sumOf(await Promise.all([take(50_000), take(50_000), take(50_000)]));
  const later = [await take(50_000), await take(50_010)];
  store.isAway = true;
  expect({ atOnce, later, away: await take(50_020) }).toEqual({ atOnce: 50_000, later: [0, 10], away: null });
});

it("says what an isolate has seen while the store is away, and nothing else", async () => {
  const store = new Store();
  const isolate = isolateOf(store);
  store.isAway = true;
  await isolate.remember("t", ["a"], place);
  expect(await isolate.places("t", ["a"])).toEqual([place]);
  await expect(isolate.places("t", ["a", "b"])).rejects.toThrow(StoreDown);
  await expect(isolate.places("other", ["a"])).rejects.toThrow(StoreDown);
});
