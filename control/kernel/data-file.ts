/** Reads a JSON file that an operator may have written, by the schema of what it should be. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type * as z from "zod";

/** Larger ones are refused; a recipe has at most some scripts of 100,000 characters. */
const FILE_MAX_BYTES = 1024 * 1024;

/** The one file in the folder of recipes that is no recipe. */
export const PRICE_LIST_FILE = "prices.json";

/** What a file says, or why it cannot be used. */
export function readDataFile<T>(folder: string, file: string, schema: z.ZodType<T>): { readonly data: T } | string {
  try {
    const text = readFileSync(join(folder, file));
    if (text.length > FILE_MAX_BYTES) return `larger than ${FILE_MAX_BYTES} bytes`;
    const { success, data, error } = schema.safeParse(
      JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text)),
    );
    if (success) return { data };
    return error.issues.map(({ path, message }) => `${path.join(".") || "file"}: ${message}`).join("; ");
  } catch {
    return "not a readable JSON file";
  }
}
