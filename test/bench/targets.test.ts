import { expect, test } from "vitest";
import { LOADS } from "./loads.ts";
import { FRESH } from "./slice.ts";
import { benchBodyOf } from "./targets.ts";

test("every load has a body of its size, and one of a cached model has room for text of its own", () => {
  for (const load of LOADS) {
    const body = benchBodyOf(load);
    expect(Buffer.byteLength(body)).toBe(load.bodyBytes);
    expect(JSON.parse(body)).toMatchObject({ max_tokens: 64 });
    expect(body.split(FRESH).length).toBe(load.freshShare === null ? 1 : 2);
  }
});
