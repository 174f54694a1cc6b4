/** The address policy on every write that registers an address: what is refused is named, and nothing changes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

const NAMES: Readonly<Record<string, readonly string[]>> = {
  "public.example": ["93.184.216.34", "2606:2800:220:1::1"],
  "lan.example": ["192.168.1.5"],
  "lab.example": ["10.1.2.3"],
  "mixed.example": ["93.184.216.34", "2606:2800:220:1::1", "192.168.1.5"],
  "metadata.example": ["93.184.216.34", "169.254.169.254"],
  "mapped.example": ["::ffff:169.254.169.254"],
  "linklocal.example": ["fe80::1"],
};

const resolve = async (host: string): Promise<readonly string[]> => NAMES[host] ?? [];
let open: TestControl;
let closed: TestControl;

beforeAll(async () => {
  open = await startControl({ resolve });
  closed = await startControl({ resolve, ssrf: { blockPrivate: true, allowedCidrs: ["10.1.0.0/16"] } });
});
afterAll(async () => {
  await open.close();
  await closed.close();
});

interface Place {
  readonly field: string;
  readonly method: string;
  readonly path: string;
  readonly body: (url: string) => object;
}

let count = 0;

/** Every write that registers an address, on a service. */
async function placesOf(control: TestControl): Promise<readonly Place[]> {
  count += 1;
  const send = async <T>(method: string, path: string, body: unknown): Promise<T> =>
    (await (await control.request(method, path, body)).json()) as T;
  const name = `n-${count}`;
  const base = "http://93.184.216.34/v1";
  const model = await send<Model>("POST", "/api/v1/models", { model_name: name });
  const endpoints = `/api/v1/models/${model.id}/endpoints`;
  const endpoint = await send<ModelEndpoint>("POST", endpoints, { name, api_base: base });
  const server = await send<{ id: string }>("POST", "/api/v1/mcp-servers", { name, upstream_url: base });
  return [
    {
      field: "api_base",
      method: "POST",
      path: "/api/v1/models",
      body: (api_base) => ({ model_name: `${name}-x`, api_base }),
    },
    {
      field: "api_base",
      method: "PUT",
      path: `/api/v1/models/${model.id}`,
      body: (api_base) => ({ upstream_model: name, api_base }),
    },
    { field: "api_base", method: "POST", path: endpoints, body: (api_base) => ({ name: `${name}-x`, api_base }) },
    { field: "api_base", method: "PUT", path: `${endpoints}/${endpoint.id}`, body: (api_base) => ({ api_base }) },
    {
      field: "upstream_url",
      method: "POST",
      path: "/api/v1/mcp-servers",
      body: (upstream_url) => ({ name: `${name}-x`, upstream_url }),
    },
    {
      field: "upstream_url",
      method: "PUT",
      path: `/api/v1/mcp-servers/${server.id}`,
      body: (upstream_url) => ({ upstream_url }),
    },
    {
      field: "slack_webhook_url",
      method: "PUT",
      path: "/api/v1/settings/alerts",
      body: (slack_webhook_url) => ({ slack_webhook_url }),
    },
  ];
}

async function records(control: TestControl): Promise<string> {
  const paths = ["models", "mcp-servers", "settings/alerts", "audit"];
  const texts = await Promise.all(
    paths.map(async (path) => await (await control.request("GET", `/api/v1/${path}`)).text()),
  );
  return texts.join("\n");
}

/** Status of a write of this address at each place, all of which must agree. */
async function statusOf(control: TestControl, url: string): Promise<number> {
  const statuses = new Set<number>();
  for (const { field, method, path, body } of await placesOf(control)) {
    const before = await records(control);
    const response = await control.request(method, path, body(url));
    statuses.add(response.status);
    if (response.status === 200) continue;
    expect(await response.json()).toEqual({
      error: {
        message: `${field} resolves to a blocked address`,
        type: "invalid_request_error",
        code: "address_blocked",
        param: field,
      },
    });
    expect(await records(control)).toBe(before);
  }
  expect([url, statuses.size]).toEqual([url, 1]);
  return [...statuses][0] ?? 0;
}

describe("an address that is registered", () => {
  it.each([
    ["public.example", 200, 200],
    ["lab.example", 200, 200],
    ["lan.example", 200, 400],
    ["mixed.example", 200, 400],
    ["nowhere.example", 200, 400],
    ["metadata.example", 400, 400],
    ["mapped.example", 400, 400],
    ["linklocal.example", 400, 400],
    ["127.0.0.1", 200, 400],
    ["[::1]", 200, 400],
    ["0x7f.1", 200, 400],
    ["2852039166", 400, 400],
    ["[::ffff:a9fe:a9fe]", 400, 400],
    ["0.0.0.0", 400, 400],
  ])("at %s is answered %i, and %i where private networks are blocked", async (host, whenOpen, whenClosed) => {
    const url = `http://${host}/v1`;
    expect([await statusOf(open, url), await statusOf(closed, url)]).toEqual([whenOpen, whenClosed]);
  });
});
