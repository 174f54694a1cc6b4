/** A draft reads the client's request, and changes single members. */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import { scanTopLevel as scanTopLevelInSteps } from "../../../../shared/wire/json-top-level.ts";
import { JsonOutgoing } from "../../resolve-model/json-outgoing.ts";
import { RequestDraft } from "./request-draft.ts";

const scanTopLevel = (...given: Parameters<typeof scanTopLevelInSteps>) => atOnce(scanTopLevelInSteps(...given));

function draftOf(text: string): RequestDraft {
  const bytes = new Uint8Array(new TextEncoder().encode(text));
  const top = scanTopLevel(bytes);
  if (top === null) throw new Error("the test's body is an object");
  return new RequestDraft(new JsonOutgoing([bytes], top), async (work) => atOnce(work));
}

describe("a request draft", () => {
  it("reads the client's values, the last of several", async () => {
    const draft = draftOf('{"model":"m","messages":[1],"messages":[2],"tools":"t"}');
    expect(await draft.get("messages")).toEqual([2]);
    expect(await draft.get("tools")).toBe("t");
    expect(await draft.get("response_format")).toBeUndefined();
  });

  it("reads its own changes, and can remove a member", async () => {
    const draft = draftOf('{"model":"m","stream":true}');
    draft.set("messages", [3]);
    draft.set("stream", undefined);
    expect(await draft.get("messages")).toEqual([3]);
    expect(await draft.get("stream")).toBeUndefined();
    expect([...draft.edits]).toEqual([
      ["messages", [3]],
      ["stream", undefined],
    ]);
  });

  it("is as before when an attempt fails", async () => {
    const draft = draftOf('{"model":"m","messages":[1]}');
    draft.set("tools", []);
    const failing = draft.attempt(async () => {
      draft.set("messages", []);
      draft.set("tools", undefined);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await draft.get("messages")).toEqual([1]);
    expect(await draft.get("tools")).toEqual([]);
    await draft.attempt(async () => draft.set("messages", [2]));
    expect(await draft.get("messages")).toEqual([2]);
  });
});
