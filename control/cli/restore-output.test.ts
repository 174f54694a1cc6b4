/** What `gateway backup restore` shows a person: before an API that a test plays. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { backupCommands } from "./backup.ts";

const COUNTS = { added: 0, changed: 0, unchanged: 0, only_here: 0, objects: [] };
const DIFFERENCES = {
  fairshare_groups: COUNTS,
  tenants: {
    ...COUNTS,
    changed: 1,
    unchanged: 1,
    objects: [{ name: "acme", change: "changed", fields: { weight: [100, 50], status: ["active", "suspended"] } }],
  },
  models: { ...COUNTS, added: 1, objects: [{ name: "m", change: "added", fields: {} }] },
};
let folder: string;
let shown: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-restore-"));
  shown = "";
  const write = (text: string | Uint8Array): boolean => {
    shown += String(text);
    return true;
  };
  vi.stubEnv("GATEWAY_ADMIN_TOKEN", "token");
  vi.spyOn(process.stdout, "write").mockImplementation(write);
  vi.spyOn(process.stderr, "write").mockImplementation(write);
  vi.stubGlobal("fetch", async () =>
    Response.json({ tenants: { inserted: 0, updated: 2 }, warnings: ["look here"], differences: DIFFERENCES }),
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

async function restore(file: string): Promise<void> {
  const program = new Command("gateway").option("--url <url>").option("--json");
  backupCommands(program);
  await program.parseAsync(["backup", "restore", "--dry-run", file], { from: "user" });
}

it("a dry run is a table of kinds, and one of what would be added or changed", async () => {
  const file = join(folder, "gateway.json");
  writeFileSync(file, "{}");
  await restore(file);
  const lines = shown
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(lines).toEqual([
    ["kind", "added", "changed", "unchanged", "only_here"],
    ["fairshare_groups", "0", "0", "0", "0"],
    ["tenants", "0", "1", "1", "0"],
    ["models", "1", "0", "0", "0"],
    ["kind", "name", "change", "field", "before", "after"],
    ["tenants", "acme", "changed", "weight", "100", "50"],
    ["tenants", "acme", "changed", "status", "active", "suspended"],
    ["models", "m", "added", "-", "-", "-"],
    ["warning: look here"],
  ]);
});

it("a file that cannot be read has the reason", async () => {
  const file = join(folder, "none.json");
  await expect(restore(file)).rejects.toThrow(`${file} cannot be read: it does not exist (ENOENT)`);
});
