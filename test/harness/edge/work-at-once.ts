/** The longest text that is handled in one piece: no other request runs meanwhile (docs/rules/request-bodies.md#work). */
import { vi } from "vitest";

/** Longer texts are handled in steps. */
export const AT_ONCE_MAX = 256 * 1024;

/** Watches `JSON` until the returned function is called, which returns the characters of the longest JSON. */
export function watchJson(): () => number {
  const [parse, stringify] = [JSON.parse.bind(JSON), JSON.stringify.bind(JSON)];
  let longest = 0;
  const spies = [
    vi.spyOn(JSON, "parse").mockImplementation((text: string) => {
      longest = Math.max(longest, text.length);
      return parse(text) as unknown;
    }),
    vi.spyOn(JSON, "stringify").mockImplementation((value: unknown) => {
      const json = stringify(value) as string | undefined;
      longest = Math.max(longest, json?.length ?? 0);
      return json as string;
    }),
  ];
  return () => {
    for (const spy of spies) spy.mockRestore();
    return longest;
  };
}

/** Watches tests of patterns until the returned function is called, which returns the characters of the longest tested text. */
export function watchPatterns(): () => number {
  const spy = vi.spyOn(RegExp.prototype, "test");
  return () => {
    const { calls } = spy.mock;
    const contexts = spy.mock.contexts as readonly RegExp[];
    // one that is anchored ends where it starts
    const searched = calls.filter((_, at) => contexts[at]?.source.startsWith("^") !== true);
    spy.mockRestore();
    return Math.max(0, ...searched.map(([{ length }]) => length));
  };
}
