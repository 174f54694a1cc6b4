/**
 * How a body may name its model, and how names that are not registered are recorded
 * (docs/rules/settlement-and-rows.md#model-names).
 */
import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import type { DailyUsage } from "../../shared/schema/usage-reads.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { rawRequest } from "../harness/raw-request.ts";
import { StackLog } from "../harness/stack-log.ts";
import { mintAt, sha256, useRouteUpstream } from "../harness/upstream-routes.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();
const log = new StackLog(inject("logFile"));

async function post(minted: Minted, path: string, body: string | FormData): Promise<Response> {
  const type = typeof body === "string" ? { "content-type": "application/json" } : {};
  const headers = { authorization: `Bearer ${minted.secret}`, ...type };
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, { method: "POST", headers, body });
}

describe("another model beside the one that is checked", () => {
  mainRows(1)([
    ["Model", "Model"],
    ["MODEL", "MODEL"],
    ["mOd\\u0045l", "mOdEl"],
    ["model\\u0000", "model\\u{0}"],
    ["Model\\u0000x", "Model\\u{0}x"],
  ])("in a name that a lenient upstream would take for it is refused: %s", async (name, param) => {
    const minted = await mintAt(fixture.gateway, upstream);
    for (const path of ["/v1/chat/completions", "/v1/images/generations", "/v1/embeddings", "/v1/rerank"]) {
      for (const body of [
        `{"model":"${minted.model.model_name}","${name}":"forbidden"}`,
        `{"${name}":"forbidden","model":"${minted.model.model_name}"}`,
      ]) {
        const response = await post(minted, path, body);
        expect({ path, status: response.status, body: await response.json() }).toEqual({
          path,
          status: 400,
          body: {
            error: {
              message: `field '${param}' must be written 'model'`,
              type: "invalid_request_error",
              code: "validation_failed",
              param,
            },
          },
        });
        expect(response.headers.get("x-should-retry")).toBe("false");
      }
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("is distinguished from a body that names none", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const name = minted.model.model_name;
    const alone = await post(minted, "/v1/chat/completions", `{"Model":"${name}"}`);
    expect({ status: alone.status, body: await alone.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "Model" } },
    });
    const nested = await post(minted, "/v1/chat/completions", `{"model":"${name}","metadata":{"Model":"x"}}`);
    expect(nested.status).toBe(200);
    await nested.text();
    expect(upstream.seen(minted.mark)[0]?.json).toEqual({ model: "upstream-name", metadata: { Model: "x" } });
  });

  it("of the same name is, for the upstream, the one that was checked, however it is written", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const body = `{"model":"forbidden","\\u006dodel":"forbidden, too","mod\\u0065l":"${minted.model.model_name}"}`;
    const response = await post(minted, "/v1/chat/completions", body);
    await response.text();
    const [call] = upstream.seen(minted.mark);
    expect({ status: response.status, size: call?.size }).toEqual({
      status: 200,
      size: body.length - "forbidden".length - 14 - minted.model.model_name.length + 39,
    });
    expect(call?.json).toEqual({ model: "upstream-name" });
  });

  mainRows(1)(["Model", "MODEL"])("in a form is refused, before its file and after: %s", async (name) => {
    const minted = await mintAt(fixture.gateway, upstream);
    const field = (of: string, value: string): readonly [string, string] => [of, value];
    const model = field("model", minted.model.model_name);
    for (const [before, after] of [
      [[field(name, "forbidden"), model], []],
      [[model, field(name, "forbidden")], []],
      [[model], [field(name, "forbidden")]],
    ] as const) {
      const form = new FormData();
      for (const [of, value] of before) form.append(of, value);
      form.append("file", new File([new Uint8Array(after.length === 0 ? 1000 : 2_000_000)], "a.wav"));
      for (const [of, value] of after) form.append(of, value);
      const response = await post(minted, "/v1/audio/transcriptions", form);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed", param: name } },
      });
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  mainRows(1)([
    ["models", '"models":["forbidden"]'],
    ["fallbacks", '"fallbacks":[{"model":"forbidden"}]'],
    ["lora_path", '"lora_p\\u0061th":"forbidden"'],
    ["Api_Base", '"Api_Base":"http://elsewhere"'],
    ["kvTransferParams", '"kvTransferParams":{"remote_host":"elsewhere"},"kvTransferParams":null'],
    ["extra_body.models", '"extra_body":{"google":{},"models":["forbidden"]}'],
    ["extra_body.model", '"extra_body":{"model":"forbidden"}'],
    ["parameters.adapter_id", '"parameters":{"adapter_id":"forbidden"}'],
    ["sampling_params.1.lora_path", '"sampling_params":[{"n":1},{"lora_path":"forbidden"}]'],
    ["nvext.backend_instance_id", '"nvext":{"backend_instance_id":1}'],
    ["extra_body", '"extra_body":"{\\"models\\":[\\"forbidden\\"]}"'],
    ["extra_body[models]", '"extra_body[models]":"forbidden"'],
    ["models ", '"models ":["forbidden"]'],
  ])("in a field beside it is refused, on every route: %s", async (param, field) => {
    const minted = await mintAt(fixture.gateway, upstream);
    for (const path of [
      "/v1/chat/completions",
      "/v1/responses",
      "/v1/images/generations",
      "/v1/embeddings",
      "/v1/rerank",
    ])
      for (const body of [
        `{"model":"${minted.model.model_name}",${field}}`,
        `{"input":"${"x".repeat(300_000)}",${field},"model":"${minted.model.model_name}"}`,
      ]) {
        const response = await post(minted, path, body);
        expect({ path, status: response.status, body: await response.json() }).toMatchObject({
          path,
          status: 400,
          body: { error: { code: "validation_failed", param } },
        });
      }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("in a field of a form or a parameter of a query is refused", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    for (const name of ["models", "models[]", "lora_path", "extra_body", "extra_body[0][model]", "api_base"]) {
      const form = new FormData();
      form.append("model", minted.model.model_name);
      form.append("file", new File([new Uint8Array(2_000_000)], "a.wav"));
      form.append(name, "forbidden");
      const response = await post(minted, "/v1/audio/transcriptions", form);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed", param: name } },
      });
    }
    for (const [query, name] of [
      ["model", "model"],
      ["models", "models"],
      ["api_base", "api_base"],
      ["x=1;models", "models"],
      ["+model", " model"],
      ["extra_body[models]", "extra_body[models]"],
      ["options", "options"],
    ] as const) {
      const body = JSON.stringify({ model: minted.model.model_name });
      const response = await post(minted, `/v1/chat/completions?${query}=forbidden`, body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { param: name, message: expect.stringContaining("query parameter") } },
      });
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("is no field of the client's own data or of an API: they arrive byte for byte", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const rest =
      ',"metadata":{"models":"x","api_key":"y"},"extra_body":{"google":{"thinking_config":{"models":1}}},"options":{"num_ctx":1},"prediction":null,"service_tier":"auto","user":"u","tools":[{"type":"function","function":{"name":"f"},"headers":{"a":"b"},"model":"m"}]}';
    const response = await post(minted, "/v1/chat/completions", `{"model":"${minted.model.model_name}"${rest}`);
    await response.text();
    const [call] = upstream.seen(minted.mark);
    const sent = `{"model":"upstream-name"${rest}`;
    expect({ status: response.status, size: call?.size, sha256: call?.sha256 }).toEqual({
      status: 200,
      size: sent.length,
      sha256: sha256(Buffer.from(sent)),
    });
  });

  const TYPE = "multipart/form-data; boundary=BB";
  const named = (name: string, value: string): string =>
    `--BB\r\nContent-Disposition: form-data; name=${name}\r\n\r\n${value}\r\n`;
  const file = (data: string): string =>
    `--BB\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n${data}\r\n`;
  const form = (name: string): string => `Content-Disposition: form-data; name="${name}"\r\n\r\nforbidden\r\n`;

  mainRows(1)<readonly [string, string, (honest: string) => string]>([
    ["a continued name", TYPE, (honest) => `${named('"pad"; name*0=model', "forbidden")}${honest}--BB--`],
    ["a name with a charset", TYPE, (honest) => `${named(`"pad"; name*=utf-8''model`, "forbidden")}${honest}--BB--`],
    ["a name in single quotes", TYPE, (honest) => `${named("'n'", "9")}${honest}--BB--`],
    ["a second boundary", `${TYPE}; boundary*=utf-8''CC`, (h) => `${h}${file(`--CC\r\n${form("model")}--CC--`)}--BB--`],
    ["a delimiter after LF", TYPE, (honest) => `${honest}${file(`x\n--BB\n${form("model")}`)}--BB--`],
    ["a delimiter after CR", TYPE, (honest) => `${file(`x\r--BB\r\n${form("n")}`)}${honest}--BB--`],
    ["a delimiter within a line", TYPE, (honest) => `${honest}${file(`x--BB\r\n${form("model")}`)}--BB--`],
    ["a delimiter deep in a file", TYPE, (h) => `${h}${file(`${"x".repeat(2e6)}\n--BB\r\n${form("model")}`)}--BB--`],
    ["a form after the form", TYPE, (honest) => `${honest}--BB--\r\n--BB\r\n${form("model")}--BB--`],
  ])("in a form, where some parser reads it and another does not, is refused: %s", async (_, type, bodyOf) => {
    const minted = await mintAt(fixture.gateway, upstream, { cost_per_image: 0.04 });
    for (const path of ["/v1/images/edits", "/v1/images/variations", "/v1/audio/transcriptions"]) {
      const answer = await rawRequest(fixture.gateway.proxyUrl, {
        method: "POST",
        path,
        headers: { authorization: `Bearer ${minted.secret}`, "content-type": type },
        body: bodyOf(named('"model"', minted.model.model_name)),
      });
      expect({ path, status: answer.status, body: JSON.parse(answer.text) }).toMatchObject({
        path,
        status: 400,
        body: { error: { code: "invalid_multipart", message: "invalid multipart body" } },
      });
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });
});

