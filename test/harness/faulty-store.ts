/**
 * The analytics store behind a wire that fails as told: the real engine and the real bridge, with a proxy before it whose
 * inserts are slow, refused, or cut off after the store has committed them. Reads always pass.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";

export type InsertFault = "none" | "slow" | "refused" | "cut after commit" | "no answer";

const PASSWORD = "secret";
const SLOW_MS = 5_000;

export interface FaultyStore {
  readonly url: string;
  readonly password: string;
  fault: InsertFault;
  /** Inserts that met a fault, or that the engine refused. */
  readonly faults: number;
  /** Deduplication tokens in the order in which they were first seen. */
  readonly tokens: readonly string[];
  /** Runs a statement in the engine, past the wire. */
  run(statement: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts it on a folder of its own. */
export async function startFaultyStore(folder: string): Promise<FaultyStore> {
  const engine = openEngine(folder, 3);
  const bridge = await startClickhouseBridge({ engine, user: "default", password: PASSWORD });
  const tokens: string[] = [];
  const state = { fault: "none" as InsertFault, faults: 0 };
  const silent = new Set<ServerResponse>();
  const server = createServer((request, response) => void pass(request, response));

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const token = new URL(request.url ?? "/", "http://store").searchParams.get("insert_deduplication_token");
    if (token !== null && !tokens.includes(token)) tokens.push(token);
    const fault = token === null ? "none" : state.fault;
    if (fault !== "none") state.faults += 1;
    if (fault === "refused") return void response.writeHead(500).end("Code: 999. DB::Exception: told to fail");
    if (fault === "no answer") return void silent.add(response);
    if (fault === "slow") await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    try {
      const answer = await fetch(`${bridge.url}${request.url ?? "/"}`, {
        method: request.method ?? "GET",
        headers: Object.fromEntries(
          Object.entries(request.headers).filter(([name]) => !["host", "connection", "content-length"].includes(name)),
        ) as Record<string, string>,
        body: chunks.length === 0 ? null : Buffer.concat(chunks),
      });
      const body = Buffer.from(await answer.arrayBuffer());
      if (token !== null && !answer.ok && fault === "none") state.faults += 1;
      if (fault === "cut after commit") return void response.destroy();
      const headers = [...answer.headers].filter(
        ([name]) => !/^(content-encoding|content-length|transfer-|conn)/.test(name),
      );
      response.writeHead(answer.status, Object.fromEntries(headers)).end(body);
    } catch {
      response.destroy();
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    password: PASSWORD,
    get fault() {
      return state.fault;
    },
    set fault(fault) {
      state.fault = fault;
      for (const response of silent) response.destroy();
      silent.clear();
    },
    get faults() {
      return state.faults;
    },
    tokens,
    run: async (statement) => {
      const answer = await fetch(bridge.url, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`default:${PASSWORD}`)}` },
        body: statement,
      });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.body?.cancel();
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await bridge.close();
      engine.close();
    },
  };
}
