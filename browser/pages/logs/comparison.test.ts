/** Two requests are compared by what is shown of them. */
import { describe, expect, it } from "vitest";
import { comparedIds, toggledCompare } from "./compare-choice.tsx";
import { comparedFields } from "./comparison.ts";

const ID = (at: number): string => `00000000-0000-4000-8000-00000000000${at}`;
const row = (change: object = {}) => ({
  request_id: ID(1),
  ts_ms: 0,
  model: "a",
  status_code: 200,
  total_ms: 100,
  ...change,
});

describe("a comparison", () => {
  it("marks what differs, says by how much, and leaves out what neither has", () => {
    const fields = comparedFields(row(), row({ request_id: ID(2), ts_ms: 5, total_ms: 1600, status_code: 502 }), "UTC");
    const by = Object.fromEntries(fields.map((field) => [field.name, field]));
    expect(by["Total"]).toEqual({
      name: "Total",
      first: "100 ms",
      second: "1.6 s",
      isDifferent: true,
      change: "+1.5 s",
    });
    expect(by["Status"]).toMatchObject({ isDifferent: true, change: "" });
    expect(by["Model"]).toMatchObject({ isDifferent: false });
    expect({ time: by["Time"]?.isDifferent, endpoint: by["Endpoint"] }).toEqual({ time: false, endpoint: undefined });
  });
});

describe("the requests that are chosen", () => {
  it("are two at most: a third takes the place of the first", () => {
    const choice = [ID(1), ID(2), ID(3)].reduce<string | undefined>(
      (compare, id) => toggledCompare(compare === undefined ? {} : { compare }, id),
      undefined,
    );
    expect(choice).toBe(`${ID(2)},${ID(3)}`);
    expect(toggledCompare({ compare: `${ID(2)},${ID(3)}` }, ID(2))).toBe(ID(3));
    expect(toggledCompare({ compare: ID(3) }, ID(3))).toBeUndefined();
  });

  it("are ids, whatever an address says", () => {
    expect(comparedIds({ compare: `x,${ID(1)},${ID(1)},../y` })).toEqual([ID(1)]);
  });
});
