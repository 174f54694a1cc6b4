/** The known name that a wrong one was most likely meant to be. Pure. */

/** Edits that are slips of the hand. */
const SLIPS_MAX = 2;
/** A shorter name is part of too many others. */
const PART_MIN_CHARACTERS = 3;

/**
 * The one of `names` that differs by a slip; else the most similar one that contains the other; else the nearest by single-character
 * edits, at most a third of the characters; else null.
 */
export function nearestName(wrong: string, names: readonly string[]): string | null {
  return nearestNames(wrong, names)[0] ?? null;
}

/** All that are as near as {@link nearestName}. */
export function nearestNames(wrong: string, names: readonly string[]): readonly string[] {
  let nearest: string[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = ranked(wrong.toLowerCase(), name.toLowerCase());
    if (distance < least) [nearest, least] = [[name], distance];
    else if (distance === least && distance < Number.POSITIVE_INFINITY) nearest.push(name);
  }
  return nearest;
}

/** Infinite: not meant. */
function ranked(wrong: string, name: string): number {
  const [part, all] = wrong.length < name.length ? [wrong, name] : [name, wrong];
  const edits = editsBetween(wrong, name);
  const isNear = edits <= all.length / 3;
  // of equally near ones, one that only has more characters or fewer is the likelier
  const isPart = edits === all.length - part.length;
  const distance = isPart ? edits - 0.5 : edits;
  if (isNear && edits <= SLIPS_MAX) return distance;
  if (part.length >= PART_MIN_CHARACTERS && all.includes(part)) return SLIPS_MAX + edits / (edits + 1);
  return isNear ? distance : Number.POSITIVE_INFINITY;
}

/** Levenshtein's distance. */
function editsBetween(wrong: string, name: string): number {
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
