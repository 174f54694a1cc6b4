/** A draft reads what the client sent, and changes single members. */
import { describe, expect, it } from "vitest";
import { wholeDocument } from "../../../domain/wire/json/document.ts";
import { scanTopLevel } from "../../../domain/wire/json/top-level.ts";
import { JsonOutgoing } from "../../resolve-model/json-outgoing.ts";
import type { ParsedCall } from "../known.ts";
import { RequestDraft } from "./request-draft.ts";

function parsedOf(text: string, edits: ParsedCall["edits"] = []): ParsedCall {
  const bytes = new Uint8Array(new TextEncoder().encode(text));
  const top = scanTopLevel(bytes);
  if (top === null) throw new Error("the test's body is an object");
  return {
    document: wholeDocument({}),
    modelName: "m",
    stream: false,
    outgoing: new JsonOutgoing([bytes], top),
    edits,
  };
}

const valuesOf = (draft: RequestDraft) => draft.edits().map(({ name, value }) => [name, value("client")]);

describe("a request draft", () => {
  it("reads the client's values, the last of several, and earlier changes", () => {
    const text = '{"model":"m","messages":[1],"messages":[2],"tools":"t"}';
    const draft = new RequestDraft(parsedOf(text, [{ name: "tools", value: (given) => `${String(given)}!` }]));
    expect(draft.get("messages")).toEqual([2]);
    expect(draft.get("tools")).toBe("t!");
    expect(draft.get("response_format")).toBeUndefined();
  });

  it("adds its changes to earlier ones, and can remove a member", () => {
    const draft = new RequestDraft(parsedOf('{"model":"m"}', [{ name: "tools", value: () => 1 }]));
    draft.set("messages", [3]);
    draft.set("stream", undefined);
    expect(draft.get("messages")).toEqual([3]);
    expect(draft.get("stream")).toBeUndefined();
    expect(valuesOf(draft)).toEqual([
      ["tools", 1],
      ["messages", [3]],
      ["stream", undefined],
    ]);
  });

  it("is as before when an attempt fails", async () => {
    const draft = new RequestDraft(parsedOf('{"model":"m","messages":[1]}'));
    draft.set("tools", []);
    const failing = draft.attempt(async () => {
      draft.set("messages", []);
      draft.set("tools", undefined);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(draft.get("messages")).toEqual([1]);
    expect(draft.get("tools")).toEqual([]);
    await draft.attempt(async () => draft.set("messages", [2]));
    expect(draft.get("messages")).toEqual([2]);
  });
});
