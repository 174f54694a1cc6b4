/** The fields of own days show what is reported, or what is wrong with what they show. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Period, periodFrom, periodProblem } from "../../time/periods.ts";
import { editedDraft, finishedDraft, keptDraft, type PeriodDraft } from "./period-draft.ts";

const daysOf = (period: Period): { from: string; to: string } =>
  period.kind === "custom" ? { from: period.fromDay, to: period.toDay } : { from: "", to: "" };
const custom = (fromDay: string, toDay: string): Period => ({ kind: "custom", fromDay, toDay });
const NOVEMBER = custom("2026-11-01", "2026-11-08");

it("takes the first day together with the last one, however long the two do not fit", () => {
  const first = editedDraft(null, NOVEMBER, daysOf(NOVEMBER), { from: "2026-12-05" });
  const wrong = finishedDraft(first);
  expect(wrong).toMatchObject({ from: "2026-12-05", to: "2026-11-08", asked: null, problem: { field: "to" } });
  if (wrong === null) return;
  const both = finishedDraft(editedDraft(wrong, NOVEMBER, wrong, { to: "2026-12-10" }));
  expect(both).toMatchObject({ asked: "2026-12-05..2026-12-10", problem: null });
  expect(keptDraft(both, custom("2026-12-05", "2026-12-10"))).toBeNull();
});

it("ends when the address gets another period, and asks for nothing when the address has it", () => {
  const draft = editedDraft(null, NOVEMBER, daysOf(NOVEMBER), { from: "2026-12-05" });
  expect(keptDraft(draft, NOVEMBER)).toBe(draft);
  expect(keptDraft(draft, { kind: "7d" })).toBeNull();
  expect(keptDraft(draft, custom("2026-12-05", "2026-12-06"))).toBeNull();
  expect(finishedDraft({ ...draft, from: "2026-11-01" })).toBeNull();
});

it("keeps what is typed before the page has come to the period that it was asked for", () => {
  const asked = finishedDraft(editedDraft(null, NOVEMBER, daysOf(NOVEMBER), { from: "2026-11-03" }));
  const typing = editedDraft(asked, NOVEMBER, { from: "2026-11-03", to: "2026-11-08" }, { to: "2026-11-05" });
  expect(keptDraft(typing, custom("2026-11-03", "2026-11-08"))).toMatchObject({
    from: "2026-11-03",
    to: "2026-11-05",
    over: "2026-11-03..2026-11-08",
    asked: null,
  });
});

it("shows after every finished edit what the address has, or a problem", () => {
  const typed = fc.constantFrom("2026-11-01", "2026-11-05", "2026-12-01", "0002-11-15", "2026-02-30", "", "\ud800");
  const edit = fc.tuple(fc.constantFrom("from", "to"), typed, fc.boolean());
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 12 }), (edits) => {
      let period: Period = NOVEMBER;
      let draft: PeriodDraft | null = null;
      for (const [field, value, isFinished] of edits) {
        draft = editedDraft(draft, period, draft ?? daysOf(period), { [field]: value });
        expect(draft[field as "from" | "to"]).toBe(value);
        if (!isFinished) continue;
        draft = finishedDraft(draft);
        if (draft !== null && draft.asked !== null) period = periodFrom(draft.asked) ?? period;
        draft = keptDraft(draft, period);
        const shown: { from: string; to: string } = draft ?? daysOf(period);
        expect(periodProblem(shown.from, shown.to)).toEqual(draft === null ? null : draft.problem);
        if (draft === null) expect(shown).toEqual(daysOf(period));
        else expect(draft.problem).not.toBeNull();
      }
    }),
  );
});
