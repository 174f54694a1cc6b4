/**
 * `npm start` as a user types it: a signal to npm itself ends all processes, and no process is left behind.
 * @module-tag check
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchWithNpm, processesOf, whenReady } from "../harness/launched.ts";
import { waitFor } from "../harness/wait-for.ts";

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "gateway-npm-"));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

describe("npm start", () => {
  const endsBy = async (signal: NodeJS.Signals): Promise<void> => {
    const stack = await whenReady(launchWithNpm(dataDir), dataDir);
    expect((await fetch(`${stack.proxyUrl}/health`)).status).toBe(200);
    await stack.end(signal);
    await waitFor(
      async () => await processesOf(dataDir),
      (left) => left.length === 0,
    );
    expect(stack.lines.join("\n")).toContain("The gateway has stopped.");
    await expect(fetch(`${stack.proxyUrl}/health`)).rejects.toThrow();
  };
  it("ends whole by SIGTERM to npm", async () => await endsBy("SIGTERM"));
  it("ends whole by SIGINT to npm", { tags: ["long"] }, async () => await endsBy("SIGINT"));
});
