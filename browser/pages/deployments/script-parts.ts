/** What of a form's values, which are not validated yet, becomes a script. Pure. */
import { PORT_SPAN_DEFAULT } from "../../../shared/schema/job-script.ts";
import { PORT_MAX } from "../../../shared/schema/managed-model.ts";
import { textOf } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";

const PARTS = ["script_body", "preamble", "image", "launch_command"] as const;

/** The parts of a script; what is no text is blank. */
export function writtenOf(values: FieldValues): Readonly<Record<(typeof PARTS)[number], string>> {
  const [script_body, preamble, image, launch_command] = PARTS.map((name) => textOf(values[name]) ?? "");
  return {
    script_body: script_body ?? "",
    preamble: preamble ?? "",
    image: (image ?? "").trim(),
    launch_command: launch_command ?? "",
  };
}

/** The first and the last port of the first replica's window; null: there is no such port. */
export function windowOf(servingPort: unknown): { readonly first: number; readonly last: number } | null {
  if (typeof servingPort !== "number" || !Number.isInteger(servingPort)) return null;
  if (servingPort < 1 || servingPort > PORT_MAX) return null;
  return { first: servingPort, last: Math.min(PORT_MAX, servingPort + PORT_SPAN_DEFAULT - 1) };
}
