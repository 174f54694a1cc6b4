/**
 * What `npm run load` measures on a gateway that runs (docs/watch.md#load-tests).
 *
 * @module-tag check
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const MAIN = join(import.meta.dirname, "../../infra/load/main.ts");

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function load(key: string, ...args: readonly string[]): Promise<Ended> {
  const env = { ...process.env, GATEWAY_API_KEY: key };
  return await promisify(execFile)(process.execPath, [MAIN, "--url", fixture.gateway.proxyUrl, ...args], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );
}

it("sends as many requests as it says, each with its row, and draws them", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "plain");
  const folder = mkdtempSync(join(tmpdir(), "gateway-load-"));
  const svg = join(folder, "load.svg");
  const ended = await load(minted.secret, "--model", minted.model.model_name, "--requests", "20", "--svg", svg);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout).toMatch(/requests\s.*20, 20 served/);
  expect(ended.stdout).not.toContain(minted.secret);
  expect(readFileSync(svg, "utf8")).toMatch(/^<svg .*<\/svg>\n$/s);
  rmSync(folder, { recursive: true });
  // The first request of all only tells whether there is somebody to load.
  const counted = await waitFor(
    async () => await fixture.gateway.countRows(minted.tenant.id),
    ({ rows }) => rows >= 21,
  );
  expect(counted).toEqual({ rows: 21, requests: 21 });
});

it("loads nothing with a key that is not known, and says so", async () => {
  const ended = await load("gw_unknown", "--model", "any");
  expect(ended).toMatchObject({ code: 1, stdout: "" });
  expect(ended.stderr).toContain("was not served (invalid_api_key)");
});
