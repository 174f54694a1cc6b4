/**
 * The turns of one tool loop after the first (docs/rules/tool-loop.md#turns): runs the gateway's calls of a turn, and asks the
 * model again. Every wait ends when the client leaves; everything open is closed at the end.
 */
import type { BoonsValue } from "../../../../shared/schema/settings/boons.ts";
import { rootCause } from "../../../../shared/text/root-cause.ts";
import type { MergedTools } from "../../../domain/tools/merge-tools.ts";
import { cutResult, errorText, resultText } from "../../../domain/tools/result-text.ts";
import {
  CALLS_MAX,
  decideTurn,
  exchangeOf,
  type FinishedTurn,
  type GatewayToolCall,
  type TurnDecision,
} from "../../../domain/tools/turn.ts";
import { believedReport } from "../../../domain/tools/usage-sum.ts";
import type { JsonObject } from "../../../domain/wire/json/document.ts";
import { ClientGone } from "../../call/client-gone.ts";
import type { Call } from "../../call/context.ts";
import { inTurns } from "../../call/in-turns.ts";
import type { Prepared } from "../../call/known.ts";
import { guardToolResult } from "../../guardrails/guard-tool-result.ts";
import { openSubCall } from "../../sub-call.ts";
import { withDeadline } from "./deadline.ts";
import type { ToolOwner } from "./tool-owner.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";

/** Shortest time for one turn: an answer with tools takes long (docs/rules/upstream-calls.md#answers). */
const TURN_MIN_MS = 120_000;

/** The dependencies of a loop. */
interface LoopWork {
  readonly call: Call;
  readonly request: Prepared;
  readonly settings: BoonsValue;
  /** The members of the request as they went upstream in the first turn, without `model`. */
  readonly members: () => JsonObject;
  readonly merged: MergedTools<ToolOwner>;
}

export class ToolLoop {
  readonly call: Call;
  readonly #work: LoopWork;
  readonly #span;
  readonly #stop = new AbortController();
  readonly #client: AbortSignal;
  readonly #used = new Set<string>();
  #exchange: readonly JsonObject[] = [];
  #turn = 1;
  /** The request of the turn under way. */
  #asked: Pick<Prepared, "estimate">;
  #iteration: ReturnType<Call["trace"]["begin"]> | null = null;
  #ended = false;

  constructor(work: LoopWork) {
    const { call } = work;
    this.call = call;
    this.#work = work;
    this.#asked = work.request;
    this.#span = call.trace.begin("boon:tool_loop", call.ports.clock());
    this.#client = AbortSignal.any([call.request.signal, this.#stop.signal]);
  }

  /** The names of the tools that the gateway runs. */
  get owned(): { has(name: string): boolean } {
    return this.#work.merged.owners;
  }

