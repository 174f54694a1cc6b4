/**
 * How far the upstream calls of one request have come. Only forward and relay write it, while attempts are under way;
 * all others see it as {@link UpstreamState}.
 */
import { countOutcome, type UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { Target } from "../../domain/upstream/endpoint-order.ts";
import type { UpstreamState } from "../call/known.ts";

export class UpstreamProgress implements UpstreamState {
  readonly outcomes: UpstreamOutcomes = {};
  #calledMs: number | null = null;
  #model: UpstreamState["model"] = null;
  #underWay = false;
  #status = 0;
  #endpoint = "";
  #apiBase = "";

  get calledMs(): number | null {
    return this.#calledMs;
  }

  get model(): UpstreamState["model"] {
    return this.#model;
  }

  get underWay(): boolean {
    return this.#underWay;
  }

  get status(): number {
    return this.#status;
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  get apiBase(): string {
    return this.#apiBase;
  }

  /** An attempt at this upstream starts; nothing has been sent yet. */
  begin({ name, apiBase }: Pick<Target, "name" | "apiBase">): void {
    this.#endpoint = name;
    this.#apiBase = apiBase;
  }

  /** The attempt is sent to an upstream of this model. */
  sent(model: UpstreamState["model"], nowMs: number): void {
    this.#calledMs ??= nowMs;
    this.#model = model;
    this.#underWay = true;
  }

  /** The headers of an answer are here. */
  answered(status: number): void {
    this.#status = status;
  }

  /** The upstream has ended the attempt, with an answer or without one. */
  end(): void {
    this.#underWay = false;
  }

  count(outcome: keyof UpstreamOutcomes): void {
    countOutcome(this.outcomes, outcome);
  }
}
