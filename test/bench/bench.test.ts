/**
 * The bench as a process: a short run of its own, and what it refuses.
 *
 * @module-tag long
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

async function bench(...args: readonly string[]): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...args]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const [code] = (await once(child, "close")) as [unknown];
  return { code, output };
}

test("the bench measures a bare Worker beside its upstream and reports every summary figure", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-bench-test-"));
  try {
    const json = join(folder, "report.json");
    const args = [
      "--quick",
      "--only",
      "c4,stream-asked",
      "--targets",
      "direct,floor",
      "--rounds",
      "1",
      "--slice-ms",
      "200",
    ];
    const { code, output } = await bench(...args, "--json", json);
    expect(output).toContain("c4: 1 KB, 4 at once (1 rounds)");
    expect(code).toBe(0);
    const report = JSON.parse(readFileSync(json, "utf8")) as Record<string, unknown>;
    expect(Object.keys(report["summary"] as object)).toEqual([
      "governed_over_floor_c1",
      "governed_over_floor_c16",
      "governed_over_floor_c32",
      "governed_over_floor_c64",
      "governed_over_floor_tenants",
      "governed_over_floor_cache",
      "governed_over_floor_body_4m",
      "governed_over_peer_c32",
      "stream_over_native",
      "stream_translated_over_relayed",
      "object_process_cpu_ms",
      "object_process_cpu_ms_one_tenant",
      "object_process_cpu_ms_lasting",
      "workers_over_one_process",
      "workers_over_one_process_one_tenant",
      "added_p50_ms_c1",
      "added_p50_over_floor_c1",
      "waiting_request_kb",
      "stream_cpu_per_chunk_over_floor",
      "stream_cpu_per_chunk_over_floor_1000",
      "stream_gap_p99_over_floor_1000",
      "guardrails_cpu_ms_4k",
      "switched_off_cpu_over_governed",
    ]);
    expect(report["problems"]).toEqual([]);
    const measured = { rps: { min: expect.any(Number) }, latencyMs: { p50: expect.any(Number) }, failures: {} };
    const figures = [
      { target: "direct", ...measured },
      { target: "floor", ...measured, overFloor: { median: 1 } },
    ];
    expect(report["loads"]).toMatchObject([
      { name: "c4", figures },
      { name: "stream-asked", figures },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("an unknown name ends the bench with a list of the known names", async () => {
  const { code, output } = await bench("--only", "c5");
  expect(code).toBe(2);
  expect(output).toContain("there is no c5");
  expect(output).toContain("stream-withheld");
});

test("a file that cannot be written is reported before the run", async () => {
  const { code, output } = await bench("--json", join(import.meta.dirname, "no-such-folder", "report.json"));
  expect(code).toBe(2);
  expect(output).toContain("--json: ENOENT");
});
