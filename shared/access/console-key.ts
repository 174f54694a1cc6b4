/**
 * Keys that the console creates for its playground (docs/rules/console.md#relay) are recognised by their ids: nobody can choose
 * the id of a key, but anybody can choose its name.
 */

/** The first characters of the id of every such key: a random one has them once in 2^68. */
export const CONSOLE_KEY_ID_START = "00000000-0000-4000-b";

export function isConsoleKey(id: string): boolean {
  return id.startsWith(CONSOLE_KEY_ID_START);
}
