/**
 * A stored secret whose address changes is kept, as the contract says, and the answer and the audit log say so
 * (docs/rules/secrets.md#secrets-and-addresses).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let count = 0;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(() => {
  count += 1;
});

async function send<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body);
  expect({ method, path, status: response.status }).toEqual({ method, path, status: 200 });
  return (await response.json()) as T;
}

async function audited(): Promise<unknown> {
  const [entry] = await send<AuditEntry[]>("GET", "/audit?limit=1");
  return entry?.detail["warnings"];
}

const A = "https://a.example/v1";
const B = "https://b.example/v1";
const moved = (to: string): string =>
  `api_base now points to another origin; the stored api_key was kept and is sent to ${to}`;
/** Other spellings of the origin of {@link A}. */
const SAME = ["https://a.example/v1/", "https://a.example:443/v1", "HTTPS://A.EXAMPLE/v2", A];
const OTHER = ["http://a.example/v1", "https://a.example:8443/v1", "https://a.example./v1", B];

describe("a model's credential", () => {
  const put = async (id: string, body: object) =>
    await send<Model>("PUT", `/models/${id}`, { upstream_model: "m", ...body });
  const model = async (fields: object) => await send<Model>("POST", "/models", { model_name: `m-${count}`, ...fields });

  it("is kept with a warning when api_base leads to another origin", async () => {
    for (const [at, api_base] of OTHER.entries()) {
      const { id } = await model({ model_name: `m-${count}-${at}`, api_base: A, api_key: "k" });
      const answer = await put(id, { api_base });
      const warnings = [moved(new URL(api_base).origin)];
      expect(answer).toMatchObject({ api_base, api_key_set: true, warnings });
      expect(await audited()).toEqual(warnings);
      expect(await send("GET", `/models/${id}`)).not.toHaveProperty("warnings");
    }
  });

  it("is kept without a warning when neither origin nor address changes", async () => {
    const { id } = await model({ api_base: A, api_key: "k" });
    for (const api_base of SAME) expect(await put(id, { api_base })).not.toHaveProperty("warnings");
    expect(await audited()).toBeUndefined();
  });

  it("is not warned about when it is replaced, cleared, or was never there", async () => {
    const { id } = await model({ api_base: A, api_key: "k" });
    expect(await put(id, { api_base: B, api_key: "k" })).not.toHaveProperty("warnings");
    expect(await put(id, { api_base: A, api_key: "" })).not.toHaveProperty("warnings");
    expect(await put(id, { api_base: B })).not.toHaveProperty("warnings");
  });

  it("is warned about when the address becomes blank, and when a blank one gets an address", async () => {
    const { id } = await model({ api_base: A, api_key: "k" });
    const blank = await put(id, { api_base: "", api_key: null });
    expect(blank.warnings).toEqual(["api_base is now blank; the stored api_key was kept"]);
    expect((await put(id, { api_base: A })).warnings).toEqual([moved("https://a.example")]);
  });

  it("that endpoints inherit is warned about with their names, also when it is replaced", async () => {
    const { id } = await model({ api_base: A, api_key: "k" });
    const endpoints = `/models/${id}/endpoints`;
    await send("POST", endpoints, { name: "there", api_base: "https://a.example/other/v1" });
    await send("POST", endpoints, { name: "own", api_base: B, api_key: "own" });
    const inherited = "the model's api_key is also sent to endpoints without their own: 'there' (https://a.example)";
    expect((await put(id, { api_base: B, api_key: "for b" })).warnings).toEqual([inherited]);
    expect((await put(id, { api_base: "https://c.example/v1" })).warnings).toEqual([
      moved("https://c.example"),
      inherited,
    ]);
    expect(await put(id, { api_base: "https://c.example/v1", description: "d" })).not.toHaveProperty("warnings");
  });
});

describe("an endpoint's credential", () => {
  const created = async (model: object, endpoint: object) => {
    const { id } = await send<Model>("POST", "/models", { model_name: `e-${count}`, ...model });
    const path = `/models/${id}/endpoints`;
    const record = await send<ModelEndpoint>("POST", path, { name: "e", ...endpoint });
    const put = async (body: object) => await send<ModelEndpoint>("PUT", `${path}/${record.id}`, body);
    return { record, put };
  };
  const inherited = (origin: string): string =>
    `the model's api_key is also sent to endpoints without their own: 'e' (${origin})`;

  it("is kept with a warning when api_base leads to another origin", async () => {
    const { put } = await created({}, { api_base: A, api_key: "k" });
    for (const api_base of SAME) expect(await put({ api_base })).not.toHaveProperty("warnings");
    expect((await put({ api_base: B, weight: 5 })).warnings).toEqual([moved("https://b.example")]);
    expect(await audited()).toEqual([moved("https://b.example")]);
    expect(await put({ api_base: A, api_key: "new" })).not.toHaveProperty("warnings");
    expect(await put({ weight: 6 })).not.toHaveProperty("warnings");
  });

  it("inherited from the model is warned about when it goes to another origin than the model's", async () => {
    const { record, put } = await created({ api_base: A, api_key: "k" }, { api_base: B });
    expect(record.warnings).toEqual([inherited("https://b.example")]);
    expect(await put({ weight: 5 })).not.toHaveProperty("warnings");
    expect(await put({ api_base: "https://a.example/v2" })).not.toHaveProperty("warnings");
    expect((await put({ api_base: B })).warnings).toEqual([inherited("https://b.example")]);
    expect(await put({ api_key: "own" })).not.toHaveProperty("warnings");
    expect((await put({ api_key: "" })).warnings).toEqual([inherited("https://b.example")]);
    expect(await put({ enabled: false })).not.toHaveProperty("warnings");
    expect((await put({ enabled: true })).warnings).toEqual([inherited("https://b.example")]);
  });

  it("inherited from a model without an address is warned about when the endpoint moves", async () => {
    const { record, put } = await created({ api_key: "k" }, { api_base: A });
    expect(record).not.toHaveProperty("warnings");
    expect((await put({ api_base: B })).warnings).toEqual([inherited("https://b.example")]);
  });

  it("gives no warning where neither has one", async () => {
    const { record, put } = await created({ api_base: A }, { api_base: B });
    expect(record).not.toHaveProperty("warnings");
    expect(await put({ api_base: "https://c.example/v1" })).not.toHaveProperty("warnings");
  });
});

