/** Own days while they are typed: what the two fields show, and when the page takes it. Pure. */
import { type Period, periodParam, periodProblem } from "../../time/periods.ts";

/** What the two fields show that the address does not have (yet). */
export interface PeriodDraft {
  readonly from: string;
  readonly to: string;
  /** The period of the address over which it was typed, as it stands there. */
  readonly over: string;
  /** The period that the page was asked to show, as in an address; null: none yet. */
  readonly asked: string | null;
  readonly problem: ReturnType<typeof periodProblem>;
}

/**
 * The draft under a period of the address. It ends when the address gets another period, by whomever; only what was typed
 * after the page had been asked for a period stays when that one arrives.
 */
export function keptDraft(draft: PeriodDraft | null, period: Period): PeriodDraft | null {
  const shown = periodParam(period);
  if (draft === null || draft.over === shown) return draft;
  if (draft.asked !== shown || paramOf(draft) === shown) return null;
  return { ...draft, over: shown, asked: null };
}

/** The draft after a field was edited; the other field stays as it is shown. */
export function editedDraft(
  draft: PeriodDraft | null,
  period: Period,
  shown: Days,
  change: Partial<Days>,
): PeriodDraft {
  const kept = draft ?? { over: periodParam(period), asked: null, problem: null };
  return { ...kept, from: shown.from, to: shown.to, ...change };
}

/** The draft when its typing has ended: the page has to be asked for `asked`, unless that is null. */
export function finishedDraft(draft: PeriodDraft): PeriodDraft | null {
  const problem = periodProblem(draft.from, draft.to);
  if (problem !== null) return { ...draft, problem, asked: null };
  const asked = paramOf(draft);
  return asked === draft.over && draft.asked === null ? null : { ...draft, problem, asked };
}

interface Days {
  readonly from: string;
  readonly to: string;
}

function paramOf({ from, to }: PeriodDraft): string {
  return periodParam({ kind: "custom", fromDay: from, toDay: to });
}
