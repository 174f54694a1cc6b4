/** What a body may be (docs/rules/management-api.md#bodies): absent where every field is optional, and only UTF-8. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { readDocument } from "../../test/harness/api-document.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;
let audioModel: string;

beforeAll(async () => {
  control = await startControl();
  tenant = (await (await control.request("POST", "/api/v1/tenants", { name: "of bodies" })).json()) as Tenant;
  const made = await control.request("POST", "/api/v1/models", { model_name: "audio", model_type: "audio_speech" });
  audioModel = ((await made.json()) as { id: string }).id;
});
afterAll(async () => {
  await control.close();
});

const json = async (response: Response): Promise<unknown> => (await response.json()) as unknown;

/** Sends bytes as they are. */
const sendBytes = async (method: string, path: string, bytes: Uint8Array, headers: Record<string, string> = {}) =>
  await control.app.request(path, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
    body: new Uint8Array(bytes),
  });

describe("a body of more parts than an honest one", () => {
  const nested = Buffer.from(`{"name":"a","x":${"[".repeat(70_000)}${"]".repeat(70_000)}}`);
  const names = Buffer.from(`{${Array.from({ length: 5000 }, (_, at) => `"${at}":0`).join()}}`);

  it.each([nested, names])("is refused before it is parsed, but for a backup, which may have as many", async (body) => {
    const codes = [];
    for (const path of ["/api/v1/tenants", "/api/v1/backup/restore"]) {
      const { error } = (await json(await sendBytes("POST", path, body))) as { error: { code: string } };
      codes.push(error.code);
    }
    expect(codes).toEqual(["request_too_large", "backup_format"]);
  });
});

