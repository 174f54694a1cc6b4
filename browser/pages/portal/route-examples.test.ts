/**
 * The guide's code of every route is right whatever a model is called.
 *
 * @module-tag check
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { SECRET_VARIABLE } from "../../forms/keys/call-examples.ts";
import { GUIDE_ROUTES } from "./guide-routes.ts";
import { LANGUAGES, ROUTE_EXAMPLES } from "./route-examples.ts";

const BASE = "http://127.0.0.1:8080";
const call = { baseUrl: BASE, secret: null, model: `it's "$HOME" \`x\` \\ ü\u202e` };

/** The words that a shell makes of each line that begins with curl. */
function wordsOf(code: string): readonly (readonly string[])[] {
  const script = code.replaceAll(/^curl/gm, "printf '%s\\0' curl").replaceAll(/^printf '%s\\n'.*$/gm, "");
  const text = execFileSync("sh", ["-c", script], { encoding: "utf8", env: { [SECRET_VARIABLE]: "sk_1 $HOME" } });
  return text
    .split("curl\0")
    .slice(1)
    .map((line) => line.split("\0").slice(0, -1));
}

describe.each(GUIDE_ROUTES)("the code for %s", (route) => {
  const example = ROUTE_EXAMPLES[route];

  it("gives a shell an address of the gateway, the secret, and bodies that are JSON", () => {
    for (const [address = "", ...words] of wordsOf(example.curl(call))) {
      expect(new URL(address).origin).toBe(BASE);
      expect(words).toContain("authorization: Bearer sk_1 $HOME");
      if (words.includes("--form-string")) expect(words).toContain(`model=${call.model}`);
      const body = words[words.indexOf("-d") + 1] ?? "";
      if (words.includes("-d")) expect(typeof JSON.parse(body)).toBe("object");
    }
  });

  it("names the path, and the model where it takes one", () => {
    const code = LANGUAGES.map((language) => example[language](call));
    expect(example.path).toMatch(/^\/(v1|mcp)\//);
    const named = [JSON.stringify(call.model).slice(1, 8), encodeURIComponent(call.model), "it'\\''s"];
    const names = code.map((text) => named.some((one) => text.includes(one)) || text.includes("it's"));
    expect(names).toEqual(code.map(() => example.kinds !== null));
  });

  it("has no character that would make a line look like another one", () => {
    for (const language of LANGUAGES) expect(example[language](call)).not.toMatch(/[\u202e\u2028]/);
  });

  it("is JavaScript", () => {
    const checked = execFileSync(process.execPath, ["--check", "--input-type=module", "-"], {
      input: example.typescript(call),
      encoding: "utf8",
    });
    expect(checked).toBe("");
  });

  it("takes the secret from the environment", () => {
    for (const language of LANGUAGES) expect(example[language](call)).toContain(SECRET_VARIABLE);
  });
});
