/** What commands that change something send: the program's own commands before an API that a test plays. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keyCommands } from "./keys.ts";
import { managedCommands } from "./managed.ts";
import { modelCommands } from "./models.ts";
import { tenantCommands } from "./tenants.ts";

const ID = "00000000-0000-4000-8000-000000000001";
const SPEC = { enabled: true, partition: "gpu", serving_port: 8000, target_replicas: 2, launcher_spec: {} };
const SHOWN = {
  ...SPEC,
  model_id: ID,
  model_name: "m",
  model_type: "chat",
  upstream_model: "u",
  replicas: { healthy: 1 },
  provision_error: "of a moment ago",
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  rev: 7,
};
let folder: string;
let sent: {
  readonly method: string;
  readonly body: unknown;
  readonly ifMatch: string | null;
  readonly ifNoneMatch?: string;
}[];
let spec: object | null;
let listed: readonly object[];
let checked: string;
let askedPrices: (string | null)[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-changes-"));
  sent = [];
  spec = SHOWN;
  askedPrices = [];
  vi.stubEnv("GATEWAY_ADMIN_TOKEN", "token");
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  vi.stubGlobal("fetch", async (request: Request) => {
    const { method, headers } = request;
    if (method !== "GET") {
      const ifNoneMatch = headers.get("if-none-match");
      sent.push({
        method,
        body: (await request.json().catch(() => null)) as unknown,
        ifMatch: headers.get("if-match"),
        ...(ifNoneMatch === null ? {} : { ifNoneMatch }),
      });
    }
    const url = new URL(request.url);
    if (url.pathname.endsWith("/prices")) {
      askedPrices.push(url.searchParams.get("model"));
      return Response.json({ list: listed });
    }
    if (url.pathname.endsWith("/health/check")) {
      const check = { checked_at: "2026-01-01T00:00:00.000Z", status: checked, message: "HTTP 500" };
      return Response.json({ checks: [check], endpoint_checks: [] });
    }
    const isSpec = request.url.endsWith("/managed");
    return isSpec && spec === null && request.method === "GET"
      ? Response.json({ error: { message: "not found" } }, { status: 404 })
      : Response.json(isSpec ? spec : { id: ID, model_name: "m", name: "n" });
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

async function run(...words: readonly string[]): Promise<void> {
  const program = new Command("gateway").option("--url <url>").option("--json");
  for (const add of [tenantCommands, keyCommands, modelCommands, managedCommands]) add(program);
  await program.parseAsync(["--json", ...words], { from: "user" });
}

it.each([
  [["disable", ID], { enabled: false }, null],
  [["enable", ID], { enabled: true }, null],
  [["set", ID, "--replicas", "3"], { target_replicas: 3 }, '"7"'],
])("managed %j sends what it changes, and the revision that it has read, if any", async (words, body, ifMatch) => {
  await run("managed", ...words);
  expect(sent).toEqual([{ method: "PATCH", body, ifMatch }]);
});

it.each([
  [ID, '"6"'],
  ["00000000-0000-4000-8000-000000000002", '"7"'],
])("managed set with the printed spec of model %s sends If-Match %s", async (model_id, ifMatch) => {
  const file = join(folder, "spec.json");
  writeFileSync(file, JSON.stringify({ ...SHOWN, model_id, rev: 6 }));
  await run("managed", "set", ID, "--file", file, "--replicas", "3");
  expect(sent).toEqual([{ method: "PATCH", body: { ...SPEC, target_replicas: 3 }, ifMatch }]);
});

it("managed set with a file without a revision sends that of the spec it has just read", async () => {
  const file = join(folder, "spec.json");
  const { rev: _rev, ...printed } = SHOWN;
  writeFileSync(file, JSON.stringify(printed));
  await run("managed", "set", ID, "--file", file);
  expect(sent).toEqual([{ method: "PATCH", body: SPEC, ifMatch: '"7"' }]);
});

it("managed set creates only where there is no spec, also from a file of managed show", async () => {
  const file = join(folder, "spec.json");
  writeFileSync(file, JSON.stringify(SHOWN));
  spec = null;
  await run("managed", "set", ID, "--file", file);
  expect(sent).toEqual([{ method: "PUT", body: SPEC, ifMatch: null, ifNoneMatch: "*" }]);
});

it.each([
  {
    command: "quota",
    words: ["--max-in-flight", "none", "--tpm", "5"],
    body: { max_in_flight: null, tokens_per_minute: 5 },
  },
  {
    command: "budget",
    words: ["--tokens", "none", "--usd", "2", "--period", "none"],
    body: { budget_tokens: null, budget_cost_usd: 2, budget_period: null },
  },
])("tenants $command $words sends these fields and no other", async ({ command, words, body }) => {
  await run("tenants", command, ID, ...words);
  expect(sent).toEqual([expect.objectContaining({ method: "PATCH", body })]);
});

it.each([
  ["healthy", false],
  ["degraded", true],
  ["unhealthy", true],
])("models check of a model that is %s fails: %s", async (status, fails) => {
  checked = status;
  const outcome = await run("models", "check", ID).then(
    () => null,
    ({ message }: Error) => message,
  );
  expect(outcome).toBe(fails ? "model 'm' is not healthy: HTTP 500" : null);
});

it("models set sends null for a price of none", async () => {
  await run("models", "set", ID, "--cached-input-cost", "none", "--type", "chat");
  const body = { cached_input_cost_per_token: null, model_type: "chat" };
  expect(sent).toEqual([expect.objectContaining({ method: "PATCH", body })]);
});

it.each([
  { words: [], name: "claude-x" },
  { words: ["--upstream", "claude-x"], name: "mine" },
])("models create $name $words sends the listed prices, and its own options before them", async ({ words, name }) => {
  listed = [{ models: ["claude-x"], prices: { input_cost_per_token: 5e-6, output_cost_per_token: 25e-6 } }];
  await run("models", "create", name, ...words, "--prices-from-list", "--output-cost", "1");
  const fields = words.length > 0 ? { upstream_model: "claude-x" } : {};
  const body = { model_name: name, ...fields, input_cost_per_token: 5e-6, output_cost_per_token: 1 };
  expect(sent).toEqual([expect.objectContaining({ method: "POST", body })]);
  expect(askedPrices).toEqual(["claude-x"]);
});

it("models create says what to give when the list does not have the model, and creates none", async () => {
  listed = [];
  await expect(run("models", "create", "unknown", "--prices-from-list")).rejects.toThrow(
    "the price list has no 'unknown': set --upstream, or set its prices with options such as --input-cost",
  );
  expect(sent).toEqual([]);
});

it("tenants create sends the fields whose options were given", async () => {
  await run("tenants", "create", "n", "--weight", "3", "--group", "g", "--contact", "c", "--timezone", "UTC");
  const body = { name: "n", weight: 3, fairshare_group: "g", contact: "c", timezone: "UTC" };
  expect(sent).toEqual([expect.objectContaining({ method: "POST", body })]);
});

it("keys create sends the fields whose options were given", async () => {
  await run("keys", "create", ID, "--name", "k", "--rpm", "0", "--tokens", "7", "--models", "a, b");
  const body = { name: "k", requests_per_minute: 0, budget_tokens: 7, allowed_models: ["a", "b"] };
  expect(sent).toEqual([expect.objectContaining({ method: "POST", body })]);
});

it.each([
  ["tenants", "budget"],
  ["tenants", "quota"],
  ["keys", "quota"],
  ["managed", "set"],
])("%s %s without options says so, and sends nothing", async (...words) => {
  await expect(run(...words, ID)).rejects.toThrow("nothing to change: give an option");
  expect(sent).toEqual([]);
});
