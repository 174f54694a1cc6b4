/** What an entry of the audit log says was changed (docs/rules/management-api.md#audit-log). Pure. */
import { historyTexts } from "../../messages/en/history.ts";
import { texts } from "../../messages/texts.ts";
import { fieldLabel, valueText } from "../record/field-words.ts";

const text = texts("history", historyTexts);

/** Old and new of each field that an entry tells, in one line; of other entries their details. Times by the zone's clock. */
export function changesText(detail: Readonly<Record<string, unknown>>, zone: string): string {
  const { changed } = detail;
  if (typeof changed !== "object" || changed === null)
    return Object.entries(detail)
      .map(([name, value]) => `${fieldLabel(name)}: ${valueText(name, value, zone)}`)
      .join("; ");
  return Object.entries(changed)
    .map(([name, change]: [string, unknown]) => {
      const said =
        Array.isArray(change) && change.length === 2
          ? text("from", { before: valueText(name, change[0], zone), after: valueText(name, change[1], zone) })
          : valueText(name, change, zone);
      return `${fieldLabel(name)}: ${said}`;
    })
    .join("; ");
}
