import { expect, it } from "vitest";
import { nextOf } from "./next-page.ts";

it.each([
  ['</api/live/tenants?cursor=abc&limit=2>; rel="next"', "/api/live/tenants?cursor=abc&limit=2"],
  [null, null],
  ["", null],
  ['</api/live/tenants>; rel="prev"', null],
  ['<https://elsewhere.example/api/live/x>; rel="next"', null],
  ['<//elsewhere.example/api/live/x>; rel="next"', null],
])("reads %s", (link, next) => {
  expect(nextOf(link)).toBe(next);
});
