/** @module-tag check */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, expect, it } from "vitest";
import type { CellMetrics } from "../../../shared/wire/internal.ts";
import { readExposition } from "../../../test/harness/exposition.ts";
import { type CellAddress, Cells } from "../../kernel/cells/cells.ts";
import { JobRuns } from "../../kernel/jobs/job-runs.ts";
import { certificateGauge } from "./certificate-gauge.ts";
import { createMetricsApp, renderCells } from "./listener.ts";

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await new Promise((resolve) => server.close(resolve))));
});

async function cell(name: string, answer: (path: string, token: string) => object | null): Promise<CellAddress> {
  const server = createServer((request, response) => {
    const body = answer(request.url ?? "", request.headers.authorization ?? "");
    response.writeHead(body === null ? 500 : 200, { connection: "close" }).end(JSON.stringify(body));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { cell: name, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function counter(name: string, value: number): CellMetrics {
  return {
    cell: name,
    families: [
      {
        name: "gateway_requests_total",
        help: "Requests.",
        type: "counter",
        samples: [{ suffix: "", labels: { status: "2xx" }, value }],
      },
    ],
  };
}

const metricsOf = async (
  addresses: readonly CellAddress[],
  outbox = async () => await Promise.resolve({ pending: 3, sinceMs: (Date.now() - 60_000) as number | null }),
) =>
  createMetricsApp({
    cells: new Cells(addresses, "internal"),
    outbox,
    runs: new JobRuns({ replica: "a", log: pino({ level: "silent" }) }),
    refusals: { total: 3 },
    version: "9.8.7",
    read: [certificateGauge(null)],
  });

it("merges every cell that answers into one family, and skips one that does not", async () => {
  const asked: string[] = [];
  const app = await metricsOf([
    await cell("a", (path, token) => {
      asked.push(`${path} ${token}`);
      return counter("a", 1);
    }),
    await cell("b", () => counter("b", 2)),
    await cell("broken", () => ({ nonsense: true })),
    await cell("failing", () => null),
    { cell: "gone", url: "http://127.0.0.1:9" },
  ]);
  const response = await app.request("/metrics");
  const text = await response.text();
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(asked).toEqual(["/internal/metrics Bearer internal"]);
  expect(text.match(/# TYPE gateway_requests_total counter/g)).toHaveLength(1);
  expect(text).toContain('gateway_requests_total{status="2xx",cell="a"} 1\n');
  expect(text).toContain('gateway_requests_total{status="2xx",cell="b"} 2\n');
  expect(text).toContain("\ngateway_outbox_pending 3\n");
  expect(text).toMatch(/\ngateway_outbox_oldest_seconds \d{2,}(\.\d+)?\n/);
  expect(text).toContain('\ngateway_build_info{version="9.8.7"} 1\n');
  expect(text).toMatch(/\nprocess_cpu_seconds_total \d/);
  for (const [name, up] of [
    ["a", 1],
    ["b", 1],
    ["broken", 0],
    ["failing", 0],
    ["gone", 0],
  ])
    expect(text).toContain(`gateway_cell_up{cell="${name}"} ${up}\n`);
  expect(text.split("\n").filter((line) => !/^(#.*|\w+(\{.*\})? \S+|)$/.test(line))).toEqual([]);
});

it("asks once for all who ask at the same time", async () => {
  let asked = 0;
  const app = await metricsOf([
    await cell("a", () => {
      asked += 1;
      return counter("a", 1);
    }),
  ]);
  const answers = await Promise.all(
    Array.from({ length: 32 }, async () => await (await app.request("/metrics")).text()),
  );
  expect({ asked, different: new Set(answers).size }).toEqual({ asked: 1, different: 1 });
});

it("answers although the database does not", async () => {
  const app = await metricsOf([], async () => await Promise.reject(new Error("no database")));
  const response = await app.request("/metrics");
  const text = await response.text();
  const isUnknown = (name: string) => new RegExp(`^gateway_outbox_${name} NaN$`, "m").test(text);
  expect({ status: response.status, pending: isUnknown("pending"), oldest: isUnknown("oldest_seconds") }).toEqual({
    status: 200,
    pending: true,
    oldest: true,
  });
  expect(text).toMatch(/^process_cpu_seconds_total \d/m);
  expect(text).not.toMatch(/ Nan$/m);
});

it("serves nothing else", async () => {
  const app = await metricsOf([]);
  for (const path of ["/", "/metrics/", "/api/v1/health", "/internal/metrics"])
    expect({ path, status: (await app.request(path)).status }).toEqual({ path, status: 404 });
});

it("writes histograms and labels as scrapers read them", () => {
  const samples = [
    { suffix: "_bucket" as const, labels: { le: "+Inf", model: 'a "quoted" \\ name\n' }, value: 2 },
    { suffix: "_sum" as const, labels: {}, value: 1.5 },
  ];
  expect(
    renderCells([
      { cell: "a", families: [{ name: "gateway_ttft_ms", help: "Wait,\nand \\\\ all.", type: "histogram", samples }] },
    ]),
  ).toBe(
    [
      "# HELP gateway_ttft_ms Wait,\\nand \\\\\\\\ all.",
      "# TYPE gateway_ttft_ms histogram",
      'gateway_ttft_ms_bucket{le="+Inf",model="a \\"quoted\\" \\\\ name\\n",cell="a"} 2',
      'gateway_ttft_ms_sum{cell="a"} 1.5',
      "",
    ].join("\n"),
  );
});

it("is read correctly by an independent parser, whatever a label contains", async () => {
  const server = 'a "quoted" \\ name,}\nand {more="of it"}';
  const family = {
    name: "gateway_mcp_requests_total",
    help: "Requests to MCP servers.",
    type: "counter" as const,
    samples: [
      { suffix: "" as const, labels: { server, status: "2xx" }, value: 3 },
      { suffix: "" as const, labels: { server: "plain", status: "2xx" }, value: 1 },
    ],
  };
  const read = await readExposition(renderCells(["a", "b"].map((name) => ({ cell: name, families: [family] }))));
  expect(read.faults).toEqual([]);
  expect(read.value(family.name, { server, status: "2xx", cell: "b" })).toBe(3);
});
