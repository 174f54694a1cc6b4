/** `npm start` as a user types it: a signal to npm itself ends all processes, and no process is left behind. */
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
  it.each(["SIGTERM", "SIGINT"] as const)("ends all processes by %s to npm", async (signal) => {
    const stack = await whenReady(launchWithNpm(dataDir), dataDir);
    expect((await fetch(`${stack.proxyUrl}/health`)).status).toBe(200);
    await stack.end(signal);
    await waitFor(
      async () => await processesOf(dataDir),
      (left) => left.length === 0,
    );
    await waitFor(stack.output, (text) => text.includes("The gateway has stopped."));
    await expect(fetch(`${stack.proxyUrl}/health`)).rejects.toThrow();
  });
});
