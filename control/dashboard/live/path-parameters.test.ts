/**
 * Names in paths of /api/live (docs/rules/console.md#live): one with a slash, as models have, is the same as at the Management API.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startConsole, type TestConsole } from "../../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../../test/harness/console-browser.ts";
import { liveRoutesOf } from "../../api/access.ts";

let testing: TestConsole;
let admin: ConsoleBrowser;

beforeAll(async () => {
  testing = await startConsole();
  admin = await testing.admin();
});
afterAll(async () => {
  await testing.close();
});

const outcome = async (answer: Response) => {
  const body = (await answer.json().catch(() => null)) as { readonly error?: object } | null;
  return { status: answer.status, error: body?.error ?? null };
};

it.each(["meta/llama", "/meta//llama 3%2F?#\\ü", "meta\\llama"])(
  "each route with a parameter answers as the Management API does: %s",
  async (name) => {
    const routes = liveRoutesOf(testing.control.app).filter(({ path }) => path.includes("{"));
    const through: Record<string, unknown> = {};
    const direct: Record<string, unknown> = {};
    for (const { method, path } of routes) {
      const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(name));
      const body = method === "GET" ? undefined : {};
      through[`${method} ${path}`] = await outcome(await admin.send(method, `/api/live${filled}`, body));
      direct[`${method} ${path}`] = await outcome(await testing.control.request(method, `/api/v1${filled}`, body));
    }
    expect(routes.length).toBeGreaterThan(0);
    expect(through).toEqual(direct);
  },
);

it("an alert of a model with a slash in its name is muted in the console", async () => {
  const key = "upstream_request_failed:meta/llama";
  const path = `/api/live/alerts/${encodeURIComponent(key)}`;
  const muted_until = new Date(Date.now() + 3_600_000).toISOString();
  const muted = await admin.send("PATCH", path, { muted_until });
  expect({ status: muted.status, body: await muted.json() }).toMatchObject({ status: 200, body: { key, muted_until } });
});
