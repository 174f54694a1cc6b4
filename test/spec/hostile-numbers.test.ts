/**
 * Numbers that a client makes up: none of them reaches a budget, and the data plane still serves all clients
 * (docs/rules/token-estimates.md#client-limits).
 *
 * @module-tag long
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { speaking } from "../harness/speaking.ts";
import { storePrices } from "../harness/stored-prices.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

async function post(minted: Minted, path: string, body: string | FormData): Promise<Response> {
  const type = typeof body === "string" ? { "content-type": "application/json" } : {};
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}`, ...type },
    body,
    // The fault under test is an answer that never comes.
    signal: AbortSignal.timeout(20_000),
  });
}

/** A tenant with every budget that a number could break, and a model with every price. */
async function mint(path = ""): Promise<Minted> {
  const prices = { cost_per_image: 0.04, cost_per_character: 0.01, ...speaking(path) };
  const minted = await mintAt(fixture.gateway, upstream, prices);
  const of = `/tenants/${minted.tenant.id}`;
  await fixture.gateway.must("PATCH", `${of}/budget`, { budget_cost_usd: 1_000_000, budget_tokens: 1_000_000_000 });
  await fixture.gateway.must("PUT", `${of}/quota`, { tokens_per_minute: 1_000_000 });
  await fixture.gateway.must("PUT", `/keys/${minted.key.id}`, { budget_cost_usd: 1_000_000 });
  return minted;
}

/** Checks that the basic routes still answer. */
async function expectAlive(): Promise<void> {
  const soon = { signal: AbortSignal.timeout(20_000) };
  expect(await (await fetch(`${fixture.gateway.proxyUrl}/health`, soon)).text()).toBe("ok");
  expect(await fixture.gateway.stats()).toMatchObject({ in_flight: expect.any(Number) as number });
  const another = await mint();
  const served = await post(another, "/v1/chat/completions", JSON.stringify({ model: another.model.model_name }));
  expect(served.status).toBe(200);
  await served.text();
}

const LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
const BAD_LIMITS = [
  "1e308",
  "1e400",
  "-1",
  "1.5",
  "1e-7",
  "2147483648",
  "9007199254740993",
  '"5"',
  "true",
  "[5]",
  "{}",
];
const GOOD_LIMITS = ["null", "0", "-0", "1e2", "1.0", "2147483647"];
const LIMITED = ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/rerank"];

