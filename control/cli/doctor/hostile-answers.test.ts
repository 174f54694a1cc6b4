/**
 * The doctor before servers that answer anything: it ends, in its time, and blames them and not itself.
 *
 * @module-tag long
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listen } from "../../../infra/local/http/listen.ts";
import { diagnose } from "./diagnose.ts";
import { parseDoctorEnv } from "./doctor-env.ts";
import type { DoctorFinding } from "./finding.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Awaited<ReturnType<typeof listen>>;
let answer: Answer = (_, response) => void response.end();

beforeAll(async () => {
  server = await listen(
    createServer((request, response) => answer(request, response)),
    "127.0.0.1",
    0,
  );
});
afterAll(async () => await server.close());

async function examined(how: Answer, withinMs = 20_000): Promise<readonly DoctorFinding[]> {
  answer = how;
  return await diagnose({
    env: parseDoctorEnv({ GATEWAY_REDIS_URL: server.url, GATEWAY_CLICKHOUSE_URL: server.url }),
    adminUrl: server.url,
    adminToken: "token",
    metricsUrl: server.url,
    edgeUrls: [server.url],
    tlsEndpoints: [],
    backups: null,
    release: "1.0.0",
    runbooks: "docs/reference/alerts.md",
    withinMs,
  });
}

/** What holds of findings about whatever answered. */
function expectSound(findings: readonly DoctorFinding[]): void {
  expect(findings.length).toBeGreaterThan(0);
  for (const { part, detail, fix } of findings) {
    expect(fix ?? "").not.toContain("defect of the doctor");
    expect(detail).not.toMatch(/NaN|undefined|\[object/);
    expect(Math.max(part.length, detail.length, fix?.length ?? 0)).toBeLessThan(410);
  }
}

const json =
  (value: unknown): Answer =>
  (_, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));

/** An answer for each path of the Management API and of metrics that the doctor asks, so that it continues to the next. */
const asGateway =
  (more: Readonly<Record<string, unknown>>): Answer =>
  (request, response) => {
    const path = new URL(request.url ?? "/", "http://server").pathname;
    const usual: Record<string, unknown> = {
      "/api/v1/version": { version: "1.0.0" },
      "/api/v1/about": { schema_version: 26, cells: ["eu"] },
      "/api/v1/usage": [],
      "/api/v1/overview/attention": [],
      "/api/v1/models": [],
      "/api/v1/fairshare/live": {
        ts_ms: Date.now(),
        max_in_flight: 1,
        global_in_flight: 0,
        global_queued: 0,
        model_in_flight: { m: 1 },
        tenants: [],
      },
      ...more,
    };
    const value = usual[path] ?? "";
    const headers = { "content-type": "application/json", link: '</x?cursor=%zz>; rel="next", </x?cursor=again>' };
    response.writeHead(200, headers).end(typeof value === "string" ? value : JSON.stringify(value));
  };

it("takes any JSON for what it is, at every path", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => expectSound(await examined(json(value)))),
    { numRuns: 40 },
  );
});

const PATHS = ["version", "about", "usage", "overview/attention", "rotation", "models", "fairshare/live"];

it.each(PATHS)("takes any JSON for what it is where a gateway answers /%s", { tags: ["check"] }, async (path) => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) =>
      expectSound(await examined(asGateway({ [`/api/v1/${path}`]: value }))),
    ),
    { numRuns: 15 },
  );
});

