import { describe, expect, it } from "vitest";
import type { CellConfig } from "../../../shared/env/cells.ts";
import type { Bindings } from "../../bindings.ts";
import { ObjectStubs } from "./object-stubs.ts";

/** Namespaces that record which object was requested, and where it should be located. */
function namespaces(asked: unknown[]) {
  const namespace = (object: string, jurisdiction?: string): DurableObjectNamespace =>
    ({
      getByName: (name: string, options: { locationHint?: string } = {}) => {
        asked.push([object, name, jurisdiction ?? options.locationHint ?? null]);
        return {};
      },
      jurisdiction: (asNamed: string) => namespace(object, asNamed),
    }) as unknown as DurableObjectNamespace;
  return { CELL: namespace("cell"), LEDGER: namespace("ledger"), TENANT_BUDGET: namespace("budget") };
}

const plan = (cell: string, more: Partial<CellConfig>): CellConfig => ({
  cell,
  url: "https://gateway.example",
  continents: [],
  colos: [],
  ...more,
});

describe("the location of an object", () => {
  it("is its cell's hint or jurisdiction, or unset; a budget has the first cell's jurisdiction", () => {
    const asked: unknown[] = [];
    const stubs = new ObjectStubs(namespaces(asked), [
      plan("eu", { jurisdiction: "eu" }),
      plan("us-east", { hint: "enam" }),
      plan("any", {}),
    ]);
    for (const cell of ["eu", "us-east", "any", "unlisted"]) {
      stubs.cell(cell);
      stubs.ledger(`${cell}:1`);
    }
    stubs.budget("tenant");
    expect(asked).toEqual([
      ["cell", "eu", "eu"],
      ["ledger", "eu:1", "eu"],
      ["cell", "us-east", "enam"],
      ["ledger", "us-east:1", "enam"],
      ["cell", "any", null],
      ["ledger", "any:1", null],
      ["cell", "unlisted", null],
      ["ledger", "unlisted:1", null],
      ["budget", "tenant", "eu"],
    ]);
  });

  it("can be another process: each call names its object, and a stub is not a promise", async () => {
    const asked: unknown[] = [];
    const ACK = { ledger: "us-east:1", through: 7 };
    const OBJECTS = {
      call: async (...call: unknown[]) => {
        asked.push(call);
        return "answered";
      },
    } as unknown as NonNullable<Bindings["OBJECTS"]>;
    const stubs = new ObjectStubs({ ...namespaces(asked), OBJECTS }, [plan("us-east", { hint: "enam" })]);
    const cell = await Promise.resolve(stubs.cell("us-east"));
    expect(await cell.stats()).toBe("answered");
    await stubs.ledger("us-east:1").alerts(ACK);
    expect(asked).toEqual([
      ["cell", "us-east", "stats", []],
      ["ledger", "us-east:1", "alerts", [ACK]],
    ]);
  });

  it("of a budget is unset if the first cell has no jurisdiction: one object for all cells", () => {
    const asked: unknown[] = [];
    new ObjectStubs(namespaces(asked), [plan("us", { hint: "enam" }), plan("eu", { jurisdiction: "eu" })]).budget("t");
    new ObjectStubs(namespaces(asked), []).budget("t");
    expect(asked).toEqual([
      ["budget", "t", null],
      ["budget", "t", null],
    ]);
  });
});
