/**
 * The analytics store behind a connection that fails as a test chooses, for each cell separately: the real engine and the
 * real bridge, with a proxy before it. The proxy delays inserts, answers them with errors, cuts the connection after the
 * store has committed them, never answers, or does not let them through. Reads always pass.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { listen } from "../../infra/local/http/listen.ts";

export type InsertFault = "none" | "slow" | "errors" | "cut after commit" | "no answer" | "away";

const PASSWORD = "secret";
const SLOW_MS = 5_000;

export type FaultyStore = Awaited<ReturnType<typeof startFaultyStore>>;

/** Starts it on a folder of its own. */
export async function startFaultyStore(folder: string) {
  const engine = openEngine(folder, 3);
  const bridge = await startClickhouseBridge({ engine, user: "default", password: PASSWORD });
  /** Deduplication tokens in the order in which they were first seen. */
  const tokens: string[] = [];
  const faultOf = new Map<string, InsertFault>();
  const met = new Map<string, number>();
  const silent = new Map<ServerResponse, string>();
  const count = (cell: string): void => void met.set(cell, (met.get(cell) ?? 0) + 1);
  const server = createServer((request, response) => void pass(request, response));

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const token = new URL(request.url ?? "/", "http://store").searchParams.get("insert_deduplication_token");
    if (token !== null && !tokens.includes(token)) tokens.push(token);
    const cell = token?.slice(0, token.indexOf(":")) ?? "";
    const fault = faultOf.get(cell) ?? "none";
    if (fault !== "none") count(cell);
    if (fault === "away") return void response.destroy();
    if (fault === "errors") return void response.writeHead(500).end("Code: 999. DB::Exception: told to fail");
    if (fault === "no answer") return void silent.set(response, cell);
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
      if (token !== null && !answer.ok && fault === "none") count(cell);
      if (fault === "cut after commit") return void response.destroy();
      const headers = [...answer.headers].filter(
        ([name]) => !/^(content-encoding|content-length|transfer-|conn)/.test(name),
      );
      response.writeHead(answer.status, Object.fromEntries(headers)).end(body);
    } catch {
      response.destroy();
    }
  }

  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: listening.url,
    password: PASSWORD,
    /** Chooses the fault for the inserts of a cell from now on. Inserts that wait for an answer get none. */
    set: (cell: string, fault: InsertFault): void => {
      faultOf.set(cell, fault);
      for (const [response, whose] of silent) {
        if (whose !== cell) continue;
        silent.delete(response);
        response.destroy();
      }
    },
    /** Inserts of a cell that met a fault, or that the engine refused. */
    faults: (cell: string): number => met.get(cell) ?? 0,
    tokens: tokens as readonly string[],
    /** Runs a statement in the engine directly, without the faults. */
    run: async (statement: string): Promise<void> => {
      const answer = await fetch(bridge.url, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`default:${PASSWORD}`)}` },
        body: statement,
      });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.body?.cancel();
    },
    close: async (): Promise<void> => {
      await listening.close();
      await bridge.close();
      engine.close();
    },
  };
}
