/**
 * The poll of the cluster's power against a metrics server that answers, fails and changes
 * (docs/rules/energy.md#readings).
 */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { storeKeys } from "../../shared/records.ts";
import { type EnergyValue, energyValueSchema } from "../../shared/schema/settings/energy-value.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { PowerPoll } from "./power-poll.ts";

const START_MS = Date.parse("2030-01-10T12:00:00Z");

let server: HttpSink;
beforeAll(async () => {
  server = await startHttpSink();
});
afterAll(async () => await server.close());
beforeEach(() => {
  server.asked.length = 0;
});

/** A poll, the store it writes and the alerts it raises. */
class Scene {
  settings: EnergyValue = energyValueSchema.parse({
    enabled: true,
    prometheus_url: server.url,
    power_query: "node_power_watts",
    poll_interval_secs: 30,
  });
  text: string | null = null;
  storeDown = false;
  readonly alerts: RaisedAlert[] = [];
  readonly poll = new PowerPoll(
    async () => this.settings,
    {
      get: async () => [this.text],
      put: async ([copy]) => {
        if (this.storeDown) throw new Error("down");
        expect(copy?.hotKey).toBe(storeKeys.energyReading);
        this.text = copy?.text ?? null;
      },
    },
    { take: async (alerts) => void this.alerts.push(...alerts) },
    "here",
  );

  get reading(): unknown {
    return JSON.parse(this.text ?? "null");
  }
}

/** The metrics server measures so many watts on two nodes. */
function answerWatts(watts: number): void {
  server.answer = ({ url }) => {
    const query = new URL(url, server.url).searchParams.get("query") ?? "";
    const value = query.startsWith("sum(") ? watts : 2;
    return {
      body: JSON.stringify({ status: "success", data: { resultType: "vector", result: [{ value: [1, `${value}`] }] } }),
    };
  };
}

it("queries when it is time, and at once when it is switched on or the server changes", async () => {
  const scene = new Scene();
  answerWatts(900);
  scene.settings = { ...scene.settings, enabled: false };
  await scene.poll.run(START_MS);
  expect({ askedCount: server.asked.length, reading: scene.reading }).toEqual({ askedCount: 0, reading: null });
  scene.settings = { ...scene.settings, enabled: true };
  await scene.poll.run(START_MS);
  expect(scene.reading).toEqual({ cluster_watts: 900, node_count: 2, read_at_ms: START_MS, error: null });
  answerWatts(1000);
  await scene.poll.run(START_MS + 29_999);
  expect(scene.reading).toMatchObject({ cluster_watts: 900 });
  await scene.poll.run(START_MS + 30_000);
  expect(scene.reading).toMatchObject({ cluster_watts: 1000, read_at_ms: START_MS + 30_000 });
  scene.settings = { ...scene.settings, power_query: "other" };
  await scene.poll.run(START_MS + 30_001);
  expect(server.asked.at(-1)?.url).toContain("other");
  expect(scene.alerts).toEqual([]);
});

it("keeps the last good reading through failures, and reports each", async () => {
  const scene = new Scene();
  server.answer = () => ({ status: 500 });
  await scene.poll.run(START_MS);
  expect(scene.reading).toBeNull();
  answerWatts(900);
  await scene.poll.run(START_MS + 30_000);
  server.answer = () => ({ status: 503 });
  await scene.poll.run(START_MS + 60_000);
  const good = { cluster_watts: 900, node_count: 2, read_at_ms: START_MS + 30_000 };
  expect(scene.reading).toEqual({ ...good, error: "http 503" });
  server.answer = () => ({ body: '{"status":"success","data":{"resultType":"vector","result":[]}}' });
  await scene.poll.run(START_MS + 90_000);
  expect(scene.reading).toEqual({ ...good, error: "the query has no result" });
  answerWatts(901);
  await scene.poll.run(START_MS + 120_000);
  expect(scene.reading).toMatchObject({ cluster_watts: 901, error: null });
  expect(scene.alerts).toMatchObject([
    {
      issueKey: "energy_power_poll_failed",
      title: "Power query failed",
      detail: "http 500; there is no reading yet, so no energy is recorded",
      cell: "here",
    },
    { detail: "http 503; the last reading, of 2030-01-10T12:00:30.000Z, stays in use" },
    { detail: "the query has no result; the last reading, of 2030-01-10T12:00:30.000Z, stays in use" },
  ]);
});

it("queries again at the next run when the store did not take the reading", async () => {
  const scene = new Scene();
  answerWatts(900);
  scene.storeDown = true;
  await expect(scene.poll.run(START_MS)).rejects.toThrow("down");
  scene.storeDown = false;
  await scene.poll.run(START_MS + 1000);
  expect(scene.reading).toMatchObject({ cluster_watts: 900, read_at_ms: START_MS + 1000 });
});

it("queries at once when the clock was set back, and continues on the new time", async () => {
  const scene = new Scene();
  answerWatts(900);
  await scene.poll.run(START_MS);
  answerWatts(1000);
  await scene.poll.run(START_MS - 3_600_000);
  expect(scene.reading).toMatchObject({ cluster_watts: 1000, read_at_ms: START_MS - 3_600_000 });
  await scene.poll.run(START_MS - 3_600_000 + 29_999);
  expect(server.asked).toHaveLength(4);
});

it("takes no reading below 0", async () => {
  const scene = new Scene();
  answerWatts(-1);
  await scene.poll.run(START_MS);
  expect({ reading: scene.reading, detail: scene.alerts[0]?.detail }).toEqual({
    reading: null,
    detail: "the result is below 0; there is no reading yet, so no energy is recorded",
  });
});
