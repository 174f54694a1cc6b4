import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { logLine } from "../../../edge/adapters/console-log.ts";
import { modelledTables, OF_THE_CODE, secondOf } from "./modelled.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const PAGE = read("docs/platform-costs.md");

/** The line of a request as `edge/pipeline/call/report/report-end.ts` writes it. */
const LINE = logLine(
  "request",
  {
    msg: "POST chat 200",
    request_id: "5f0c1f6e-3a5e-4d57-9a55-0d3f3c1c6f11",
    cell: "eu",
    tenant_id: "0f8a2d1e-7a34-4a0b-8f0e-3d1f5b7c9e21",
    key_id: "9b2c4d6e-1f3a-4b5c-8d7e-2a4c6e8f0b13",
    model: "llama-3.3-70b",
    request_type: "chat",
    method: "POST",
    status: 200,
    error: null,
    client_gone: false,
    admission: "fast",
    cache: "off",
    endpoint: "",
    upstream_status: 200,
    attempts: 1,
    retries: 0,
    failovers: 0,
    timeouts: 0,
    input_tokens: 1200,
    output_tokens: 150,
    estimated_tokens: 1350,
    cost_usd: 0.0015,
    auth_ms: 0,
    cache_ms: 0,
    admission_ms: 12,
    queue_wait_ms: 0,
    upstream_ms: 2900,
    ttft_ms: 310,
    total_ms: 3012,
    gateway_ms: 14,
    traced: false,
  },
  30,
  "2026-11-29T02:00:00.000Z",
);

describe("the modelled costs", () => {
  it.each(Object.entries(OF_THE_CODE))("use %s of the code", (name, { file, value }) => {
    const [, number = ""] = new RegExp(`^const ${name} = ([\\d_]+);`, "m").exec(read(file)) ?? [];
    expect(Number(number.replaceAll("_", ""))).toBe(value);
  });

  it("agree with what was counted of one request a second", () => {
    const row = /^\| one request a second +\|(.*)\|$/m.exec(PAGE)?.[1]?.split("|").map(Number) ?? [];
    const [, objectCalls = 0, alarms = 0, rowsWritten = 0] = row;
    const modelled = secondOf({ requestsPerSec: 1, secs: 0.01, tenants: 1, isolates: 1 });
    const ratios = {
      objectCalls: modelled.objectCalls / objectCalls,
      alarms: modelled.alarms / alarms,
      // a run of 40 s deletes nothing
      rows: modelled.rowsInserted / rowsWritten,
    };
    expect(Object.entries(ratios).filter(([, ratio]) => !(ratio > 0.85 && ratio < 1.15))).toEqual([]);
  });

  it.each(Object.entries(modelledTables(Buffer.byteLength(LINE))))("are the table of %s on the page", (name, table) => {
    const [, section = ""] = (name === "summary" ? read("README.md") : PAGE).split(`<!-- table: ${name} -->\n\n`);
    expect(section.split("\n\n")[0]).toBe(table);
  });

  it("have a log line of the length that the page says", () => {
    expect(PAGE).toContain(`one log line of ${Buffer.byteLength(LINE)} bytes`);
  });
});
