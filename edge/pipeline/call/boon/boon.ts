/**
 * A boon for the pipeline: one change of a chat completion before it goes upstream, and perhaps of its answer
 * (docs/rules/boons.md). run-boons.ts runs them.
 */
import type { BoonsValue } from "../../../../shared/schema/settings/boons.ts";
import type { Call } from "../context.ts";
import type { BoonReport, Prepared } from "../known.ts";
import type { AnswerStage } from "./answer-stage.ts";
import type { RequestDraft } from "./request-draft.ts";

/** The input of a boon: a request that has a slot and has not been sent. */
export interface BoonWork {
  readonly call: Call;
  readonly request: Prepared;
  readonly settings: BoonsValue;
  readonly draft: RequestDraft;
  /** The client's choice in `x-gateway-boons` (docs/rules/headers.md#directive). */
  readonly directive: { readonly lossy: boolean };
  /** Tools that the tool loop adds to the request and the gateway answers itself; a boon before it pushes its own. */
  readonly ownTools: OwnTool[];
}

/** A tool of the gateway, for one request (docs/rules/boons.md#own-tools). */
export interface OwnTool {
  /** The entry of `tools` for the upstream. Its name is not among the client's tools. */
  readonly definition: {
    readonly type: "function";
    readonly function: {
      readonly name: string;
      readonly description: string;
      readonly parameters: Readonly<Record<string, unknown>>;
    };
  };
  /**
   * The result of a call, as the text of a tool message; `args` is the parsed value that the model sent, of any type. Never
   * throws: a failure is a text that starts with `error: `.
   */
  run(args: unknown): Promise<string>;
}

/** The result of a boon. */
export interface BoonEffect {
  /** It has changed the request, or will change the answer. */
  readonly applied: boolean;
  readonly warnings: readonly string[];
  /** What happens to a 2xx answer; null: nothing. */
  readonly answer: AnswerStage | null;
  readonly compression?: NonNullable<BoonReport["compression"]>;
}

export interface Boon {
  readonly name: "vision" | "compression" | "tool_loop" | "structured_output";
  /**
   * Changes the draft. Null: it does not apply to this request. May throw: the draft is restored then, and the request
   * continues without this boon. ClientGone ends the request.
   */
  apply(work: BoonWork): Promise<BoonEffect | null>;
}