describe("a token limit", () => {
  it("of 1e308 in one request does not stop the data plane", async () => {
    const minted = await mint();
    const body = `{"model":"${minted.model.model_name}","messages":[],"max_tokens":1e308}`;
    const response = await post(minted, "/v1/chat/completions", body);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 400,
      body: {
        error: {
          message: "max_tokens must be an integer between 0 and 2147483647",
          type: "invalid_request_error",
          code: "validation_failed",
          param: "max_tokens",
        },
      },
    });
    expect(response.headers.get("x-should-retry")).toBe("false");
    await expectAlive();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      admission: "rejected",
      status_code: 400,
      model: "",
      total_tokens: 0,
      cost_usd: 0,
    });
  });

  const checksLimits = async (path: string): Promise<void> => {
    const minted = await mint(path);
    for (const limit of LIMITS) {
      for (const value of BAD_LIMITS) {
        const response = await post(minted, path, `{"model":"${minted.model.model_name}","${limit}":${value}}`);
        expect({ value, status: response.status, body: await response.json() }).toMatchObject({
          value,
          status: 400,
          body: { error: { code: "validation_failed", param: limit } },
        });
      }
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
    for (const value of GOOD_LIMITS) {
      const response = await post(minted, path, `{"model":"${minted.model.model_name}","max_tokens":${value}}`);
      expect({ value, status: response.status }).toEqual({ value, status: 200 });
      await response.text();
    }
    await expectAlive();
  };
  it.each(LIMITED.slice(0, 1))(
    "that is no integer in its bounds is refused on %s, and nothing is forwarded",
    checksLimits,
  );
  it.each(LIMITED.slice(1))(
    "that is no integer in its bounds is refused on %s, and nothing is forwarded",
    { tags: ["long"] },
    checksLimits,
  );

  it("is checked in a body that stays bytes, too", async () => {
    const minted = await mint();
    const content = "z".repeat(5 * 1024 * 1024);
    const messages = JSON.stringify([{ role: "user", content: [{ type: "image_url", image_url: { url: content } }] }]);
    const body = (limit: string): string =>
      `{"messages":${messages},"max_tokens":${limit},"model":"${minted.model.model_name}"}`;
    for (const [limit, status] of [
      ["1e308", 400],
      [JSON.stringify(content), 400],
      ["7", 200],
    ] as const) {
      const response = await post(minted, "/v1/chat/completions", body(limit));
      expect({ limitLength: limit.length, status: response.status }).toEqual({ limitLength: limit.length, status });
      await response.text();
    }
  });

  it("counts by the largest when there are several", async () => {
    const minted = await mint();
    const limits = '"max_tokens":1,"max_completion_tokens":100,"max_output_tokens":null';
    const body = `{"model":"${minted.model.model_name}","messages":[],${limits}}`;
    const response = await post(minted, "/v1/chat/completions", body);
    await response.text();
    expect(response.status).toBe(200);
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      estimated_tokens: 100,
    });
  });

  mainRows(1)([
    ["twice", '"max_tokens":1,"max_tokens":1e308', "max_tokens"],
    ["twice, the large one first", '"max_tokens":100000,"max_tokens":1', "max_tokens"],
    ["twice, by an escape", '"max_tokens":100000,"max\\u005ftokens":1', "max_tokens"],
    ["in another case beside it", '"max_tokens":1,"Max_Tokens":100000', "Max_Tokens"],
    ["by a letter that folds to another", '"max_tokens":1,"max_to\u212aens":100000', "max_to\u212aens"],
    ["with a NUL after its name", '"max_tokens":1,"max_tokens\\u0000":100000', "max_tokens\\u{0}"],
    ["choices twice", '"n":100000,"n":1', "n"],
  ])("that upstreams could read apart is refused: %s", async (_, members, param) => {
    const minted = await mint();
    const response = await post(minted, "/v1/chat/completions", `{"model":"${minted.model.model_name}",${members}}`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param } },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
  });
});

const BAD_COUNTS = ["0", "-1", "1001", "1e308", "1e400", "2.5", '"3"', "false", "[3]"];

