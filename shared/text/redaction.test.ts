import { describe, expect, it } from "vitest";
import { CENSORED, censored, loggable, SECRET_FIELDS } from "./redaction.ts";

describe("a line of the log", () => {
  it.each([
    ["a key of the gateway", `sk_${"0a".repeat(24)}`],
    ["a key of an upstream", "sk-proj-AbCdEf0123456789_x"],
    ["a bearer credential", "Bearer abc.DEF~123+/="],
    ["a basic credential", "basic dXNlcjpwYXNzd29yZA=="],
    ["an identity token", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"],
    ["a sealed secret", "enc:v1:AAECAwQ+/w=="],
  ])("never holds %s, wherever it stands", (_what, secret) => {
    const line = censored(JSON.stringify({ model: `a ${secret}`, reason: secret }));
    expect(JSON.parse(line)).toEqual({ model: `a ${CENSORED}`, reason: CENSORED });
  });

  it("never contains the user part of a URL", () => {
    expect(censored('{"a":"https://me:pass@host/x"}')).toBe(`{"a":"https://${CENSORED}@host/x"}`);
  });

  it("keeps text that only looks like a credential: display prefixes, names, ids", () => {
    const line = JSON.stringify({
      key: "sk_0123456789abcde",
      model: "task-with-a-very-long-name-indeed",
      id: "6f1c4f0e-5d7c-4c0f-9f2a-0a3b7a0b6c55",
      host: "https://host/x",
    });
    expect(censored(line)).toBe(line);
  });

  it("never contains a field of the list", () => {
    const all = Object.fromEntries(SECRET_FIELDS.map((name) => [name, "planted"]));
    expect(JSON.stringify(loggable({ ...all, status: 200 }))).not.toContain("planted");
    expect(loggable({ ...all, status: 200 })).toMatchObject({ status: 200, authorization: CENSORED });
  });

  it("is written unchanged without one", () => {
    const fields = { status: 200, reason: null };
    expect(loggable(fields)).toBe(fields);
  });
});
