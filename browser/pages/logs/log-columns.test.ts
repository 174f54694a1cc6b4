/** Which columns of the log a reader gets. */
import { describe, expect, it } from "vitest";
import { USAGE_ROW_FIELDS, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { chosenColumns, columnFacts, columnsFor } from "./log-columns.tsx";

const row = zeroUsageRow("r", 1000);

describe("columns of the log", () => {
  it("name keys of one tenant, and leave them out beside several tenants", () => {
    const shown = (search: Parameters<typeof chosenColumns>[0], role: "admin" | "user" = "admin") =>
      chosenColumns(search, role).map(({ id }) => id);
    expect(shown({})).toEqual(["time", "tenant", "model", "status", "reason", "queue", "first", "total", "cost"]);
    expect(shown({ tenant_id: "t" })).toEqual(shown({}).map((id) => (id === "tenant" ? "key" : id)));
    expect(shown({}, "user")).toEqual(shown({ tenant_id: "t" }));
  });

  it("read no field of operators where a tenant's user has them", () => {
    const read = new Set<string>();
    const watched = new Proxy(row, {
      get: (target, name) => {
        read.add(String(name));
        return Reflect.get(target, name) as unknown;
      },
    });
    for (const { cell } of columnsFor("user")) void cell(watched);
    const operators = Object.entries(USAGE_ROW_FIELDS).flatMap(([name, { user }]) => (user ? [] : [name]));
    expect({ total: read.has("total_ms"), operators: operators.filter((name) => read.has(name)) }).toEqual({
      total: true,
      operators: [],
    });
  });

  it("are facts of one request in the order that is asked for, where the reader has them", () => {
    const names = (role: "admin" | "user") => columnFacts(row, role, ["total", "cell", "queue"]).map(([name]) => name);
    expect({ admin: names("admin"), user: names("user") }).toEqual({
      admin: ["Total", "Cell", "Wait"],
      user: ["Total", "Wait"],
    });
  });
});
