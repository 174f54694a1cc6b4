/**
 * The responses of a realtime session (docs/rules/realtime.md#slot-and-rows): each is requested or started by its upstream,
 * runs, and is settled once, like everything else that the upstream reports usage for.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { NewestById } from "../../domain/cell/recent-ids.ts";
import { textOf } from "../../domain/dialect/values.ts";
import { refusedIdOf } from "../../domain/realtime/event-ids.ts";
import {
  failedResponse,
  isOfClient,
  mayShowAnswer,
  type RealtimeEvent,
  responseIdOf,
  transcribedPart,
} from "../../domain/realtime/realtime-events.ts";
import { endUserOf } from "../../domain/request/attribution.ts";
import { withOutput } from "../../domain/request/token-estimate.ts";
import { type BilledTokens, NOTHING_BILLED } from "../../domain/usage/billing.ts";
import { isJsonObject, type JsonObject, jsonObjectOf, wholeDocument } from "../../domain/wire/json/document.ts";
import type { Reload } from "../admit/admit.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { changesAnswers, guardsOf } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import { BlockedItems } from "./blocked-items.ts";
import { Conversation } from "./conversation.ts";
import { type GuardedEvents, guardedEvents, guardRefusal } from "./guard-event.ts";
import type { Message } from "./message-queue.ts";
import { writtenMessage } from "./parsed-message.ts";
import { callOnSession, type OpenSession, ResponseCall } from "./response-call.ts";

/** How many ids of charges are remembered. */
const CHARGED_MAX = 256;

/** Of how many items it is remembered to which response they belong, and how much of their ids. */
const ITEMS_MAX = 1_024;
const ITEM_CHARACTERS = 128;

/** The dependencies of a response on its session. */
export interface SessionOfResponses {
  readonly call: Call;
  readonly request: OpenSession;
  readonly reload: Reload;
  readonly hasEnded: boolean;
  /** Sends a message, unless the session has ended. */
  send(to: "client" | "upstream", message: Message): void;
  /** Reports an error to the client. */
  tell(error: GatewayError): void;
  /** Tells the client that one event was refused. Throws every other failure. */
  refuse(error: unknown): void;
  /** Reads the current caller and its policy. Throws a refusal of the caller. */
  readCaller(): Promise<void>;
}

/** A response that its upstream makes. */
interface Underway {
  readonly response: ResponseCall;
  /** Null: none of it is examined. */
  guarded: GuardedEvents | null;
  /** Why its client gets no more of it; null: it gets all. */
  refusal: GatewayError | null;
}

export class SessionResponses {
  readonly conversation: Conversation;
  readonly #session: SessionOfResponses;
  readonly #blocked: BlockedItems;
  /** Responses that have ended, and transcripts. */
  readonly #charged = new NewestById<true>(CHARGED_MAX);
  /** The responses that items belong to, by item. */
  readonly #ofItems = new NewestById<string>(ITEMS_MAX);
  /** Responses that the client has asked for, by the id of its event, in their order. */
  readonly #asked = new Map<string, ResponseCall>();
  readonly #underway = new Map<string, Underway>();

  constructor(session: SessionOfResponses) {
    this.#session = session;
    this.conversation = new Conversation(session.call);
    this.#blocked = new BlockedItems(() => session.call.ports.random.uuid());
  }

