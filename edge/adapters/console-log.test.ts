import { expect, it } from "vitest";
import { logLine } from "./console-log.ts";

it("a line of the Worker's log contains no raw control character, whatever a client sent", () => {
  const name = 'a\r\n\u001b[31m\u007f\u009b2J\u2028{"level":10}\u202e';
  const line = logLine("request", { model: name }, 30, "2030-01-01T00:00:00.000Z");
  expect(line).toMatch(/^[^\p{Cc}\u2028\u202e]*$/u);
  expect(JSON.parse(line)).toMatchObject({ event: "request", model: name });
});
