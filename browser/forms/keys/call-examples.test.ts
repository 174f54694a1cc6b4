/** Examples of a first request are right whatever a model is called. */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import {
  aiSdkExample,
  anthropicExample,
  curlExample,
  langchainExample,
  langchainPythonExample,
  pythonExample,
  SECRET_VARIABLE,
  typescriptExample,
} from "./call-examples.ts";

const call = { baseUrl: "http://127.0.0.1:8080", secret: "sk_0", model: `it's "$HOME" \`x\` \\ ü` };

const PROGRAMS = [
  pythonExample,
  typescriptExample,
  langchainPythonExample,
  langchainExample,
  aiSdkExample,
  anthropicExample,
];

describe("examples", () => {
  it("of curl give a shell the intended words", () => {
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

  it("of curl take only a secret that is not given from the environment", () => {
    const shown = execFileSync(
      "sh",
      ["-c", curlExample({ ...call, secret: null }).replace(/^curl/, "printf '%s\\n'")],
      {
        encoding: "utf8",
        env: { [SECRET_VARIABLE]: "sk_1 $HOME", HOME: "/root" },
      },
    );
    expect(shown.split("\n").slice(2, 3)).toEqual(["authorization: Bearer sk_1 $HOME"]);
    expect(shown).toContain(JSON.stringify(call.model));
  });

  it("of programs have every value as a text of the language", () => {
    for (const text of PROGRAMS.map((example) => example(call))) {
      expect(text).toMatch(/"http:\/\/127\.0\.0\.1:8080(?:\/v1)?"/);
      expect(text).toContain(JSON.stringify(call.model));
    }
  });

  it("of programs without a secret take it from the environment", () => {
    for (const text of PROGRAMS.map((example) => example({ ...call, secret: null }))) {
      expect(text).toMatch(/os\.environ\["GATEWAY_API_KEY"\]|process\.env\.GATEWAY_API_KEY/);
      expect(text).not.toContain("null");
    }
  });

  it("show no character that would make a line look like another one", () => {
    const model = "a\u202eb\u2028c";
    for (const text of [curlExample, ...PROGRAMS].map((example) => example({ ...call, model })))
      expect(text).toContain("a\\u202eb\\u2028c");
  });
});