  /** Sends the event that asks for a response, once that has reserved its budgets. */
  async ask(event: RealtimeEvent, id: string): Promise<void> {
    const text = await writtenMessage(this.#session.call, event);
    const response = await this.#reserve(jsonObjectOf(event["response"]), true);
    if (this.#session.hasEnded) return response.notBegun(new ClientGone());
    this.#session.send("upstream", text);
    if (this.#session.hasEnded) response.notBegun(new GatewayError("realtime_backlog"));
    else this.#asked.set(id, response);
  }

  /** Whether an event belongs to a response that is under way. */
  runs(event: RealtimeEvent): boolean {
    return this.#underway.has(responseIdOf(event) ?? "");
  }

  /** A response starts: a requested one, or the upstream's answer to audio that it received. */
  async begun(event: RealtimeEvent): Promise<void> {
    const id = responseIdOf(event) ?? "";
    if (this.#underway.has(id)) return;
    this.#charged.delete(id);
    const response = this.#longestAsked() ?? (await this.#reserve(null, false));
    if (this.#session.hasEnded) return response.broken(new ClientGone());
    this.#begin(id, response);
  }

  /** The upstream refuses an event. Returns whether it is one of the client. Throws what ends the session. */
  refused(event: RealtimeEvent): boolean {
    const id = refusedIdOf(event);
    if (id === null) {
      if (this.#asked.size > 0) this.conversation.doubted();
      return true;
    }
    if (this.#blocked.isOwn(id)) return false;
    const asked = this.#asked.get(id);
    asked?.notBegun(new GatewayError("upstream_failed"));
    if (asked) this.#left(asked, "failed", NOTHING_BILLED);
    this.#asked.delete(id);
    this.conversation.refused(id);
    return true;
  }

  /** The upstream has deleted an item. */
  deleted(event: RealtimeEvent): void {
    this.#blocked.deleted(event);
  }

  /** An event is passed on to the client, as an event of its response. */
  async pass(event: RealtimeEvent, text: string): Promise<void> {
    const id = event.type === "response.done" ? await this.#ended(event, text) : (responseIdOf(event) ?? "");
    const its = this.#underway.get(id);
    if (its !== undefined) await inTurns(this.#session.call, its.response.saw(event, text));
    const of = its === undefined && mayShowAnswer(event) ? ([...this.#underway.keys()].at(-1) ?? "") : id;
    const { guarded = null } = this.#underway.get(of) ?? {};
    if (guarded !== null) {
      this.#checkItem(event, of);
      await guarded.push(text);
    } else if (its === undefined && mayShowAnswer(event)) await this.#late(event, text);
    else this.#show(its, text);
    if (event.type === "response.done" && its !== undefined) await this.#done(id, its, event);
  }

  /** Clients join the pieces of an item, and each response is examined alone. Throws if an item has pieces of two. */
  #checkItem({ type, item_id, item }: RealtimeEvent, response: string): void {
    const key = textOf(item_id ?? jsonObjectOf(item)?.["id"]).slice(0, ITEM_CHARACTERS);
    if (key === "" || !type.startsWith("response.")) return;
    const guards = guardsOf(this.#session.request.principal.tenant, "output");
    const isKept = guards?.action !== "log_only" && guards?.failOpen === false;
    if (isKept && (this.#ofItems.get(key) ?? response) !== response)
      throw new GatewayError("content_policy_unavailable");
    this.#ofItems.set(key, response);
  }

  /** The shown content was blocked: no response that could use it may continue. Throws the refusal if that is impossible. */
  block(event: RealtimeEvent, refusal: GatewayError): void {
    this.#session.tell(refusal);
    this.#session.send("upstream", JSON.stringify(this.#blocked.block(event, refusal)));
    for (const [id, its] of this.#underway) this.#cancel(id, its, refusal);
  }

  /** Another model of the upstream has transcribed the client's audio, and may report its usage. */
  async transcribed(event: RealtimeEvent): Promise<void> {
    const part = transcribedPart(event);
    const { input_tokens: tokens, seconds } = jsonObjectOf(event["usage"]) ?? {};
    const kind = typeof tokens === "number" ? "tokens" : typeof seconds === "number" ? "seconds" : null;
    if (part === null || kind === null || (part !== "" && !this.#isNew(part))) return;
    await this.#charge(event, await writtenMessage(this.#session.call, event), "completed", kind);
  }

  /** The session has ended before them: their upstream may have started the requested ones. */
  broken(failure: GatewayError | ClientGone): void {
    for (const asked of this.#asked.values()) asked.broken(failure);
    for (const { response, guarded } of this.#underway.values()) {
      guarded?.end().catch(() => undefined);
      response.broken(failure);
    }
    this.#underway.clear();
  }

  /** Throws what refuses the response. */
  async #reserve(settings: JsonObject | null, isAsked: boolean): Promise<ResponseCall> {
    if (this.#asked.size + this.#underway.size >= LIMITS.realtimeResponses) throw new GatewayError("realtime_backlog");
    const estimate = await this.conversation.estimateFor(settings);
    const { call, request, reload } = this.#session;
    const endUser = endUserOf(wholeDocument(settings ?? {})) || request.endUser;
    const turn = this.conversation.begun(settings, isAsked);
    try {
      return await ResponseCall.reserve(call, { ...request, endUser }, { estimate, turn }, reload);
    } catch (error) {
      this.conversation.ended(turn, "failed", NOTHING_BILLED);
      throw error;
    }
  }

  #begin(id: string, response: ResponseCall): void {
    const its: Underway = { response, guarded: null, refusal: null };
    its.guarded = guardedEvents(response, (text) => this.#show(its, text));
    this.#underway.set(id, its);
    const { refusal } = this.#blocked;
    if (refusal !== null) this.#cancel(id, its, refusal);
  }

  #cancel(id: string, its: Underway, refusal: GatewayError): void {
    if (its.refusal !== null) return;
    its.refusal = refusal;
    this.#session.send("upstream", JSON.stringify(this.#blocked.cancelling(id)));
  }

  /** An event of a response, or of none. */
  #show(its: Underway | undefined, text: string): void {
    if ((its?.refusal ?? null) === null) this.#session.send("client", text);
  }

  /** The oldest requested response that has not started; it has started now. */
  #longestAsked(): ResponseCall | null {
    const [asked] = this.#asked;
    if (asked === undefined) return null;
    this.#asked.delete(asked[0]);
    return asked[1];
  }

  /** Whether the item with this id was not charged yet; now it is. */
  #isNew(id: string): boolean {
    const isNew = !this.#charged.has(id);
    this.#charged.set(id, true);
    return isNew;
  }

  /** The id of the finished response, of those under way. One that never started is charged too, but no id twice. */
  async #ended(event: RealtimeEvent, text: string): Promise<string> {
    const given = responseIdOf(event);
    if (given !== null && !this.#isNew(given)) return given;
    const [oldest] = given === null ? this.#underway.keys() : [""];
    const id = given !== null && this.#underway.has(given) ? given : (oldest ?? "");
    if (this.#underway.has(id)) return id;
    const asked = this.#longestAsked();
    const { usage, status } = jsonObjectOf(event["response"]) ?? {};
    if (asked !== null) this.#begin(id, asked);
    else if (isJsonObject(usage)) await this.#charge(event, text, status, "tokens");
    return id;
  }

  async #done(id: string, its: Underway, event: RealtimeEvent): Promise<void> {
    const ofAnswer = await guardRefusal(its.guarded);
    const refusal = its.refusal ?? ofAnswer;
    // the client already got the refusal of its own words
    if (its.refusal === null && ofAnswer !== null) this.#session.tell(ofAnswer);
    if (refusal !== null)
      this.#session.send("client", await writtenMessage(this.#session.call, failedResponse(event, refusal.code)));
    const status = jsonObjectOf(event["response"])?.["status"];
    if (this.#underway.delete(id))
      this.#left(its.response, status, its.response.done(status, refusal, its.refusal !== null));
  }

  #left({ turn }: ResponseCall, status: unknown, billed: BilledTokens): void {
    if (turn !== null) this.conversation.ended(turn, status, billed);
  }

  /** An event that may show an answer while no response is under way. What would continue in another one is not passed on. */
  async #late(event: RealtimeEvent, text: string): Promise<void> {
    if (isOfClient(event)) return this.#session.send("client", text);
    try {
      await this.#session.readCaller();
    } catch (error) {
      return this.#session.refuse(error);
    }
    const { call, request } = this.#session;
    if (!changesAnswers(request.principal.tenant)) return this.#session.send("client", text);
    if (event.type.endsWith(".delta")) return;
    const written = await writtenMessage(this.#session.call, event);
    const send = (passed: string): void => this.#session.send("client", passed);
    const guarded = guardedEvents({ call: { ...callOnSession(call), reservesJudgement: true }, request }, send);
    await guarded?.push(written);
    const refusal = await guardRefusal(guarded);
    if (refusal !== null) this.#session.refuse(refusal);
  }

  /** Charges unasked work of the upstream. Throws if the budgets do not cover it. */
  async #charge(event: RealtimeEvent, text: string, status: unknown, kind: "tokens" | "seconds"): Promise<void> {
    const { call, request, reload } = this.#session;
    // a duration reserves like a separate transcription does
    const estimate =
      kind === "tokens"
        ? withOutput(this.conversation.inputTokens, { limitTokens: null, answers: 1 })
        : withOutput(0, { limitTokens: 0, answers: 1 });
    const expected = { estimate, measure: { kind } };
    const { response, refusal } = await ResponseCall.unasked(call, request, expected, reload);
    try {
      await inTurns(call, response.saw(event, text));
    } finally {
      response.done(status);
    }
    if (refusal !== null) throw refusal;
  }
}
