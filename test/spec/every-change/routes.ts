/**
 * The columns of the table: every route of the data plane, how a request of it is sent, and what it shows with the first
 * records. What a request shows is one line: its status, a detail that only this route has, and each call that reached an
 * upstream (witness.ts).
 */
import { randomUUID } from "node:crypto";
import { rawRequest } from "../../harness/raw-request.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { OLD, type Scene, type Upstream } from "./scene.ts";
import { CELL_OF_TABLE, HELD } from "./witness.ts";

/**
 * What changes of a route's records have in common with those of other routes. `admitted`: the route takes a slot and
 * tokens. `cached`: its answer is stored already. `probe`: the upstream is called without slot or budget. `list`: no
 * upstream. `described`: the same, of one model. `mcp`: no model.
 */
export type RouteKind = "admitted" | "cached" | "probe" | "list" | "described" | "mcp";

export interface Route {
  readonly name: string;
  readonly kind: RouteKind;
  /** The model name that the upstream gets: `upstream`: that of the record; `own`: the client's own; `none`. */
  readonly names: "upstream" | "own" | "none";
  readonly send: (scene: Scene) => Promise<Response>;
  /** The detail of the answer other than its status. */
  readonly detail?: (scene: Scene, response: Response, text: string) => string;
  /** The request waits for a slot while the change is made. */
  readonly waits?: true;
}

export interface Shown {
  readonly line: string;
  readonly requestId: string | null;
}

const CHAT = "/v1/chat/completions";
const chatBody = (content: string): object => ({ messages: [{ role: "user", content }] });

const headersOf = (scene: Scene): Record<string, string> => ({
  authorization: `Bearer ${scene.secret}`,
  [CELL_OF_TABLE]: scene.id,
});

async function post(scene: Scene, path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const init = { method: "POST", body: JSON.stringify(body) };
  const all = { ...headersOf(scene), "content-type": "application/json", ...headers };
  return await fetch(`${scene.gateway.proxyUrl}${path}`, { ...init, headers: all });
}

const get = async (scene: Scene, path: string): Promise<Response> =>
  await fetch(`${scene.gateway.proxyUrl}${path}`, { headers: headersOf(scene) });

const admitted = (name: string, path: string, body: object): Route => ({
  name,
  kind: "admitted",
  names: "upstream",
  send: async (scene) => await post(scene, path, { ...body, model: scene.model.name }),
});

async function sendForm(scene: Scene): Promise<Response> {
  const body = new FormData();
  body.set("model", scene.model.name);
  body.set("file", new File(["x"], "x.wav"));
  const init = { method: "POST", headers: headersOf(scene), body };
  return await fetch(`${scene.gateway.proxyUrl}/v1/audio/transcriptions`, init);
}

/** `fetch` sends no body with a GET. */
async function sendProbeBody(scene: Scene): Promise<Response> {
  const body = JSON.stringify({ model: scene.model.name });
  const all = { ...headersOf(scene), "content-type": "application/json" };
  const request = { method: "GET", path: "/v1/models", headers: all, body };
  const { status, headers, text } = await rawRequest(scene.gateway.proxyUrl, request);
  return new Response(text, { status, headers: headers as Record<string, string> });
}

function listed(scene: Scene, _response: Response, text: string): string {
  const { data = [] } = JSON.parse(text) as { data?: { id: string }[] };
  const found = data.find(({ id }) => id === scene.model.name);
  if (found === undefined) return "not listed";
  return "listed";
}

const cacheResult = (_scene: Scene, response: Response): string => response.headers.get("x-gateway-cache") ?? "off";

/** A chat that waits for its slot while the change is made. */
const QUEUED: Route = {
  ...admitted("queued chat", CHAT, chatBody("hello")),
  waits: true,
};

