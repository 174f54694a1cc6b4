/** What takes a saved policy back. Where there was none before, the way back is to turn it off. Pure. */
import { type FieldValues, undoBody } from "../../forms/record/drafts.ts";

/** Stands for no policy in a form, which always has a record: with what the API would make of a field that is on without a value. */
export const NO_POLICY: FieldValues = { fail_open: true };

/** The fields of the policy as they were; no policy where there was none. */
export function undoPolicy(body: FieldValues, base: FieldValues): FieldValues {
  return base === NO_POLICY ? NO_POLICY : undoBody(body, base);
}

/** What the API has for the contents of a form: null turns the policy off. */
export function policyOf(values: FieldValues): FieldValues | null {
  return values === NO_POLICY ? null : values;
}
