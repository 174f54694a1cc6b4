/** RFC 7396: absent keeps, null removes, objects merge, everything else is replaced. */
import { type Fields, isFields } from "./json-schema.ts";

/** The target after the patch. A removed field is absent. */
export function mergePatch(target: Fields, patch: Fields): Fields {
  const merged = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    const before = merged.get(name);
    if (value === null) merged.delete(name);
    else if (value !== undefined)
      merged.set(name, isFields(value) ? mergePatch(isFields(before) ? before : {}, value) : value);
  }
  return Object.fromEntries(merged);
}
