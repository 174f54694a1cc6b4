/**
 * A backup that was tampered with: no secret goes to an address that it does not belong to
 * (docs/rules/backup.md#secrets-belong-to-entries).
 *
 * @module-tag long
 */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { RestoreReport } from "../../shared/schema/backup.ts";
import {
  ALL,
  type AllHeld,
  type HeldSecret,
  SECRETS,
  SecretBackup,
  UNPROVEN,
} from "../../test/harness/secret-backup.ts";

const ADDED = "00000000-0000-4000-8000-000000000001";
const EVIL = "https://evil.example";
let scene: SecretBackup;
beforeAll(async () => {
  scene = await SecretBackup.start();
});
afterAll(async () => {
  await scene.close();
});
beforeEach(async () => {
  await scene.begin();
});

type Attack = readonly [what: string, tamper: () => void, lost: Partial<AllHeld>, names: RegExp[]];
const gone: HeldSecret = { secret: null, enabled: true };
const off: HeldSecret = { secret: null, enabled: false };
const ATTACKS: readonly Attack[] = [
  ...[
    EVIL,
    "http://one.example",
    "https://one.example:8443",
    "https://one.example.",
    "https://one.example.evil.example",
  ].map(
    (origin): Attack => [
      `a model's address is ${origin}`,
      () => {
        scene.model("single").api_base = `${origin}/v1`;
      },
      { model: gone },
      [/^model 'single': api_key was not restored/],
    ],
  ),
  [
    "a model without an address gets one",
    () => {
      scene.model("many").api_base = `${EVIL}/v1`;
    },
    { shared: gone },
    [/^model 'many': api_key/],
  ],
  [
    "a model loses its address, so that its key would go to the default upstream",
    () => {
      scene.model("single").api_base = "";
    },
    { model: gone },
    [/^model 'single': api_key .* without an address/],
  ],
  [
    "an endpoint with a credential of its own moves: it would send its own, and then the model's",
    () => {
      scene.endpoint("owner").api_base = `${EVIL}/v1`;
    },
    { own: off },
    [/^model endpoint 'owner': api_key was not restored/, /^model endpoint 'owner': restored disabled/],
  ],
  [
    "an endpoint that sends the model's credential moves",
    () => {
      scene.endpoint("heir").api_base = `${EVIL}/v1`;
    },
    { heir: off },
    [/^model endpoint 'heir': restored disabled.*https:\/\/evil\.example$/],
  ],
  [
    "an endpoint gives up its own credential at another address",
    () => {
      Object.assign(scene.endpoint("owner"), { api_base: `${EVIL}/v1`, api_key: null });
    },
    { own: off },
    [/^model endpoint 'owner': restored disabled/],
  ],
  [
    "an endpoint is added to a model",
    () => {
      const id = "00000000-0000-4000-8000-000000000001";
      scene.file.data.model_endpoints.push({ ...scene.endpoint("heir"), id, name: "added", api_base: `${EVIL}/v1` });
    },
    {},
    [/^model endpoint 'added': restored disabled/],
  ],
  [
    "two models exchange their ids",
    () => {
      const [single, many] = [scene.model("single"), scene.model("many")];
      [single.id, many.id] = [many.id, single.id];
      for (const row of scene.file.data.model_endpoints) row.model_id = many.id;
    },
    { model: gone, shared: gone },
    [/^model 'many': api_key/, /^model 'single': api_key/],
  ],
  [
    "two entries exchange their secrets",
    () => {
      [scene.model("single").api_key, scene.endpoint("owner").api_key] = [
        scene.endpoint("owner").api_key,
        scene.model("single").api_key,
      ];
    },
    { model: gone, own: off },
    [/^model 'single': api_key/, /^model endpoint 'owner': api_key/, /^model endpoint 'owner': restored disabled/],
  ],
  [
    "a model's secret stands in an MCP server",
    () => {
      scene.mcp().auth_header = scene.model("single").api_key;
    },
    { mcp: gone },
    [/^mcp server 'tools': auth_header/],
  ],
  [
    "an MCP server's secret stands in a model, mac and all",
    () => {
      scene.model("single").api_key = scene.mcp().auth_header;
      const mac = scene.file.data.macs?.find((entry) => entry.entity === "mcp_servers")?.mac ?? "";
      for (const entry of scene.file.data.macs ?? []) if (entry.id === scene.model("single").id) entry.mac = mac;
    },
    { model: gone },
    [/^model 'single': api_key/],
  ],
  [
    "an MCP server moves",
    () => {
      scene.mcp().upstream_url = `${EVIL}/mcp`;
    },
    { mcp: gone },
    [/^mcp server 'tools': auth_header was not restored.*https:\/\/evil\.example/],
  ],
  [
    "a mail server is another",
    () => {
      scene.email()["smtp_host"] = "evil.example";
    },
    { mail: gone },
    [/^setting 'alerts': email\.smtp_password/],
  ],
  [
    "mail goes to the same server unencrypted",
    () => {
      scene.email()["starttls"] = false;
    },
    { mail: gone },
    [/^setting 'alerts': email\.smtp_password/],
  ],
  [
    "a channel of alerts has the URL of another one",
    () => {
      scene.channel()["url"] = scene.setting("alerts")["slack_webhook_url"];
    },
    { channel: gone },
    [/^setting 'alerts': channels\.pager-[0-9a-f]+\.url was not restored.*https:\/\/chat\.example/],
  ],
  [
    "the job scheduler is another",
    () => {
      scene.setting("jobsched")["url"] = EVIL;
    },
    { token: gone },
    [/^setting 'jobsched': token/],
  ],
  [
    "the mac of one secret is missing",
    () => {
      scene.file.data.macs = scene.file.data.macs?.filter((entry) => entry.entity !== "mcp_servers") ?? [];
    },
    { mcp: gone },
    [/^mcp server 'tools': auth_header/],
  ],
  [
    "all macs are missing, but not their list",
    () => {
      scene.file.data.macs = [];
    },
    { model: gone, shared: gone, own: gone, mcp: gone, webhook: gone, channel: gone, mail: gone, token: gone },
    [
      /tools/,
      /many/,
      /single/,
      /owner/,
      /channels\.pager-[0-9a-f]+\.url/,
      /smtp_password/,
      /slack_webhook_url/,
      /token/,
    ],
  ],
];

