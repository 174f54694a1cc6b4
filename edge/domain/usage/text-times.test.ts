/** Times that a server writes as texts, as vLLM writes the duration of a verbose transcription. */
import { expect, it } from "vitest";
import { UsageScan } from "./usage-scan.ts";

it.each([
  ['{"duration":"7.5","text":"hi"}', 7.5],
  ['{"text":"hi","duration" : "3600"}', 3600],
  ['{"duration":"3e-2"}', 0.03],
  ['{"text":"hi","usage":{"type":"duration","seconds":"9"}}', 9],
  ['{"duration":"7.5","duration":null}', 7.5],
  ['{"words":[{"duration":"3"}],"seconds":"4"}', 0],
  ...["-3", "7,5", "00:10", "1_0", "NaN", "", " 7", `1${"0".repeat(400)}`, String.raw`\u0037`].map(
    (text): [string, number] => [`{"duration":"${text}"}`, 0],
  ),
])("%s is read as %d s, cut anywhere", (answer, inputSeconds) => {
  const bytes = new TextEncoder().encode(answer);
  for (const size of [1, 7, 10_000]) {
    const usage = new UsageScan({ content: true });
    for (let at = 0; at < bytes.byteLength; at += size) usage.push(bytes.subarray(at, at + size));
    expect({ size, parts: usage.usage().parts }).toMatchObject({ size, parts: { inputSeconds } });
  }
});