it("an MCP server's credential is kept with a warning when upstream_url changes origin", async () => {
  const fields = { upstream_url: "https://a.example/mcp", auth_header: "Bearer k" };
  const { id } = await send<McpServer>("POST", "/mcp-servers", { name: "s", ...fields });
  const put = async (body: object) => await send<McpServer>("PUT", `/mcp-servers/${id}`, body);
  expect(await put({ upstream_url: "https://A.example:443/other" })).not.toHaveProperty("warnings");
  const warnings = [
    "upstream_url now points to another origin; the stored auth_header was kept and is sent to https://b.example",
  ];
  expect(await put({ upstream_url: "https://b.example/mcp" })).toMatchObject({ auth_header_set: true, warnings });
  expect(await audited()).toEqual(warnings);
  expect(await put({ upstream_url: "https://c.example/mcp", auth_header: "Bearer c" })).not.toHaveProperty("warnings");
  expect(await put({ upstream_url: "https://a.example/mcp", auth_header: "" })).not.toHaveProperty("warnings");
  expect(await put({ upstream_url: "https://b.example/mcp" })).not.toHaveProperty("warnings");
});

describe("secrets of settings", () => {
  it("a mail password is kept with a warning when it goes to another server, or unencrypted", async () => {
    const put = async (email: object) => await send<{ warnings?: string[] }>("PUT", "/settings/alerts", { email });
    const email = { smtp_host: "mail.example", from_address: "g@example.org", recipients: ["o@example.org"] };
    expect(await put({ ...email, smtp_password: "p" })).not.toHaveProperty("warnings");
    expect(await put({ smtp_host: "MAIL.example", username: "u" })).not.toHaveProperty("warnings");
    const warning = (origin: string): string =>
      `email.smtp_host, smtp_port or starttls now points to another origin; the stored smtp_password was kept and is sent to ${origin}`;
    expect((await put({ smtp_host: "other.example" })).warnings).toEqual([
      warning("smtp+starttls://other.example:587"),
    ]);
    expect(await audited()).toEqual([warning("smtp+starttls://other.example:587")]);
    expect((await put({ starttls: false })).warnings).toEqual([warning("smtp://other.example:587")]);
    expect((await put({ smtp_port: 25 })).warnings).toEqual([warning("smtp://other.example:25")]);
    expect(await put({ smtp_host: "mail.example", smtp_password: "new" })).not.toHaveProperty("warnings");
    expect(await put({ smtp_host: "other.example", clear_smtp_password: true })).not.toHaveProperty("warnings");
  });

  it("a scheduler's token is kept with a warning when it goes to another scheduler", async () => {
    const put = async (body: object) => await send<{ warnings?: string[] }>("PUT", "/settings/jobsched", body);
    expect(await put({ token: "a-token-of-some-length" })).not.toHaveProperty("warnings");
    expect(await put({ url: "http://a.example:6820" })).not.toHaveProperty("warnings");
    expect(await put({ url: "http://a.example:6820/", user: "slurm" })).not.toHaveProperty("warnings");
    expect((await put({ url: "http://b.example:6820" })).warnings).toEqual([
      "url now points to another origin; the stored token was kept and is sent to http://b.example:6820",
    ]);
    expect(await put({ url: "http://c.example:6820", token: "another-token" })).not.toHaveProperty("warnings");
    expect(await put({ url: "http://d.example:6820", clear_token: true })).not.toHaveProperty("warnings");
  });

  it("a webhook's URL is its own address", async () => {
    const put = async (body: object) => await send("PUT", "/settings/alerts", body);
    expect(await put({ slack_webhook_url: "http://127.0.0.1:9/a" })).not.toHaveProperty("warnings");
    expect(await put({ slack_webhook_url: "http://127.0.0.1:8/b" })).not.toHaveProperty("warnings");
  });
});
