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

  it.each([
    ["a key of an upstream", "eyJabcdefgh-sk-AbCdEf0123456789_x", `eyJabcdefgh-${CENSORED}`],
    ["a key of the gateway", `eyJabcdefgh-sk_${"0a".repeat(24)}`, `eyJabcdefgh-${CENSORED}`],
    ["a bearer credential", "eyJabcdefgh-Bearer abc.DEF~123+/=", `eyJabcdefgh-${CENSORED}`],
    ["a sealed secret", "eyJabcdefgh-enc:v1:AAECAwQ+/w==", `eyJabcdefgh-${CENSORED}`],
    ["an identity token", "eyJabcdefgh.eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", `${CENSORED}.c2ln`],
  ])("never holds %s behind the beginning of an identity token", (_what, text, expected) => {
    expect(censored(text)).toBe(expected);
  });

  const BYTES = 4_000_000;

  // quadratic work would need minutes for the first of them, and longer for others
  it.each([
    "eyJ",
    "eyJabcdefgh.",
    "eyJabcdefgh..",
    ".eyJ",
    "sk-",
    "sk_0",
    "sk_0123456789abcde",
    "Bearer ",
    "Bearer",
    "basic a",
    "enc:v1:",
    "enc:v1:a",
    "://",
    "://a:",
    "://@",
    ":",
    "a@",
  ])("is censored in linear time when it repeats %j", (unit) => {
    const text = unit.repeat(BYTES / unit.length);
    for (const end of ["", ".", ".a", " ", "@", "/"]) expect(censored(`${text}${end}`).length).toBeGreaterThan(0);
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
