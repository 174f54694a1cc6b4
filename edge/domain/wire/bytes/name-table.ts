/**
 * Recognises names in bytes, one byte at a time: a table of states with a transition for each ASCII byte. Nothing is
 * decoded, and nothing is kept except the state, so that a name may be cut anywhere.
 */

/** The state in which every name starts. */
export const NAME_START = 1;
/** The state of bytes that are no prefix of a known name. */
export const NAME_NONE = 0;

const ASCII = 128;

export interface NameTable {
  /** The next state is at `state * 128 + byte`; bytes from 128 on lead to {@link NAME_NONE}. */
  readonly steps: Uint16Array;
  /** The number of the name that ends in a state; 0 for a state in which no name ends. */
  readonly found: Uint8Array;
}

/** A table of ASCII names, each with a number from 1 to 255 that identifies it. */
export function nameTable(names: Readonly<Record<string, number>>): NameTable {
  const entries = Object.entries(names);
  const states = 2 + entries.reduce((sum, [name]) => sum + name.length, 0);
  const table = { steps: new Uint16Array(states * ASCII), found: new Uint8Array(states) };
  let used = 2;
  for (const [name, number] of entries) {
    let state = NAME_START;
    for (const character of name) {
      const at = state * ASCII + character.charCodeAt(0);
      if (table.steps[at] === NAME_NONE) table.steps[at] = used++;
      state = table.steps[at] ?? NAME_NONE;
    }
    table.found[state] = number;
  }
  return table;
}
