/** What an upstream is asked before a model is saved (docs/rules/models.md#validation). Pure. */
import type { Records } from "../../data/api.ts";
import { textOf } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";

export type ConnectionQuestion = Records["ValidateModel"];

/** What a form may leave out. */
const OPTIONS = ["api_key", "api_dialect", "auth_scheme"] as const;

/** The question that a form asks; null: it lacks the address or a name. A blank upstream model is the model's name. */
function questionOf(values: FieldValues): ConnectionQuestion | null {
  const text = (name: string): string => (textOf(values[name]) ?? "").trim();
  const api_base = text("api_base");
  const upstream_model = text("upstream_model") || text("model_name");
  if (api_base === "" || upstream_model === "") return null;
  const given = OPTIONS.map((name) => [name, text(name)] as const).filter(([, said]) => said !== "");
  return { api_base, upstream_model, ...Object.fromEntries(given) };
}

/** The questions about the base URL and about the other addresses that a form names under `endpoints`. */
export function questionsOf(values: FieldValues): readonly ConnectionQuestion[] {
  const { api_base, endpoints } = values;
  const more: readonly unknown[] = Array.isArray(endpoints) ? endpoints : [];
  return [...new Set([api_base, ...more])].flatMap((one) => questionOf({ ...values, api_base: one }) ?? []);
}