const WRONG: readonly (readonly [string, Answer])[] = [
  ["redirects", (_, response) => void response.writeHead(302, { location: `${server.url}/elsewhere` }).end()],
  ["a status that there is not", (_, response) => void response.writeHead(999).end("x")],
  [
    "half an answer",
    (_, response) => void response.writeHead(200, { "content-length": "900" }).write("{", () => response.destroy()),
  ],
  ["a list of cells that are none", asGateway({ "/api/v1/about": { schema_version: 26, cells: [1, null, {}] } })],
  [
    "figures that are none",
    asGateway({
      "/api/v1/fairshare/live": { ts_ms: "soon", max_in_flight: null, model_in_flight: [], tenants: 7 },
      "/metrics":
        'gateway_cell_up{cell="eu"} what\ngateway_spill_bytes{cell="eu"} NaN\ngateway_outbox_pending ??\ngateway_backup_interval_seconds 60\ngateway_backup_last_success_timestamp_seconds NaN\ngateway_telemetry_dropped{cell="eu"} x\n',
    }),
  ],
  [
    "names of great length",
    asGateway({
      "/api/v1/version": { version: "9".repeat(100_000) },
      "/api/v1/overview/attention": [{ kind: "x".repeat(9_000), name: "n".repeat(90_000), detail: "d" }],
      "/metrics": `gateway_cell_up{cell="${"e".repeat(100_000)}"} 1\n`,
    }),
  ],
];

it.each(WRONG)("continues after %s", async (_, how) => expectSound(await examined(how)));

it("reads no more than an answer can have", async () => {
  const piece = Buffer.alloc(1024 * 1024, " ");
  let sent = 0;
  const found = await examined((_, response) => {
    response.writeHead(200, { "content-type": "application/json", "x-gateway-request-id": "r" });
    const more = (): void => {
      while (!response.destroyed && sent < 4_000) {
        sent += 1;
        if (!response.write(piece)) return void response.once("drain", more);
      }
    };
    more();
  });
  expectSound(found);
  expect(found.find(({ part }) => part === "control service")).toMatchObject({
    state: "failure",
    detail: "answers, but not like a part of a gateway",
  });
  expect(sent).toBeLessThan(400);
});

it("ends a list of models that has no end, and sends the token nowhere else", async () => {
  let pages = 0;
  const told: (string | undefined)[] = [];
  const elsewhere = await listen(
    createServer((request, response) => {
      told.push(request.headers.authorization);
      response.end("{}");
    }),
    "127.0.0.1",
    0,
  );
  const usual = asGateway({});
  const found = await examined((request, response) => {
    if (request.url?.startsWith("/api/v1/models") === true) pages += 1;
    if (request.url?.startsWith("/api/v1/overview") === true)
      return void response.writeHead(307, { location: elsewhere.url }).end();
    usual(request, response);
  });
  expectSound(found);
  expect(pages).toBe(100);
  expect(told).toEqual([]);
  await elsewhere.close();
});

/** What the doctor says of the control service that somebody has to act on. */
const wrongOfControl = (findings: readonly DoctorFinding[]) =>
  findings
    .filter(({ part, state }) => part === "control service" && (state === "failure" || state === "warning"))
    .map(({ check, detail, fix }) => ({ check, detail, fix }));

it.each([
  ["usage", "got no answer from the analytics store (ClickHouse) within 0.4 s"],
  ["about", "does not reach its database"],
])("blames the store that keeps /%s waiting, not the control service", async (path, detail) => {
  const usual = asGateway({});
  const findings = await examined((request, response) => {
    if (request.url?.startsWith(`/api/v1/${path}`) !== true) usual(request, response);
  }, 1000);
  expect(wrongOfControl(findings).filter(({ check }) => check === "reachable")).toMatchObject([{ detail }]);
});

it("names an alert by its key and leads to its section", async () => {
  const alert = {
    kind: "alert",
    entity_id: "upstream_request_failed:phi-4",
    name: "Upstream errors",
    detail: "3 of 10",
  };
  const findings = await examined(asGateway({ "/api/v1/overview/attention": [alert] }));
  expect(wrongOfControl(findings).filter(({ check }) => check === "attention")).toEqual([
    {
      check: "attention",
      detail: "alert: upstream_request_failed:phi-4: 3 of 10",
      fix: "docs/reference/alerts.md#upstream_request_failed",
    },
  ]);
});
