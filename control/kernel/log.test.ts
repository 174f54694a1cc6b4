import { expect, it } from "vitest";
import { SECRET_FIELDS } from "../../shared/text/redaction.ts";
import { createLog } from "./log.ts";

it("redacts secret fields at any depth and credentials within texts", () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line) });
  const fields = Object.fromEntries(SECRET_FIELDS.map((name) => [name, "planted"]));
  const text = `asked https://me:planted@host with Bearer planted-and-more, sk-planted0123456789`;
  log.warn({ event: "x", ...fields, request: fields, reason: text });
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("planted");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: 40,
    event: "x",
    token: "[redacted]",
    request: { "set-cookie": "[redacted]" },
    reason: "asked https://[redacted]@host with [redacted], [redacted]",
  });
});

it("writes no raw control character, and one line for each event, whatever a name holds", () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line) });
  const name = 'a\r\n\u001b[31m\u007f\u009b2J\u2028{"level":10}\u202e';
  log.warn({ event: "x", [name]: name });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^[^\p{Cc}\u2028\u202e]*\n$/u);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ [name]: name });
});
