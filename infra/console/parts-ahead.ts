/**
 * Has a browser ask for everything that a part needs at the same time as for the part itself (docs/rules/console.md#files), by
 * a call of `browser/shell/parts-ahead.ts` before the import.
 */

/** How esbuild writes the import of a part that is loaded later. */
const LATER = /\bimport\("\.\/([\w.-]+\.js)"\)/g;

/**
 * The text of a script in which each import of a part first requests the files that the part needs. `neededFor`: the names of
 * the files to request in addition to the part, given the part's name; none leaves the import unchanged.
 */
export function askingAhead(script: string, neededFor: (part: string) => readonly string[]): string {
  return script.replaceAll(LATER, (whole, part: string) => {
    const needed = neededFor(part);
    return needed.length === 0 ? whole : `(partsAhead(${needed.map((name) => `"${name}"`).join()}),${whole})`;
  });
}
