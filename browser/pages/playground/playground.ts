/**
 * The state of the playground: what was said, and the answers under way. It outlives the page, so that one can look at a request
 * and come back; it is in memory alone and gone with the window.
 */
import { ApiError } from "../../data/api-error.ts";
import { NO_ANSWER } from "./answer.ts";
import { type Exchange, messagesOf, type ToolResult, type Turn, withExchange } from "./conversation.ts";
import { type Api, bodyFor } from "./messages-api.ts";
import type { TypedSettings } from "./request-settings.ts";
import { type CallAs, sendChat } from "./send-chat.ts";

/** With what a request is made. */
export interface Sending {
  readonly as: CallAs;
  readonly api: Api;
  readonly models: readonly string[];
  readonly system: string;
  /** Members of the body besides model and messages. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Called when the console's server, or the gateway, has refused it. */
  readonly onRefused: (error: ApiError) => void;
}

interface PlaygroundState {
  readonly turns: readonly Turn[];
  readonly typed: TypedSettings;
  /** The message that is being written. */
  readonly text: string;
  readonly images: readonly string[];
}

const EMPTY: PlaygroundState = { turns: [], typed: {}, text: "", images: [] };

class Playground {
  #state = EMPTY;
  #lastId = 0;
  readonly #listeners = new Set<() => void>();
  readonly #running = new Map<number, AbortController>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): PlaygroundState => this.#state;

  set(change: Partial<PlaygroundState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  /** A turn of the person, which every model answers. `before`: the turn that it takes the place of, with all after it. */
  say(sending: Sending, text: string, images: readonly string[], before?: number): void {
    const at = this.#state.turns.findIndex(({ id }) => id === before);
    const kept = at === -1 ? this.#state.turns : this.#state.turns.slice(0, at);
    this.stop();
    const turn: Turn = { id: this.#nextId(), text, images, lanes: [] };
    this.set({ turns: [...kept, turn] });
    for (const lane of sending.models.keys()) this.#ask(sending, turn.id, lane, []);
  }

  /** Gives a lane of the last turn the results of its calls. */
  giveResults(sending: Sending, turnId: number, lane: number, results: readonly ToolResult[]): void {
    this.#ask(sending, turnId, lane, results);
  }

  /** Asks the last question of a lane again. */
  retry(sending: Sending, turnId: number, lane: number): void {
    const last = this.#state.turns.find(({ id }) => id === turnId)?.lanes[lane]?.at(-1);
    if (last === undefined) return;
    this.#change(turnId, lane, (exchanges) => exchanges.slice(0, -1));
    this.#ask(sending, turnId, lane, last.results);
  }

  /** Ends what is under way; what is there of answers stays. */
  stop(): void {
    for (const running of this.#running.values()) running.abort();
  }

  /** A new conversation; the settings stay. */
  clear(): void {
    this.stop();
    this.set({ turns: [] });
  }

  #ask(
    { as, api, models, system, members, onRefused }: Sending,
    turnId: number,
    lane: number,
    results: readonly ToolResult[],
  ) {
    const model = models[lane] ?? "";
    const id = this.#nextId();
    const exchange: Exchange = {
      id,
      model,
      tenantId: typeof as === "object" && "tenantId" in as ? as.tenantId : undefined,
      results,
      answer: NO_ANSWER,
      state: "running",
      failure: null,
      sentAtMs: Date.now(),
      firstMs: null,
      totalMs: null,
      headers: null,
    };
    this.#change(turnId, lane, (exchanges) => [...exchanges, exchange]);
    const at = this.#state.turns.findIndex((turn) => turn.id === turnId);
    const messages = messagesOf(system, this.#state.turns.slice(0, at + 1), lane);
    const running = new AbortController();
    const beganMs = performance.now();
    const spent = (): number => performance.now() - beganMs;
    const update = (change: Partial<Exchange> | ((before: Exchange) => Partial<Exchange>)): void =>
      this.set({
        turns: withExchange(this.#state.turns, id, (before) => ({
          ...before,
          ...(typeof change === "function" ? change(before) : change),
        })),
      });
    this.#running.set(id, running);
    sendChat({
      as,
      api,
      body: JSON.stringify(bodyFor(api, { model, messages, ...members })),
      signal: running.signal,
      onHeaders: (headers) => update({ headers }),
      onAnswer: (answer) => update(({ firstMs }) => ({ answer, firstMs: firstMs ?? spent() })),
    })
      .then(
        () => update({ state: "done", totalMs: spent() }),
        (error: unknown) => {
          if (running.signal.aborted) return update({ state: "stopped", totalMs: spent() });
          const known = error instanceof ApiError ? error : new ApiError(0, "unreachable", String(error));
          const { status, code, message } = known;
          update({ state: "failed", totalMs: spent(), failure: { status, code, message } });
          onRefused(known);
        },
      )
      .finally(() => this.#running.delete(id));
  }

  #change(turnId: number, lane: number, change: (exchanges: readonly Exchange[]) => readonly Exchange[]): void {
    this.set({
      turns: this.#state.turns.map((turn) => {
        if (turn.id !== turnId) return turn;
        const lanes = [...turn.lanes];
        for (let nth = lanes.length; nth <= lane; nth += 1) lanes.push([]);
        lanes[lane] = change(lanes[lane] ?? []);
        return { ...turn, lanes };
      }),
    });
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

/** That of this window. */
export const playground: Playground = new Playground();