  /** Whether the client wants the usage of a stream. */
  get usageAsked(): boolean {
    return isAsked(this.#work.members()["stream_options"]);
  }

  /** The report of the turn under way, whose answer had so many bytes; null: it cannot be true, and is not billed either. */
  believed(report: unknown, bytes: number): JsonObject | null {
    return believedReport(report, this.#asked.estimate, bytes);
  }

  /** The step after a turn; `whole`: all of it has been kept. */
  async decide(turn: FinishedTurn, whole = true): Promise<TurnDecision> {
    const mayRun = whole && this.#turn <= this.#work.settings.tool_loop_max_turns;
    return await inTurns(this.call, decideTurn(turn, this.owned, { turn: this.#turn, mayRun }));
  }

  /** Runs the calls of a turn at the same time; the model reads their results in its next turn. Throws ClientGone. */
  async run(turn: FinishedTurn, { calls, toolCalls }: TurnDecision & { readonly kind: "run" }): Promise<void> {
    const { clock } = this.call.ports;
    const beganMs = clock();
    this.#iteration?.end(beganMs);
    const iteration = this.call.trace.begin(`boon:tool_loop:iter:${this.#turn}`, beganMs, "boon:tool_loop");
    this.#iteration = iteration;
    for (const { name } of calls) this.#used.add(name);
    const results = await Promise.all(calls.map(async (one, nth) => await this.#result(one, nth)));
    iteration.set({ tool_ms: clock() - beganMs });
    this.#exchange = [...this.#exchange, ...exchangeOf(turn, toolCalls, results)];
  }

  /** Asks the model again. Read the answer's body to its end, or cancel it. Throws what a sub-call throws. */
  async nextTurn(): Promise<Response> {
    const { request, settings } = this.#work;
    const { clock } = this.call.ports;
    const last = this.#turn >= settings.tool_loop_max_turns;
    this.#turn += 1;
    const body = this.#body(last);
    const limitMs = (request.model.request_timeout_secs ?? this.call.config.upstreamTimeoutMs / 1000) * 1000;
    const timeoutMs = Math.max(limitMs, TURN_MIN_MS);
    const beganMs = clock();
    try {
      const asked = { requestType: "tool_loop", model: request.model, body, timeoutMs, signal: this.#client } as const;
      const onPrepared = (prepared: Prepared): void => {
        this.#asked = prepared;
      };
      return await openSubCall(this.call, request, { ...asked, onPrepared });
    } finally {
      this.#iteration?.set({ model_ms: clock() - beganMs });
    }
  }

  /** The answer has ended: nothing may be started any more. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Ends every wait for a tool, and the sessions at the servers; called whenever the answer ends, in any way. */
  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stop.abort(new ClientGone());
    for (const owner of new Set(this.#work.merged.owners.values())) if (owner.kind === "server") owner.session.close();
    const nowMs = this.call.ports.clock();
    this.#iteration?.end(nowMs);
    this.#span.set({ turns: this.#turn, tools_used: [...this.#used] });
    this.#span.end(nowMs);
  }

  /** Marks the span: a later turn could not be had. */
  failed(): void {
    this.#span.fail();
  }

  #body(last: boolean): JsonObject {
    const { ofClient } = this.#work.merged;
    const { tools: _, tool_choice: choice, parallel_tool_calls: parallel, ...members } = this.#work.members();
    const tools = last ? ofClient : this.#work.merged.all;
    const messages = members["messages"];
    return {
      ...members,
      messages: [...(Array.isArray(messages) ? (messages as readonly unknown[]) : []), ...this.#exchange],
      ...(tools.length === 0 ? {} : { tools }),
      // A forced call would be forced in every turn.
      ...(tools.length === 0 || choice !== "auto" ? {} : { tool_choice: choice }),
      ...(tools.length === 0 || parallel === undefined ? {} : { parallel_tool_calls: parallel }),
    };
  }

  /** The text that the model reads for one call. Throws ClientGone. */
  async #result(one: GatewayToolCall, nth: number): Promise<string> {
    if (nth >= CALLS_MAX) return errorText(`at most ${CALLS_MAX} tools are called at once`);
    const owner = this.#work.merged.owners.get(one.name);
    if (owner === undefined) return errorText("there is no such tool");
    if (owner.kind === "own") return cutResult(await owner.tool.run(one.arguments ?? undefined));
    if (one.arguments === null) return errorText("the arguments are not a JSON object");
    const text = await this.#called(owner, one.name, one.arguments);
    return await guardToolResult(this.call, this.#work.request, text);
  }

  async #called({ session }: ToolOwner & { readonly kind: "server" }, name: string, args: JsonObject): Promise<string> {
    try {
      const result = await withDeadline(
        { request: { signal: this.#client }, interruption: this.call.interruption },
        this.#work.settings.tool_loop_tool_timeout_ms,
        async (deadline) => await session.callTool(name, args, deadline),
      );
      return await inTurns(this.call, resultText(result));
    } catch (error) {
      if (error instanceof ClientGone) throw error;
      const cause = error instanceof ToolServerFailure && error.cause === undefined ? "" : rootCause(error);
      const reason = error instanceof ToolServerFailure ? error.reason : "failed";
      this.call.ports.log.event("tool_failed", {
        request_id: this.call.requestId,
        mcp_server: session.server.name,
        tool: name,
        reason: cause === "" ? reason : `${reason}: ${cause}`,
      });
      if (!(error instanceof ToolServerFailure)) return errorText("the tool could not be called");
      return errorText(error.said === "" ? `the tool server ${sentenceOf(error.reason)}` : error.said);
    }
  }
}

/** A reason as a part of a sentence. */
function sentenceOf(reason: string): string {
  return `did not give a result (${reason})`;
}

function isAsked(options: unknown): boolean {
  return typeof options === "object" && options !== null && (options as JsonObject)["include_usage"] === true;
}
