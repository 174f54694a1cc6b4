/** A conversation with the assistant as the page shows it. Pure. */
import type {
  AssistantEvent,
  AssistantOutcome,
  AssistantProposal,
  AssistantRun,
  AssistantStop,
} from "../../../shared/wire/assistant.ts";

/** What has become of a proposal. */
type ProposalState =
  /** `unknown`: it was run and no answer came: it may have happened. */
  | { readonly is: "open" | "running" | "dismissed" | "unknown" }
  /** Open, and not what the person was shown before. */
  | { readonly is: "outdated"; readonly shown: AssistantProposal }
  | { readonly is: "answered"; readonly run: AssistantRun }
  | { readonly is: "failed"; readonly error: { readonly code: string; readonly message: string } };

export type Entry =
  | { readonly kind: "question"; readonly text: string }
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly title: string;
      readonly method: string;
      readonly path: string;
      /** What was read; null: not yet. */
      readonly result: { readonly ok: boolean; readonly text: string } | null;
    }
  | { readonly kind: "proposal"; readonly proposal: AssistantProposal; readonly state: ProposalState }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "stopped"; readonly why: AssistantStop | "person" };

export interface Conversation {
  readonly entries: readonly Entry[];
  /** Goes into the next question, as the server gave it. */
  readonly history: readonly unknown[];
}

export const NO_CONVERSATION: Conversation = { entries: [], history: [] };

/** With one more entry at its end. */
export function withEntry({ entries, history }: Conversation, entry: Entry): Conversation {
  return { entries: [...entries, entry], history };
}

/** With an event of the answer. */
export function withEvent(before: Conversation, event: AssistantEvent): Conversation {
  const { entries, history } = before;
  const last = entries.at(-1);
  switch (event.kind) {
    case "text":
      if (last?.kind !== "text") return withEntry(before, { kind: "text", text: event.text });
      return { history, entries: [...entries.slice(0, -1), { kind: "text", text: last.text + event.text }] };
    case "call":
      return withEntry(before, { ...event, result: null });
    case "result":
      return {
        history,
        entries: entries.map((entry) =>
          entry.kind === "call" && entry.id === event.id && entry.result === null
            ? { ...entry, result: { ok: event.ok, text: event.text } }
            : entry,
        ),
      };
    case "proposal":
      return withEntry(before, { kind: "proposal", proposal: event.proposal, state: { is: "open" } });
    case "done": {
      const done = { entries, history: event.history };
      return event.stopped === null ? done : withEntry(done, { kind: "stopped", why: event.stopped });
    }
    case "failed":
      return withEntry(before, { kind: "failed", code: event.code, message: event.message });
  }
}

/** With a proposal in another state; `told`: what the model learns of it with the next question. */
export function withProposal(before: Conversation, id: string, state: ProposalState, told?: string): Conversation {
  return {
    entries: before.entries.map((entry) =>
      entry.kind === "proposal" && entry.proposal.id === id ? { ...entry, state } : entry,
    ),
    history: told === undefined ? before.history : [...before.history, { role: "user", content: told }],
  };
}

/** With a proposal as it is now in the place of one that was shown, and not run because it was outdated. */
export function withOutdated(before: Conversation, id: string, proposal: AssistantProposal): Conversation {
  return {
    history: before.history,
    entries: before.entries.map((entry) =>
      entry.kind === "proposal" && entry.proposal.id === id
        ? { kind: "proposal", proposal, state: { is: "outdated", shown: entry.proposal } }
        : entry,
    ),
  };
}

/** What is another one than when a proposal was shown. Texts are JSON; null: there was, or is, none. */
interface Difference {
  readonly what: { readonly is: "field"; readonly field: string } | { readonly is: "object" | "parent" };
  readonly was: string | null;
  readonly now: string | null;
}

/** Where a proposal differs from the same one as it was shown before. Empty: in parts of values that are not shown. */
export function differences(shown: AssistantProposal, now: AssistantProposal): readonly Difference[] {
  const named = (value: string | null, name: string | null): string | null =>
    name === null ? value : `${value} ${name}`;
  const values = ({ changes }: AssistantProposal) =>
    new Map(changes.map(({ field, from, from_name }) => [field, named(from, from_name)]));
  const targets = ({ changes }: AssistantProposal) =>
    new Map(changes.map(({ field, to, to_name }) => [field, named(to, to_name)]));
  const compared = (what: Difference["what"], was: string | null, is: string | null): readonly Difference[] =>
    was === is ? [] : [{ what, was, now: is }];
  const [before, after] = [values(shown), values(now)];
  // A field that is left out of one of them had, or has, the value already that it would get.
  const valueIn = (froms: typeof before, field: string, others: typeof before): string | null =>
    (froms.has(field) ? froms.get(field) : others.get(field)) ?? null;
  return [
    ...compared({ is: "object" }, named(shown.object, shown.object_id), named(now.object, now.object_id)),
    ...compared({ is: "parent" }, named(shown.parent, shown.parent_id), named(now.parent, now.parent_id)),
    ...[...new Set([...before.keys(), ...after.keys()])].flatMap((field) =>
      compared({ is: "field", field }, valueIn(before, field, targets(now)), valueIn(after, field, targets(shown))),
    ),
  ];
}

/** The state of a proposal whose answer was lost, from what is known of it now. */
export function stateOf(outcome: AssistantOutcome): ProposalState {
  if (outcome.state === "not_run") return { is: "open" };
  if (outcome.state !== "answered") return { is: outcome.state };
  return { is: "answered", run: { status: outcome.status, answer: "", pending: false } };
}

/** The proposals whose answer is not known: they run, or it was lost. */
export function unanswered({ entries }: Conversation, state: "running" | "unknown"): readonly AssistantProposal[] {
  return entries.flatMap((entry) => (entry.kind === "proposal" && entry.state.is === state ? [entry.proposal] : []));
}

/** With nothing under way any more. */
export function ended({ entries, history }: Conversation): Conversation {
  return {
    history,
    entries: entries.map((entry) =>
      entry.kind === "call" && entry.result === null ? { ...entry, result: { ok: false, text: "" } } : entry,
    ),
  };
}

/** As it is kept while the page is away: ended, and without what runs answered, which may hold a secret. */
export function atRest(conversation: Conversation): Conversation {
  const { entries, history } = ended(conversation);
  return {
    history,
    entries: entries.map((entry) =>
      entry.kind === "proposal" && entry.state.is === "answered"
        ? { ...entry, state: { is: "answered", run: { ...entry.state.run, answer: "" } } }
        : entry,
    ),
  };
}

/** The text of the newest question; null: there is none. */
export function lastQuestion({ entries }: Conversation): string | null {
  const question = entries.findLast((entry) => entry.kind === "question");
  return question?.kind === "question" ? question.text : null;
}
