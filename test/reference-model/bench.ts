/** Runs calls against a gateway and keeps what became of them, and of the parts that were stopped or killed meanwhile. */
import { setTimeout as pause } from "node:timers/promises";
import { sendCall } from "./client.ts";
import type { Call, Done, Got } from "./facts.ts";
import type { ModelUpstream } from "./upstream.ts";

/**
 * What a part that was away may have cost. `refusals`: answers are true, but some calls are refused or cut off. `rows`: calls that
 * ran, or ended shortly before, are lost requests.
 */
export type FaultCost = "nothing" | "refusals" | "rows";

interface Fault {
  readonly name: string;
  readonly cost: FaultCost;
  readonly fromMs: number;
  untilMs: number;
}

/** What ended less than a second before a crash may be lost (docs/rules/settlement-and-rows.md#custody). */
const PROMISED_AFTER_MS = 1_500;
/** A store that did not answer is left alone for 1 s, and then asked once more for up to 2 s (docs/rules/freshness.md#store-down). */
const REFUSED_AFTER_MS = 3_500;

export class Bench {
  readonly faults: Fault[] = [];
  readonly #proxyUrl: string;
  readonly #upstream: ModelUpstream;
  readonly #ended: { readonly call: Call; readonly got: Got }[] = [];

  constructor(proxyUrl: string, upstream: ModelUpstream) {
    this.#proxyUrl = proxyUrl;
    this.#upstream = upstream;
  }

  get calls(): number {
    return this.#ended.length;
  }

  async call(call: Call): Promise<Done> {
    this.#upstream.expect(call);
    const got = await sendCall(this.#proxyUrl, call);
    this.#ended.push({ call, got });
    return this.#done(call, got);
  }

  /** Sends calls one after another from so many clients. */
  async each(calls: readonly Call[], clients: number): Promise<void> {
    const left = [...calls];
    const client = async (): Promise<void> => {
      for (let call = left.shift(); call !== undefined; call = left.shift()) await this.call(call);
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  /** Sends calls one `gapMs` after another, whatever became of those before. */
  async arriving(calls: readonly Call[], gapMs: number): Promise<void> {
    const running: Promise<Done>[] = [];
    for (const call of calls) {
      running.push(this.call(call));
      await pause(gapMs);
    }
    await Promise.all(running);
  }

  async during(name: string, cost: FaultCost, away: () => Promise<void>): Promise<void> {
    const fault = { name, cost, fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
    this.faults.push(fault);
    await away();
    fault.untilMs = Date.now();
  }

  /** Every call so far. */
  done(): readonly Done[] {
    return this.#ended.map(({ call, got }) => this.#done(call, got));
  }

  #done(call: Call, got: Got): Done {
    const near = (afterMs: number): readonly Fault[] =>
      this.faults.filter(
        ({ fromMs, untilMs }) => got.startMs <= untilMs + afterMs && got.endMs >= fromMs - PROMISED_AFTER_MS,
      );
    const isAnswered = got.whole && got.status !== null && got.status < 400;
    const isLost = near(PROMISED_AFTER_MS).some(({ cost }) => cost === "rows");
    const isRefused = !isAnswered && near(REFUSED_AFTER_MS).some(({ cost }) => cost === "refusals");
    return {
      call,
      got,
      served: this.#upstream.served(call.id),
      isNearFault: near(PROMISED_AFTER_MS).length > 0,
      isDisturbed: isLost || isRefused,
    };
  }
}
