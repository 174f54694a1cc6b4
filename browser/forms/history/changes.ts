/** What an entry of the audit log says was changed (docs/rules/management-api.md#audit-log). Pure. */
import { historyTexts } from "../../messages/en/history.ts";
import { texts } from "../../messages/texts.ts";
import { factLabel, factText } from "../record/fact-text.ts";
import { valueText } from "../record/field-words.ts";

const text = texts("history", historyTexts);

/** The value of a field, which may have been the empty text. */
export function changedText(name: string, value: unknown, zone: string): string {
  return factText(name, value, zone, valueText("", "", zone));
}

/** Old and new of each field that an entry tells, in one line; of other entries their details. Times by the zone's clock. */
export function changesText(detail: Readonly<Record<string, unknown>>, zone: string): string {
  const { changed } = detail;
  if (typeof changed !== "object" || changed === null)
    return Object.entries(detail)
      .map(([name, value]) => `${factLabel(name)}: ${changedText(name, value, zone)}`)
      .join("; ");
  return Object.entries(changed)
    .map(([name, change]: [string, unknown]) => {
      const said =
        Array.isArray(change) && change.length === 2
          ? text("from", { before: changedText(name, change[0], zone), after: changedText(name, change[1], zone) })
          : changedText(name, change, zone);
      return `${factLabel(name)}: ${said}`;
    })
    .join("; ");
}
