/**
 * The tenants of stored answers are kept in the key-value store for 30 days. With GATEWAY_FOREIGN_OBJECTS=pass, ids that
 * were given to nobody pass, and only those; while the store is away, nobody can say which ones they are
 * (docs/rules/routes.md#objects-of-upstreams).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { sha256Hex } from "../../shared/crypto/sha256.ts";
import { storeKeys } from "../../shared/records.ts";
import { useAnswerStore } from "../harness/answer-store.ts";
import { useBridgedStack } from "../harness/bridged-stack.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const MONTH_SECS = 30 * 24 * 60 * 60;
const MOST = 1_000;
const bridged = useBridgedStack(1, {
  GATEWAY_FOREIGN_OBJECTS: "pass",
  GATEWAY_STORED_OBJECTS_PER_TENANT: String(MOST),
});
const upstream = useAnswerStore();

/** Two tenants, and how a tenant asks. */
async function scene() {
  const mark = `mark-${randomUUID()}`;
  const [own, other] = await Promise.all([
    bridged.gateway.mint(upstream.baseOf(mark)),
    bridged.gateway.mint(upstream.baseOf(mark)),
  ]);
  const ask = async ({ secret, model }: Minted, body: object): Promise<Response> =>
    await fetch(`${bridged.stack.proxyUrl}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: model.model_name, input: "hello", ...body }),
    });
  const created = async (minted: Minted, body: object = {}): Promise<string> =>
    ((await (await ask(minted, body)).json()) as { id: string }).id;
  return { own, other, ask, created };
}

/** What the store has of the tenant's object. */
async function placeOf({ tenant }: Minted, id: string): Promise<unknown> {
  return await bridged.backend.call(["HGET", storeKeys.upstreamObject(sha256Hex(id)), tenant.id]);
}

it("passes ids of nobody if that is set, never those of others, and none without the store", async () => {
  const { own, other, ask, created } = await scene();
  const id = await created(own);
  const foreign = `resp_${randomUUID()}`;
  const outcomes = async () => {
    const outcomeOf = async (minted: Minted, named: string): Promise<unknown> => {
      const response = await ask(minted, { previous_response_id: named });
      const { error } = (await response.json()) as { error?: { code: string } };
      return error?.code ?? response.status;
    };
    return {
      own: await outcomeOf(own, id),
      ofAnother: await outcomeOf(other, id),
      ofNobody: await outcomeOf(other, foreign),
    };
  };
  const known = { own: 200, ofAnother: "object_not_found", ofNobody: 200 };

  expect(await outcomes()).toEqual(known);
  const name = storeKeys.upstreamObject(sha256Hex(id));
  expect(await placeOf(other, id)).toBe(null);
  const keptSecs = Number(await bridged.backend.call(["TTL", name]));
  expect({ isLong: keptSecs > MONTH_SECS - 3600, isBounded: keptSecs <= MONTH_SECS }).toEqual({
    isLong: true,
    isBounded: true,
  });

  const storeReturns = await bridged.storeLeaves();
  expect(await outcomes()).toEqual({
    own: 200,
    ofAnother: "key_store_unavailable",
    ofNobody: "key_store_unavailable",
  });
  await storeReturns();
  await waitFor(outcomes, ({ ofNobody }) => ofNobody === 200);
  expect(await outcomes()).toEqual(known);
});

it("saves the ids that it missed while it was away, without another request", async () => {
  const { own, other, ask, created } = await scene();
  await Promise.all([created(own), created(other)]);
  const storeReturns = await bridged.storeLeaves();
  const id = await created(own);
  await storeReturns();
  await waitFor(
    async () => await placeOf(own, id),
    (place) => place !== null,
  );
  const { error } = (await (await ask(other, { previous_response_id: id })).json()) as { error?: { code: string } };
  expect(error?.code).toBe("object_not_found");
});

it("keeps the latest ids of a tenant that is given too many, and all of another one", async () => {
  const { own, other, created } = await scene();
  const [oldest, others] = [await created(own), await created(other)];
  const many = { metadata: { items: "600" } };
  const later = [await created(own, many), await created(own, many)];
  const index = storeKeys.upstreamObjectsOf(own.tenant.id);
  const indexed = await waitFor(
    async () => ((await bridged.backend.call(["ZRANGE", index, "0", "-1"])) as string[]).length,
    (count) => count === MOST,
  );
  const isKept = async (minted: Minted, id: string): Promise<boolean> => (await placeOf(minted, id)) !== null;
  expect({
    indexed,
    oldest: await isKept(own, oldest),
    latest: await isKept(own, later[1] ?? ""),
    others: await isKept(other, others),
  }).toEqual({ indexed: MOST, oldest: false, latest: true, others: true });
});
