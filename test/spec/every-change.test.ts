/**
 * Every route x every kind of change (docs/rules/freshness.md#every-use-compares): after an admin's change the next
 * request of every route follows it, although the request before followed the earlier records. The test checks what
 * clients get, and which upstream was called in which way. `npm run check` plays every change on one route that is admitted
 * and one of another kind, `npm run test:release` the whole table.
 *
 * @module-tag long
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import type { Energy } from "../../shared/schema/settings/energy.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { Gateway } from "../harness/gateway.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { waitFor } from "../harness/wait-for.ts";
import { BOON_CHANGES, type BoonStage, NOTHING_ON, startBoonStage } from "./every-change/boon-changes.ts";
import { CALLER_CHANGES } from "./every-change/caller-changes.ts";
import { ROUTES, type Route, type Shown, served, show, showWaiting, warm } from "./every-change/routes.ts";
import { type Scene, Scenes } from "./every-change/scene.ts";
import { UPSTREAM_CHANGES } from "./every-change/upstream-changes.ts";
import type { Change, Verdict, Write } from "./every-change/verdicts.ts";
import { startWitness, type Witness } from "./every-change/witness.ts";

let witness: Witness;
let stack: Stack;
let gateway: Gateway;
let scenes: Scenes;

beforeAll(async () => {
  witness = await startWitness();
  stack = await startTestStack({ GATEWAY_UPSTREAM_BASE_URL: witness.baseOf("default") });
  gateway = new Gateway(stack);
  scenes = new Scenes(gateway, witness);
});
afterAll(async () => {
  await stack.stop();
  await witness.close();
});

async function write([method, path, body]: Write): Promise<void> {
  await gateway.must(method, path, body);
}

interface Played {
  readonly route: Route;
  readonly scene: Scene;
  readonly before: Shown;
  readonly after: Shown;
}

/** One cell of the table: what a request shows before the change, and what the next request shows after it. */
async function play(row: Change, route: Route): Promise<Played> {
  const waits = route.waits === true;
  const scene = await scenes.make(row.own, route.kind === "cached", waits ? 1 : null);
  if (row.first !== undefined) await write(row.first(scene));
  const before = await warm(scene, route);
  const change = async (): Promise<void> => await write(row.change(scene));
  if (waits)
    return { route, scene, before, after: await showWaiting(scene, await scenes.make("server", false), change) };
  await change();
  return { route, scene, before, after: await show(scene, route) };
}

const CHANGES: readonly Change[] = [...CALLER_CHANGES, ...UPSTREAM_CHANGES];

/** The routes of a row. A refused request does not wait. */
const routesOf = (row: Change): readonly Route[] =>
  ROUTES.filter(({ waits }) => waits !== true || row.before === undefined);

/** One route that is admitted and one of another kind, in turn: each route has its place in some rows. */
function routesInTurn(row: Change): readonly Route[] {
  const { admitted = [], ...others } = Object.groupBy(routesOf(row), ({ kind }) => kind);
  const kinds = Object.values(others);
  const turn = CHANGES.indexOf(row);
  const alike = kinds[turn % kinds.length] ?? [];
  return [admitted[turn % admitted.length] ?? [], alike[Math.floor(turn / kinds.length) % alike.length] ?? []].flat();
}

async function checkRow(row: Change, routes: readonly Route[]): Promise<void> {
  const cells = await Promise.all(routes.map(async (route) => await play(row, route)));
  const lines = (read: (cell: Played) => readonly string[]) =>
    Object.fromEntries(cells.map((cell) => [cell.route.name, read(cell)]));
  const { before = served, after }: { before?: Verdict; after: Verdict } = row;
  expect(lines((cell) => [cell.before.line, cell.after.line])).toEqual(
    lines(({ route, scene }) => [before(route, scene), after(route, scene)]),
  );
  const admitted = cells.filter(({ route }) => route.kind === "admitted");
  const { rows, live } = row;
  if (rows !== undefined) for (const cell of admitted) rows(await rowOf(cell, "before"), await rowOf(cell, "after"));
  if (live !== undefined) for (const { scene } of admitted) await live(scene);
}

it.each(CHANGES)("$name", async (row) => {
  await checkRow(row, routesInTurn(row));
});

it.each(CHANGES)("$name, on every route", { tags: ["long"] }, async (row) => {
  await checkRow(row, routesOf(row));
});

async function rowOf(cell: Played, when: "before" | "after"): Promise<UsageLog> {
  return await gateway.row(cell.scene.tenant.id, cell[when].requestId);
}

describe("a chat with boons", () => {
  let stage: BoonStage;
  beforeAll(async () => {
    stage = await startBoonStage();
  });
  afterAll(async () => {
    await stage.close();
  });

  it.each(BOON_CHANGES)("$name", async (row) => {
    const scene = await stage.make(gateway);
    for (const one of [...NOTHING_ON, ...row.first(scene)]) await write(one);
    const before = await stage.show(gateway, scene, row);
    await write(row.change(scene));
    expect({ before, after: await stage.show(gateway, scene, row) }).toEqual({
      before: row.before,
      after: row.after,
    });
  });
});

describe("settings: energy", () => {
  let metrics: HttpSink;
  /** All routes share this record: each route tests it under its own values, one route after another. */
  let carbonGPerKwh = 100;
  const terms = (): Write => [
    "PUT",
    "/settings/energy",
    {
      enabled: true,
      prometheus_url: metrics.url,
      power_query: "watts",
      energy_cost_per_kwh: 1,
      carbon_g_per_kwh: carbonGPerKwh,
      pue: 1,
    },
  ];

  beforeAll(async () => {
    metrics = await startHttpSink();
    const data = { resultType: "vector", result: [{ value: [1, "8000"] }] };
    metrics.answer = () => ({ body: JSON.stringify({ status: "success", data }) });
    await write(terms());
    await waitFor(
      async () => (await gateway.must<Energy>("GET", "/settings/energy")).last_reading,
      (reading) => reading !== null,
    );
  });
  afterAll(async () => {
    await metrics.close();
  });

  const followsTerms = async (route: Route): Promise<void> => {
    const scene = await scenes.make("model", false);
    for (let round = 0; round < 2; round += 1) {
      carbonGPerKwh += 100;
      await write(terms());
      const { energy_wh, co2_g } = await gateway.row(scene.tenant.id, (await show(scene, route)).requestId);
      expect(energy_wh).toBeGreaterThan(0);
      expect(co2_g).toBeCloseTo((energy_wh / 1000) * carbonGPerKwh, 12);
    }
  };
  const admitted = ROUTES.filter(({ kind }) => kind === "admitted");
  it.each(admitted.slice(0, 2))("$name", followsTerms);
  it.each(admitted.slice(2))("$name", { tags: ["long"] }, followsTerms);
});