it.each(ATTACKS)("where %s, keeps that secret from it and restores the rest", async (_, tamper, lost, names) => {
  tamper();
  const { warnings, models } = await scene.restored(scene.file);
  expect(models.inserted).toBe(2);
  expect(warnings.toSorted()).toEqual(names.map((name) => expect.stringMatching(name) as string));
  expect(await scene.held()).toEqual({ ...ALL, ...lost });
});

it("an exported file has no warning, even if its JSON was formatted again", async () => {
  const [first, second] = [JSON.stringify(scene.file), JSON.stringify(scene.file, null, 2)];
  for (const text of [first, second]) {
    const response = await scene.to.request("POST", "/api/v1/backup/restore", text);
    expect(await response.json()).toMatchObject({ warnings: [] });
  }
});

it.each<readonly [what: string, tamper: () => unknown]>([
  ["a key was added", () => scene.file.data.api_keys.push({ ...scene.key(), id: ADDED, key_hash: "f".repeat(64) })],
  ["a budget was raised", () => Object.assign(scene.tenant(), { budget_cost_usd: 1e6 })],
  ["a key was changed", () => Object.assign(scene.key(), { allowed_models: ["single"] })],
  ["a server was taken out", () => scene.file.data.mcp_servers.pop()],
  ["the time of the export was changed", () => Object.assign(scene.file, { exported_at: "2030-01-01T00:00:00Z" })],
  ["a field was taken out", () => Reflect.deleteProperty(scene.tenant(), "description")],
  ["the mac was taken out", () => Reflect.deleteProperty(scene.file, "mac")],
  ["the mac is another", () => Object.assign(scene.file, { mac: "0".repeat(64) })],
])("a file in which %s is restored with a warning that says so", async (_, tamper) => {
  tamper();
  const response = await scene.to.request("POST", "/api/v1/backup/restore", scene.file);
  const { warnings } = (await response.json()) as RestoreReport;
  expect(warnings.filter((warning) => !warning.includes(" lacks "))).toEqual([UNPROVEN]);
});

it.each([
  ["the webhook", () => scene.setting("alerts"), "slack_webhook_url"],
  ["a channel", () => scene.channel(), "url"],
] as const)(
  "another secret in place of the URL of %s fails as an address, and nothing is restored",
  async (_, of, field) => {
    of()[field] = scene.model("single").api_key;
    const response = await scene.to.request("POST", "/api/v1/backup/restore", scene.file);
    const text = await response.text();
    expect({ status: response.status, text }).toMatchObject({
      status: 400,
      text: expect.stringMatching(new RegExp(`value\\.[^"]*${field}`)),
    });
    expect(text).not.toContain(SECRETS.model);
  },
);
