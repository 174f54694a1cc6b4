/**
 * What somebody else has changed of a record while it was edited here (docs/rules/console.md#forms). A form
 * reads its record again before it writes, and compares: it can then show who changed which field, which a 412 for another
 * `rev` cannot. Pure.
 */
import { type Draft, draftOf, type FieldValues, isSameTyped } from "./drafts.ts";
import type { FieldSpec } from "./field-specs.ts";

/** One field that is not any more as it was. */
export interface FieldChange {
  readonly name: string;
  readonly before: unknown;
  readonly now: unknown;
}

/** The fields of a form that differ between two readings of a record. */
export function changesBetween(
  names: readonly string[],
  before: FieldValues,
  now: FieldValues,
): readonly FieldChange[] {
  return names
    .filter((name) => canonical(before[name]) !== canonical(now[name]))
    .map((name) => ({ name, before: before[name], now: now[name] }));
}

/**
 * The reading whose revision a write sends: the newest one. If one of the fields has changed meanwhile, the one before, so that
 * the write is refused.
 */
export function unlessChanged(names: readonly string[], before: FieldValues, now: FieldValues): FieldValues {
  return changesBetween(names, before, now).length === 0 ? now : before;
}

/**
 * The controls on top of the newer record: what was typed here stays, and every field that was not touched shows what the
 * other one has made of it.
 */
export function rebased(
  specs: readonly FieldSpec[],
  draft: Draft,
  before: FieldValues,
  now: FieldValues,
  zone: string,
): Draft {
  const shownBefore = draftOf(specs, before, zone);
  const shownNow = draftOf(specs, now, zone);
  return Object.fromEntries(
    specs.map(({ name }) => [name, (isSameTyped(draft[name], shownBefore[name]) ? shownNow[name] : draft[name]) ?? ""]),
  );
}

/** JSON with the members of objects in one order. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === "object" && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
        : part,
    ) ?? ""
  );
}
