/**
 * The address policy on every write that registers an address: what is refused is named, and nothing changes.
 *
 * @module-tag check
 */
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
        details: [{ path: field, message: "may not be called: use another address" }],
      },
    });
    expect(await records(control)).toBe(before);
  }
  expect({ url, distinctStatuses: statuses.size }).toEqual({ url, distinctStatuses: 1 });
  return [...statuses][0] ?? 0;
}

describe("an address that is registered", () => {
  const isAnswered = async (host: string, whenOpen: number, whenClosed: number): Promise<void> => {
    const url = `http://${host}/v1`;
    expect({ openStatus: await statusOf(open, url), closedStatus: await statusOf(closed, url) }).toEqual({
      openStatus: whenOpen,
      closedStatus: whenClosed,
    });
  };
  it.each([
    ["public.example", 200, 200],
    ["lab.example", 200, 200],
    ["mixed.example", 200, 400],
    ["nowhere.example", 200, 400],
    ["metadata.example", 400, 400],
    ["127.0.0.1", 200, 400],
    ["[::ffff:a9fe:a9fe]", 400, 400],
  ])("at %s is answered %i, and %i where private networks are blocked", isAnswered);
  it.each([
    ["lan.example", 200, 400],
    ["168.63.129.16", 400, 400],
    ["100.100.100.200", 400, 400],
    ["[64:ff9b:1::1]", 400, 400],
    ["[fec0::1]", 400, 400],
    ["mapped.example", 400, 400],
    ["linklocal.example", 400, 400],
    ["[::1]", 200, 400],
    ["0x7f.1", 200, 400],
    ["2852039166", 400, 400],
    ["0.0.0.0", 400, 400],
  ])("at %s is answered %i, and %i where private networks are blocked", { tags: ["long"] }, isAnswered);
});

describe("an address of the operator's own infrastructure", () => {
  const places = [
    ["prometheus_url", "PUT", "settings/energy", (host: string) => ({ prometheus_url: `http://${host}:9090` })],
    ["url", "PUT", "settings/jobsched", (host: string) => ({ url: `http://${host}:6820` })],
    [
      "email.smtp_host",
      "PUT",
      "settings/alerts",
      (host: string) => ({
        email: {
          smtp_host: host.replace(/^\[|\]$/g, ""),
          from_address: "gateway@example.org",
          recipients: ["ops@example.org"],
        },
      }),
    ],
  ] as const;

  it.each(places)(
    "may be private, also where those are blocked, and never what is always blocked: %s",
    async (...place) => {
      const [field, method, path, body] = place;
      for (const host of ["lan.example", "nowhere.example", "10.1.2.3", "[::1]", "public.example"])
        expect({ host, status: (await closed.request(method, `/api/v1/${path}`, body(host))).status }).toEqual({
          host,
          status: 200,
        });
      const before = await (await closed.request("GET", `/api/v1/${path}`)).text();
      for (const host of ["metadata.example", "mapped.example", "169.254.169.254", "[fe80::1]", "100.100.100.200"]) {
        const response = await closed.request(method, `/api/v1/${path}`, body(host));
        expect({ host, status: response.status, body: await response.json() }).toEqual({
          host,
          status: 400,
          body: {
            error: {
              message: `${field} resolves to a blocked address`,
              type: "invalid_request_error",
              code: "address_blocked",
              param: field,
              details: [{ path: field, message: "may not be called: use another address" }],
            },
          },
        });
      }
      expect(await (await closed.request("GET", `/api/v1/${path}`)).text()).toBe(before);
    },
  );
});
