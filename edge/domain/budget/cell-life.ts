/**
 * The numbers of a Cell's lives, by which a budget object orders them: each is larger than all earlier ones. They are
 * counted on the Cell's disk and not taken from a clock, so a clock that was set back changes nothing
 * (docs/rules/budgets.md#lives-of-a-cell).
 */

/** The number of a Cell's first life. */
export const FIRST_LIFE = 1;

/** The number after one that cannot be read: no Cell reaches it by counting. */
const AFTER_UNREADABLE = 2 ** 40;

/** The number of the life after the stored one; null: no life was stored. */
export function lifeAfter(stored: string | null): number {
  if (stored === null) return FIRST_LIFE;
  const life = Number(stored);
  const known = Number.isSafeInteger(life) && life >= FIRST_LIFE && life < 2 ** 52;
  return known ? life + 1 : AFTER_UNREADABLE;
}
