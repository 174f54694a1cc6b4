/** What was expected and what was found, printed so that a reader sees why. */
import type { Done } from "./facts.ts";

export interface Difference {
  /** The kind, by which differences are counted: `row: total_tokens`. */
  readonly what: string;
  readonly expected: unknown;
  readonly found: unknown;
  /** The call that it is about; absent: many calls. */
  readonly done?: Done | undefined;
  /** What else helps: the whole row, the calls of a budget. */
  readonly more?: string;
}

const MOST_OF_A_KIND = 3;
const MOST_TEXT = 700;

const short = (text: string): string =>
  text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)} ... ${text.length} characters`;
const json = (value: unknown): string => short(JSON.stringify(value) ?? "nothing");

/** A call as a reader needs it: what was sent and got, and what the upstream did. */
function callText({ call, got, served }: Done): string {
  const { id, method, path, leave } = call;
  const headers = Object.fromEntries(Object.entries(got.headers).filter(([name]) => name.startsWith("x-")));
  return [
    `  call ${id}: ${method} ${path}, tenant ${call.key?.tenant.id ?? "unknown"}, key ${call.key?.id ?? "unknown"}, at ${new Date(got.startMs).toISOString()}`,
    `  sent: ${short(call.body.toString())}${leave === null ? "" : `; leaves: ${JSON.stringify(leave)}`}`,
    `  got: ${got.status ?? "no head"}, ${got.whole ? "whole" : got.left ? "left" : "cut off"} after ${got.endMs - got.startMs} ms, ${json(headers)}`,
    `       ${short(got.text)}`,
    ...served.map(
      ({ plan, pieces, cutOff }, at) =>
        `  upstream, attempt ${at + 1}: ${plan.status === 0 ? "reset" : plan.status}, ${pieces} pieces, end ${plan.end}${cutOff ? ", cut off" : ""}, reported ${json(plan.usage)}`,
    ),
    ...(served.length === 0 ? ["  upstream: was not called"] : []),
  ].join("\n");
}

export function reportOf(differences: readonly Difference[], repeat: string): string {
  const kinds = Map.groupBy(differences, ({ what }) => what);
  const lines = [...kinds].flatMap(([what, all]) => [
    `\n=== ${what}: ${all.length}${all.length > MOST_OF_A_KIND ? `, the first ${MOST_OF_A_KIND}` : ""}`,
    ...all
      .slice(0, MOST_OF_A_KIND)
      .map(({ expected, found, done, more }) =>
        [
          `- expected ${json(expected)}, found ${json(found)}`,
          ...(done === undefined ? [] : [callText(done)]),
          ...(more === undefined ? [] : [`  ${more}`]),
        ].join("\n"),
      ),
  ]);
  const counts = [...kinds].map(([what, all]) => `  ${all.length} x ${what}`);
  return [...lines, "", `${differences.length} differences:`, ...counts, `repeat: ${repeat}`].join("\n");
}
