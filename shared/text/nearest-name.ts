/** The known name that a wrong one was most likely meant to be. Pure. */

/** The nearest of `names` by single-character edits; null if there is none. A name that contains the other is nearest. */
export function nearestName(wrong: string, names: readonly string[]): string | null {
  let nearest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = distanceOf(wrong.toLowerCase(), name.toLowerCase());
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Levenshtein's distance; of a part to the whole it is below 1. */
function distanceOf(wrong: string, name: string): number {
  if (wrong !== "" && (name.includes(wrong) || wrong.includes(name)))
    return Math.abs(name.length - wrong.length) / 1000;
  let row = Array.from({ length: name.length + 1 }, (_, at) => at);
  for (let i = 1; i <= wrong.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= name.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (wrong[i - 1] === name[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[name.length] ?? 0;
}
