/** What takes a saved policy back. Where there was none before, the way back is to turn it off. Pure. */
import { type FieldValues, undoBody } from "../../forms/record/drafts.ts";

/** Stands for no policy in a form, which always has a record. */
export const NO_POLICY: FieldValues = {};

/** The fields of the policy as they were; no policy where there was none. */
export function undoPolicy(body: FieldValues, base: FieldValues): FieldValues {
  return isPolicy(base) ? undoBody(body, base) : NO_POLICY;
}

/** What the API has for the contents of a form: null turns the policy off. */
export function policyOf(values: FieldValues): FieldValues | null {
  return isPolicy(values) ? values : null;
}

function isPolicy(values: FieldValues): boolean {
  return Object.keys(values).length > 0;
}
