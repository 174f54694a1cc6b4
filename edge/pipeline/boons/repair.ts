/** Repairs a text that is not the requested JSON: a model gets the text and its fault (docs/rules/boons.md#structured-output). */
import type { ModelRecord } from "../../../shared/records.ts";
import { choiceTextsOf } from "../../domain/json-schema/check-completion.ts";
import { checkText } from "../../domain/json-schema/check-value.ts";
import { type RequestedFormat, repairPrompt } from "../../domain/json-schema/requested-format.ts";
import type { BoonWork } from "../call/boon/boon.ts";
import { ClientGone } from "../call/client-gone.ts";
import { inTurns } from "../call/in-turns.ts";
import { withSpan } from "../call/report/spans.ts";
import { currentModel, subCall } from "../sub-call.ts";

/** A text and its fault. */
interface BrokenText {
  readonly text: string;
  readonly problems: readonly string[];
}

/** Tokens that a repair may have beyond those of the text. */
const MORE_TOKENS = 256;

/** The required result of a repair. */
interface RepairGoal {
  readonly format: RequestedFormat;
  /** The client's `response_format`. */
  readonly asked: unknown;
  /** The output tokens of the answer that is repaired, as its upstream reports them; null: it does not. */
  readonly answerTokens: number | null;
}

/** Repairs texts of one answer. */
export class Repairer {
  readonly #work: BoonWork;
  readonly #goal: RepairGoal;

  constructor(work: BoonWork, goal: RepairGoal) {
    this.#work = work;
    this.#goal = goal;
  }

  /**
   * The repaired JSON of each text, all at once; null: it could not be repaired within the attempts of the settings. Throws
   * ClientGone.
   */
  async repairAll(broken: readonly BrokenText[]): Promise<readonly (string | null)[]> {
    return await withSpan(this.#work.call, "boon:structured_repair", async (span) => {
      const fixer = await this.#fixer();
      // Every call has ended before this returns or throws.
      const ended = await Promise.allSettled(broken.map(async (text) => await this.#repair(text, fixer)));
      for (const end of ended) if (end.status === "rejected") throw end.reason;
      const repaired = ended.map((end) => (end.status === "fulfilled" ? end.value : null));
      const count = repaired.filter((text) => text !== null).length;
      span.set({ texts: broken.length, repaired: count, model: fixer.model_name });
      if (count < broken.length) span.fail();
      return repaired;
    });
  }

  /** The model that is set for repairs, else the request's own. */
  async #fixer(): Promise<ModelRecord> {
    const { call, request, settings } = this.#work;
    const name = settings.structured_output_fixer_model;
    const found = name === null ? null : await currentModel(call, name).catch(() => null);
    return found ?? request.model;
  }

  /** Each attempt starts with the result of the one before. */
  async #repair(first: BrokenText, fixer: ModelRecord): Promise<string | null> {
    let broken = first;
    for (let left = this.#work.settings.structured_output_max_repair_attempts; left > 0; left -= 1) {
      const text = await this.#ask(broken, fixer);
      if (text === null) continue;
      const { call } = this.#work;
      const checked = await inTurns(call, checkText(text, this.#goal.format, call.ports.validateSchema));
      if (checked.kind === "valid") return checked.text;
      broken = { text, problems: checked.problems };
    }
    return null;
  }

  /**
   * About as many as the answer had, and never less than its text can have: a model that repeats itself would continue until
   * the timeout.
   */
  #maxTokens(text: string): number {
    const stated = this.#work.request.estimate.statedOutputTokens ?? Number.POSITIVE_INFINITY;
    return Math.max(1, Math.min(stated, Math.max(this.#goal.answerTokens ?? 0, text.length) + MORE_TOKENS));
  }

  /** The model's answer; null if it is unusable. Throws ClientGone. */
  async #ask({ text, problems }: BrokenText, model: ModelRecord): Promise<string | null> {
    const { call, request, settings } = this.#work;
    const messages = [{ role: "user", content: repairPrompt(text, problems, this.#goal.format) }];
    const format = model.supports.response_schema ? { response_format: this.#goal.asked } : {};
    const timeoutMs = settings.structured_output_timeout_ms;
    const asked = {
      requestType: "structured_output_boon",
      model,
      body: { messages, temperature: 0, max_tokens: this.#maxTokens(text), ...format },
      timeoutMs,
    } as const;
    try {
      const answer = await subCall(call, request, asked);
      if (answer.kind !== "answered" || answer.status !== 200) return null;
      const said = choiceTextsOf(answer.value)?.[0];
      return said?.kind === "text" ? said.text : null;
    } catch (error) {
      if (error instanceof ClientGone) throw error;
      return null;
    }
  }
}
