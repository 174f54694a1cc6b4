/**
 * GATEWAY_CELLS: every cell, where its objects are placed and which tenants it serves
 * (docs/rules/configuration.md#cells). Both planes parse the text with this file.
 */
import * as z from "zod";
import { envCellName, envSecret, isWebUrl, NO_WEB_URL } from "./env-fields.ts";

/** Regions in which the platform can be asked to place an object; a hint, not a promise. */
const HINTS = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;
/** Jurisdictions that an object can be bound to. */
const JURISDICTIONS = ["eu", "fedramp", "us"] as const;
const CONTINENTS = ["AF", "AN", "AS", "EU", "NA", "OC", "SA"] as const;
const FORM = "must be a JSON array of {cell, url, hint or jurisdiction, continents, colos}";

const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `must be one of ${words.join(", ")}` });

const cellSchema = z
  .strictObject({
    cell: envCellName,
    url: z.string().refine(isWebUrl, NO_WEB_URL),
    hint: oneOf(HINTS).optional(),
    jurisdiction: oneOf(JURISDICTIONS).optional(),
    continents: z.array(oneOf(CONTINENTS)).default([]),
    colos: z.array(z.string().regex(/^[A-Z]{3}$/, "must be three capital letters")).default([]),
  })
  .refine(({ hint, jurisdiction }) => hint === undefined || jurisdiction === undefined, {
    error: "has both hint and jurisdiction: set only one",
  });

const cellsSchema = z.array(cellSchema, { error: FORM }).min(1, FORM);

/** One cell of GATEWAY_CELLS; `url` is the address of its Worker for the control service. */
export type CellConfig = z.infer<typeof cellSchema>;

/** The schema of GATEWAY_CELLS; undefined when it is unset. */
export const envCells = envSecret.transform((text, context): readonly CellConfig[] | undefined => {
  if (text === undefined) return undefined;
  const cells = cellsSchema.safeParse(readJson(text));
  if (cells.success) {
    const names = cells.data.map((plan) => plan.cell);
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice === undefined) return cells.data;
    context.addIssue({ code: "custom", message: `lists the cell ${twice} twice` });
    return z.NEVER;
  }
  const [issue] = cells.error.issues;
  const where = issue?.path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("") ?? "";
  context.addIssue({ code: "custom", message: where === "" ? FORM : `${FORM}: ${where} ${issue?.message ?? ""}` });
  return z.NEVER;
});

/** Reports an error when GATEWAY_CELLS is set and does not contain GATEWAY_CELL; used as a schema's `superRefine`. */
export function requireOwnCell(
  env: { readonly GATEWAY_CELL: string; readonly GATEWAY_CELLS: readonly CellConfig[] | undefined },
  context: z.RefinementCtx,
): void {
  if (env.GATEWAY_CELLS === undefined || env.GATEWAY_CELLS.some((plan) => plan.cell === env.GATEWAY_CELL)) return;
  const message = `does not list GATEWAY_CELL, which is ${env.GATEWAY_CELL}`;
  context.addIssue({ code: "custom", path: ["GATEWAY_CELLS"], message });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
