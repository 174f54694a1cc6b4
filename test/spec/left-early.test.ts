/**
 * A client that leaves early, politely or not (docs/rules/settlement-and-rows.md#clients-that-leave): after 0 to 22 ms, with its whole
 * request sent or a part of it, on every kind of route. Every request whose head was sent has one row.
 * @module-tag processes
 */
import { connect } from "node:net";
import { setTimeout as after } from "node:timers/promises";
import { describe, expect } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const mcp = useMcp(fixture);

/** What a client sends before it leaves. */
type Sent = "all" | "half" | "half, in chunks" | "no body";

interface Route {
  readonly path: string;
  readonly method?: string;
  readonly type?: string;
  readonly body: string;
}

const json = ({ model }: Minted, fields: object): string => JSON.stringify({ model: model.model_name, ...fields });
const part = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

const ROUTES = {
  chat: (minted: Minted): Route => ({
    path: "/v1/chat/completions",
    body: json(minted, { stream: true, messages: [{ role: "user", content: "hello" }] }),
  }),
  embeddings: (minted: Minted): Route => ({ path: "/v1/embeddings", body: json(minted, { input: "x".repeat(1_000) }) }),
  form: (minted: Minted): Route => ({
    path: "/v1/audio/transcriptions",
    type: "multipart/form-data; boundary=b",
    body: `${part("file", "x".repeat(1_000))}${part("model", minted.model.model_name)}--b--\r\n`,
  }),
  "probe of a model": (minted: Minted): Route => ({ path: "/v1/models", method: "GET", body: json(minted, {}) }),
  "undocumented path": (minted: Minted): Route => ({ path: "/v1/rerank", body: json(minted, { input: "x" }) }),
  mcp: (minted: Minted): Route => ({
    path: `/mcp/${minted.mark}/${minted.mark}`,
    body: JSON.stringify({ jsonrpc: "2.0", id: minted.mark, method: "ping", params: { x: "y".repeat(100) } }),
  }),
} as const;

function rawRequest(
  { path, method = "POST", type = "application/json", body }: Route,
  minted: Minted,
  sent: Sent,
): string {
  const start = body.slice(0, body.length / 2);
  const head = [
    `${method} ${path} HTTP/1.1`,
    "host: gateway",
    `authorization: Bearer ${minted.secret}`,
    `content-type: ${type}`,
    `x-session-id: ${minted.mark}`,
    sent === "half, in chunks" ? "transfer-encoding: chunked" : `content-length: ${Buffer.byteLength(body)}`,
  ];
  const sentBody = {
    all: body,
    half: start,
    "half, in chunks": `${start.length.toString(16)}\r\n${start}\r\n`,
    "no body": "",
  }[sent];
  return `${head.join("\r\n")}\r\n\r\n${sentBody}`;
}

/** Sends a request on a connection of its own, and leaves after that time. */
async function leave(request: string, afterMs: number, how: "end" | "resetAndDestroy"): Promise<void> {
  const { hostname, port } = new URL(fixture.gateway.proxyUrl);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  socket.resume();
  await new Promise((resolve) => socket.write(request, resolve));
  if (afterMs > 0) await after(afterMs);
  socket[how]();
}

const TIMES_MS = Array.from({ length: 12 }, (_, at) => 2 * at);

/** The rows of clients that send this request at once and leave at different times, politely or not. */
async function rowsOfLeaving(minted: Minted, request: string) {
  const leaving = TIMES_MS.flatMap((ms) => [leave(request, ms, "end"), leave(request, ms, "resetAndDestroy")]);
  await Promise.all(leaving);
  const rows = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length >= leaving.length,
  );
  // A later request shows that no second row of an earlier one comes.
  const last = await fixture.gateway.chat(minted, { body: { n: 0 } });
  await fixture.gateway.row(minted.tenant.id, last.headers.get("x-gateway-request-id"));
  expect(await fixture.gateway.requestIds(minted.tenant.id)).toHaveLength(leaving.length + 1);
  return rows;
}

const LEFT = { status_code: 499, error_code: "client_gone", upstream_status: 0 };
const LEFT_BEFORE_ADMISSION = {
  ...LEFT,
  admission: "rejected",
  session_id_source: "client",
  attempts: 0,
  total_tokens: 0,
  cost_usd: 0,
};

describe("clients that leave after 0 to 22 ms with a part of their request sent have one row each", () => {
  mainRows(1)([
    ["chat", "half"],
    ["chat", "half, in chunks"],
    ["chat", "no body"],
    ["embeddings", "half"],
    ["form", "half"],
    ["form", "no body"],
    ["probe of a model", "half"],
    ["undocumented path", "half"],
    ["mcp", "half"],
    ["mcp", "half, in chunks"],
    ["mcp", "no body"],
  ] as const)("%s: %s", async (name, sent) => {
    const minted = name === "mcp" ? await mcp.mint() : await fixture.gateway.mint(fixture.upstream.url, "hang");
    const rows = await rowsOfLeaving(minted, rawRequest(ROUTES[name](minted), minted, sent));
    const row = { ...LEFT_BEFORE_ADMISSION, session_id: minted.mark };
    expect(rows).toMatchObject(rows.map(() => row));
    if (name === "mcp") expect(mcp.upstream.seen(minted.mark)).toEqual([]);
  });
});

describe("clients that leave after 0 to 22 ms with their whole request sent have one row each", () => {
  mainRows(1)(["chat", "embeddings", "form", "undocumented path"] as const)("%s", async (name) => {
    // By the address, because the model's name stands in no form's JSON.
    const minted = await fixture.gateway.mint(fixture.upstream.at("silent", "hang"));
    const rows = await rowsOfLeaving(minted, rawRequest(ROUTES[name](minted), minted, "all"));
    expect(rows).toMatchObject(rows.map(() => ({ ...LEFT, session_id: minted.mark })));
    const uncalled = rows.filter(({ attempts }) => attempts === 0);
    expect(uncalled).toMatchObject(uncalled.map(() => ({ total_tokens: 0, cost_usd: 0 })));
  });
});
