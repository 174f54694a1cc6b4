/** The list of models says what is known of each, and can be put in order by it. */
import { describe, expect, it } from "vitest";
import type { Records } from "../../data/api.ts";
import { filteredRows, modelRows } from "./model-rows.ts";

const model = (model_name: string, fields: Partial<Records["Model"]> = {}): Records["Model"] =>
  ({
    id: model_name,
    model_name,
    model_type: "chat",
    enabled: true,
    health_status: "healthy",
    input_cost_per_token: 0,
    created_at: "2026-11-23T00:00:00.000Z",
    ...fields,
  }) as Records["Model"];
const NOW_MS = Date.UTC(2026, 10, 23);
const NOTHING = { live: undefined, used: undefined, attention: undefined };

describe("the rows of models", () => {
  it("have zeros where nobody asked, and nothing known where nothing was read", () => {
    const models = [model("a"), model("__proto__")];
    const used = [{ model: "a", requests: 5, failed_requests: 2 }];
    const known = modelRows(models, { live: { model_in_flight: { a: 3 } }, used, attention: [] });
    expect(known.map(({ running, requests, failed }) => [running, requests, failed])).toEqual([
      [3, 5, 2],
      [0, 0, 0],
    ]);
    expect(modelRows(models, NOTHING).map(({ running, requests }) => [running, requests])).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  it("count endpoints that are down, whatever colons names have", () => {
    const attention = (["a: b: node", "a: node", "a: b: c: d", "other: node"] as const).map((name) => ({
      kind: "endpoint_down" as const,
      name,
    }));
    const rows = modelRows([model("a"), model("a: b")], {
      ...NOTHING,
      attention: [...attention, { kind: "model_down", name: "a" }],
    });
    expect(rows.map(({ endpointsDown }) => endpointsDown)).toEqual([1, 2]);
  });

  it("are filtered by kind and health; a model that is off or in maintenance is not checked", () => {
    const until = (ms: number) => ({ maintenance_until: new Date(ms).toISOString() });
    const models = [model("a", { enabled: false }), model("b", { model_type: "image" }), model("c")];
    const kept = [model("d", until(NOW_MS + 1)), model("e", until(NOW_MS))];
    const rows = modelRows([...models, ...kept], NOTHING);
    const names = (search: Parameters<typeof filteredRows>[1]) =>
      filteredRows(rows, search, NOW_MS).map((row) => row.model.model_name);
    expect({
      all: names({}),
      disabled: names({ health: "disabled" }),
      healthyChat: names({ type: "chat", health: "healthy" }),
      maintained: names({ health: "maintenance" }),
    }).toEqual({ all: ["a", "b", "c", "d", "e"], disabled: ["a"], healthyChat: ["c", "e"], maintained: ["d"] });
  });
});
