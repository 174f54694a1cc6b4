/**
 * The events of an answer of the console's assistant for a page (docs/rules/assistant.md#answers). Types only: a page trusts
 * the answers of its own server.
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

/** Whether the assistant is available, and if not, why. */
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
  /** Null: unknown, or there is none yet. */
  readonly from: string | null;
  /** The name, as JSON, of the object whose id is `from`; null: it is not an id, or the object does not exist. */
  readonly from_name: string | null;
  /** The value after the change, whatever the call says of it. */
  readonly to: string;
  /** As `from_name`, of `to`. */
  readonly to_name: string | null;
  /** The call does not name it: it gets its default because of that. */
  readonly isDefault: boolean;
  /** The call does not name it: it changes as a result of another field. */
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
  /** What the route does, in the gateway's own words. */
  readonly summary: string;
  /** The name of the changed object, as JSON; null: unknown, or a new object. */
  readonly object: string | null;
  /** Its id, or the value in its place in the path; null if there is none. */
  readonly object_id: string | null;
  /** The name of the object that it belongs to, as JSON; null: unknown, or none. */
  readonly parent: string | null;
  readonly parent_id: string | null;
  readonly changes: readonly AssistantChange[];
  /** True: the change cannot be undone. */
  readonly isFinal: boolean;
  readonly expires_at: string;
}

/** The messages to a page while the assistant answers. */
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

/** The outcome of a proposal that was run. */
export interface AssistantRun {
  readonly status: number;
  /** The answer as JSON, indented; blank if there is none. */
  readonly answer: string;
  /** Stored, and still on its way to the cells. */
  readonly pending: boolean;
}

/** What a proposal would have changed is not any more what the person was shown: the same call with its effect now. */
export interface AssistantOutdated {
  readonly outdated: AssistantProposal;
}

/**
 * The later knowledge about a proposal that was to be run. `unknown`: it was started and no answer was kept, because the
 * console's server ended meanwhile or the Management API did not answer; it may have happened.
 */
export type AssistantOutcome =
  | { readonly state: "not_run" | "running" | "unknown" }
  | { readonly state: "answered"; readonly status: number };
