/**
 * A disk that is almost full, and then full, is called by its name: in an alert, in the doctor and in the answers' log
 * (docs/rules/storage-layouts.md#room-on-disk). The test needs a small disk, which only root can make.
 *
 * @module-tag long
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { metricsExamination } from "../../control/cli/doctor/metrics-examination.ts";
import { startStack } from "../../infra/local/stack.ts";
import { firingAlerts } from "../harness/firing-alerts.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const upstream = useStarted(startTestUpstream);

it.runIf(process.getuid?.() === 0)("is an alert before it is full, and the cause of every failure after", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-full-"));
  const disk = mkdtempSync(join(tmpdir(), "gateway-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "none", disk]);
  const lines: string[] = [];
  const stack = await startStack({
    env: stackEnv(join(folder, "stack"), { GATEWAY_WAL_PATH: join(disk, "objects") }),
    log: (line) => lines.push(line),
  });
  try {
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream().url);
    const status = async (): Promise<number> => {
      const response = await gateway.chat(minted);
      await response.text();
      return response.status;
    };
    expect(await status()).toBe(200);
    const firing = async (key: string) => (await firingAlerts(stack)).find((alert) => alert.key === key);
    const low = await waitFor(
      async () => await firing(`disk_low:${hostname()}`),
      (alert) => alert !== undefined,
    );
    expect(low?.detail).toMatch(/^on \S+, the disk of GATEWAY_WAL_PATH has 0\.0 GiB, \d+ % free$/);
    const { findings } = await metricsExamination({ url: stack.metricsUrl, isGiven: true }).run(
      AbortSignal.timeout(30_000),
    );
    const disks = findings.filter(({ check, detail }) => check === "disk" && detail.includes("objects folder"));
    expect(disks).toMatchObject([{ state: "failure", part: "control service" }]);

    const filler = join(disk, "filler");
    expect(() => execFileSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"], { stdio: "pipe" })).toThrow();
    expect(await waitFor(status, (code) => code === 503)).toBe(503);
    const unavailable = lines.find((line) => line.includes('"event":"scheduler_unavailable"'));
    expect(unavailable).toContain("database or disk is full");

    rmSync(filler);
    expect(await waitFor(status, (code) => code === 200)).toBe(200);
    const told = await waitFor(
      async () => await firing("scheduler_unavailable"),
      (alert) => alert !== undefined,
    );
    expect(told?.detail).toBe("cell local: its disk is full; requests are rejected");
  } finally {
    await stack.stop();
    execFileSync("umount", [disk]);
    for (const each of [disk, folder]) rmSync(each, { recursive: true, force: true });
  }
});
