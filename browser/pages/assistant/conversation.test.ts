/** What a page shows of an answer (docs/rules/assistant.md#answers). */
import { describe, expect, it } from "vitest";
import type { AssistantEvent, AssistantProposal } from "../../../shared/wire/assistant.ts";
import {
  atRest,
  differences,
  ended,
  lastQuestion,
  NO_CONVERSATION,
  stateOf,
  unanswered,
  withEntry,
  withEvent,
  withOutdated,
  withProposal,
} from "./conversation.ts";

const proposal = { id: "p", method: "DELETE", path: "/api/v1/tenants/x" } as AssistantProposal;
const told = (...events: readonly AssistantEvent[]) =>
  events.reduce(withEvent, withEntry(NO_CONVERSATION, { kind: "question", text: "q" }));

it("puts pieces of text together, and results to their calls", () => {
  const call = { kind: "call", id: "c", title: "List", method: "GET", path: "/api/v1/tenants" } as const;
  const { entries, history } = told(
    { kind: "text", text: "I " },
    { kind: "text", text: "look" },
    call,
    { kind: "result", id: "c", ok: true, text: "{}" },
    { kind: "text", text: "Two." },
    { kind: "done", history: [1], stopped: "turns" },
  );
  expect(entries).toEqual([
    { kind: "question", text: "q" },
    { kind: "text", text: "I look" },
    { ...call, result: { ok: true, text: "{}" } },
    { kind: "text", text: "Two." },
    { kind: "stopped", why: "turns" },
  ]);
  expect(history).toEqual([1]);
});

it("keeps the history of the last whole answer when one fails", () => {
  const whole = told({ kind: "done", history: ["before"], stopped: null });
  const failed = withEvent(whole, { kind: "failed", code: "upstream_failed", message: "no" });
  expect({ history: failed.history, lastQuestion: lastQuestion(failed) }).toEqual({
    history: ["before"],
    lastQuestion: "q",
  });
});

it("tells the model the outcome of a proposal with the next question", () => {
  const shown = told({ kind: "proposal", proposal }, { kind: "done", history: ["h"], stopped: null });
  const dismissed = withProposal(shown, "p", { is: "dismissed" }, "no");
  expect(dismissed.entries.at(-1)).toEqual({ kind: "proposal", proposal, state: { is: "dismissed" } });
  expect(dismissed.history).toEqual(["h", { role: "user", content: "no" }]);
  expect(withProposal(shown, "p", { is: "running" }).history).toEqual(["h"]);
});

it("asks again after proposals whose answer was lost, and shows what came of them", () => {
  const shown = told({ kind: "proposal", proposal }, { kind: "proposal", proposal: { ...proposal, id: "q" } });
  const running = withProposal(shown, "p", { is: "running" });
  expect({ running: unanswered(shown, "running"), unknown: unanswered(shown, "unknown") }).toEqual({
    running: [],
    unknown: [],
  });
  expect(unanswered(atRest(running), "running")).toEqual([proposal]);
  expect(unanswered(withProposal(running, "p", stateOf({ state: "unknown" })), "unknown")).toEqual([proposal]);
  const answered = stateOf({ state: "answered", status: 200 });
  expect(answered).toEqual({ is: "answered", run: { status: 200, answer: "", pending: false } });
  expect(unanswered(withProposal(running, "p", answered), "running")).toEqual([]);
  expect({ notRun: stateOf({ state: "not_run" }), running: stateOf({ state: "running" }) }).toEqual({
    notRun: { is: "open" },
    running: { is: "running" },
  });
});

it("replaces an outdated proposal with the current one, which is open and can be run", () => {
  const now = { ...proposal, id: "now" };
  const shown = withOutdated(withProposal(told({ kind: "proposal", proposal }), "p", { is: "running" }), "p", now);
  expect(shown.entries.at(-1)).toEqual({ kind: "proposal", proposal: now, state: { is: "outdated", shown: proposal } });
  expect({ unanswered: unanswered(shown, "running"), history: shown.history }).toEqual({ unanswered: [], history: [] });
});

it("has nothing running when it is resumed", () => {
  const { entries } = atRest(told({ kind: "call", id: "c", title: "t", method: "GET", path: "/" }));
  expect(entries.at(-1)).toMatchObject({ result: { ok: false, text: "" } });
});

it("keeps no answer of a run while the page is left, and every one when it is only stopped", () => {
  const run = { status: 201, answer: '{"secret":"sk-only-once"}', pending: true };
  const ran = withProposal(told({ kind: "proposal", proposal }), "p", { is: "answered", run }, "I ran it");
  expect(JSON.stringify(atRest(ran))).not.toContain("sk-only-once");
  expect(atRest(ran).entries.at(-1)).toMatchObject({ state: { is: "answered", run: { status: 201, pending: true } } });
  expect(ended(ran)).toEqual(ran);
});

describe("the difference to what was shown", () => {
  const change = (field: string, from: string | null, to: string, more: object = {}) => ({
    field,
    from,
    from_name: null,
    to,
    to_name: null,
    isDefault: false,
    follows: false,
    ...more,
  });
  const card = (changes: readonly ReturnType<typeof change>[], more: object = {}) =>
    ({
      object: '"a"',
      object_id: "1",
      parent: null,
      parent_id: null,
      changes,
      ...more,
    }) as unknown as AssistantProposal;

  it("lists each changed value, name and owner, and fields that only one of them has", () => {
    const before = card([change("weight", "1", "7"), change("cap", "4", "null", { isDefault: true })]);
    const after = card([change("weight", "2", "7"), change("end", '"x"', "null", { isDefault: true })], {
      object: '"b"',
      parent: '"p"',
      parent_id: "2",
    });
    expect(differences(before, after)).toEqual([
      { what: { is: "object" }, was: '"a" 1', now: '"b" 1' },
      { what: { is: "parent" }, was: null, now: '"p" 2' },
      { what: { is: "field", field: "weight" }, was: "1", now: "2" },
      { what: { is: "field", field: "cap" }, was: "4", now: "null" },
      { what: { is: "field", field: "end" }, was: "null", now: '"x"' },
    ]);
  });

  it("is the name behind an id, and nothing where only what is not shown differs", () => {
    const named = (from_name: string) => card([change("tenant_id", '"1"', '"2"', { from_name })]);
    expect(differences(named('"a"'), named('"b"'))).toEqual([
      { what: { is: "field", field: "tenant_id" }, was: '"1" "a"', now: '"1" "b"' },
    ]);
    expect(differences(named('"a"'), named('"a"'))).toEqual([]);
  });
});
