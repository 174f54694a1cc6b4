/** Saved views are kept for a person, and validated like an address when they are read. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deleteView, readViews, saveView, VIEWS_MAX, viewOf } from "./view-storage.ts";

let stored: Map<string, string>;

beforeEach(() => {
  stored = new Map();
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe("views", () => {
  it("are kept by name, for one person, until they are deleted", () => {
    expect(saveView("me", { name: "b", search: { status: "failed" } })).toBe(true);
    saveView("me", { name: "a", search: { model: "x" } });
    saveView("me", { name: "b", search: { status: "refused" } });
    expect({ mine: readViews("me"), others: readViews("other").length }).toEqual({
      mine: [
        { name: "a", search: { model: "x" } },
        { name: "b", search: { status: "refused" } },
      ],
      others: 0,
    });
    deleteView("me", "a");
    expect(readViews("me").map(({ name }) => name)).toEqual(["b"]);
  });

  it("keep neither what is open nor whether the list follows", () => {
    expect(viewOf({ open: "x", compare: "y", follow: true, status: "failed", columns: "time" })).toEqual({
      status: "failed",
      columns: "time",
    });
  });

  it.each([
    "{",
    "null",
    "{}",
    '[null, 1, {"name": "", "search": {}}, {"name": 1, "search": {}}, {"name": "x"}]',
    `[{"name": "${"x".repeat(61)}", "search": {}}]`,
  ])("that are no views are none: %s", (text) => {
    stored.set("gateway-log-views me", text);
    expect(readViews("me")).toEqual([]);
  });

  it("have only what an address may have, and are few", () => {
    const views = Array.from({ length: VIEWS_MAX + 9 }, (_, at) => ({
      name: `v${at}`,
      search: { status: "x", model: "m" },
    }));
    stored.set("gateway-log-views me", JSON.stringify(views));
    expect({ count: readViews("me").length, first: readViews("me")[0]?.search }).toEqual({
      count: VIEWS_MAX,
      first: { model: "m" },
    });
  });

  it("are not saved by a browser that keeps nothing", () => {
    vi.stubGlobal("localStorage", {
      getItem: () => {
        throw new Error("off");
      },
    });
    expect({ isSaved: saveView("me", { name: "a", search: {} }), views: readViews("me").length }).toEqual({
      isSaved: false,
      views: 0,
    });
  });
});
