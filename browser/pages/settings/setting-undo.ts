/** What takes back a change of a setting whose saving changes more than it names, or for which there is no way back. Pure. */
import { type FieldValues, undoBody } from "../../forms/record/drafts.ts";

/**
 * Of the auto router: without a model the server turns the classifier off (docs/rules/settings.md#auto-router). Null: the
 * classifier was on without a model, which no body that names the model can say.
 */
export function undoRouting(body: FieldValues, base: FieldValues): FieldValues | null {
  if (!Object.hasOwn(body, "classifier_model")) return undoBody(body, base);
  const { classifier_model = null, classifier_enabled = false } = base;
  if (classifier_model === null && classifier_enabled === true) return null;
  return { ...undoBody(body, base), classifier_enabled };
}

/** Of email. Null: it was off, and a form of its fields cannot turn it off. */
export function undoEmail(body: FieldValues, base: FieldValues): FieldValues | null {
  return Object.hasOwn(base, "smtp_host") ? undoBody(body, base) : null;
}