describe("n", () => {
  mainRows(1)(["/v1/images/generations", "/v1/chat/completions", "/v1/completions"])(
    "that is no integer in 1..1000 is refused on %s",
    async (path) => {
      const minted = await mint();
      for (const value of BAD_COUNTS) {
        const response = await post(minted, path, `{"model":"${minted.model.model_name}","prompt":"p","n":${value}}`);
        expect({ value, status: response.status, body: await response.json() }).toMatchObject({
          value,
          status: 400,
          body: {
            error: {
              code: "validation_failed",
              param: "n",
              message: "n must be an integer between 1 and 1000",
            },
          },
        });
      }
      for (const value of ["null", "1", "1e3"]) {
        const response = await post(minted, path, `{"model":"${minted.model.model_name}","prompt":"p","n":${value}}`);
        expect({ value, status: response.status }).toEqual({ value, status: 200 });
        await response.text();
      }
      await expectAlive();
    },
  );

  mainRows(0)([
    ["twice", '"n":1000,"n":1', "n"],
    ["in another case", '"n":1,"N":1000', "N"],
  ])(
    "of an image is refused when it stands there %s: another upstream would make other images",
    async (_, n, param) => {
      const minted = await mint();
      const body = `{"model":"${minted.model.model_name}","prompt":"p",${n}}`;
      const response = await post(minted, "/v1/images/generations", body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { param } },
      });
      expect(upstream.seen(minted.mark)).toEqual([]);
    },
  );

  it("under another name is refused alike in JSON, also in a list of any length", async () => {
    const minted = await mint();
    const inBody = (count: string) => `{"model":"${minted.model.model_name}","prompt":"p",${count}}`;
    const long = `"num_images":${"[".repeat(55)}${"1,".repeat(1_000_000)}1${"]".repeat(55)}`;
    for (const count of ['"num_images":"1_0"', '"num_images":1e15', '"num_images":{"value":10}', long]) {
      const response = await post(minted, "/v1/images/generations", inBody(count));
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed", param: "num_images" } },
      });
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
    const response = await post(minted, "/v1/images/generations", inBody('"num_images":"10"'));
    await response.text();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      status_code: 200,
      cost_usd: 0.4,
    });
  });

  it.each([
    ["0", "n"],
    ["1001", "n"],
    ["2.0", "n"],
    ["1e2", "n"],
    ["0x10", "n"],
    ["010", "n"],
    [" 3", "n"],
    ["", "n"],
    ["3", "max_tokens", "1e308"],
  ])("%j of a form, or %s of it, is refused before anything is forwarded", async (n, param, limit = "5") => {
    const minted = await mint();
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: minted.model.model_name, n, max_tokens: limit }))
      form.append(name, value);
    form.append("image", new File([new Uint8Array(1000)], "a.png"));
    const response = await post(minted, "/v1/images/edits", form);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param } },
    });
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  mainRows(0)([
    ["out of its bounds", [["n", "1000000"]], "n"],
    [
      "twice",
      [
        ["n", "1"],
        ["n", "1000"],
      ],
      "n",
    ],
    ["in another case", [["N", "1000"]], "N"],
  ] as const)("that comes %s after a large file ends the call that is under way", async (_, fields, param) => {
    const minted = await mint();
    const form = new FormData();
    form.append("model", minted.model.model_name);
    form.append("image", new File([new Uint8Array(2_000_000)], "a.png"));
    for (const [name, value] of fields) form.append(name, value);
    const response = await post(minted, "/v1/images/edits", form);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param } },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      status_code: 400,
      cost_usd: 0,
    });
  });
});

describe("the text of a speech", { tags: ["check"] }, () => {
  it.each([
    ["no text", '"input":["a long text in a list"]', "input"],
    ["there twice", '"input":"a long text that is spoken","input":"x"', "input"],
    ["there in another case", '"input":"x","Input":"a long text that is spoken"', "Input"],
  ])("is refused when it is %s: its characters are what is billed", async (_, input, param) => {
    const minted = await mint();
    const body = `{"model":"${minted.model.model_name}","voice":"v",${input}}`;
    const response = await post(minted, "/v1/audio/speech", body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param } },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("is counted whole in a long body, whatever it starts with", async () => {
    const minted = await mint();
    const padding = "\\u0041".repeat(20_000);
    const input = `\ue000cut:0;${"x".repeat(50_000)}`;
    const body = `{"padding":"${padding}","more":"${"y".repeat(200_000)}","input":"${input}","model":"${minted.model.model_name}"}`;
    const response = await post(minted, "/v1/audio/speech", body);
    await response.arrayBuffer();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      cost_usd: 500.07,
    });
  });
});

describe("an extreme price of an earlier version", () => {
  mainRows(1)([
    ["/v1/chat/completions", '"messages":[],"max_tokens":2147483647'],
    ["/v1/images/generations", '"prompt":"p","n":1000'],
    ["/v1/audio/speech", '"input":"x"'],
  ])("ends in a cost that budgets can count, and the data plane continues: %s", async (path, more) => {
    const price = { input_cost_per_token: 1e308, output_cost_per_token: 1e300, cost_per_image: 1e308 };
    const minted = await mintAt(fixture.gateway, upstream, {});
    await storePrices(fixture.gateway, minted.model.id, { ...price, cost_per_character: 1e308 });
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_cost_usd: 9_007_199 });
    const response = await post(minted, path, `{"model":"${minted.model.model_name}",${more}}`);
    await response.text();
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect({ status: response.status, cost_usd: Math.round(row.cost_usd) }).toEqual({
      status: 200,
      cost_usd: 9_007_199,
    });
    await expectAlive();
  });
});
