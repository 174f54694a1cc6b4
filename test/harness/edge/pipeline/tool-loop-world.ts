/** A world for tests of the tool loop: a model whose answers a test gives in turn, and one tool server. */

import type { JsonObject } from "../../../../edge/domain/wire/json/document.ts";
import { run } from "../../../../edge/pipeline/run.ts";
import type { UpstreamCall } from "../../../../edge/ports.ts";
import type { BoonsValue } from "../../../../shared/schema/settings/boons.ts";
import { BoonWorld } from "./boon-world.ts";
import { mcpServerOf } from "./records.ts";

export type Reply = (body: JsonObject, call: UpstreamCall) => Response | Promise<Response>;

export const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const calling = (...names: readonly string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: names.map((name, nth) => ({ id: `c${nth}`, type: "function", function: { name, arguments: '{"q":1}' } })),
});
const completion = (message: JsonObject, finish: string, id = "first") =>
  Response.json({ id, created: 1, model: "m", choices: [{ index: 0, message, finish_reason: finish }], usage: USAGE });
export const calls =
  (...names: readonly string[]): Reply =>
  () =>
    completion(calling(...names), "tool_calls");
export const saying =
  (content: string): Reply =>
  () =>
    completion({ role: "assistant", content }, "stop", "last");

/** A model with a tool server, whose answers are given in turn; the last one stays. */
export class LoopWorld extends BoonWorld {
  readonly served: JsonObject[] = [];
  readonly serverHeaders: UpstreamCall["headers"][] = [];
  readonly sessions = { begun: 0, ended: 0 };
  tool: Reply = ({ params }) =>
    Response.json({ content: [{ type: "text", text: `result of ${JSON.stringify(params)}` }] });
  lists: readonly JsonObject[] = [{ tools: [{ name: "search", inputSchema: { type: "object", properties: {} } }] }];
  #ids = 0;

  constructor(replies: readonly Reply[], settings: Partial<BoonsValue> = {}) {
    const answers = replies.map((reply) => async (call: UpstreamCall) => await reply(this.asked.at(-1) ?? {}, call));
    super({ tool_loop_enabled: true, ...settings }, { tool_servers: ["tools"] }, ...answers);
    this.mcpServer = mcpServerOf({ auth_header: "sealed" });
    const { upstream } = this;
    this.upstream = async (call) =>
      new URL(call.url).hostname === "mcp.test" ? await this.#serve(call) : await upstream(call);
  }

  get asked(): readonly JsonObject[] {
    return this.sentTo("own");
  }

  /** The answer of the server to `notifications/initialized`. */
  welcome: () => Promise<Response> = async () => new Response(null, { status: 202 });

  async ask(body: JsonObject = {}, headers: Record<string, string> = {}): Promise<Response> {
    const received = this.received({ signal: this.client.signal });
    const request = new Request(received.request.url, {
      method: "POST",
      headers: { ...Object.fromEntries(received.request.headers), ...headers },
      body: JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "hello" }], ...body }),
      signal: this.client.signal,
    });
    const uuid = () => {
      this.#ids += 1;
      return `00000000-0000-4000-8000-0000000000${String(this.#ids).padStart(2, "0")}`;
    };
    const { ports } = received;
    return await run({ ...received, ports: { ...ports, random: { ...ports.random, uuid } }, request });
  }

  get rows() {
    const settled = [this.permit, ...this.permits].flatMap(({ settlement }) =>
      settlement === null ? [] : [settlement.row],
    );
    return [...settled, ...this.recorded, ...this.orphans];
  }

  async #serve(call: UpstreamCall): Promise<Response> {
    this.serverHeaders.push(call.headers);
    if (call.method === "DELETE") {
      this.sessions.ended += 1;
      return new Response(null, { status: 204 });
    }
    const message = (await new Response(call.body as Uint8Array<ArrayBuffer>).json()) as JsonObject;
    this.served.push(message);
    const replied = (result: unknown, headers: Record<string, string> = {}) =>
      Response.json({ jsonrpc: "2.0", id: message["id"], result }, { headers });
    switch (message["method"]) {
      case "initialize":
        this.sessions.begun += 1;
        return replied({ protocolVersion: "2025-03-26" }, { "mcp-session-id": `s${this.sessions.begun}` });
      case "notifications/initialized":
        return await this.welcome();
      case "tools/list": {
        const cursor = (message["params"] as JsonObject)["cursor"];
        return replied(this.lists[Number(cursor ?? 0)]);
      }
      default: {
        const answered = await this.tool(message, call);
        return answered.headers.get("content-type") === "application/json" ? replied(await answered.json()) : answered;
      }
    }
  }
}