export const ROUTES: readonly Route[] = [
  admitted("chat", CHAT, chatBody("hello")),
  admitted("stream", CHAT, { ...chatBody("hello"), stream: true }),
  {
    ...admitted("cached chat", CHAT, {}),
    kind: "cached",
    // A stored answer belongs to one cell, although cells share tenants and models.
    send: async (scene) => await post(scene, CHAT, { ...chatBody(scene.id), model: scene.model.name }),
    detail: cacheResult,
  },
  admitted("embeddings", "/v1/embeddings", { input: "hello" }),
  admitted("speech", "/v1/audio/speech", { input: "hello world" }),
  admitted("image", "/v1/images/generations", { prompt: "a cat", n: 2 }),
  { name: "form upload", kind: "admitted", names: "upstream", send: sendForm },
  admitted("other path", "/v1/rerank", { query: "hello" }),
  { name: "models list", kind: "list", names: "none", send: (scene) => get(scene, "/v1/models"), detail: listed },
  {
    name: "models/{id}",
    kind: "described",
    names: "none",
    send: async (scene) => await get(scene, `/v1/models/${scene.model.name}`),
  },
  { name: "models with body", kind: "probe", names: "own", send: sendProbeBody },
  {
    name: "mcp",
    kind: "mcp",
    names: "none",
    send: async (scene) => await post(scene, `/mcp/${scene.server.name}`, { jsonrpc: "2.0" }),
  },
  { name: "mcp stream", kind: "mcp", names: "none", send: (scene) => get(scene, `/mcp/${scene.server.name}`) },
  QUEUED,
];

/** What one request of a route shows. `meanwhile` runs while the request is under way. */
export async function show(scene: Scene, route: Route, meanwhile?: () => Promise<void>): Promise<Shown> {
  const before = scene.witness.callsOf(scene.id).length;
  const sent = route.send(scene);
  await meanwhile?.();
  const response = await sent;
  const begun = response.headers.get("content-type")?.includes("event-stream") === true && route.kind === "mcp";
  const text = begun ? "" : await response.text();
  if (begun) await response.body?.cancel();
  const code = response.status === 200 ? "" : codeOf(text);
  const cap = response.headers.get("x-ratelimit-limit-tokens");
  const parts = [
    `${response.status}${code}`,
    ...(response.status === 200 && route.detail !== undefined ? [route.detail(scene, response, text)] : []),
    ...(cap === null ? [] : [`cap ${cap}`]),
    ...scene.witness.callsOf(scene.id).slice(before),
  ];
  return { line: parts.join(", "), requestId: response.headers.get("x-gateway-request-id") };
}

/** Sends the request until its result no longer changes: a stored answer is served from the second request on. */
export async function warm(scene: Scene, route: Route): Promise<Shown> {
  const first = await show(scene, route);
  if (route.kind !== "cached" || !first.line.startsWith("200, miss")) return first;
  return await waitFor(
    async () => await show(scene, route),
    ({ line }) => line === "200, hit",
  );
}

/** A request that waits: a request that no change affects holds the only slot of its model. */
export async function showWaiting(scene: Scene, holder: Scene, change: () => Promise<void>): Promise<Shown> {
  const held = { ...holder, id: randomUUID() };
  const holding = post(held, CHAT, { ...chatBody("held"), model: scene.model.name }, { [HELD]: "1" });
  await waitFor(
    () => scene.witness.callsOf(held.id),
    (calls) => calls.length === 1,
  );
  const shown = await show(scene, QUEUED, async () => {
    await waitFor(
      async () => await scene.gateway.loadOf(scene.model.name),
      ({ queued }) => queued === 1,
    );
    await change();
    scene.witness.release(held.id);
  });
  await (await holding).text();
  return shown;
}

function codeOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string } };
    return error?.code === undefined ? "" : ` ${error.code}`;
  } catch {
    return "";
  }
}

/** What a request shows when these records serve it. */
export function served(route: Route, scene: Scene, at: Partial<Upstream> = {}): string {
  const { address, name, secret } = { ...OLD, ...at };
  if (route.kind === "list") return "200, listed";
  if (route.kind === "described") return "200";
  if (route.kind === "cached") return "200, hit";
  const sentName = { upstream: name, own: scene.model.name, none: "-" }[route.names];
  return `200, ${address} as ${sentName} with Bearer ${secret}`;
}
