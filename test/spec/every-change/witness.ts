/**
 * The upstreams of every record in the table, as one server. It records which address was called, with which credential and
 * under which name, for each cell of the table.
 */
import type { ServerResponse } from "node:http";
import { setTimeout as pass } from "node:timers/promises";
import { startHttpSink } from "../../harness/http-sink.ts";
import { answerRoute, type SeenCall } from "../../harness/route-answers.ts";
import { readCall } from "../../harness/upstream-routes.ts";

/** The header that names the cell of the table; it is forwarded to the upstream like other headers. */
export const CELL_OF_TABLE = "x-cell-of-table";

/** A request with this header is answered only after its release. */
export const HELD = "x-held";

/** The least time that an answer takes, because energy is calculated from time. */
const WORK_MS = 5;

export type Witness = Awaited<ReturnType<typeof startWitness>>;

export async function startWitness() {
  const calls = new Map<string, string[]>();
  const held = new Map<string, (() => void)[]>();
  const sink = await startHttpSink(async (asked) => {
    const { mark: address, call } = await readCall(asked);
    const cell = String(call.headers[CELL_OF_TABLE]);
    const name = call.json?.["model"] ?? call.fields["model"];
    const seen = `${address} as ${typeof name === "string" ? name : "-"} with ${call.headers.authorization ?? "-"}`;
    calls.set(cell, [...(calls.get(cell) ?? []), seen]);
    if (call.headers[HELD] !== undefined)
      await new Promise<void>((resolve) => held.set(cell, [...(held.get(cell) ?? []), resolve]));
    await pass(WORK_MS);
    return async (response) => await answer(call, response);
  });
  const origin = sink.url;
  return {
    baseOf: (address: string): string => `${origin}/${address}/v1`,
    mcpUrlOf: (address: string): string => `${origin}/${address}/mcp`,
    /** The calls of a cell so far, each as `<address> as <model> with <credential>`; `-` for what a call does not have. */
    callsOf: (cell: string): readonly string[] => calls.get(cell) ?? [],
    release: (cell: string): void => {
      for (const resolve of held.get(cell) ?? []) resolve();
      held.delete(cell);
    },
    close: sink.close,
  };
}

async function answer(call: SeenCall, response: ServerResponse): Promise<void> {
  if (!call.path.startsWith("/mcp")) return await answerRoute(call, response);
  const type = call.method === "GET" ? "text/event-stream" : "application/json";
  response.writeHead(200, { "content-type": type });
  // Only the start of a stream is sent; its client leaves.
  if (call.method === "GET") response.write("data: begun\n\n");
  else response.end('{"jsonrpc":"2.0","id":1,"result":{}}');
}
