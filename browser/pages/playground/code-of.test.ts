/** Copied code is right whatever was said in the conversation. */
import { execFileSync } from "node:child_process";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { SECRET_VARIABLE } from "../../forms/keys/call-examples.ts";
import { curlCode, pythonCode, typescriptCode } from "./code-of.ts";

const body = {
  model: `it's "$HOME" \`x\` \\`,
  messages: [{ role: "user", content: `'''\n"""\\n\u2028 ü 🙂 \${1}` }],
  tools: [{ type: "function", function: { name: "f", strict: true, parameters: {} } }],
  seed: null,
  stop: [],
};
const code = { baseUrl: "http://127.0.0.1:8080", api: "chat/completions", body } as const;

it("of curl gives a shell the intended body", () => {
  const words = execFileSync("sh", ["-c", curlCode(code).replace(/^curl/, "printf '%s\\n'")], { encoding: "utf8" });
  expect(JSON.parse(words.slice(words.indexOf("-d\n") + 3))).toEqual(body);
  expect(words).toContain("http://127.0.0.1:8080/v1/chat/completions\n");
});

it("of Python has Python's words for values", () => {
  const written = pythonCode(code);
  expect(written).toContain("    seed=None,\n    stop=[],\n");
  expect(written).toContain('"strict": True,');
  expect(written).toContain('"parameters": {},');
  expect(written).toContain(`model=${JSON.stringify(body.model)},`);
});

it("of TypeScript makes the call that was meant", () => {
  const call = /create\((.*)\);\nconsole/s.exec(typescriptCode(code))?.[1] ?? "";
  expect(JSON.stringify(runInNewContext(`(${call})`))).toBe(JSON.stringify(body));
});

it("shows no character that would make a line look like another one", () => {
  const hidden = { ...code, body: { model: "m", messages: [{ role: "user", content: "a\u202eb\u2066c" }] } };
  for (const codeOf of [curlCode, pythonCode, typescriptCode]) expect(codeOf(hidden)).toContain("a\\u202eb\\u2066c");
});

it("of messages goes to their route, and by the packages of their maker", () => {
  const ofMessages = { ...code, api: "messages" } as const;
  expect({ curl: curlCode(ofMessages), python: pythonCode(ofMessages), script: typescriptCode(ofMessages) }).toEqual({
    curl: expect.stringContaining("http://127.0.0.1:8080/v1/messages"),
    python: expect.stringMatching(
      /^import os\n\nfrom anthropic import Anthropic\n.*base_url="http:\/\/127.0.0.1:8080"/s,
    ),
    script: expect.stringContaining("await client.messages.create("),
  });
});

it("takes the key from the environment", () => {
  for (const codeOf of [curlCode, pythonCode, typescriptCode]) expect(codeOf(code)).toContain(SECRET_VARIABLE);
});
