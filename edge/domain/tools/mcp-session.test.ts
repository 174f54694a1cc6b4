import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { givenIds, givenInQuery, SESSION_IDS_MAX, sessionIdsOf } from "./mcp-session.ts";

const headersOf = (...values: readonly string[]): Headers => {
  const headers = new Headers();
  for (const value of values) headers.append("Mcp-Session-Id", value);
  return headers;
};

/** Ids as MCP has them: visible ASCII; here without the comma that parts several values, quotes, and what parts parameters. */
const id = fc.stringMatching(/^[!#-&(-+\--:<-[\]-~]{1,20}$/);

/** The ids as they are written: several together can have the digits of a UUID. */
const writtenIds = (headers: Headers): readonly string[] | undefined =>
  sessionIdsOf(headers)?.filter((one) => !one.startsWith("uuid "));

describe("the sessions that headers name", () => {
  it("are none without a value", () => {
    expect(sessionIdsOf(headersOf())).toEqual([]);
    expect(sessionIdsOf(headersOf(""))).toEqual([]);
  });

  it("are also those of the query, as servers of the older transport name them", () => {
    expect(sessionIdsOf(headersOf("a"), "?session_id=b&sessionId=c%20d&SessionID=a&session=x")).toEqual([
      "a",
      "b",
      "c d",
    ]);
  });

  it.each([
    "sessionId[]=b",
    "sessionId%5B0%5D=b",
    "sessionId[0][]=b",
    "[session_id]=b",
    "x=1;session_id=b",
    "session-id=b",
    "+session%20id=b",
    "sessionId%00x=b",
    "%EF%BB%BFsessionId=b",
    "mcp-session-id=b",
    "McpSessionId[]=b",
  ])("are those of a parameter in any spelling: %s", (query) => {
    expect(sessionIdsOf(headersOf(), `?${query}`)).toEqual(["b"]);
  });

  it("are what each reading of `;` in a query finds, each once", () => {
    expect(sessionIdsOf(headersOf(), "?sessionId=a,b")).toEqual(["a,b", "a", "b"]);
    expect(sessionIdsOf(headersOf(), "?sessionId=a;b&x.sessionId=c&sessions=d")).toEqual(["a;b", "a"]);
  });

  it("are one id as it is, however the header is spelled", () => {
    fc.assert(
      fc.property(id, (one) => {
        expect(writtenIds(headersOf(one))).toEqual([one]);
      }),
    );
  });

  it.each(['"b"', "b;a", "b ; path=/", '"b";a', '"b;a"', "'b'", '"\\b"'])(
    "are also what a server reads: %s",
    (value) => {
      expect(sessionIdsOf(headersOf(value))).toContain("b");
      expect(sessionIdsOf(headersOf(`x, ${value}`))).toContain("b");
      expect(sessionIdsOf(headersOf(), `?sessionId=${encodeURIComponent(value)}`)).toContain("b");
    },
  );

  it("are each of several values, and what they read as together", () => {
    const several = fc.uniqueArray(id, { minLength: 2, maxLength: SESSION_IDS_MAX });
    fc.assert(
      fc.property(several, (ids) => {
        expect(writtenIds(headersOf(...ids))).toEqual([ids.join(", "), ...ids]);
        expect(writtenIds(headersOf(ids.join(",")))).toEqual([ids.join(","), ...ids]);
      }),
    );
  });

  it("are not looked for in a value of very many", () => {
    const many = fc.uniqueArray(id, { minLength: SESSION_IDS_MAX + 1, maxLength: 50 });
    fc.assert(
      fc.property(many, (ids) => {
        expect(sessionIdsOf(headersOf(...ids))).toBeNull();
      }),
    );
  });

  it.each([",,,,,,,,,s", "x,x,x,x,x,x,x,x,x,s"])("are not hidden behind empty or equal ones: %s", (value) => {
    expect(sessionIdsOf(headersOf(value))).toBeNull();
  });
});

it.each([
  "region=eu;sid=1;",
  "region=eu;sid=1; x=1",
  "region=eu;sid=1;sid=9",
  '"region=eu";sid="1" ; x',
  "region=eu; sid=1",
])("a call's id that has a `;` itself counts in front of each later one: %s", (value) => {
  expect(sessionIdsOf(headersOf(value))).toContain("region=eu;sid=1");
  expect(sessionIdsOf(headersOf(), `?sessionId=${encodeURIComponent(value)}`)).toContain("region=eu;sid=1");
});

it("a call's id that has a `;` and a comma counts in front of a later `;`", () => {
  expect(sessionIdsOf(headersOf("a,region=eu;sid=1;b"))).toContain("region=eu;sid=1");
  expect(sessionIdsOf(headersOf("eu,1;a;b"))).toEqual(["eu,1;a;b", "eu,1;a", "eu,1", "eu", "1;a;b", "1;a", "1"]);
});

it.each([";;;;;;;;s", "a;b;c;d,e;f;g;h;i"])("a call's id of very many parts is not looked for: %s", (value) => {
  expect(sessionIdsOf(headersOf(value))).toBeNull();
});

it("a call's id in quotes also counts whole without them", () => {
  expect(sessionIdsOf(headersOf('"region=eu;sid=1"'))).toContain("region=eu;sid=1");
});

describe("the id that a server gives", () => {
  it.each([
    ["region=eu;sid=1", ["region=eu;sid=1"]],
    ["eu,1", ["eu,1"]],
    ['"eu";1', ['"eu";1', "eu;1"]],
  ])("is the whole value, not what it begins with: %s", (value, given) => {
    expect(givenIds(headersOf(value))).toEqual(given);
  });

  it.each([
    ["sessionId=eu;1", ["eu;1"]],
    ["x=1;sessionId=b", ["b"]],
  ])("is the whole parameter of an address: %s", (query, given) => {
    expect(givenInQuery(`?${query}`)).toEqual(given);
  });
});

describe("a UUID", () => {
  const uuid = "3f0a10bc-02d4-4e5f-8a6b-0c7d8e9f0012";
  const [, given = ""] = givenInQuery(`?session_id=${uuid}`);

  it.each([
    uuid.toUpperCase(),
    uuid.replaceAll("-", ""),
    `{${uuid}}`,
    `urn:uuid:${uuid}`,
    `3-${uuid.slice(1)}`,
    ` +${uuid}`,
    "{0x3f0a10bc,0x02d4,0x4e5f,{0x8a,0x6b,0x0c,0x7d,0x8e,0x9f,0x00,0x12}}",
  ])("counts in every spelling that servers read: %s", (spelling) => {
    const query = new URLSearchParams({ session_id: spelling.slice(0, 200) }).toString();
    const ids = sessionIdsOf(headersOf(), `?${query}`);
    expect({ given, ids, isFound: ids === null || ids.includes(given) }).toEqual({ given, ids, isFound: true });
  });

  it("counts for a header, too", () => {
    expect(givenIds(headersOf(uuid))).toEqual([uuid, given]);
    expect(sessionIdsOf(headersOf(uuid.toUpperCase()))).toContain(given);
  });

  it.each(["\uff13f0a10bc", "\u0663f0a10bc"])("with digits of another alphabet is no id: %s", (first) => {
    const query = new URLSearchParams({ session_id: first + uuid.slice(8) }).toString();
    expect(sessionIdsOf(headersOf(), `?${query}`)).toBeNull();
  });

  it("is not what an id of a few digits is", () => {
    expect(givenInQuery("?sessionId=10")).toEqual(["10"]);
    expect(sessionIdsOf(headersOf("100"))).toEqual(["100"]);
  });
});
