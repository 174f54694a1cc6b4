/** Examples of a first request are right whatever a model is called. */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { curlExample, pythonExample, typescriptExample } from "./call-examples.ts";

const call = { baseUrl: "http://127.0.0.1:8080", secret: "sk_0", model: `it's "$HOME" \`x\` \\ ü` };

describe("examples", () => {
  it("of curl give a shell the words that were meant", () => {
    const words = execFileSync("sh", ["-c", curlExample(call).replace(/^curl/, "printf '%s\\n'")], {
      encoding: "utf8",
    });
    expect(words.split("\n")).toEqual([
      "http://127.0.0.1:8080/v1/chat/completions",
      "-H",
      "authorization: Bearer sk_0",
      "-H",
      "content-type: application/json",
      "-d",
      JSON.stringify({ model: call.model, messages: [{ role: "user", content: "Hello" }] }),
      "",
    ]);
  });

  it("of programs have every value as a text of the language", () => {
    for (const text of [pythonExample(call), typescriptExample(call)]) {
      expect(text).toContain('"http://127.0.0.1:8080/v1"');
      expect(text).toContain(JSON.stringify(call.model));
    }
  });
});
