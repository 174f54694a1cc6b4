/**
 * What the assistant of the console tells a page, event by event (docs/rules/assistant.md#answers). Types only: a page takes
 * an answer of its own server for what it says.
 */

/** A tool of the assistant as settings show it. */
interface AssistantTool {
  readonly name: string;
  /** What it does, in one sentence. */
  readonly title: string;
  readonly method: string;
  /** Of the Management API, with `{name}` for parameters. */
  readonly path: string;
  readonly writes: boolean;
  readonly enabled: boolean;
}

/** Whether the assistant can be asked, and if not why. */
export interface AssistantState {
  readonly enabled: boolean;
  readonly brain_model: string | null;
  readonly ready: boolean;
  readonly reason: "disabled" | "no_model" | "model_missing" | null;
  readonly tools: readonly AssistantTool[];
}

/** One field that a change sets; texts are JSON. */
export interface AssistantChange {
  readonly field: string;
  /** Null: not known, or there is none yet. */
  readonly from: string | null;
  /** The name, as JSON, of the object whose id `from` is; null: it is no id, or the object is not there. */
  readonly from_name: string | null;
  /** What it will be, whatever the call says of it. */
  readonly to: string;
  /** As `from_name`, of `to`. */
  readonly to_name: string | null;
  /** The call does not name it: it gets its default because of that. */
  readonly isDefault: boolean;
  /** The call does not name it: it changes because of what it names. */
  readonly follows: boolean;
}

/** A write that a person may run once, exactly as it stands here. */
export interface AssistantProposal {
  readonly id: string;
  /** Runs it; of no use to another session or person. */
  readonly token: string;
  readonly method: string;
  /** Of the Management API, with everything filled in. */
  readonly path: string;
  /** JSON; null: none. */
  readonly body: string | null;
  /** What the route does, in words of the gateway's own. */
  readonly summary: string;
  /** The name of what is changed, as JSON; null: not known, or something new. */
  readonly object: string | null;
  /** Its id, or what the path has in its place; null: there is none. */
  readonly object_id: string | null;
  /** The name of what that belongs to, as JSON; null: not known, or to nothing. */
  readonly parent: string | null;
  readonly parent_id: string | null;
  readonly changes: readonly AssistantChange[];
  /** True: there is no way back. */
  readonly isFinal: boolean;
  readonly expires_at: string;
}

/** What a page is told while the assistant answers. */
export type AssistantEvent =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly title: string;
      readonly method: string;
      readonly path: string;
    }
  | { readonly kind: "result"; readonly id: string; readonly ok: boolean; readonly text: string }
  | { readonly kind: "proposal"; readonly proposal: AssistantProposal }
  /** The end, after everything else; the history goes into the next question. */
  | { readonly kind: "done"; readonly history: readonly unknown[]; readonly stopped: AssistantStop | null }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/** Why an answer ended before the model had finished. */
export type AssistantStop = "turns" | "tokens" | "time" | "size";

/** What came of a proposal that was run. */
export interface AssistantRun {
  readonly status: number;
  /** The answer as JSON, indented; blank: there is none. */
  readonly answer: string;
  /** Stored, and still on its way to the cells. */
  readonly pending: boolean;
}

/** What a proposal would have changed is not any more what the person was shown: the same call with its effect now. */
export interface AssistantOutdated {
  readonly outdated: AssistantProposal;
}

/**
 * What is known later of a proposal that was to be run. `unknown`: it was begun and no answer was kept, because the console's
 * server ended meanwhile or the Management API did not answer; it may have happened.
 */
export type AssistantOutcome =
  | { readonly state: "not_run" | "running" | "unknown" }
  | { readonly state: "answered"; readonly status: number };
