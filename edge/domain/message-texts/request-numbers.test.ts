import { expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { routeClassOf } from "../request/route-class.ts";
import { guardedTexts } from "./request-texts.ts";
import { textScopeOf } from "./text-scopes.ts";

const input = { card: 4111111111111111, list: [1, -2.5e3], zanzibarx: { deep: 7 } };
const messages = [
  { role: "user", content: [{ type: "text", text: "u", n: 8 }] },
  { role: "assistant", content: [{ type: "tool_use", input }] },
];
const bytes = new TextEncoder().encode(JSON.stringify({ max_tokens: 9, messages }, null, 1));

function othersOf(path: string, ofModel: boolean) {
  return atOnce(guardedTexts([bytes], textScopeOf(path, routeClassOf(path)), ofModel)).others;
}

it.each(["/v1/messages", "/v1/chat/completions"])(
  "takes numbers and names of what the model asked tools for, if the policy says so: %s",
  (path) => {
    const others = othersOf(path, true);
    const texts = others.map(({ text }) => text);
    const names = ["card", "list", "zanzibarx", "deep"];
    expect(texts.filter((text) => names.includes(text))).toEqual(names);
    expect(texts.filter((text) => /\d/.test(text))).toEqual(["4111111111111111", "1", "-2500", "7"]);
    for (const { text, span } of others.filter((other) => /\d/.test(other.text)))
      expect(new TextDecoder().decode(bytes.slice(span.start, span.end))).toBe(text);
    expect(othersOf(path, false).filter(({ text }) => /\d/.test(text))).toEqual([]);
  },
);
