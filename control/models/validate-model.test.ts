import { createServer, type IncomingHttpHeaders } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Listening, listen } from "../../infra/local/http/listen.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let upstream: Listening;
const seen: (string | undefined)[] = [];
let lastHeaders: IncomingHttpHeaders = {};

/** The upstream's answers by the first segment of the path under which it is called. */
const CATALOGS: Readonly<Record<string, readonly [status: number, body: string]>> = {
  plain: [200, JSON.stringify({ data: [{ id: "a" }, { id: "b" }] })],
  wild: [200, JSON.stringify({ data: [{ id: "org/*" }] })],
  page: [200, "<html>"],
  odd: [200, JSON.stringify({ models: [] })],
  locked: [401, "{}"],
  moved: [302, ""],
};

beforeAll(async () => {
  control = await startControl({
    resolve: async (host) => await Promise.resolve(host === "metadata.test" ? ["169.254.169.254"] : ["127.0.0.1"]),
  });
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    lastHeaders = request.headers;
    const [status, body] = CATALOGS[request.url?.split("/")[1] ?? ""] ?? [404, ""];
    response.writeHead(status, { location: "/plain/v1/models" }).end(body);
  });
  upstream = await listen(server, "127.0.0.1", 0);
});
afterAll(async () => {
  await upstream.close();
  await control.close();
});

const validate = async (body: object) => await control.request("POST", "/api/v1/models/validate", body);

it.each([
  ["plain/v1", "a", { reachable: true, listed: true, wildcard: false, warnings: [] }],
  [
    "plain/v1/",
    "c",
    { reachable: true, listed: false, wildcard: false, warnings: ["model 'c' is not in the upstream catalog"] },
  ],
  [
    "wild/v1",
    "a",
    { reachable: true, listed: null, wildcard: true, warnings: ["upstream catalog contains a wildcard entry"] },
  ],
  ["page/v1", "a", { reachable: true, listed: null, wildcard: false, warnings: [] }],
  ["odd/v1", "a", { reachable: true, listed: null, wildcard: false, warnings: [] }],
  ["plain", "a", { reachable: true, listed: true, wildcard: false, warnings: ["api_base does not end in /v1"] }],
  [
    "locked/v1",
    "a",
    {
      reachable: true,
      listed: null,
      wildcard: false,
      warnings: ["the upstream refuses the credential: http 401"],
    },
  ],
  [
    "moved/v1",
    "a",
    {
      reachable: true,
      listed: null,
      wildcard: false,
      warnings: ["the upstream answers http 302 on {api_base}/models"],
    },
  ],
])("a catalog at /%s, asked for %s", async (path, upstream_model, verdict) => {
  const response = await validate({ api_base: `${upstream.url}/${path}`, upstream_model });
  expect({ status: response.status, body: await response.json() }).toEqual({ status: 200, body: verdict });
});

it("sends the credential, and none without one", async () => {
  seen.length = 0;
  await validate({ api_base: `${upstream.url}/plain/v1`, upstream_model: "a", api_key: "credential" });
  await validate({ api_base: `${upstream.url}/plain/v1`, upstream_model: "a" });
  expect(seen).toEqual(["Bearer credential", undefined]);
});

it("answers 200 for what cannot be reached, and does not call what is blocked", async () => {
  const away = await validate({ api_base: "http://127.0.0.1:9/v1", upstream_model: "a" });
  expect({ status: away.status, body: await away.json() }).toMatchObject({
    status: 200,
    body: { reachable: false, warnings: ["upstream is not reachable: connect failed"] },
  });
  for (const api_base of ["http://169.254.169.254/v1", "http://metadata.test/v1"]) {
    const blocked = await validate({ api_base, upstream_model: "a" });
    expect(await blocked.json()).toEqual({
      reachable: false,
      listed: null,
      wildcard: false,
      warnings: ["api_base resolves to a blocked address"],
    });
  }
});

it.each([
  [{}, "api_base"],
  [{ api_base: "", upstream_model: "a" }, "api_base"],
  [{ api_base: "ftp://host/v1", upstream_model: "a" }, "api_base"],
  [{ api_base: "http://[", upstream_model: "a" }, "api_base"],
  [{ api_base: "http://127.0.0.1/v1" }, "upstream_model"],
  [{ api_base: "http://127.0.0.1/v1", upstream_model: "a", model_type: "video" }, "model_type"],
])("refuses %j by naming %s", async (body, field) => {
  const response = await validate(body);
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: { error: { param: field } },
  });
});

it("asks in the API and with the header that the body names", async () => {
  const access = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "k" };
  const response = await validate({ api_base: `${upstream.url}/plain/v1`, upstream_model: "a", ...access });
  expect(await response.json()).toMatchObject({ reachable: true, listed: true });
  expect(lastHeaders).toMatchObject({ "x-api-key": "k", "anthropic-version": "2023-06-01" });
});
