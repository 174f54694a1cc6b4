/**
 * Whether an object of a JSON text has a name twice: its readers differ in which of the two they take, and `JSON.parse`
 * keeps the last one. Pure.
 */

/** `value`: the text as it was parsed. */
export function hasRepeatedName(text: string, value: unknown): boolean {
  return namesIn(text) > membersOf(value);
}

/** The names of a valid text, by its colons outside of strings. */
function namesIn(text: string): number {
  let names = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) inString = !inString;
    else if (inString && unit === 0x5c) at += 1;
    else if (!inString && unit === 0x3a) names += 1;
  }
  return names;
}

function membersOf(value: unknown): number {
  let members = 0;
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const inside = Object.values(next) as unknown[];
    if (!Array.isArray(next)) members += inside.length;
    for (const one of inside) open.push(one);
  }
  return members;
}
