/** @module-tag check */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startControl, type TestControl } from "../../../test/harness/control.ts";

/** As Slurm 24.11 answers them (0.0.40), and beside them entries that nobody can read. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  "/slurm/v0.0.40/partitions": {
    partitions: [
      { name: "gpu", nodes: { configured: "n[01-02]", total: 2 }, partition: { state: ["UP"] } },
      { name: "old", nodes: { total: { set: true, infinite: false, number: 3 } }, partition: { state: "DOWN" } },
      { name: "odd", nodes: "many", partition: null },
      { nodes: { total: 1 } },
      null,
    ],
  },
  "/slurm/v0.0.40/nodes": {
    nodes: [
      { name: "n01", gres: "gpu:a100:4", cpus: 64, real_memory: 515_000, state: ["IDLE", "DRAIN"] },
      { name: "n02", gres: null, cpus: "x", real_memory: 1.5, state: 7 },
      { name: 3 },
    ],
  },
  "/slurmdb/v0.0.40/associations": {
    associations: [
      { account: "research", qos: ["normal", "high"] },
      { account: "root", qos: ["normal"] },
      { account: "", qos: null },
    ],
  },
};

let control: TestControl;
let scheduler: Server;
let asked: string[] = [];
let answer: (path: string) => readonly [status: number, body: string];
let nowMs = Date.parse("2026-11-22T08:00:00Z");

const recorded = (path: string): readonly [number, string] => [200, JSON.stringify(ANSWERS[path])];

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
  scheduler = createServer((request, response) => {
    asked.push(`${request.url ?? ""} ${String(request.headers["x-slurm-user-token"])}`);
    const [status, body] = answer(request.url ?? "");
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  const listening = Promise.withResolvers<void>();
  scheduler.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
});
afterAll(async () => {
  scheduler.close();
  await control.close();
});
beforeEach(async () => {
  nowMs += 3_600_000;
  asked = [];
  answer = recorded;
  const url = `http://127.0.0.1:${(scheduler.address() as AddressInfo).port}`;
  await control.request("PUT", "/api/v1/settings/jobsched", { url, user: "slurm", token: "t-1" });
});

const read = async (): Promise<readonly [number, unknown]> => {
  const response = await control.request("GET", "/api/v1/jobsched/resources");
  return [response.status, await response.json()];
};
const UNREACHABLE = [
  502,
  expect.objectContaining({ error: expect.objectContaining({ code: "jobsched_unreachable" }) }),
];

it("are read from the scheduler, once a minute, and entries that cannot be read hide no others", async () => {
  const [status, resources] = await read();
  expect({ status, resources }).toEqual({
    status: 200,
    resources: {
      partitions: [
        { name: "gpu", nodes: 2, state: "UP" },
        { name: "old", nodes: 3, state: "DOWN" },
        { name: "odd", nodes: 0, state: "" },
      ],
      nodes: [
        { name: "n01", gres: "gpu:a100:4", cpus: 64, memory_mb: 515_000, state: "IDLE+DRAIN" },
        { name: "n02", gres: "", cpus: 0, memory_mb: 0, state: "" },
      ],
      accounts: ["research", "root"],
      qos: ["high", "normal"],
    },
  });
  expect(asked.toSorted()).toEqual(
    Object.keys(ANSWERS)
      .map((path) => `${path} t-1`)
      .toSorted(),
  );
  nowMs += 59_000;
  expect(await Promise.all([read(), read()])).toEqual([
    [200, resources],
    [200, resources],
  ]);
  expect(asked).toHaveLength(3);
  nowMs += 1000;
  await read();
  expect(asked).toHaveLength(6);
  await control.request("PUT", "/api/v1/settings/jobsched", { token: "t-2" });
  await read();
  expect(asked.slice(6).every((each) => each.endsWith(" t-2"))).toBe(true);
});

it("have no accounts when the scheduler keeps none", async () => {
  answer = (path) => (path.startsWith("/slurmdb/") ? [500, "{}"] : recorded(path));
  expect(await read()).toMatchObject([200, { accounts: [], qos: [], nodes: [{ name: "n01" }, { name: "n02" }] }]);
});

it.each<[string, readonly [number, string]]>([
  ["a refusal", [401, "{}"]],
  ["another text", [200, "<html>"]],
  ["another shape", [200, '{"nodes":{},"partitions":7}']],
])("are unreachable after %s, which the next read does not remember", async (_, wrong) => {
  answer = () => wrong;
  expect(await read()).toEqual(UNREACHABLE);
  answer = recorded;
  expect((await read())[0]).toBe(200);
});

it("need an address", async () => {
  await control.request("PUT", "/api/v1/settings/jobsched", { url: "" });
  expect(await read()).toMatchObject([400, { error: { code: "jobsched_not_configured" } }]);
});