describe("a name that is not registered", () => {
  it("leaves one row in usage_daily, though there are 200 of them, by every route that takes one", {
    tags: ["check"],
  }, async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const names = Array.from({ length: 200 }, (_, at) => `made-up-${minted.mark}-${at}`);
    const requestIdFor = async (name: string, at: number): Promise<string> => {
      const headers = { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" };
      const answer =
        at % 2 === 0
          ? await rawRequest(fixture.gateway.proxyUrl, { method: "GET", path: `/v1/models/${name}`, headers })
          : await rawRequest(fixture.gateway.proxyUrl, {
              method: "POST",
              path: at % 4 === 1 ? "/v1/chat/completions" : "/v1/embeddings",
              headers,
              body: JSON.stringify({ model: name }),
            });
      return answer.requestId;
    };
    const ids: string[] = [];
    for (let at = 0; at < names.length; at += 20)
      ids.push(
        ...(await Promise.all(names.slice(at, at + 20).map(async (name, nth) => await requestIdFor(name, at + nth)))),
      );
    const daily = await waitFor(
      async () =>
        await fixture.gateway.must<DailyUsage[]>(
          "GET",
          `/usage/daily?tenant_id=${minted.tenant.id}&group_by=key_model`,
        ),
      (rows) => rows.reduce((sum, row) => sum + row.requests, 0) === 200,
    );
    expect(daily.map(({ model, requests }) => [model, requests])).toEqual([["", 200]]);
    const rows = await fixture.gateway.allRows(minted.tenant.id);
    expect(new Set(rows.map(({ model }) => model))).toEqual(new Set([""]));
    expect(new Set(rows.map(({ request_id }) => request_id))).toEqual(new Set(ids));
  });

  mainRows(1)([
    ["control characters", "\u001b[2J\u0007\r\nforged", "\\u{1b}[2J\\u{7}\\u{d}\\u{a}forged"],
    ["control characters of eight bits", "\u009b31m", "\\u{9b}31m"],
    ["text that runs backwards", "\u202egnp", "\\u{202e}gnp"],
    ["half a character", "\ud800", "\\u{d800}"],
    ["no end", "q".repeat(5000), "q".repeat(200)],
  ])("is in the log, cut and escaped, with %s in it", async (_, name, printed) => {
    const minted = await mintAt(fixture.gateway, upstream);
    const model = `${randomUUID()} ${name}`;
    const response = await post(minted, "/v1/chat/completions", JSON.stringify({ model }));
    expect(response.status).toBe(404);
    await response.text();
    const line = await log.request(response.headers.get("x-gateway-request-id"));
    const shown = String(line["model"]);
    expect(`${model.slice(0, 37)}${printed}`.startsWith(shown)).toBe(true);
    expect(shown.length).toBeGreaterThan(40);
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ model: "", status_code: 404, admission: "rejected" });
  });
});