describe("a POST whose fields are all optional", () => {
  it("is one of these, and the document says that its body may be absent", async () => {
    const document = readDocument(await (await control.app.request("/api/v1/openapi.json")).text());
    const optional = document.operations.filter(({ requestBody }) => requestBody?.required === false);
    expect(optional.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      "post /api/v1/keys/{id}/rotate",
      "post /api/v1/models/{id}/autotune",
      "post /api/v1/settings/energy/test",
      "post /api/v1/tenants/{id}/keys",
    ]);
  });

  it("makes a key without a body, and with a blank one", async () => {
    for (const body of [undefined, "", " \n", "{}"]) {
      const response = await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`, body);
      expect({ status: response.status, body: await json(response) }).toMatchObject({
        status: 200,
        body: { key: { name: "" } },
      });
    }
  });

  it("makes one key for one idempotency key, without a body too", async () => {
    const make = async () =>
      await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`, undefined, { "idempotency-key": "bodiless" });
    const [first, second] = [await make(), await make()];
    expect({
      firstStatus: first.status,
      secondStatus: second.status,
      "idempotency-replayed": second.headers.get("idempotency-replayed"),
    }).toEqual({ firstStatus: 200, secondStatus: 200, "idempotency-replayed": "true" });
    expect(await json(second)).toEqual(await json(first));
  });

  it("reads what else is asked without a body as it reads an empty object", { tags: ["check"] }, async () => {
    const answers: readonly (readonly [string, string])[] = [
      [`/api/v1/models/${audioModel}/autotune`, "autotune_unsupported"],
      ["/api/v1/settings/energy/test", "energy_test_failed"],
      ["/api/v1/settings/alerts/test", "no_alert_channel"],
      ["/api/v1/settings/jobsched/test", "jobsched_not_configured"],
    ];
    for (const [path, code] of answers) {
      const bare = await control.request("POST", path);
      const empty = await control.request("POST", path, {});
      const answer = await json(bare);
      expect({ path, answer }).toMatchObject({ path, answer: { error: { code } } });
      expect(await json(empty)).toEqual(answer);
    }
    for (const path of ["/api/v1/resync", "/api/v1/models/health", `/api/v1/models/${audioModel}/health/check`])
      expect({ path, status: (await control.request("POST", path)).status }).toEqual({ path, status: 200 });
  });

  it("is still refused for a body that is not a JSON object", { tags: ["check"] }, async () => {
    for (const body of ["{", "null", "[]", "5"]) {
      const response = await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`, body);
      expect({ body, status: response.status }).toEqual({ body, status: 400 });
    }
  });
});

it.each([
  ["POST", "/api/v1/tenants"],
  ["POST", "/api/v1/models"],
  ["PUT", "/api/v1/settings/boons"],
  ["POST", "/api/v1/backup/restore"],
])("%s %s needs a body", { tags: ["check"] }, async (method, path) => {
  const response = await control.request(method, path);
  expect({ status: response.status, body: await json(response) }).toMatchObject({
    status: 400,
    body: { error: { code: "invalid_json" } },
  });
});

describe("a name that an object of a body has twice", () => {
  it.each([
    ['{"name":"q","name":"w"}', "name"],
    ['{"name":"q","n\\u0061me":"w"}', "name"],
    [
      '{"name":"q","guardrails_policy":{"action":"log","ban_keywords":[],"action":"block"}}',
      "guardrails_policy.action",
    ],
    ['{"name":"q","weekly_windows":[{"day":1},{"day":1 , "end_min":5,"end_min" :6}]}', "weekly_windows.1.end_min"],
  ])("is refused: %s", { tags: ["check"] }, async (body, param) => {
    const before = await (await control.request("GET", "/api/v1/tenants")).text();
    const response = await control.request("POST", "/api/v1/tenants", body);
    expect({ status: response.status, body: await json(response) }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param, details: [{ message: "must be given only once" }] } },
    });
    expect(await (await control.request("GET", "/api/v1/tenants")).text()).toBe(before);
  });

  it("is looked for among the names of one object, never among values", { tags: ["check"] }, async () => {
    const body =
      '{"name":"name","description":"\\"name\\":1,{\\\\","weekly_windows":[{"day":1,"start_min":0,"end_min":1},{"day":1,"start_min":0,"end_min":2}]}';
    expect((await control.request("POST", "/api/v1/tenants", body)).status).toBe(200);
  });
});

it("a compressed body is refused, and what is taken is named", { tags: ["check"] }, async () => {
  for (const [coding, status] of [
    ["gzip", 415],
    ["gzip, br", 415],
    ["Identity", 400],
  ] as const) {
    const response = await control.request("POST", "/api/v1/tenants", "{}", { "content-encoding": coding });
    const { error } = (await json(response)) as { error: { code: string; message: string } };
    expect({ coding, status: response.status, code: error.code }).toEqual({
      coding,
      status,
      code: status === 415 ? "unsupported_encoding" : "validation_failed",
    });
    if (status === 415) expect(error.message).toContain("must be identity or absent");
  }
});

/** A body whose name holds these bytes between two letters. */
const named = (...bytes: number[]): Uint8Array =>
  Buffer.from([...Buffer.from('{"name":"a'), ...bytes, ...Buffer.from('b"}')]);

describe("bytes that are no UTF-8", () => {
  it.each([
    ["a byte that begins nothing", [0xff]],
    ["a continuation without a beginning", [0x80]],
    ["a character that is cut off", [0xe2, 0x82]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["half a surrogate pair", [0xed, 0xa0, 0x80]],
    ["a character beyond the last", [0xf4, 0x90, 0x80, 0x80]],
    ["Latin-1", [0xfc]],
  ])("%s: 400 invalid_json on every method, and nothing is stored", { tags: ["check"] }, async (_, bytes) => {
    const before = await (await control.request("GET", "/api/v1/tenants")).text();
    const body = named(...bytes);
    const answers = [
      await sendBytes("POST", "/api/v1/tenants", body),
      await sendBytes("POST", "/api/v1/tenants", body, { "idempotency-key": "odd bytes" }),
      await sendBytes("POST", `/api/v1/tenants/${tenant.id}/keys`, body),
      await sendBytes("PUT", `/api/v1/tenants/${tenant.id}`, body),
      await sendBytes("PATCH", `/api/v1/tenants/${tenant.id}/allowlist`, body),
      await sendBytes("POST", "/api/v1/backup/restore", body),
    ];
    for (const response of answers)
      expect({ status: response.status, body: await json(response) }).toMatchObject({
        status: 400,
        body: { error: { code: "invalid_json", message: "request body is not valid JSON" } },
      });
    expect(await (await control.request("GET", "/api/v1/tenants")).text()).toBe(before);
  });

  it("are never stored as something else: what is accepted reads back byte for byte", { tags: ["check"] }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 12 }), async (bytes) => {
        const response = await sendBytes("PUT", `/api/v1/tenants/${tenant.id}`, named(...bytes));
        const answer = (await json(response)) as { name?: string };
        expect([200, 400]).toContain(response.status);
        if (response.status === 200) expect(JSON.stringify(answer.name)).toBe(JSON.stringify(readBack(bytes)));
      }),
      { numRuns: 300 },
    );
  });

  it("a byte order mark is no part of the text", { tags: ["check"] }, async () => {
    const body = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"description":"marked"}')]);
    const response = await sendBytes("PUT", `/api/v1/tenants/${tenant.id}`, body);
    expect({ status: response.status, body: await json(response) }).toMatchObject({
      status: 200,
      body: { description: "marked" },
    });
  });
});

/** The name that JSON has between these bytes. */
function readBack(bytes: Uint8Array): string {
  const text = Buffer.from(named(...bytes)).toString("utf8");
  return (JSON.parse(text) as { name: string }).name;
}
