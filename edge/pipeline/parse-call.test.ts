/** What becomes of JSON bodies whose long strings are cut when they are read. */
import { describe, expect, it } from "vitest";
import type { ParsedCall } from "./context.ts";
import { parseCall } from "./parse-call.ts";
import { SECRET, World } from "./testing/world.ts";

const KIB = 1024;

async function parsed(body: string): Promise<ParsedCall> {
  const world = new World();
  world.maxBodyBytes = 4096 * KIB;
  const headers = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
  return await parseCall(world.call({ method: "POST", body, headers }));
}

const large = `"messages":[{"role":"user","content":"${"x".repeat(300 * KIB)}"}]`;

describe("the name of a field in a large body", () => {
  it.each(["max_tokens", "n", "Model"])("is %s also when it goes on behind a NUL, however long", async (field) => {
    for (const length of [1, 65_500, 65_600, 200_000]) {
      const body = `{"model":"tiny",${large},"${field}\\u0000${"z".repeat(length)}":1}`;
      const fault: unknown = await parsed(body).then(
        () => "none",
        (error) => error.code,
      );
      expect([length, fault]).toEqual([length, "validation_failed"]);
    }
  });

  it("is free when it is another one, however long", async () => {
    expect((await parsed(`{"model":"tiny",${large},"models${"z".repeat(70_000)}":1}`)).modelName).toBe("tiny");
  });
});
